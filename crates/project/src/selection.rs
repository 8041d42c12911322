//! Selects the checks of a run: all checks, some by name, or the checks that a change of the tree triggers (the setting
//! `paths` of a check). Pure functions.
//!
//! Changes are found by comparing trees and not by file events, so a lost or late event cannot leave out a check.

use globset::{GlobBuilder, GlobMatcher};

use proctor_model::{Action, ActionKind, TreePath};

/// The checks that a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// Every check of the plan.
    Every,
    /// The checks of the plan that run at a save.
    All,
    /// The checks of the plan that run at a save. Those that already have a result on the current tree need not be carried out again.
    Missing,
    /// The checks with these names.
    Named(Vec<String>),
    /// The checks that are triggered by the changes since this process's last verdict on the same plan, and the
    /// checks that did not succeed then. Without such a verdict, all checks are selected.
    Triggered {
        /// The checks that did not succeed in the last verdict.
        failed: Vec<String>,
    },
}

/// The checks that a run really has to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SelectedChecks {
    All,
    /// The checks with these names; at least one.
    Only(Vec<String>),
    /// No check, because the change triggers none.
    Nothing,
}

impl SelectedChecks {
    pub fn holds(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.iter().any(|selected| selected == name),
            Self::Nothing => false,
        }
    }
}

/// Selects checks. `changed` holds the paths that differ from the tree of the last verdict on this plan, or `None` if
/// there is no such verdict.
pub fn select_checks(checks: &Selection, steps: &[Action], changed: Option<&[TreePath]>) -> SelectedChecks {
    let at_saves = || steps.iter().filter(|step| step.when.is_save());
    let failed = match checks {
        Selection::Every => return SelectedChecks::All,
        // Where every check waits for somebody to ask for it, whoever asks for a run means them.
        Selection::All | Selection::Missing if at_saves().next().is_none() => return SelectedChecks::All,
        Selection::All | Selection::Missing => return of_names(at_saves(), steps.len()),
        Selection::Named(names) => return SelectedChecks::Only(with_reviews(names, steps)),
        Selection::Triggered { failed } => failed,
    };
    let Some(changed) = changed else { return of_names(at_saves(), steps.len()) };
    // `paths` of a check are patterns of the tree, so an input beside it triggers every check.
    let starts_all = changed.iter().any(TreePath::is_beside);
    let is_triggered = |paths: &[String]| starts_all || paths.is_empty() || changed.iter().any(path_filter(paths));
    of_names(at_saves().filter(|step| failed.contains(&step.name) || is_triggered(&step.paths)), steps.len())
}

/// Returns the selection of these checks of a plan with `count` checks.
fn of_names<'s>(selected: impl Iterator<Item = &'s Action>, count: usize) -> SelectedChecks {
    let names: Vec<_> = selected.map(|step| step.name.clone()).collect();
    match names.len() {
        0 => SelectedChecks::Nothing,
        all if all == count => SelectedChecks::All,
        _ => SelectedChecks::Only(names),
    }
}

/// Adds the reviews that must precede the selected checks. Selecting a check by name must not skip its review.
fn with_reviews(names: &[String], steps: &[Action]) -> Vec<String> {
    let is_asked_for = |review: &Action| {
        let waits = |step: &Action| names.contains(&step.name) && step.after.contains(&review.id);
        matches!(review.kind, ActionKind::Review(_)) && !names.contains(&review.name) && steps.iter().any(waits)
    };
    let reviews = steps.iter().filter(|step| is_asked_for(step)).map(|step| step.name.clone());
    names.iter().cloned().chain(reviews).collect()
}

/// Returns a function that says whether a check's `paths` name a path: one of them matches it, and none that begins with `!` does. Where all
/// begin so, they name every other path.
pub fn path_filter(paths: &[String]) -> impl Fn(&TreePath) -> bool {
    let without: Vec<_> = paths.iter().filter_map(|glob| glob.strip_prefix('!')).map(matcher).collect();
    let with: Vec<_> = paths.iter().filter(|glob| !glob.starts_with('!')).map(|glob| matcher(glob)).collect();
    let matches = |globs: &[GlobMatcher], path: &TreePath| globs.iter().any(|glob| glob.is_match(path.as_path()));
    move |path| (with.is_empty() || matches(&with, path)) && !matches(&without, path)
}

