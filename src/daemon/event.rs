//! What the engine is told: hints of the watcher, keys, signals, the end of a run.

use std::collections::BTreeSet;

use crate::daemon::engine::EngineSettings;
use crate::model::{GitOperation, OnDisk, TaskId, TreeDigest, TreePath, WatchHint};
use crate::project::Selection;

/// An event that the engine handles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Hints of the watcher that something may have changed: all that were waiting, in their order, so that those of one save
    /// come together.
    Hints(Vec<WatchHint>),
    /// The operation that git is in the middle of. If it has changed, this event comes before hints and timers.
    Git(Option<GitOperation>),
    /// The run that was ordered has begun. The tree has been looked at before.
    Begun,
    /// The moment of the last [`Effect::WakeAt`](crate::daemon::Effect::WakeAt) has come.
    Timer,
    /// A key on the terminal.
    Key(Key),
    /// Somebody asks for a run of a task.
    Requested(TaskId, Selection),
    /// A client waits for a task's verdict on the present tree, and there is none yet.
    Awaited(TaskId),
    /// A signal of the operating system.
    Signal(OsSignal),
    /// The settings of the scheduling have changed. The configuration is read before every run.
    Settings(EngineSettings),
    /// The run under way is over.
    Finished(RunFinish),
}

/// The keys that have an effect.
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

/// The signals that have an effect.
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
    /// A result for checks that were requested by name. It says nothing about the other checks.
    Partial {
        /// The names of those that did not succeed.
        failed: Vec<String>,
        /// Whether the task now waits for a person (R9).
        paused: bool,
    },
    /// The tree changed during the run, so there is no verdict (S6).
    Moved {
        /// The paths that changed.
        paths: BTreeSet<TreePath>,
        /// What is on disk now.
        on_disk: OnDisk,
    },
    /// proctor stopped the run.
    Stopped,
    /// Nothing was run: the tree has not changed since the last verdict.
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
