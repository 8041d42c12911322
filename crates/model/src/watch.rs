//! The messages of the file watcher. Each message is a hint that something may have changed; only reading the tree
//! shows whether it did (chapter "The way of one save" of the architecture document).

use std::fmt;

use crate::TreePath;

/// A hint that files may have changed. A hint only says where to look; the tree's digest says what changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchHint {
    /// A file has its final content: it was closed after writing, renamed to this name, or created as a link, or its
    /// mode changed. For a new directory, or one whose mode changed, this is the directory's path.
    Saved(TreePath),
    /// A new file was created and is still open, so more content may follow.
    Created(TreePath),
    /// A file was truncated or written and is still open, so its content may be incomplete.
    Writing(TreePath),
    /// A path was removed or moved away. It may return at once, because many editors move the old file aside when they
    /// save.
    Removed(TreePath),
    /// An entry that does not belong to the tree has come to this path, and may be an ignored input of checks. No run starts
    /// because of it; the next run reads this path. Changes of an entry that is already there are not reported.
    IgnoredCame(TreePath),
    /// The whole tree must be compared to find out what changed; the problem says why.
    LookAgain(WatchProblem),
    /// From now on a part of the tree is read again and again, because the kernel reports no events for it. No change
    /// was missed so far.
    Polling(PollReason),
    /// The root directory of the project no longer exists.
    RootVanished,
    /// A person's approval was written to the project's ledger, by whatever process. No file of the tree has changed.
    Approved,
    /// Every save before a call of `WatcherHandle::sync` has been reported. The id was given as the argument of that
    /// call.
    Synced(SyncId),
}

/// The number by which `WatchHint::Synced` answers a call of `WatcherHandle::sync`. The calling code chooses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SyncId(pub u64);

/// Why a part of the tree is read again and again (polled) instead of watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PollReason {
    /// The limit on watched directories (`fs.inotify.max_user_watches`) is reached.
    TooManyWatches {
        /// The first directory that cannot be watched; there may be more.
        path: TreePath,
        /// A value of the limit that would be enough.
        raise_to: u64,
    },
    /// The limit on inotify instances (`fs.inotify.max_user_instances`) is reached.
    TooManyInstances {
        /// A value of the limit that would be enough.
        raise_to: u64,
    },
    /// The file system reports no event for some changes, because a network, another machine or another kernel shares
    /// it.
    FileSystem {
        /// The first directory that lies on the file system; there may be more.
        path: TreePath,
        /// The name of the file system, for messages.
        name: &'static str,
    },
    /// The kernel reported no event for a file that the watcher created as a test.
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

/// Why the whole tree has to be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchProblem {
    /// The kernel's event queue overflowed.
    Overflow,
    /// The library or system call that reports events failed; the text is its error.
    Backend(String),
    /// A rules file (`.gitignore`, `.ignore`) changed, so the set of files in the tree may have changed.
    RulesChanged(TreePath),
    /// The project's root directory had vanished or was replaced, and is watched again.
    RootReturned,
    /// A file system was mounted or unmounted inside the project. The kernel reported no event for that, and none for what
    /// was saved in it so far.
    MountsChanged,
    /// A file with several hard links was written. The kernel reports only the name by which the file was opened, so
    /// the paths of the other links must be found.
    SeveralNames(TreePath),
    /// The watcher could not find out whether all earlier events have arrived.
    Unsynced,
    /// No problem is known. The whole tree is compared from time to time, in case an event was missed.
    Sweep,
}

impl WatchProblem {
    /// Returns whether events may have been lost.
    pub fn loses_events(&self) -> bool {
        match self {
            Self::Overflow | Self::Backend(_) | Self::MountsChanged => true,
            // These problems need a comparison of the tree for another reason than lost events.
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
            Self::MountsChanged => {
                formatter.write_str("a file system was mounted or unmounted inside the project: the whole tree is compared")
            }
            Self::RulesChanged(path) => write!(formatter, "{path} changed what belongs to the tree: the whole tree is compared"),
            Self::Sweep | Self::Unsynced | Self::SeveralNames(_) => formatter.write_str("the whole tree is compared"),
        }
    }
}

/// An operation of git that is not finished, recognised by git's own files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GitOperation {
    /// A git command holds the lock on the index.
    Index,
    Rebase,
    /// A series of patches is being applied (`git am`, or a rebase by patches).
    Apply,
    Merge,
    CherryPick,
    Revert,
}

words! {
    /// Returns the operation's name for messages.
    pub fn GitOperation::name: Index "a git command", Rebase "a rebase", Apply "git am", Merge "a merge",
        CherryPick "a cherry-pick", Revert "a revert"
}
