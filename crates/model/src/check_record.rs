//! What the ledger records of the single checks of a run, and what is known of each check from all runs of its task.
//!
//! A run that leaves checks out, or that uses the result which a check had on another tree, says nothing about these
//! checks on its own tree. So a task's verdict covers the current tree only if the run's [`CheckCoverage`] is `Whole`.

use serde::{Deserialize, Serialize};

use crate::{ActionId, Blocking, Digest, RunId, Sequence, TreeDigest};

/// One check of a run's plan, in the run's ledger line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CheckRecord {
    pub id: ActionId,
    pub name: String,
    pub outcome: CheckOutcome,
    /// Whether the check succeeded. A check that does not block may have failed: the plan lets it pass. `None` without a result, and in
    /// lines of earlier versions of proctor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum CheckCoverage {
    Whole,
    /// At least one check was left out, or its result was taken from a run on another tree.
    Partial,
}

/// How many checks of a run's plan have a result on the run's own tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CheckCounts {
    /// The checks of the plan.
    pub all: u32,
    /// The checks that were neither left out nor have their result from another tree.
    pub proven: u32,
    /// The checks among `proven` whose result is that of an earlier run on an equal tree.
    pub reused: u32,
}

/// What a run says of one check on the run's own tree.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;

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
}
