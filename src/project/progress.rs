//! Progress messages of a run. They are for screens and never for judgements.

use std::time::Duration;

use crate::model::{Action, DurationMs, RunId, TreeDigest, TreeIssue};
use crate::report::ActionResultV2;

/// A message to show.
#[derive(Debug, Clone)]
pub enum Progress {
    /// Another process is writing this project's evidence, and the run waits for it.
    WaitingForLock {
        /// The longest waiting time.
        wait: Duration,
    },
    /// The largest allowed number of actions is running on this machine, and the next action waits for its turn.
    WaitingForSlot {
        /// The number of running actions.
        under_way: usize,
        /// The number of actions that wait in front of this one.
        ahead: usize,
        /// The longest waiting time.
        wait: Duration,
    },
    /// Runs that a dead process left open were closed as INTERRUPTED.
    Recovered { runs: Vec<RunId> },
    /// A one-time remark: a link was made, or an index was rebuilt.
    Note(String),
    /// The run has begun.
    Begun {
        run_id: RunId,
        project_name: String,
        /// The tree that is tested.
        tree: TreeDigest,
        /// Entries that could not be digested.
        issues: Vec<TreeIssue>,
    },
    /// An action has been started.
    ActionStarted(Box<Action>),
    /// A service is ready and keeps running.
    ServiceReady {
        action: Box<Action>,
        /// The time until it was ready.
        after: DurationMs,
    },
    /// An action is over, or was skipped.
    ActionEnded(Box<ActionResultV2>),
    /// The last action is over. Files that checks wrote may be copied to the project from now on.
    ChecksOver,
}
