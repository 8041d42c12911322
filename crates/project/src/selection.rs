//! Selects the checks of a run: all checks, some by name, or the checks that a change of the tree triggers (the setting
//! `paths` of a check). Pure functions.
//!
//! Changes are found by comparing trees and not by file events, so a lost or late event cannot leave out a check.

use globset::{GlobBuilder, GlobMatcher};

use proctor_model::{Action, ActionKind, TreePath};

/// The checks that a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// All checks of the plan.
    All,
    /// All checks of the plan. Checks that already have a result on the current tree need not be carried out again.
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
    let failed = match checks {
        Selection::All | Selection::Missing => return SelectedChecks::All,
        Selection::Named(names) => return SelectedChecks::Only(with_reviews(names, steps)),
        Selection::Triggered { failed } => failed,
    };
    let Some(changed) = changed else { return SelectedChecks::All };
    let wanted = |step: &&Action| failed.contains(&step.name) || is_triggered(step, changed);
    let names: Vec<_> = steps.iter().filter(wanted).map(|step| step.name.clone()).collect();
    match names.len() {
        0 => SelectedChecks::Nothing,
        count if count == steps.len() => SelectedChecks::All,
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

/// Returns whether a change triggers a check. `paths` of a check are patterns of the tree, so an input beside it triggers every check.
fn is_triggered(step: &Action, changed: &[TreePath]) -> bool {
    step.paths.is_empty() || changed.iter().any(TreePath::is_beside) || changed.iter().any(path_filter(&step.paths))
}

/// Returns a function that says whether a path matches one of a check's `paths`.
pub fn path_filter(paths: &[String]) -> impl Fn(&TreePath) -> bool {
    let globs: Vec<_> = paths.iter().map(|glob| matcher(glob)).collect();
    move |path| globs.iter().any(|glob| glob.is_match(path.as_path()))
}

fn matcher(glob: &str) -> GlobMatcher {
    let built = GlobBuilder::new(glob).literal_separator(true).build();
    built.expect("the configuration's reader refuses what is no glob").compile_matcher()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use proctor_model::ActionPhase;
    use proctor_model::testing;

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
    fn what_is_asked_for_by_name_is_run() {
        let named = Selection::Named(vec!["web".to_owned()]);
        let changed = [TreePath::try_from("a.py").expect("a clean path")];
        assert_eq!(select_checks(&named, &steps(), Some(&changed)), only(&["web"]));
        assert_eq!(select_checks(&Selection::All, &steps(), Some(&changed)), SelectedChecks::All);
        assert!(only(&["web"]).holds("web") && !only(&["web"]).holds("any") && SelectedChecks::All.holds("any"));
    }
}
