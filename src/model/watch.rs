//! The messages of the file watcher. They are hints that something may have changed, and never facts (architecture, The way of one save).

use std::fmt;

use crate::model::TreePath;

/// A hint that something may have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchHint {
    /// A path has its final content: it was closed after writing, renamed to this name, or created as a link, or its mode
    /// changed. For a new directory, or one whose mode changed, it is the directory's path.
    Saved(TreePath),
    /// A new file was created and is still open, so more content may follow.
    Created(TreePath),
    /// A file was truncated or written and is still open, so its content may be incomplete.
    Writing(TreePath),
    /// A path was removed or moved away. It may return at once, because many editors move the old file aside when they save.
    Removed(TreePath),
    /// Only a full comparison shows what changed; the problem says why.
    LookAgain(WatchProblem),
    /// From now on this place is polled, because the kernel reports no events for it. No change was missed so far.
    Polling(PollReason),
    /// The root directory of the project no longer exists.
    RootVanished,
    /// Hints were sent for everything saved before the call of `WatcherHandle::sync` with this number.
    Synced(SyncId),
}

/// The number of a call of `WatcherHandle::sync`. The caller chooses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SyncId(pub u64);

/// Why a place is polled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PollReason {
    /// The limit on watches (`fs.inotify.max_user_watches`) is reached.
    TooManyWatches {
        /// The first directory without a watch; there may be more.
        path: TreePath,
        /// A sufficient value for the limit.
        raise_to: u64,
    },
    /// The limit on inotify instances (`fs.inotify.max_user_instances`) is reached.
    TooManyInstances {
        /// A sufficient value for the limit.
        raise_to: u64,
    },
    /// Others can change the file system without an event: a network, another machine or another kernel shares it.
    FileSystem {
        /// The first directory on the file system; there may be more.
        path: TreePath,
        /// The name of the file system.
        name: &'static str,
    },
    /// No event arrived for a file that was created as a test.
    Deaf,
}

impl fmt::Display for PollReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let raise = |name, number| format!("; to have it watched: sudo sysctl fs.inotify.{name}={number}");
        let (what, hint) = match self {
            Self::TooManyWatches { path, raise_to } => {
                (format!("the limit on watches is reached at `{path}`"), raise("max_user_watches", raise_to))
            }
            Self::TooManyInstances { raise_to } => {
                ("the limit on inotify instances is reached".to_owned(), raise("max_user_instances", raise_to))
            }
            Self::FileSystem { path, name } => {
                (format!("`{path}` is on a file system ({name}) that does not tell of every change"), String::new())
            }
            Self::Deaf => ("changes of files are not heard of here".to_owned(), String::new()),
        };
        write!(formatter, "{what}: what cannot be watched is looked at every so often, see `poll` in proctor.toml{hint}")
    }
}

/// Why a full comparison is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchProblem {
    /// The kernel's event queue overflowed.
    Overflow,
    /// The library or system call that delivers events reported an error.
    Backend(String),
    /// A rules file (`.gitignore`, `.ignore`) changed, so the set of files in the tree may have changed.
    RulesChanged(TreePath),
    /// The root had vanished or was replaced, and is watched again.
    RootReturned,
    /// A file with several hard links was written. The kernel reports only the name that it was opened by.
    SeveralNames(TreePath),
    /// It could not be determined whether all earlier events had arrived.
    Unsynced,
    /// No problem is known. A full comparison is made from time to time, in case an event was missed.
    Sweep,
}

impl WatchProblem {
    /// Returns whether events may have been lost.
    pub fn loses_events(&self) -> bool {
        match self {
            Self::Overflow | Self::Backend(_) => true,
            // These change what is watched, but no event is lost.
            Self::RulesChanged(_) | Self::RootReturned | Self::SeveralNames(_) | Self::Unsynced | Self::Sweep => false,
        }
    }
}

impl fmt::Display for WatchProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overflow => {
                formatter.write_str("file events were lost (the kernel's queue overflowed): the whole tree is compared")
            }
            Self::Backend(message) => write!(formatter, "the watcher reported: {message}; the whole tree is compared"),
            Self::RootReturned => formatter.write_str("the project's directory is back: the whole tree is compared"),
            Self::RulesChanged(path) => write!(formatter, "{path} changed what belongs to the tree: the whole tree is compared"),
            Self::Sweep | Self::Unsynced | Self::SeveralNames(_) => formatter.write_str("the whole tree is compared"),
        }
    }
}

/// The unfinished operation of git, as its files show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GitOperation {
    /// A command holds the lock on the index.
    Index,
    Rebase,
    /// A series of patches is being applied (`git am`, or a rebase by patches).
    Apply,
    Merge,
    CherryPick,
    Revert,
}

impl GitOperation {
    /// Returns the operation's name for messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Index => "a git command",
            Self::Rebase => "a rebase",
            Self::Apply => "git am",
            Self::Merge => "a merge",
            Self::CherryPick => "a cherry-pick",
            Self::Revert => "a revert",
        }
    }
}
