//! What the engine answers: runs to start and stop, moments to be woken at, words for a person.

use std::collections::BTreeSet;

use crate::daemon::engine::Moment;
use crate::model::{CommandExit, GitOperation, PollReason, StopReason, TaskId, TreeDigest, TreePath, Trigger, WatchProblem};
use crate::project::Selection;
use crate::tree::TreeHints;

/// What the engine asks its host to do.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Look at the tree and start a run. This cancels an earlier [`Effect::WakeAt`]. The host reports the beginning of the run by
    /// [`Event::Begun`](crate::daemon::Event::Begun).
    Start(Order),
    /// Stop the run under way. One that has not begun leaves no trace.
    Stop(StopReason),
    /// Send the engine [`Event::Timer`](crate::daemon::Event::Timer) at this moment. This replaces the moment of an earlier
    /// effect of this kind.
    WakeAt(Moment),
    /// Show a notice to the person.
    Show(Notice),
    /// Clear the screen.
    ClearScreen,
    /// End with this exit code.
    Quit(CommandExit),
}

/// A run to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The task whose checks are run.
    pub task: TaskId,
    /// Why the run is started.
    pub trigger: Trigger,
    /// Which of the task's checks are run.
    pub selection: Selection,
    /// The run is not started if the tree still has this digest.
    pub unless_tree: Option<TreeDigest>,
    /// Which paths may have changed since the tree was last read.
    pub hints: TreeHints,
    /// Whether events may have been lost since the last run (`lostEvents` in the report).
    pub lost_events: bool,
}

/// What a person is told between runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A save stopped the run; it starts again on the new tree.
    Restarting {
        /// The first of the saved paths.
        path: Option<TreePath>,
    },
    /// The run under way is allowed to finish although the tree has changed.
    LettingFinish,
    /// The tree changed during the run, so the run is repeated.
    Repeating {
        /// The paths that changed.
        paths: BTreeSet<TreePath>,
    },
    /// The same paths changed again during the repetition: nothing runs until something other than a run changes the tree (S6).
    Unstable {
        /// The paths that change in every run.
        paths: BTreeSet<TreePath>,
    },
    /// Events may have been lost; the whole tree is compared.
    EventsLost(WatchProblem),
    /// Git is still in the middle of this operation, although proctor has waited for it as long as the setting allows.
    GitGoesOn(GitOperation),
    /// Part of the tree cannot be watched, so it is polled.
    Polling(PollReason),
    /// The root of the project is gone.
    RootVanished,
    /// The configuration is read anew and everything is run again when the run under way is over.
    ReloadingAfterRun,
    /// There is nothing to run with this key.
    NothingFailed,
    /// The tree is the one of the last verdict.
    Unchanged,
    /// What changed since the last verdict triggers no check.
    Untriggered,
    /// We are waiting for changes.
    Waiting(LastRunState),
}

/// What the last run left on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LastRunState {
    /// A verdict.
    Verdict,
    /// The task waits for a person.
    Paused,
    /// No verdict.
    NoVerdict,
}
