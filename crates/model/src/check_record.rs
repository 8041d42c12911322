//! What the ledger records of the single checks of a run, and what is known of each check from all runs of its task.
//!
//! A run that leaves checks out, or that uses the result which a check had on another tree, says nothing about these
//! checks on its own tree. So a task's verdict covers the current tree only if the run's [`CheckCoverage`] is `Whole`.
//!
//! Since when a test or a check fails, as the index of tests knows it.
//!
//! Which checks of a task have a result for the current tree, and which had their last result on another tree.

use std::collections::BTreeSet;

use proctor_wire::wire;
use serde::{Deserialize, Serialize};

use crate::{ActionId, Blocking, Digest, OverallResult, RunId, Sequence, Timestamp, TreeDigest};

/// One check of a run's plan, in the run's ledger line.
#[wire(schema, sparse)]
pub struct CheckRecord {
    pub id: ActionId,
    pub name: String,
    pub outcome: CheckOutcome,
    /// Whether the check succeeded. A check that does not block may have failed: the plan lets it pass. `None` without a result, and in
    /// lines of earlier versions of proctor.
    pub succeeded: Option<bool>,
}

/// How a run came to the result of a check, or why it has none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "kind", deny_unknown_fields)]
pub enum CheckOutcome {
    /// The run carried the check out, on the run's own tree.
    CarriedOut { blocking: Blocking },
    /// The run used the result of an earlier run.
    Reused {
        blocking: Blocking,
        /// The run that carried the check out.
        run_id: RunId,
        /// The tree of that run if it is another tree than this run's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        other_tree: Option<TreeDigest>,
    },
    /// The check was not selected for the run.
    LeftOut,
    /// The check was selected and not carried out, because something before it failed or the run's time was over.
    Skipped,
}

/// Whether a run left no check of its plan out and took no check's result from another tree.
#[wire(Copy, Hash, screaming)]
pub enum CheckCoverage {
    Whole,
    /// At least one check was left out, or its result was taken from a run on another tree.
    Partial,
}

/// How many checks of a run's plan have a result on the run's own tree.
#[wire(Copy, open, schema)]
pub struct CheckCounts {
    /// The checks of the plan.
    pub all: u32,
    /// The checks that were neither left out nor have their result from another tree.
    pub proven: u32,
    /// The checks among `proven` whose result is that of an earlier run on an equal tree.
    pub reused: u32,
}

/// Whether a check has a result on the run's own tree, and by which run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckProof {
    /// The run carried the check out, or had to skip it.
    OfThisRun,
    /// An earlier run on an equal tree carried the check out.
    Reused,
    /// The check was left out, or its result is that of another tree.
    Nothing,
}

/// The last result of a check, in whichever run of its task that was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastCheckResult {
    /// The number of the ledger line that recorded the result.
    pub sequence: Sequence,
    /// The run that carried the check out.
    pub run_id: RunId,
    /// The tree on which the check was carried out.
    pub tree: TreeDigest,
    pub blocking: Blocking,
}

/// A check of a task, and its last result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownCheck {
    pub id: ActionId,
    pub name: String,
    /// The plan that the check belongs to.
    pub plan: Digest,
    /// `None` if the check has had no result since this plan came.
    pub last: Option<LastCheckResult>,
}

impl CheckCoverage {
    /// Returns what a run with these records covers.
    pub fn of(records: &[CheckRecord]) -> Self {
        let is_missing = |record: &CheckRecord| record.outcome.proof() == CheckProof::Nothing;
        if records.iter().any(is_missing) { Self::Partial } else { Self::Whole }
    }
}

impl CheckOutcome {
    fn proof(&self) -> CheckProof {
        match self {
            Self::LeftOut | Self::Reused { other_tree: Some(_), .. } => CheckProof::Nothing,
            Self::Reused { other_tree: None, .. } => CheckProof::Reused,
            Self::CarriedOut { .. } | Self::Skipped => CheckProof::OfThisRun,
        }
    }
}

