//! The events that the engine handles: hints from the watcher, keys, signals, the end of a run.

use std::collections::BTreeSet;

use crate::engine::EngineSettings;
use proctor_model::{CopiedFiles, GitOperation, OnDisk, TaskId, TreeDigest, TreePath, WatchHint};
use proctor_project::Selection;

/// An event that the engine handles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Hints from the watcher that something may have changed. All waiting hints arrive in one event and in their
    /// order, because the steps of one save belong together.
    Hints(Vec<WatchHint>),
    /// A new watcher has taken the place of the old one, because other files belong to the tree now. Changes may have been missed
    /// in between.
    Rewatched,
    /// The operation that git is in the middle of, if any. When it changes, this event comes before the next hints or
    /// timer event.
    Git(Option<GitOperation>),
    /// The ordered run has begun. The tree was scanned before.
    Begun,
    /// The checks and clean-ups of the run under way are over, so no save can stop them. A file that is saved from now on may be
    /// one that the run itself copies to the project.
    ChecksOver,
    /// The run that ends now has copied files to the project that changed the tree. [`Self::Finished`] follows at once.
    CopiedOut(CopiedFiles),
    /// The moment of the last [`Effect::WakeAt`](crate::Effect::WakeAt) has come.
    Timer,
    /// A person pressed a key at the terminal.
    Key(Key),
    /// A client asks for a run of a task.
    Requested(TaskId, Selection),
    /// A client waits for a task's verdict on the present tree, but no such verdict exists yet.
    Awaited(TaskId),
    /// The process received a signal.
    Signal(OsSignal),
    /// The scheduling settings have changed. The configuration is read before every run.
    Settings(EngineSettings),
    /// The run under way has ended.
    Finished(RunFinish),
    /// The saved files were compared with the tree that the run under way tests.
    Compared(SavedContent),
}

/// Whether saved files have another content than the tree that the run under way tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SavedContent {
    /// The files were touched or written again with the same content.
    Same,
    /// At least one file differs, or could not be compared.
    Different,
}

/// The keys that a foreground watch reacts to. All other keys are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Key {
    /// Enter, `r` or `a`: run everything, now or after the run under way.
    Again,
    /// `f`: run what failed last.
    FailedOnly,
    /// `?` or `h`: show the keys.
    Help,
    /// `c`: clear the screen, and show the last verdict again.
    Clear,
    /// `d`: show what differs between the last green run and the newest.
    Difference,
    /// `l`: show the log of the check that failed, or of the last one.
    Log,
    /// `o`: open the page in a browser, at the run on the screen.
    OpenPage,
    /// `q`: quit.
    Quit,
}

/// The signals that a watch and the service react to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OsSignal {
    /// SIGINT.
    Interrupt,
    /// SIGTERM, or SIGHUP when a terminal hangs up.
    Terminate,
    /// SIGHUP without a terminal: read the configuration again and run everything once more.
    Reload,
}

/// How a run ended, as far as the engine needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunFinish {
    /// The run has a verdict on the tree with which it began. If the checks ran in the project itself, that tree was
    /// still on disk at the end.
    Verdict {
        tree: TreeDigest,
        /// The names of the checks that make the verdict FAILED.
        failed: Vec<String>,
        /// The names of the other checks that did not succeed, which is allowed.
        warned: Vec<String>,
        /// Whether the task now waits for a person (R9).
        paused: bool,
    },
    /// A result for checks that were requested by name. It says nothing about the other checks.
    Partial {
        /// The names of the requested checks that make the verdict FAILED.
        failed: Vec<String>,
        /// The names of the other requested checks that did not succeed, which is allowed.
        warned: Vec<String>,
        /// Whether the task now waits for a person (R9).
        paused: bool,
    },
    /// The tree changed during the run, so there is no verdict (S6).
    Moved {
        /// The paths that changed during the run.
        paths: BTreeSet<TreePath>,
        /// Whether the disk now holds the tested tree or a newer one.
        on_disk: OnDisk,
    },
    /// proctor stopped the run, for example because of a save, so there is no verdict.
    Stopped,
    /// Nothing was run: the tree has not changed since the last verdict.
    Unchanged,
    /// Nothing was run: the changes since the last verdict trigger no check.
    Untriggered,
    /// Nothing was run: the task waits for a person (R9).
    Paused,
    /// Nothing was run: the plan asks for less than was approved, or the settings for more (S7).
    Refused,
    /// Nothing was run: tasks that this task depends on are not complete on this tree.
    Waits,
    /// The run could not be carried out, for example because the configuration is wrong, the disk is full, or helper processes of
    /// proctor died again and again. The screen has shown the reason.
    Failed,
}

impl RunFinish {
    /// Returns the paths because of which the run has no verdict: they changed during it.
    pub(crate) fn moved_paths(&self) -> BTreeSet<TreePath> {
        match self {
            Self::Moved { paths, .. } => paths.clone(),
            Self::Verdict { .. }
            | Self::Partial { .. }
            | Self::Stopped
            | Self::Unchanged
            | Self::Untriggered
            | Self::Paused
            | Self::Refused
            | Self::Waits
            | Self::Failed => BTreeSet::new(),
        }
    }
}
