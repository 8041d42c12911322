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
}

/// Returns why a tree cannot have a copy of at most `bound` bytes; `None` if it can have one. Sockets, pipes and devices are left out of
/// it: a copy would not be connected to the same program or device.
pub fn obstacle(index: &TreeIndex, bound: ByteSize) -> Option<InPlaceReason> {
    let unreadable = index.issues().into_iter().find(|issue| issue.kind == TreeIssueKind::Unreadable);
    let bytes = ByteSize(index.bytes());
    let is_too_large = || (bytes > bound).then_some(InPlaceReason::TooLarge { bytes, bound });
    unreadable.map(|issue| InPlaceReason::Unreadable(issue.path)).or_else(is_too_large)
}

/// Returns the sockets, pipes and devices that a copy of a tree does not have.
pub fn left_out(index: &TreeIndex) -> Vec<TreePath> {
    let special = index.issues().into_iter().filter(|issue| issue.kind == TreeIssueKind::Special);
    special.map(|issue| issue.path).collect()
}

impl InPlaceReason {
    /// Returns the reason in words, for an index of ignored files that checks read.
    pub fn among_ignored_files(&self) -> String {
        match self {
            Self::TooLarge { bytes, bound } => {
                format!("the ignored files that checks read hold {bytes}, and a snapshot may hold {bound} (`max_snapshot_bytes`)")
            }
            Self::Unreadable(path) => format!("`{path}`, which is ignored and which checks may read, cannot be read"),
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
        }
    }
}
