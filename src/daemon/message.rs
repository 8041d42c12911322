//! What the engine is told and what it says: events in, effects out, and what they carry. Values only, no decision.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::model::{CommandExit, StopReason, TreeDigest, TreePath, Trigger, WatchHint, WatchProblem};

/// Milliseconds on a clock that never steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(pub u64);

/// Something that arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The watcher says: look again.
    Hint(WatchHint),
    /// The timer that was asked for.
    Timer,
    /// A key on the terminal.
    Key(Key),
    /// A signal of the operating system.
    Signal(OsSignal),
    /// The run under way is over.
    Finished(Finished),
}

/// The keys that mean something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Key {
    /// Enter: run again.
    Again,
    /// `f`: run what failed last.
    FailedOnly,
    /// `a`: run everything.
    All,
    /// `c`: clear the screen.
    Clear,
    /// `q`: quit.
    Quit,
}

/// The signals that mean something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OsSignal {
    /// SIGINT.
    Interrupt,
    /// SIGTERM or SIGHUP.
    Terminate,
}

/// How a run ended, as far as scheduling is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finished {
    /// A verdict for the tree it began with, which is still on disk.
    Verdict {
        /// The tree.
        tree: TreeDigest,
        /// The names of the checks that did not succeed.
        failed: Vec<String>,
        /// Whether the task now waits for a person (R9).
        paused: bool,
    },
    /// A verdict on checks that were asked for by name: it says nothing about the others.
    Partial {
        /// The names of those that did not succeed.
        failed: Vec<String>,
        /// Whether the task now waits for a person (R9).
        paused: bool,
    },
    /// The tree moved while it ran (S6): no verdict.
    Moved {
        /// What moved.
        paths: BTreeSet<TreePath>,
        /// What is on disk now.
        on_disk: OnDisk,
    },
    /// It was stopped by us.
    Stopped,
    /// Nothing was run: the tree is the one of the last verdict.
    Unchanged,
    /// Nothing was run: what changed since the last verdict triggers no check.
    Untriggered,
    /// Nothing was run: the task waits for a person (R9).
    Paused,
    /// It could not be carried out (configuration wrong, disk full…); the screen has said why.
    Failed,
}

/// What a run whose tree moved leaves on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OnDisk {
    /// The content it began with, written again: nothing is untested.
    AsTested,
    /// Content that no run has seen.
    Newer,
}

/// What is to be done.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Start a run.
    Start(Order),
    /// Stop the run under way.
    Stop(StopReason),
    /// Wake me with [`Event::Timer`] at this moment; replaces the former.
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
    /// Why.
    pub trigger: Trigger,
    /// Which checks.
    pub selection: Selection,
    /// If the tree still has this digest, there is nothing to do.
    pub unless_tree: Option<TreeDigest>,
    /// Whether events may have been lost since the last run (`lostEvents` in the report).
    pub lost_events: bool,
}

/// Which checks a run carries out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// Every check of the plan.
    All,
    /// The checks of these names.
    Named(Vec<String>),
    /// The checks that what changed since the last verdict triggers, and these, which did not succeed then.
    Triggered {
        /// The checks that did not succeed.
        failed: Vec<String>,
    },
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
    /// The tree moved during the run; it is repeated once.
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
    /// The root of the project is gone.
    RootVanished,
    /// There is nothing to run with this key.
    NothingFailed,
    /// The tree is the one of the last verdict.
    Unchanged,
    /// What changed since the last verdict triggers no check.
    Untriggered,
    /// We are waiting for changes.
    Waiting(Standing),
}

/// What the last run left on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// A verdict.
    Verdict,
    /// The task waits for a person.
    Paused,
    /// None.
    NoVerdict,
}

impl Moment {
    /// Returns the moment `duration` later.
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)))
    }
}
