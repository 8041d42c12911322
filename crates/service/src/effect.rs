//! The effects that the engine returns: runs to start and stop, the next wake-up, and notices for a person.

use std::collections::BTreeSet;

use crate::engine::Moment;
use proctor_model::{CommandExit, GitOperation, PollReason, StopReason, TaskId, TreeDigest, TreePath, Trigger, WatchProblem};
use proctor_project::Selection;
use proctor_tree::TreeHints;

/// What the engine asks its host, the foreground watch or the service, to do.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Scan the tree and start a run. This cancels an earlier [`Effect::WakeAt`]. The code that performs the effect
    /// reports the beginning of the run by [`Event::Begun`](crate::Event::Begun).
    Start(Order),
    /// Stop the run under way. If the run has not begun yet, it leaves no record.
    Stop(StopReason),
    /// Send the engine [`Event::Timer`](crate::Event::Timer) at this moment. This replaces the moment of an
    /// earlier `WakeAt`.
    WakeAt(Moment),
    Show(Notice),
    ClearScreen,
    /// Compare these files with the tree that the run under way tests, and report the result at once by
    /// [`Event::Compared`](crate::Event::Compared).
    Compare(BTreeSet<TreePath>),
    /// End the program with this exit code.
    Quit(CommandExit),
}

/// A run to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    pub task: TaskId,
    /// What caused the run, for example a save or a request. The report names it.
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

/// A message that tells a person what the watch does, apart from the progress of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A save stopped the run. The run starts again on the new tree.
    Restarting {
        /// The first of the saved paths.
        path: Option<TreePath>,
    },
    /// A person asked for the end, and the run under way is being stopped.
    Stopping,
    /// The run under way is allowed to finish although the tree has changed.
    LettingFinish,
    /// The verdict that was just shown is for the tree before the last save. The newest tree is tested next.
    OlderTree,
    /// Files changed during the run, so the run gives no verdict and is repeated.
    Repeating {
        /// The paths that changed during the run.
        paths: BTreeSet<TreePath>,
    },
    /// The same paths changed again during the repetition. No run starts until something other than a run changes the
    /// tree (S6).
    Unstable {
        /// The paths that change in every run.
        paths: BTreeSet<TreePath>,
    },
    /// These files change all the time, also while nothing runs, so the runs that only they cause come at growing distances.
    Busy {
        /// The files that have changed during each of the last runs.
        paths: BTreeSet<TreePath>,
    },
    /// No file changes all the time any more.
    NoLongerBusy,
    /// Events may have been lost, so the whole tree is compared.
    EventsLost(WatchProblem),
    /// Git is still in the middle of this operation, although proctor has waited for it as long as the settings allow.
    GitGoesOn(GitOperation),
    /// Part of the tree cannot be watched, so it is polled.
    Polling(PollReason),
    /// The root directory of the project is gone.
    RootVanished,
    /// When the run under way ends, the configuration is read again and everything is run again.
    ReloadingAfterRun,
    /// A person asked for a run during a run: when the run under way ends, everything is run again.
    RunningAgainAfterRun,
    /// A person asked what differs between the last green run and the newest.
    DifferenceAsked,
    /// A person asked for the log of the check that failed.
    LogAsked,
    /// A person asked for the page, at the run on the screen.
    PageAsked,
    /// How the opening of the page went, as lines for the person.
    PageOpened(Vec<String>),
    /// A person asked which keys there are.
    Keys,
    /// A person pressed the key that runs the failed checks, but no check has failed.
    NothingFailed,
    /// The tree has not changed since the last verdict.
    Unchanged,
    /// The tree has changed since the last verdict only by files that the checks wrote and that were copied to the project. They
    /// differ after every run, so another run would show nothing new.
    CopiedFilesDiffer {
        /// The files, as far as they belong to the tree.
        paths: BTreeSet<TreePath>,
    },
    /// The changes since the last verdict trigger no check.
    Untriggered,
    /// No run is under way, and proctor waits for changes.
    Waiting(LastRunState),
}

/// How the last run ended, for the display on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LastRunState {
    /// The run ended with a verdict.
    Verdict,
    /// The task waits for a person.
    Paused,
    /// The run ended without a verdict.
    NoVerdict,
}
