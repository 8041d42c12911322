//! The parts of an index: directories, which are shared by all indexes in which they are equal, and their entries.
//!
//! There is a node for every entry of a tree, so nodes are small: they contain no paths, and times take 64 bits.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::digest::{DigestedEntry, compute_directory_digest};
use crate::ignore::{DirectoryRules, RulesFile, TreeMembership};
use crate::named::SearchedNames;
use crate::stamp::{DirectoryStamp, EntryStamp, Trust};
use proctor_model::{Digest, EntryKind, TreeIssueKind};

/// A directory of the index: its entries that belong to the tree, sorted by the names' bytes. A directory is never
/// changed: an update makes a new one.
#[derive(Debug)]
pub(super) struct Directory {
    pub(super) nodes: Box<[Node]>,
    /// The compiled rules files (such as `.gitignore`) of the directory. `None` if no rules file of the directory
    /// applies, or if the index was loaded from disk.
    pub(super) rules: Option<Arc<KnownRules>>,
    /// The entries that are reported as issues (such as sockets and pipes) and have no node, sorted by name.
    pub(super) aside: Box<[IssueEntry]>,
    /// The directory's identity, times and permissions when it was read. `None` if the index was loaded from disk. The next index
    /// keeps this stamp if the directory's entries and permissions are the same and the directory was not replaced.
    pub(super) stamp: Option<DirectoryStamp>,
    /// The directory's digest; `None` if nothing in the directory belongs to the tree, so that the directory is left
    /// out of the tree's digest.
    pub(super) digest: Option<Digest>,
    /// The number of files and links in this directory and below it, including unreadable ones.
    pub(super) files: u64,
    /// The sum of the sizes of all readable files and links in this directory and below it, in bytes.
    pub(super) bytes: u64,
    /// The number of entries in this directory and below it that are unreadable or of a kind without digest, such as
    /// pipes.
    pub(super) issues: u64,
    /// Whether the walk only passed through this directory on its way to selected entries ([`TreeMembership::Passed`]).
    pub(super) is_passed: bool,
    /// Whether the walk only passed through this directory and every directory below it, and found nothing. Such a directory
    /// holds only entries that the matcher does not select.
    pub(super) is_passed_throughout: bool,
    /// Whether this is a directory of installed packages, which was noted and not entered.
    pub(super) is_environment: bool,
    /// Whether this is a directory of installed packages, or holds one at any depth.
    pub(super) holds_environment: bool,
    /// Whether a rules file of this directory or of one below it was applied.
    pub(super) holds_rules: bool,
    pub(super) names: SearchedNames,
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
    /// A directory, even one in which nothing belongs to the tree: its rules are needed, and files may appear in it.
    Directory(Arc<Directory>),
    /// An entry that could not be read, with its kind; for a file also with its stamp (size, inode and times).
    Unreadable(EntryKind, Option<EntryStamp>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Leaf {
    pub(super) kind: LeafKind,
    pub(super) stamp: EntryStamp,
    pub(super) trust: Trust,
    pub(super) digest: Digest,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeafKind {
    File {
        /// Whether the file's owner may execute it.
        is_executable: bool,
    },
    Link,
}

/// The compiled rules files (such as `.gitignore`) of a directory, and the stamps (size, inode and times) by which
/// unchanged rules files are recognised.
#[derive(Debug)]
pub(super) struct KnownRules {
    pub(super) compiled: Arc<DirectoryRules>,
    pub(super) files: Vec<(RulesFile, EntryStamp, Trust)>,
}

/// An entry that is reported as an issue (unreadable, or a socket, pipe or device) and is not part of the digest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct IssueEntry {
    pub(super) name: Box<[u8]>,
    pub(super) kind: TreeIssueKind,
}

impl Directory {
    /// Makes a directory of nodes that are sorted by name.
    pub(super) fn new(
        nodes: Vec<Node>,
        rules: Option<Arc<KnownRules>>,
        mut aside: Vec<IssueEntry>,
        stamp: Option<DirectoryStamp>,
        membership: TreeMembership,
    ) -> Self {
        aside.sort();
        aside.dedup();
        // A rules file, such as `.gitignore`, is read twice, for its rules and as an entry. If it is unreadable, one
        // issue is enough.
        let is_unreadable = |name: &[u8]| find(&nodes, name).is_some_and(|node| node.content.is_unreadable());
        aside.retain(|aside| !is_unreadable(&aside.name));
        let mut entries = nodes.iter().filter_map(Node::digested).peekable();
        let digest = entries.peek().is_some().then(|| compute_directory_digest(entries));
        let files = nodes.iter().map(|node| node.content.files()).sum();
        let bytes = nodes.iter().map(|node| node.content.bytes()).sum();
        let issues = aside.len() as u64 + nodes.iter().map(|node| node.content.issues()).sum::<u64>();
        let is_passed = membership == TreeMembership::Passed;
        let is_passed_throughout = is_passed && aside.is_empty() && nodes.iter().all(|node| node.content.is_passed_throughout());
        let (nodes, aside) = (nodes.into_boxed_slice(), aside.into_boxed_slice());
        let holds_rules = rules.is_some() || nodes.iter().any(|node| node.content.holds_rules());
        let (is_environment, names) = (false, SearchedNames::default());
        let holds_environment =
            nodes.iter().any(|node| node.content.directory().is_some_and(|directory| directory.holds_environment));
        Self {
            nodes,
            rules,
            aside,
            stamp,
            digest,
            files,
            bytes,
            issues,
            is_passed,
            is_passed_throughout,
            is_environment,
            holds_environment,
            holds_rules,
            names,
        }
    }

    /// Makes a directory of installed packages, of which nothing else is known. It is not selected.
    pub(super) fn environment() -> Self {
        let plain = Self::new(Vec::new(), None, Vec::new(), None, TreeMembership::Environment);
        Self { is_environment: true, holds_environment: true, ..plain }
    }

    /// Makes the next state of this directory, which consists of these parts. Returns this directory itself if nothing
    /// differs.
    pub(super) fn renew(
        self: &Arc<Self>,
        nodes: Vec<Node>,
        rules: Option<Arc<KnownRules>>,
        aside: Vec<IssueEntry>,
        stamp: DirectoryStamp,
        membership: TreeMembership,
    ) -> Arc<Self> {
        let is_passed = membership == TreeMembership::Passed;
        if self.is_environment || self.is_passed != is_passed || !self.consists_of(&nodes, rules.as_ref(), &aside) {
            return Arc::new(Self::new(nodes, rules, aside, Some(stamp), membership));
        }
        if self.stamp.is_some_and(|known| known.mode == stamp.mode && !known.entry.is_replaced_by(stamp.entry)) {
            return Arc::clone(self);
        }
        let (nodes, aside, names) = (nodes.into_boxed_slice(), self.aside.clone(), SearchedNames::default());
        Arc::new(Self { nodes, rules, aside, stamp: Some(stamp), names, ..**self })
    }

    /// Returns whether this directory was replaced or renamed before the other index was made.
    pub(super) fn is_replaced_by(&self, later: &Self) -> bool {
        self.stamp.zip(later.stamp).is_some_and(|(stamp, later)| stamp.entry.is_replaced_by(later.entry))
    }

    pub(super) fn find(&self, name: &[u8]) -> Option<&Node> {
        find(&self.nodes, name)
    }

    /// Returns whether a directory made of these parts would equal this one.
    fn consists_of(&self, nodes: &[Node], rules: Option<&Arc<KnownRules>>, aside: &[IssueEntry]) -> bool {
        let has_rules = match (&self.rules, rules) {
            (Some(known), Some(found)) => Arc::ptr_eq(known, found),
            (known, found) => known.is_none() && found.is_none(),
        };
        has_rules
            && *self.aside == *aside
            && self.nodes.len() == nodes.len()
            && self.nodes.iter().zip(nodes).all(|(a, b)| a.is(b))
    }
}

fn find<'nodes>(nodes: &'nodes [Node], name: &[u8]) -> Option<&'nodes Node> {
    let found = nodes.binary_search_by(|node| node.name[..].cmp(name));
    found.ok().map(|position| &nodes[position])
}

