//! The digest of a project's tree, and the comparison with a later state of the tree (S5, S6).

use std::collections::BTreeSet;
use std::fmt;

use proctor_wire::wire;
use serde::{Deserialize, Serialize};

use crate::{Digest, TreePath};

/// The digest of all files and links that belong to a project's tree, in the format that [`TreeFormat`] names (S5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
pub struct TreeDigest(pub Digest);

/// The format of a tree digest: what belongs to a tree, and how it is hashed (S9). The format's name is part of what is
/// hashed, so digests of two formats are never equal.
#[wire(Copy, Hash, Default, schema)]
pub enum TreeFormat {
    /// The format of the digests in records that name no format.
    #[default]
    #[serde(rename = "proctor-tree-v1")]
    V1,
    #[serde(rename = "proctor-tree-v2")]
    V2,
    /// The format of a tree with inputs: files and directories beside it by whose content its digest is named too.
    #[serde(rename = "proctor-tree-v3")]
    V3,
}

impl TreeFormat {
    /// The format in which the digest of a tree without inputs is computed.
    pub const CURRENT: Self = Self::V2;

    /// Returns whether digests of this format are computed, so that they can be compared with a tree as it is now.
    pub fn is_computed(&self) -> bool {
        match self {
            Self::V1 => false,
            Self::V2 | Self::V3 => true,
        }
    }

    /// Returns whether records leave the format out.
    pub fn is_unnamed(&self) -> bool {
        *self == Self::V1
    }
}

/// The place in which the checks of a run worked.
#[wire(Copy, Hash, kebab, schema)]
pub enum TestedPlace {
    /// A copy of the files that belong to the tree, together with the ignored files that were copied for the checks.
    Snapshot,
    /// The project's own directory, where other programs may change files meanwhile. At least one check worked there.
    InPlace,
}

impl fmt::Display for TestedPlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Snapshot => "snapshot",
            Self::InPlace => "in place",
        })
    }
}

/// The kind of a tree entry.
#[wire(Copy, PartialOrd, Ord, Hash, lower, schema)]
pub enum EntryKind {
    Directory,
    /// A regular file that its owner may not execute.
    File,
    /// A regular file that its owner may execute.
    Executable,
    /// A symbolic link. Its target's name is digested, not the target's content.
    Link,
}

/// Why an entry of the tree could not be digested.
#[wire(Copy, PartialOrd, Ord, Hash, lower, schema)]
pub enum TreeIssueKind {
    /// The entry cannot be read.
    Unreadable,
    /// The entry is a socket, a pipe or a device.
    Special,
}

/// An entry of the tree that could not be digested; it is reported instead.
#[wire(open, written)]
pub struct TreeIssue {
    pub path: TreePath,
    pub kind: TreeIssueKind,
}

/// The tree after the last process of a run had ended, compared with the tree at the run's beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeComparison {
    pub after: TreeDigest,
    /// Every path that appeared, vanished or got other content during the run, and every directory that was replaced or
    /// renamed.
    pub moved: Vec<TreePath>,
    /// The number of files in the tree after the run.
    pub files: u64,
}

/// Files that a run copied from its snapshot to the project, and that changed the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopiedFiles {
    /// The digest of the tree that the run tested, before the files were copied.
    pub tested: TreeDigest,
    /// The digest of the project's tree after the files were copied into it.
    pub tree: TreeDigest,
    /// The paths of the copied files that belong to the tree and whose content in the project changed by the copying.
    pub paths: BTreeSet<TreePath>,
}

impl fmt::Display for TreeDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, formatter)
    }
}
