//! Decides from the index of a tree whether the tree can be copied, and why not. Pure.

use std::fmt;

use proctor_model::{ByteSize, TreeIssueKind, TreePath};
use proctor_tree::TreeIndex;

/// The limit that is advised is a multiple of this many bytes.
const MEBIBYTE: u64 = 1 << 20;

/// Why no copy can be made of a tree or of a project's ignored files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InPlaceReason {
    /// The files are larger than the limit for copies.
    TooLarge {
        /// The total size of the files.
        bytes: ByteSize,
        /// The largest size that is copied (`max_snapshot_bytes`).
        bound: ByteSize,
        /// The file or directory that holds most of the bytes, with its size.
        largest: (TreePath, ByteSize),
    },
    /// An entry cannot be read, so it cannot be copied.
    Unreadable(TreePath),
    /// An entry changed whenever it was copied.
    Changing(TreePath),
    /// The project has more directories of installed packages than can be shown on a snapshot.
    TooManyEnvironments { count: usize, bound: usize },
}

/// Returns why a tree cannot have a copy of at most `bound` bytes; `None` if it can have one. Sockets, pipes and devices are left out of
/// it: a copy would not be connected to the same program or device.
pub fn obstacle(index: &TreeIndex, bound: ByteSize) -> Option<InPlaceReason> {
    let unreadable = index.issues().into_iter().find(|issue| issue.kind == TreeIssueKind::Unreadable);
    unreadable.map(|issue| InPlaceReason::Unreadable(issue.path)).or_else(|| obstacle_of_size(index, bound))
}

/// Returns why the ignored files that checks read cannot have a copy of at most `bound` bytes; `None` if they can have one. What
/// cannot be read is left out of it: the checks, which are the same user, could not read it either.
pub fn obstacle_of_size(index: &TreeIndex, bound: ByteSize) -> Option<InPlaceReason> {
    let bytes = ByteSize(index.bytes());
    let (path, size) = index.largest();
    (bytes > bound).then_some(InPlaceReason::TooLarge { bytes, bound, largest: (path, ByteSize(size)) })
}

/// Returns the entries that a copy does not have: sockets, pipes, devices, and what cannot be read.
pub fn left_out(index: &TreeIndex) -> Vec<TreePath> {
    index.issues().into_iter().map(|issue| issue.path).collect()
}

impl InPlaceReason {
    /// Returns the reason in words, for an index of ignored files that checks read.
    pub fn among_ignored_files(&self) -> String {
        self.of("the ignored files that checks read hold")
    }

    /// Returns what to do: the line of `[sandbox]` that lets checks have a copy, if there is one.
    pub fn remedy(&self) -> String {
        match self {
            Self::TooLarge { bytes, largest: (path, _), .. } => {
                let enough = ByteSize(bytes.0.saturating_add(bytes.0 / 4).next_multiple_of(MEBIBYTE));
                format!("write `max_snapshot_bytes = \"{enough}\"` below `[sandbox]`, or move `{path}` out of the project")
            }
            Self::Unreadable(path) => format!("make `{path}` readable, or leave it out of the tree (`ignore` of `[watch]`)"),
            Self::Changing(path) => format!("stop what writes `{path}`, and run again"),
            Self::TooManyEnvironments { .. } => "register the parts of the project as projects of their own".to_owned(),
        }
    }

    fn of(&self, subject: &str) -> String {
        match self {
            Self::TooLarge { bytes, bound, largest: (path, size) } => {
                format!("{subject} {bytes} (`{path}` has {size}), and a snapshot may hold {bound} (`max_snapshot_bytes`)")
            }
            Self::Unreadable(path) => format!("`{path}` cannot be read"),
            Self::Changing(path) => format!("`{path}` changed whenever it was copied"),
            Self::TooManyEnvironments { count, bound } => {
                format!("the project has {count} directories of installed packages, and a snapshot shows at most {bound}")
            }
        }
    }
}

impl fmt::Display for InPlaceReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.of("the tree holds"))
    }
}
