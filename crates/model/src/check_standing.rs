//! Which checks of a task have a result for the current tree, and which had their last result on another tree.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{Blocking, Digest, KnownCheck, OverallResult, RunId, TreeDigest};

/// A check of a task, and whether its last result is for the current tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CheckStanding {
    pub name: String,
    pub state: CheckState,
    /// The check's last result: FAILED if it makes the verdict FAILED, else PASSED; `None` if the check has no result.
    pub result: Option<OverallResult>,
    /// The tree of the last result.
    pub tree: Option<TreeDigest>,
    /// The run that carried the check out.
    pub run_id: Option<RunId>,
    /// How many paths differ between the tree of the last result and the current tree; `None` if nobody counted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files_since: Option<u64>,
}

/// Whether the last result of a check is for the current tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum CheckState {
    Fresh,
    /// The last result is for another tree.
    Stale,
    /// The check has had no result since the plan changed.
    NoResult,
}

impl CheckStanding {
    /// Compares a check's last result with the current tree. `files_since` counts the paths that differ between a given tree
    /// and the current tree.
    pub fn of(check: &KnownCheck, now: TreeDigest, files_since: impl Fn(TreeDigest) -> Option<u64>) -> Self {
        let last = check.last.as_ref();
        let state = match last {
            Some(last) if last.tree == now => CheckState::Fresh,
            Some(_) => CheckState::Stale,
            None => CheckState::NoResult,
        };
        let result = |blocking: Blocking| match blocking {
            Blocking::Blocks => OverallResult::Failed,
            Blocking::Allowed => OverallResult::Passed,
        };
        Self {
            name: check.name.clone(),
            state,
            result: last.map(|last| result(last.blocking)),
            tree: last.map(|last| last.tree),
            run_id: last.map(|last| last.run_id.clone()),
            files_since: last.filter(|last| last.tree != now).and_then(|last| files_since(last.tree)),
        }
    }

    /// Returns what a person reads about the check, for example "tsc PASS on this tree".
    fn words(&self) -> String {
        let result = match self.result {
            Some(OverallResult::Passed) => "PASS",
            Some(OverallResult::Failed) | None => "FAIL",
        };
        let name = &self.name;
        match (self.state, &self.tree) {
            (CheckState::Fresh, _) => format!("{name} {result} on this tree"),
            (CheckState::Stale, Some(TreeDigest(tree))) => {
                let since = match self.files_since {
                    None => String::new(),
                    Some(1) => ", 1 file since".to_owned(),
                    Some(count) => format!(", {count} files since"),
                };
                format!("{name} last {result} on {}{since}", Digest::short(tree))
            }
            (CheckState::Stale | CheckState::NoResult, _) => format!("{name} not run yet"),
        }
    }
}

/// Returns how many checks have a result for the current tree, and the words about each check. `None` if no check has a result
/// for the current tree, or if all last results are for the current tree and of the same run: then the words about the task
/// say enough.
pub fn checks_sentence(checks: &[CheckStanding]) -> Option<String> {
    let fresh = checks.iter().filter(|check| check.state == CheckState::Fresh);
    let runs: BTreeSet<_> = fresh.clone().map(|check| &check.run_id).collect();
    let count = fresh.count();
    if count == 0 || (count == checks.len() && runs.len() < 2) {
        return None;
    }
    let words: Vec<_> = checks.iter().map(CheckStanding::words).collect();
    Some(format!("{count} of {} checks: {}", checks.len(), words.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ActionId, LastCheckResult, Sequence, Timestamp};

    fn tree(text: &str) -> TreeDigest {
        TreeDigest(Digest::of(text.as_bytes()))
    }

    fn check(name: &str, last: Option<(&str, u64, Blocking)>) -> KnownCheck {
        let last = last.map(|(tree_text, number, blocking)| LastCheckResult {
            sequence: Sequence(number),
            run_id: RunId::new(Timestamp::from_millis(0), number),
            tree: tree(tree_text),
            blocking,
        });
        KnownCheck { id: ActionId::numbered("STEP", 1), name: name.to_owned(), plan: Digest::of(b"plan"), last }
    }

    fn sentence(checks: &[KnownCheck]) -> Option<String> {
        let count = |of: TreeDigest| (of == tree("before")).then_some(2);
        checks_sentence(&checks.iter().map(|check| CheckStanding::of(check, tree("now"), count)).collect::<Vec<_>>())
    }

    #[test]
    fn a_sentence_names_the_checks_that_saw_this_tree_and_those_that_did_not() {
        let pytest = || check("pytest", Some(("now", 2, Blocking::Allowed)));
        let short = Digest::short(&tree("before").0);
        assert_eq!(
            sentence(&[pytest(), check("tsc", Some(("before", 1, Blocking::Blocks))), check("eslint", None)]),
            Some(format!("1 of 3 checks: pytest PASS on this tree; tsc last FAIL on {short}, 2 files since; eslint not run yet"))
        );
        let uncounted = sentence(&[pytest(), check("tsc", Some(("older", 1, Blocking::Allowed)))]);
        assert!(uncounted.is_some_and(|text| !text.contains("since")));
        assert_eq!(
            sentence(&[pytest(), check("tsc", Some(("now", 3, Blocking::Allowed)))]),
            Some("2 of 2 checks: pytest PASS on this tree; tsc PASS on this tree".to_owned()),
            "they ran in two runs"
        );
    }

    #[test]
    fn there_is_no_sentence_where_all_checks_agree() {
        let both = |text: &'static str| ["pytest", "tsc"].map(|name| check(name, Some((text, 2, Blocking::Allowed))));
        assert_eq!((sentence(&both("now")), sentence(&both("before")), sentence(&[])), (None, None, None));
    }
}
