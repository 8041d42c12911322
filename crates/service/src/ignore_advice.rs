//! What a person is told to do about files of the tree that the checks write themselves. Pure.

use proctor_git::TrackedPaths;
use proctor_model::{TreePath, quoted_text};
use proctor_tree::ignore::{IgnoredClass, class_of};

/// The most paths that a hint names.
const SHOWN: usize = 5;

/// How files that checks wrote came into the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WayIntoProject {
    /// The checks ran in the project itself.
    InPlace,
    /// The checks ran on a snapshot, and their `writes` names the files.
    CopiedOut,
    /// Another program writes them, and no check need do so.
    ByOthers,
}

/// Returns the hints about files of the tree that checks write in every run: `ignore` takes a file out of the tree only if
/// git does not track it. Files in directories of installed packages get no hint, because no rule decides about them.
pub fn ignore_advice<'p>(
    paths: impl IntoIterator<Item = &'p TreePath>,
    tracked: &TrackedPaths,
    way: WayIntoProject,
) -> Vec<String> {
    let is_installed = |path: &TreePath| path.as_bytes().split(|byte| *byte == b'/').any(is_environment);
    let is_tracked = |path: &&TreePath| tracked.contains(path.as_bytes()) || tracked.has_below(path.as_bytes());
    let of_rules = paths.into_iter().filter(|path| !is_installed(path));
    let (tracked, others): (Vec<&TreePath>, Vec<&TreePath>) = of_rules.partition(is_tracked);
    let mut hints = Vec::new();
    if !others.is_empty() {
        let patterns: Vec<_> = others.iter().take(SHOWN).map(|path| quoted_text(&format!("/{path}"))).collect();
        let what = match way {
            WayIntoProject::InPlace => "if the checks write this themselves, add to `[watch]` in proctor.toml",
            WayIntoProject::CopiedOut | WayIntoProject::ByOthers => "ignore it, by .gitignore or in `[watch]` of proctor.toml",
        };
        hints.push(format!("hint: {what}: ignore = [{}]", patterns.join(", ")));
    }
    if !tracked.is_empty() {
        let named: Vec<_> = tracked.iter().take(SHOWN).map(ToString::to_string).collect();
        let more = tracked.len().saturating_sub(SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let (if_written, other_way) = match way {
            WayIntoProject::InPlace => (
                "if the checks write this themselves, ",
                "let the checks run on a snapshot (`proctor doctor` says what that needs) or write elsewhere",
            ),
            WayIntoProject::CopiedOut => ("", "take it out of the check's `writes`"),
            WayIntoProject::ByOthers => ("", "have it written outside of the project"),
        };
        hints.push(format!(
            "hint: git tracks {}{more}, so `ignore` does not take it out of the tree: {if_written}{other_way}, or ignore it after \
             `git rm --cached`",
            named.join(", ")
        ));
    }
    hints
}

fn is_environment(name: &[u8]) -> bool {
    class_of(name) == IgnoredClass::Environment
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(names: &[&str]) -> Vec<TreePath> {
        names.iter().map(|name| TreePath::try_from(*name).expect("a clean path")).collect()
    }

    #[test]
    fn a_rule_is_offered_for_what_git_does_not_track_and_for_nothing_else() {
        let nothing = TrackedPaths::default();
        let paths = paths(&["a \"quoted\".txt", ".venv/lib/x.pth", "web/node_modules/.bin/tool", "out"]);
        assert_eq!(
            ignore_advice(&paths, &nothing, WayIntoProject::InPlace),
            [
                r#"hint: if the checks write this themselves, add to `[watch]` in proctor.toml: ignore = ["/a \"quoted\".txt", "/out"]"#
            ]
        );
        assert_eq!(ignore_advice(&paths[1..3], &nothing, WayIntoProject::InPlace), [""; 0]);
    }
}