fn matcher(glob: &str) -> GlobMatcher {
    let built = GlobBuilder::new(glob).literal_separator(true).build();
    built.expect("the configuration's reader refuses what is no glob").compile_matcher()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use proctor_model::testing;
    use proctor_model::{ActionPhase, CheckStart};

    fn step(name: &str, paths: &[&str]) -> Action {
        let paths = paths.iter().map(ToString::to_string).collect();
        Action { name: name.to_owned(), paths, ..testing::generic_action(ActionPhase::Step) }
    }

    fn steps() -> [Action; 3] {
        [step("python", &["**/*.py", "pyproject.toml"]), step("web", &["web/src/**"]), step("any", &[])]
    }

    fn selected(steps: &[Action], failed: &[&str], changed: &[&str]) -> SelectedChecks {
        let failed = failed.iter().map(ToString::to_string).collect();
        let changed: Vec<_> = changed.iter().map(|path| TreePath::try_from(*path).expect("a clean path")).collect();
        select_checks(&Selection::Triggered { failed }, steps, Some(&changed))
    }

    fn only(names: &[&str]) -> SelectedChecks {
        SelectedChecks::Only(names.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_check_is_triggered_by_its_own_paths_and_one_without_paths_by_any_change() {
        for (changed, expected) in [
            (&["quotes/money.py"][..], only(&["python", "any"])),
            (&["setup.py"], only(&["python", "any"])),
            (&["web/src/deep/table.ts"], only(&["web", "any"])),
            (&["web/tsconfig.json"], only(&["any"])),
            (&["sub/pyproject.toml"], only(&["any"])),
            (&["README.md", "web/src/a.ts", "a.py"], SelectedChecks::All),
        ] {
            assert_eq!(selected(&steps(), &[], changed), expected, "{changed:?}");
        }
    }

    #[test]
    fn what_begins_with_a_mark_takes_files_out_in_any_order() {
        let steps =
            [step("api", &["!web/**", "**/*.json"]), step("python", &["**/*.py", "!api/old/**"]), step("rest", &["!web/**"])];
        for (changed, expected) in [
            (&["api/a.json"][..], only(&["api", "rest"])),
            (&["web/package.json"], SelectedChecks::Nothing),
            (&["web/tool.py"], only(&["python"])),
            (&["api/old/a.py"], only(&["rest"])),
            (&["web/package.json", "a.json"], only(&["api", "rest"])),
        ] {
            assert_eq!(selected(&steps, &[], changed), expected, "{changed:?}");
        }
    }

    #[test]
    fn a_change_of_an_input_beside_the_tree_triggers_every_check() {
        let changed = [TreePath::beside(Path::new("/r/app"), Path::new("/r/shared/README.md"))];
        let checks = Selection::Triggered { failed: Vec::new() };
        assert_eq!(select_checks(&checks, &steps(), Some(&changed)), SelectedChecks::All);
    }

    #[test]
    fn a_check_that_did_not_succeed_is_run_whatever_changed() {
        assert_eq!(selected(&steps(), &["web"], &["README.md"]), only(&["web", "any"]));
        assert_eq!(selected(&steps()[..2], &["web"], &["README.md"]), only(&["web"]));
        assert_eq!(selected(&steps()[..2], &["gone"], &["README.md"]), SelectedChecks::Nothing, "it is no check any more");
    }

    #[test]
    fn a_change_that_triggers_nothing_selects_nothing() {
        assert_eq!(selected(&steps()[..2], &[], &["README.md"]), SelectedChecks::Nothing);
        assert_eq!(selected(&steps(), &[], &["README.md"]), only(&["any"]));
    }

    #[test]
    fn without_a_verdict_to_compare_with_everything_is_run() {
        assert_eq!(select_checks(&Selection::Triggered { failed: Vec::new() }, &steps(), None), SelectedChecks::All);
    }

    #[test]
    fn a_check_that_waits_to_be_asked_for_runs_where_every_check_or_it_is_asked_for() {
        let [python, web, any] = steps();
        let steps = [python, Action { when: CheckStart::Ask, ..web }, any];
        let triggered = Selection::Triggered { failed: vec!["web".to_owned()] };
        for selection in [Selection::All, Selection::Missing, triggered.clone()] {
            assert_eq!(select_checks(&selection, &steps, None), only(&["python", "any"]), "{selection:?}");
        }
        let changed = [TreePath::try_from("web/src/a.ts").expect("a clean path")];
        assert_eq!(select_checks(&triggered, &steps, Some(&changed)), only(&["any"]));
        assert_eq!(select_checks(&Selection::Every, &steps, None), SelectedChecks::All);
        assert_eq!(select_checks(&Selection::Named(vec!["web".to_owned()]), &steps, None), only(&["web"]));
        let alone = &steps[1..2];
        assert_eq!(select_checks(&Selection::All, alone, None), SelectedChecks::All);
        assert_eq!(select_checks(&triggered, alone, Some(&changed)), SelectedChecks::Nothing);
    }

    #[test]
    fn what_is_asked_for_by_name_is_run() {
        let named = Selection::Named(vec!["web".to_owned()]);
        let changed = [TreePath::try_from("a.py").expect("a clean path")];
        assert_eq!(select_checks(&named, &steps(), Some(&changed)), only(&["web"]));
        assert_eq!(select_checks(&Selection::All, &steps(), Some(&changed)), SelectedChecks::All);
        assert!(only(&["web"]).holds("web") && !only(&["web"]).holds("any") && SelectedChecks::All.holds("any"));
    }
}
