//! What a run's TEST action hands to the router.

use crate::model::{CategoryCode, Digest, ExitCodeSource, RunId, Timestamp};

/// The result of the TEST action that is routed (R1), with everything a decision may look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestResult<'a> {
    /// The raw exit code; none where the process left none, which is recorded as null and routed as 3 (R2).
    pub exit_code: Option<i32>,
    /// Where the code came from.
    pub exit_code_source: ExitCodeSource,
    /// What the outcome amounts to, where it is known (R7).
    pub category: Option<CategoryCode>,
    /// Modules that could not be imported at collection.
    pub missing_modules: &'a [String],
    /// Whether every collection error is a missing module.
    pub only_missing_modules: bool,
    /// The tree that was tested.
    pub tree_digest: Digest,
    /// Digest of the sorted names of what failed.
    pub failing_set: Digest,
    /// The run.
    pub run_id: RunId,
    /// When the decision is taken.
    pub now: Timestamp,
}

impl<'a> TestResult<'a> {
    /// The code that is assumed where a result lacks the field (T160), and as which a missing code is routed (R2).
    pub const ASSUMED_CODE: i32 = 3;

    /// Returns a result with a code, or without one, of which nothing else is known.
    pub fn of(exit_code: Option<i32>, source: ExitCodeSource, tree_digest: Digest, run_id: RunId, now: Timestamp) -> Self {
        Self {
            exit_code,
            exit_code_source: source,
            category: None,
            missing_modules: &[],
            only_missing_modules: false,
            tree_digest,
            failing_set: Digest::of(b""),
            run_id,
            now,
        }
    }

    /// Returns a result that lacks the field: 3 is assumed and marked as an assumption (T160, A11).
    pub fn without_exit_code_field(tree_digest: Digest, run_id: RunId, now: Timestamp) -> Self {
        Self::of(Some(Self::ASSUMED_CODE), ExitCodeSource::Defaulted, tree_digest, run_id, now)
    }
}