impl CheckCounts {
    /// Counts the checks of a run with these records.
    pub fn of(records: &[CheckRecord]) -> Self {
        Self::of_proofs(records.iter().map(|record| record.outcome.proof()))
    }

    pub fn of_proofs(proofs: impl Iterator<Item = CheckProof>) -> Self {
        let mut counts = Self { all: 0, proven: 0, reused: 0 };
        for proof in proofs {
            counts.all += 1;
            counts.proven += u32::from(proof != CheckProof::Nothing);
            counts.reused += u32::from(proof == CheckProof::Reused);
        }
        counts
    }

    /// Returns whether the plan has checks and none of them has a result on the run's own tree.
    pub fn is_nothing_proven(self) -> bool {
        self.all > 0 && self.proven == 0
    }

    /// Returns the counts in words, such as "2 of 2 checks (1 reused)"; `None` if the run carried out every check.
    pub fn words(self) -> Option<String> {
        let reused = if self.reused > 0 { format!(" ({} reused)", self.reused) } else { String::new() };
        let noun = if self.all == 1 { "check" } else { "checks" };
        (self.proven < self.all || self.reused > 0).then(|| format!("{} of {} {noun}{reused}", self.proven, self.all))
    }
}

impl KnownCheck {
    /// Returns the check's last result if it is for this plan and this tree.
    pub fn fresh_result(&self, plan: Digest, tree: TreeDigest) -> Option<&LastCheckResult> {
        self.last.as_ref().filter(|last| self.plan == plan && last.tree == tree)
    }
}

/// Returns the newest result that blocks and that is for this plan and this tree.
pub fn newest_fresh_failure(checks: &[KnownCheck], plan: Digest, tree: TreeDigest) -> Option<&LastCheckResult> {
    let fresh = checks.iter().filter_map(|check| check.fresh_result(plan, tree));
    fresh.filter(|last| last.blocking == Blocking::Blocks).max_by_key(|last| last.sequence)
}

/// Names a failure in a run's report, to look up its past.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FailureName {
    /// The name of the check in the configuration.
    pub check: String,
    /// The name by which tests of different runs are compared; `None` for a check that failed as a whole.
    pub test: Option<String>,
}

/// What is known about the past of a failure. Nothing, where the index of tests does not have it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FailurePast {
    /// The unbroken row of runs in which it failed, up to the run in question.
    pub row: Option<FailingRow>,
    /// When the run began that first contradicted an earlier one on an equal tree; `None` where none of its last runs did.
    pub flaky_since: Option<Timestamp>,
}

/// An unbroken row of runs in which a test or a check failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailingRow {
    /// The first run of the row.
    pub first: RunId,
    /// When that run began.
    pub started: Timestamp,
    /// How many runs the row has, at least 1.
    pub runs: u64,
    /// Whether the row may be longer: older runs were not looked at.
    pub is_longer: bool,
}

/// A check of a task, and whether its last result is for the current tree.
#[wire(schema)]
pub struct CheckStanding {
    pub name: String,
    pub state: CheckState,
    /// The check's last result: FAILED if it makes the verdict FAILED, else PASSED; `None` if the check has no result.
    pub result: Option<OverallResult>,
    /// The tree of the last result.
    pub tree: Option<TreeDigest>,
    /// The run that carried the check out.
    pub run_id: Option<RunId>,
    /// How many paths differ between the tree of the last result and the current tree; `None` if they were not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files_since: Option<u64>,
}

