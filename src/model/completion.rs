//! The answer to an agent that asks whether a task is complete.

use crate::model::{CommandExit, CompletionStatus, RunId, TaskId};

/// Whether a task is complete for the present tree. This is determined before it is compared with an agent's claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskCompletion {
    /// The task.
    pub task: TaskId,
    /// COMPLETE only if the sealed report of a run says so and is a verdict for this tree and this plan.
    pub status: CompletionStatus,
    /// The reasons for the status.
    pub reasons: Vec<String>,
    /// What is still open according to that report: actions that did not succeed, and debt items.
    pub open: Vec<String>,
    /// The run whose report this is taken from; `None` if no run is a verdict for this tree.
    pub run_id: Option<RunId>,
    /// The exit code of a command whose answer this is.
    pub exit: CommandExit,
}
