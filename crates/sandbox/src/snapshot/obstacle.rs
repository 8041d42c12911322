//! Decides from the index of a tree whether the tree can be copied, and why not. Pure.

use std::fmt;

use proctor_model::{ByteSize, TreeIssueKind, TreePath};
use proctor_tree::TreeIndex;

/// Why checks run in the project itself instead of on a copy of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InPlaceReason {
    /// The tree is larger than the limit for copies.
    TooLarge {
        /// The total size of the tree's files.
        bytes: ByteSize,
        /// The largest size that is copied (`max_snapshot_bytes`).
        bound: ByteSize,
    },
    /// An entry cannot be read, so it cannot be copied.
    Unreadable(TreePath),
    /// The entry is a socket, pipe or device. A copy would not be connected to the same program or device.
    Special(TreePath),
}

/// Returns why a tree cannot have a copy of at most `bound` bytes; `None` if it can have one.
pub fn obstacle(index: &TreeIndex, bound: ByteSize) -> Option<InPlaceReason> {
    let first = index.issues().into_iter().next();
    let issue = first.map(|issue| match issue.kind {
        TreeIssueKind::Unreadable => InPlaceReason::Unreadable(issue.path),
        TreeIssueKind::Special => InPlaceReason::Special(issue.path),
    });
    let bytes = ByteSize(index.bytes());
    issue.or_else(|| (bytes > bound).then_some(InPlaceReason::TooLarge { bytes, bound }))
}

impl InPlaceReason {
    /// Returns the reason in words, for an index of ignored files that checks read.
    pub fn among_ignored_files(&self) -> String {
        match self {
            Self::TooLarge { bytes, bound } => {
                format!("the ignored files that checks read hold {bytes}, and a snapshot may hold {bound} (`max_snapshot_bytes`)")
            }
            Self::Unreadable(path) => format!("`{path}`, which is ignored and which checks may read, cannot be read"),
            Self::Special(path) => {
                format!("`{path}`, which is ignored and which checks may read, is a socket, a pipe or a device")
            }
        }
    }
}

impl fmt::Display for InPlaceReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { bytes, bound } => {
                write!(formatter, "the tree holds {bytes}, and a snapshot may hold {bound} (`max_snapshot_bytes`)")
            }
            Self::Unreadable(path) => write!(formatter, "`{path}` cannot be read"),
            Self::Special(path) => write!(formatter, "`{path}` is a socket, a pipe or a device"),
        }
    }
}