/// Whether the last result of a check is for the current tree.
#[wire(Copy, Hash, schema)]
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

    fn record(outcome: CheckOutcome) -> CheckRecord {
        CheckRecord { id: ActionId::numbered("STEP", 1), name: "tsc".to_owned(), outcome, succeeded: None }
    }

    fn reused(other_tree: Option<TreeDigest>) -> CheckOutcome {
        let run_id = RunId::new(Timestamp::from_millis(0), 1);
        CheckOutcome::Reused { blocking: Blocking::Allowed, run_id, other_tree }
    }

    #[test]
    fn a_run_covers_its_plan_unless_a_check_was_left_out_or_has_a_result_of_another_tree() {
        let other = Some(TreeDigest(Digest::of(b"other")));
        let carried_out = || record(CheckOutcome::CarriedOut { blocking: Blocking::Blocks });
        for (outcome, expected) in [
            (CheckOutcome::CarriedOut { blocking: Blocking::Allowed }, CheckCoverage::Whole),
            (CheckOutcome::Skipped, CheckCoverage::Whole),
            (reused(None), CheckCoverage::Whole),
            (reused(other), CheckCoverage::Partial),
            (CheckOutcome::LeftOut, CheckCoverage::Partial),
        ] {
            assert_eq!(CheckCoverage::of(&[carried_out(), record(outcome.clone())]), expected, "{outcome:?}");
        }
    }

    #[test]
    fn what_a_run_proves_is_counted_and_said_unless_it_carried_out_everything() {
        let other = Some(TreeDigest(Digest::of(b"other")));
        let carried_out = || CheckOutcome::CarriedOut { blocking: Blocking::Allowed };
        let rows: [(Vec<CheckOutcome>, Option<&str>, bool); 7] = [
            (vec![carried_out(), carried_out()], None, false),
            (vec![carried_out(), CheckOutcome::Skipped], None, false),
            (vec![carried_out(), CheckOutcome::LeftOut], Some("1 of 2 checks"), false),
            (vec![reused(None), reused(None)], Some("2 of 2 checks (2 reused)"), false),
            (vec![reused(None), reused(other)], Some("1 of 2 checks (1 reused)"), false),
            (vec![reused(other), CheckOutcome::LeftOut], Some("0 of 2 checks"), true),
            (vec![], None, false),
        ];
        for (outcomes, words, is_nothing_proven) in rows {
            let records: Vec<_> = outcomes.iter().cloned().map(record).collect();
            let counts = CheckCounts::of(&records);
            assert_eq!((counts.words().as_deref(), counts.is_nothing_proven()), (words, is_nothing_proven), "{outcomes:?}");
        }
    }

    #[test]
    fn records_are_written_as_they_are_read() {
        for (outcome, text) in [
            (CheckOutcome::CarriedOut { blocking: Blocking::Blocks }, r#"{"kind":"carriedOut","blocking":"blocks"}"#),
            (CheckOutcome::LeftOut, r#"{"kind":"leftOut"}"#),
            (CheckOutcome::Skipped, r#"{"kind":"skipped"}"#),
        ] {
            assert_eq!(serde_json::to_string(&outcome).unwrap(), text);
            assert_eq!(serde_json::from_str::<CheckOutcome>(text).unwrap(), outcome);
        }
        let text = serde_json::to_string(&reused(None)).unwrap();
        assert!(text.contains("runId") && !text.contains("otherTree"), "{text}");
    }

    #[test]
    fn only_a_result_for_the_same_plan_and_tree_is_fresh() {
        let digest = |text: &str| Digest::of(text.as_bytes());
        let tree = |text: &str| TreeDigest(digest(text));
        let check = |sequence, tree, blocking| KnownCheck {
            id: ActionId::numbered("STEP", 1),
            name: "tsc".to_owned(),
            plan: digest("plan"),
            last: Some(LastCheckResult {
                sequence: Sequence(sequence),
                run_id: RunId::new(Timestamp::from_millis(0), sequence),
                tree,
                blocking,
            }),
        };
        let checks = [
            check(1, tree("now"), Blocking::Blocks),
            check(2, tree("now"), Blocking::Blocks),
            check(3, tree("now"), Blocking::Allowed),
            check(4, tree("before"), Blocking::Blocks),
        ];
        let found = |plan: &str, at: &str| newest_fresh_failure(&checks, digest(plan), tree(at)).map(|last| last.sequence.0);
        assert_eq!(found("plan", "now"), Some(2));
        assert_eq!((found("other", "now"), found("plan", "before"), found("plan", "later")), (None, Some(4), None));
    }

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
