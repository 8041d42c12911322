//! What the engine is told: hints of the watcher, keys, signals, the end of a run.

use std::collections::BTreeSet;

use crate::daemon::engine::EngineSettings;
use crate::model::{GitOperation, OnDisk, TaskId, TreeDigest, TreePath, WatchHint};
use crate::project::Selection;

/// Something that arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The watcher says: look again. All hints that waited, in their order: what belongs together comes together.
    Hints(Vec<WatchHint>),
    /// What git is in the middle of; said before hints and timers, when it has changed.
    Git(Option<GitOperation>),
    /// The tree was looked at for the order under way, and its run has begun.
    Begun,
    /// The timer that was asked for.
    Timer,
    /// A key on the terminal.
    Key(Key),
    /// Somebody asks for a run of a task.
    Requested(TaskId, Selection),
    /// Somebody waits for a verdict of a task on the tree as it is, and there is none.
    Awaited(TaskId),
    /// A signal of the operating system.
    Signal(OsSignal),
    /// The configuration, which is read before every run, has other settings for scheduling now.
    Settings(EngineSettings),
    /// The run under way is over.
    Finished(RunFinish),
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
    /// SIGTERM, or SIGHUP when a terminal hangs up.
    Terminate,
    /// SIGHUP where there is no terminal: read the configuration anew and run once more.
    Reload,
}

/// How a run ended, as far as scheduling is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunFinish {
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
    /// Nothing was run: tasks it depends on are not complete on this tree.
    Waits,
    /// It could not be carried out (configuration wrong, disk full…); the screen has said why.
    Failed,
}
