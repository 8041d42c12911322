//! What the watcher says: hints to look again, never facts (architecture, first idea).

use crate::model::TreePath;

/// Something may have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchHint {
    /// A path was closed after writing, renamed, created by a link or removed: it has its final content. Where a directory was
    /// removed, moved away or had its mode changed, it is the directory's path.
    Saved(TreePath),
    /// A path was created, truncated or written and is still open: its content may be half-written.
    Writing(TreePath),
    /// Events may have been lost, or a watch could not be placed: only a full compare tells.
    LookAgain(WatchProblem),
    /// The root of the project is gone.
    RootVanished,
}

/// Why a full compare is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchProblem {
    /// The kernel's queue overflowed.
    Overflow,
    /// The limit on watches (`fs.inotify.max_user_watches`) is reached; the path has none.
    TooManyWatches(TreePath),
    /// The backend reported an error.
    Backend(String),
    /// A rules file (`.gitignore`, `.ignore`) changed: what belongs to the tree is decided anew.
    RulesChanged(TreePath),
    /// The root was gone or replaced, and is watched again.
    RootReturned,
}
