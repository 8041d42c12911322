//! What a run says of itself while it goes on: for screens, never for judgements.

use std::time::Duration;

use crate::model::{Action, DurationMs, RunId, TreeDigest, TreeIssue};
use crate::report::ActionResultV2;

/// Something to show.
#[derive(Debug, Clone)]
pub enum Progress {
    /// Another process writes this project's evidence; we wait for it.
    WaitingForLock {
        /// How long at most.
        wait: Duration,
    },
    /// As many actions go on as may on this machine; the next action waits for its turn.
    WaitingForSlot {
        /// How many go on.
        under_way: usize,
        /// How many were waiting before.
        ahead: usize,
        /// How long at most.
        wait: Duration,
    },
    /// Runs that a dead process left open were closed as INTERRUPTED.
    Recovered {
        /// Which.
        runs: Vec<RunId>,
    },
    /// Something is said once: a link was made, an index was rebuilt.
    Note(String),
    /// It has begun.
    Begun {
        /// Its id.
        run_id: RunId,
        /// The project's name.
        project_name: String,
        /// The tree it tests.
        tree: TreeDigest,
        /// Entries that could not take part in the digest.
        issues: Vec<TreeIssue>,
    },
    /// An action has been started.
    ActionStarted(Box<Action>),
    /// A service can be used; it goes on.
    ServiceReady {
        /// Which.
        action: Box<Action>,
        /// How long its start took.
        after: DurationMs,
    },
    /// An action is over, or was not needed.
    ActionEnded(Box<ActionResultV2>),
}
