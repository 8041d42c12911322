//! The index: what one look at a tree found, and the questions it answers.

use std::path::{Path, PathBuf};

use crate::ignore::RulesFile;
use crate::model::{Digest, EntryKind, TreeDigest, TreeIssue, TreePath};
use crate::tree::digest::{DigestedEntry, EntryLetter, compute_directory_digest};
use crate::tree::stamp::{Stamp, Trust};

/// What one look at a tree found: made by [`Index::scan`], renewed by [`Index::rescan`].
#[derive(Debug, Clone)]
pub struct Index {
    pub(super) root: PathBuf,
    pub(super) top: Directory,
    pub(super) digest: Digest,
    pub(super) files: u64,
    pub(super) issues: Vec<TreeIssue>,
}

/// An entry of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// Where it is.
    pub path: TreePath,
    /// What it is.
    pub kind: EntryKind,
    /// The digest of its content, target or entries; none for what could not be read.
    pub digest: Option<Digest>,
}

/// A directory of the index: what belongs to the tree, sorted by the names' bytes.
#[derive(Debug, Clone, Default)]
pub(super) struct Directory {
    pub(super) nodes: Vec<Node>,
    pub(super) rules: Vec<KnownRules>,
}

#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) name: Box<[u8]>,
    pub(super) content: Content,
}

#[derive(Debug, Clone)]
pub(super) enum Content {
    /// A file or a link.
    Leaf(Leaf),
    /// A directory that is not empty.
    Directory(Directory, Digest),
    /// Something that could not be read; the stamp is that of a file.
    Unreadable(EntryKind, Option<Stamp>),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Leaf {
    pub(super) kind: LeafKind,
    pub(super) stamp: Stamp,
    pub(super) trust: Trust,
    pub(super) digest: Digest,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeafKind {
    File,
    Executable,
    Link,
}

/// A rules file whose text was handed to the matcher.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownRules {
    pub(super) file: RulesFile,
    pub(super) stamp: Stamp,
    pub(super) trust: Trust,
    pub(super) digest: Digest,
}

impl Index {
    /// Returns the digest of the tree.
    pub fn digest(&self) -> TreeDigest {
        TreeDigest(self.digest)
    }

    /// Returns how many files and links belong to the tree, those that could not be read included.
    pub fn files(&self) -> u64 {
        self.files
    }

    /// Returns what could not take part in the digest as it should, in the order of the walk.
    pub fn issues(&self) -> &[TreeIssue] {
        &self.issues
    }

    /// Returns the root the index was made of.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns every entry below the root, directories before what is in them, names in ascending order of their bytes.
    pub fn entries(&self) -> impl Iterator<Item = TreeEntry> {
        let mut entries = Vec::new();
        collect(&self.top, &TreePath::root(), &mut entries);
        entries.into_iter()
    }

    /// Returns the entry at a path, if one belongs to the tree.
    pub fn lookup(&self, path: &TreePath) -> Option<TreeEntry> {
        let (mut directory, mut found) = (Some(&self.top), None);
        for name in path.as_bytes().split(|byte| *byte == b'/') {
            let node = directory?.find(name)?;
            directory = node.content.directory();
            found = Some(node);
        }
        found.map(|node| node.to_entry(path.clone()))
    }
}

impl Directory {
    pub(super) fn find(&self, name: &[u8]) -> Option<&Node> {
        let found = self.nodes.binary_search_by(|node| node.name[..].cmp(name));
        found.ok().map(|position| &self.nodes[position])
    }

    pub(super) fn digest(&self) -> Digest {
        compute_directory_digest(self.nodes.iter().map(Node::digested))
    }
}

impl Node {
    fn digested(&self) -> DigestedEntry<'_> {
        let (letter, digest) = match &self.content {
            Content::Leaf(leaf) => (leaf.kind.letter(), Some(leaf.digest)),
            Content::Directory(_, digest) => (EntryLetter::Directory, Some(*digest)),
            Content::Unreadable(..) => (EntryLetter::Unreadable, None),
        };
        DigestedEntry { letter, digest, name: &self.name }
    }

    pub(super) fn to_entry(&self, path: TreePath) -> TreeEntry {
        let (kind, digest) = match &self.content {
            Content::Leaf(leaf) => (leaf.kind.entry_kind(), Some(leaf.digest)),
            Content::Directory(_, digest) => (EntryKind::Directory, Some(*digest)),
            Content::Unreadable(kind, _) => (*kind, None),
        };
        TreeEntry { path, kind, digest }
    }
}

impl Content {
    pub(super) fn directory(&self) -> Option<&Directory> {
        match self {
            Self::Directory(directory, _) => Some(directory),
            Self::Leaf(_) | Self::Unreadable(..) => None,
        }
    }

    pub(super) fn leaf(&self) -> Option<&Leaf> {
        match self {
            Self::Leaf(leaf) => Some(leaf),
            Self::Directory(..) | Self::Unreadable(..) => None,
        }
    }
}

impl LeafKind {
    fn letter(self) -> EntryLetter {
        match self {
            Self::File => EntryLetter::File,
            Self::Executable => EntryLetter::Executable,
            Self::Link => EntryLetter::Link,
        }
    }

    pub(super) fn entry_kind(self) -> EntryKind {
        match self {
            Self::File => EntryKind::File,
            Self::Executable => EntryKind::Executable,
            Self::Link => EntryKind::Link,
        }
    }
}

fn collect(directory: &Directory, path: &TreePath, entries: &mut Vec<TreeEntry>) {
    for node in &directory.nodes {
        let path = path.join(&node.name);
        entries.push(node.to_entry(path.clone()));
        if let Some(below) = node.content.directory() {
            collect(below, &path, entries);
        }
    }
}
