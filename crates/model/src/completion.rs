//! The answer to an agent that asks whether a task is complete.

use crate::{CommandExit, CompletionStatus, RunId, TaskId};

/// Whether a task is complete for the present tree. proctor decides this from the sealed report before it looks at what
/// the agent claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskCompletion {
    pub task: TaskId,
    /// COMPLETE only if the sealed report of a run says so, and this report is a verdict for the present tree and plan.
    pub status: CompletionStatus,
    pub reasons: Vec<String>,
    /// What the report still lists as open: actions that did not succeed, and debt items.
    pub open: Vec<String>,
    /// The run whose report decided the status; `None` if no run has a verdict for the present tree.
    pub run_id: Option<RunId>,
    /// Whether a check that counts found a tool's cache of an earlier run, which a run with fresh caches would not (only asked of results
    /// on a snapshot: in the project itself, no run can do without what is there); or saw a toolchain that is not hashed yet, or is
    /// another one now.
    pub rests_on_kept_caches: bool,
    /// The exit code of a command that prints this answer.
    pub exit: CommandExit,
}