/// Returns the nodes of two directories in the order of their names. Nodes of one name come together; where only one directory has a
/// name, it comes alone.
pub(super) fn pairs<'n>(old: &'n [Node], new: &'n [Node]) -> impl Iterator<Item = (Option<&'n Node>, Option<&'n Node>)> {
    let (mut old, mut new) = (old.iter().peekable(), new.iter().peekable());
    std::iter::from_fn(move || {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return None,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(old), Some(new)) => old.name.cmp(&new.name),
        };
        let gone = if order.is_le() { old.next() } else { None };
        Some((gone, if order.is_ge() { new.next() } else { None }))
    })
}

impl Node {
    /// Returns the entry as its directory's digest takes it in; `None` for a directory in which nothing belongs to the
    /// tree.
    fn digested(&self) -> Option<DigestedEntry<'_>> {
        self.entry().map(|(kind, digest)| DigestedEntry { kind, digest, name: &self.name })
    }

    fn is(&self, other: &Self) -> bool {
        self.name == other.name && self.content.is(&other.content)
    }

    /// Returns the entry's kind and digest; `None` for a directory in which nothing belongs to the tree.
    pub(super) fn entry(&self) -> Option<(EntryKind, Option<Digest>)> {
        match &self.content {
            Content::Leaf(leaf) => Some((leaf.kind.entry_kind(), Some(leaf.digest))),
            Content::Directory(directory) => directory.digest.map(|digest| (EntryKind::Directory, Some(digest))),
            Content::Unreadable(kind, _) => Some((*kind, None)),
        }
    }
}

