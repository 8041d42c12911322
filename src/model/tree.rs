//! The digest of a working tree and what a second look at the tree found (S5, S6).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::model::{Digest, TreePath};

/// The digest of everything that belongs to a project's tree: `proctor-tree-v1` (S5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TreeDigest(pub Digest);

/// What kind of entry a path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryKind {
    /// A directory.
    Directory,
    /// A regular file.
    File,
    /// A regular file its owner may execute.
    Executable,
    /// A symbolic link; never followed.
    Link,
}

/// Why an entry could not take part in the digest as it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TreeIssueKind {
    /// It may not be read.
    Unreadable,
    /// It is a socket, a pipe or a device.
    Special,
}

/// An entry that is named instead of digested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TreeIssue {
    /// The entry.
    pub path: TreePath,
    /// What is wrong with it.
    pub kind: TreeIssueKind,
}

/// The outcome of the closing sweep: a second look at the tree after the last process of a run has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeComparison {
    /// The digest now.
    pub after: TreeDigest,
    /// Every path that changed, was written again with the same bytes, appeared or vanished.
    pub moved: Vec<TreePath>,
    /// How many files belong to the tree now.
    pub files: u64,
}

impl fmt::Display for TreeDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, formatter)
    }
}
