//! What `proctor gate` asks of a commit.

use std::time::Duration;

use crate::model::{IsolationLevel, TaskId};

/// `[gate]`: which results a commit needs to count as proved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatePolicy {
    /// The tasks of which every check must have passed.
    pub tasks: Vec<TaskId>,
    /// The names of the checks that must have passed in a run of one of the tasks; empty means every check of each task.
    pub checks: Vec<String>,
    /// The weakest level of isolation at which a result counts.
    pub isolation: IsolationLevel,
    /// How long ago a run may have ended at most; `None` means no limit.
    pub max_age: Option<Duration>,
}
