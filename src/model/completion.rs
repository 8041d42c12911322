//! What a task amounts to, as agents are told.

use crate::model::{CommandExit, CompletionStatus, RunId, TaskId};

/// What a task amounts to for the tree as it is now, before it is compared with what an agent claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskCompletion {
    /// The task.
    pub task: TaskId,
    /// COMPLETE only by the sealed report of a run that is a verdict for this tree and this plan.
    pub status: CompletionStatus,
    /// Why.
    pub reasons: Vec<String>,
    /// What is open by that report: actions that did not succeed, and debt items.
    pub open: Vec<String>,
    /// The run whose report says so; none where no run is a verdict for this tree.
    pub run_id: Option<RunId>,
    /// The exit code of a command that answers with it.
    pub exit: CommandExit,
}
