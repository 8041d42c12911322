//! What the watcher says: hints to look again, never facts (architecture, first idea).

use std::fmt;

use crate::model::TreePath;

/// Something may have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchHint {
    /// A path has its final content: it was closed after writing, renamed to this name, created by a link, or its mode changed.
    /// Where a directory is new or had its mode changed, it is the directory's path.
    Saved(TreePath),
    /// A name came to be that was not there, and is still open: its content is still to come.
    Created(TreePath),
    /// A path was truncated or written and is still open: its content may be half-written.
    Writing(TreePath),
    /// A name was removed, or moved away. It may come back at once: many editors save by moving the old file aside.
    Removed(TreePath),
    /// Only a full compare tells what happened, and why.
    LookAgain(WatchProblem),
    /// From now on this is looked at every so often, because nothing tells of changes there. Nothing went unseen so far.
    Polling(PollReason),
    /// The root of the project is gone.
    RootVanished,
    /// Everything that was saved before the watcher was asked by `WatcherHandle::sync` with this number has been hinted at.
    Synced(SyncId),
}

/// The number of a request to be told when everything before it has been seen. Its meaning is the caller's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SyncId(pub u64);

/// Why something is polled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PollReason {
    /// The limit on watches (`fs.inotify.max_user_watches`) is reached.
    TooManyWatches {
        /// The first directory without a watch; there may be more.
        path: TreePath,
        /// The number to raise the limit to.
        raise_to: u64,
    },
    /// The limit on inotify instances (`fs.inotify.max_user_instances`) is reached.
    TooManyInstances {
        /// The number to raise the limit to.
        raise_to: u64,
    },
    /// The file system may be changed by others without a word: a network, another machine or another kernel has it too.
    FileSystem {
        /// The first directory on it; there may be more.
        path: TreePath,
        /// What the file system is called.
        name: &'static str,
    },
    /// A file was made to see whether it is heard of, and it was not.
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

/// Why a full compare is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchProblem {
    /// The kernel's queue overflowed.
    Overflow,
    /// The backend reported an error.
    Backend(String),
    /// A rules file (`.gitignore`, `.ignore`) changed: what belongs to the tree is decided anew.
    RulesChanged(TreePath),
    /// The root was gone or replaced, and is watched again.
    RootReturned,
    /// A file with several names was written: the kernel tells of the one it was opened by.
    SeveralNames(TreePath),
    /// Somebody asked whether everything had been seen, and that could not be found out.
    Unsynced,
    /// Nothing is known to be wrong: it is looked at every so often, whatever the events say.
    Sweep,
}

impl WatchProblem {
    /// Returns whether something that happened may have gone unheard of.
    pub fn loses_events(&self) -> bool {
        match self {
            Self::Overflow | Self::Backend(_) => true,
            // What is heard of changed, but nothing that happened went unheard of.
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

/// What git is in the middle of, as far as its files say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GitOperation {
    /// A command holds a lock on the index.
    Index,
    /// A rebase.
    Rebase,
    /// A series of patches is applied (`git am`, or a rebase by patches).
    Apply,
    /// A merge.
    Merge,
    /// A commit is picked.
    CherryPick,
    /// A commit is reverted.
    Revert,
}

impl GitOperation {
    /// Returns what it is called.
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
