//! Since when a test or a check fails, as the index of tests knows it.

use crate::{RunId, Timestamp};

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
