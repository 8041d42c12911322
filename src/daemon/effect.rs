//! What the engine answers: runs to start and stop, moments to be woken at, words for a person.

use std::collections::BTreeSet;

use crate::daemon::engine::Moment;
use crate::model::{CommandExit, GitOperation, PollReason, StopReason, TaskId, TreeDigest, TreePath, Trigger, WatchProblem};
use crate::project::Selection;
use crate::tree::TreeHints;

/// What is to be done.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Look at the tree and start a run, and wake me no more unless I ask again; [`Event::Begun`](crate::daemon::Event::Begun) says when it has begun.
    Start(Order),
    /// Stop the run under way. One that has not begun leaves no trace.
    Stop(StopReason),
    /// Wake me with [`Event::Timer`](crate::daemon::Event::Timer) at this moment; replaces the former.
    WakeAt(Moment),
    /// Tell the person.
    Show(Notice),
    /// Clear the screen.
    ClearScreen,
    /// End with this exit code.
    Quit(CommandExit),
}

/// A run to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// What for.
    pub task: TaskId,
    /// Why.
    pub trigger: Trigger,
    /// Which checks.
    pub selection: Selection,
    /// If the tree still has this digest, there is nothing to do.
    pub unless_tree: Option<TreeDigest>,
    /// Which paths may differ from what was last seen of the tree.
    pub hints: TreeHints,
    /// Whether events may have been lost since the last run (`lostEvents` in the report).
    pub lost_events: bool,
}

/// What a person is told between runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A save stopped the run; it starts again on the new tree.
    Restarting {
        /// The first path.
        path: Option<TreePath>,
    },
    /// The run under way is let finish although the tree has moved on.
    LettingFinish,
    /// The tree moved during the run; it is repeated.
    Repeating {
        /// What moved.
        paths: BTreeSet<TreePath>,
    },
    /// The same paths moved again: nothing runs until a change from outside (S6).
    Unstable {
        /// What moves.
        paths: BTreeSet<TreePath>,
    },
    /// Events may have been lost; the whole tree is compared.
    EventsLost(WatchProblem),
    /// Git was waited for as long as the setting allows, and is still in the middle of this.
    GitGoesOn(GitOperation),
    /// Part of the tree cannot be watched and is looked at every so often.
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
    /// None.
    NoVerdict,
}