impl Content {
    pub(super) fn directory(&self) -> Option<&Arc<Directory>> {
        match self {
            Self::Directory(directory) => Some(directory),
            Self::Leaf(_) | Self::Unreadable(..) => None,
        }
    }

    pub(super) fn leaf(&self) -> Option<&Leaf> {
        match self {
            Self::Leaf(leaf) => Some(leaf),
            Self::Directory(_) | Self::Unreadable(..) => None,
        }
    }

    /// Returns whether this is a directory with nothing that the matcher selects, at any depth.
    pub(super) fn is_passed_throughout(&self) -> bool {
        self.directory().is_some_and(|directory| directory.is_passed_throughout)
    }

    fn holds_rules(&self) -> bool {
        self.directory().is_some_and(|directory| directory.holds_rules)
    }

    pub(super) fn is_unreadable(&self) -> bool {
        match self {
            Self::Unreadable(..) => true,
            Self::Leaf(_) | Self::Directory(_) => false,
        }
    }

    /// Returns whether both contents are equal; directories must be the same object.
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Leaf(leaf), Self::Leaf(other)) => leaf == other,
            (Self::Directory(directory), Self::Directory(other)) => Arc::ptr_eq(directory, other),
            (Self::Unreadable(kind, stamp), Self::Unreadable(other, other_stamp)) => (kind, stamp) == (other, other_stamp),
            (Self::Leaf(_) | Self::Directory(_) | Self::Unreadable(..), _) => false,
        }
    }

    fn files(&self) -> u64 {
        match self {
            Self::Leaf(_) => 1,
            Self::Directory(directory) => directory.files,
            Self::Unreadable(kind, _) => u64::from(*kind != EntryKind::Directory),
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Leaf(leaf) => leaf.stamp.size,
            Self::Directory(directory) => directory.bytes,
            Self::Unreadable(..) => 0,
        }
    }

    fn issues(&self) -> u64 {
        match self {
            Self::Leaf(_) => 0,
            Self::Directory(directory) => directory.issues,
            Self::Unreadable(..) => 1,
        }
    }
}

impl LeafKind {
    pub(super) fn entry_kind(self) -> EntryKind {
        match self {
            Self::File { is_executable: false } => EntryKind::File,
            Self::File { is_executable: true } => EntryKind::Executable,
            Self::Link => EntryKind::Link,
        }
    }
}
