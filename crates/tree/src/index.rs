//! The index of a tree, and what can be read from it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;

use crate::digest::compute_directory_digest;
use crate::ignore::{RulesFile, is_always_out};
use crate::inputs::Input;
use crate::node::{Directory, IssueEntry, Node};
use proctor_git::{GitIndex, GitIndexProblem};
use proctor_model::{Digest, EntryKind, TreeDigest, TreeIssue, TreeIssueKind, TreePath};

/// All entries of a tree at one time: made by [`TreeIndex::scan`], brought up to date by [`TreeIndex::rescan`] and
/// [`TreeIndex::apply`].
///
/// An index never changes. Successive ones share every directory that is equal in both: a clone costs nothing, and
/// keeping an earlier index costs only what has changed since.
#[derive(Debug, Clone)]
pub struct TreeIndex {
    pub(super) root: PathBuf,
    pub(super) top: Arc<Directory>,
    /// What git tracked when the tree was read.
    pub(super) git: GitIndex,
    /// The files and directories beside the tree that its digest names too, in ascending order of their names' bytes.
    pub(super) inputs: Arc<[Input]>,
}

/// One file, link or directory of the tree, as the index knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    pub path: TreePath,
    pub kind: EntryKind,
    /// The digest of a file's content, a link's target or a directory's entries; `None` if the entry could not be read.
    pub digest: Option<Digest>,
}

impl TreeIndex {
    pub fn digest(&self) -> TreeDigest {
        TreeDigest(self.digest_of(self.top.digest.unwrap_or_else(|| compute_directory_digest(std::iter::empty()))))
    }

    /// Returns the number of files and links in the tree, including unreadable ones.
    pub fn files(&self) -> u64 {
        self.top.files
    }

    /// Returns how many bytes the files of the tree hold.
    pub fn bytes(&self) -> u64 {
        self.top.bytes
    }

    /// Returns the file or directory in which most of the tree's bytes are, with its size in bytes: the deepest that holds more than
    /// half of them, or the largest entry of the root.
    pub fn largest(&self) -> (TreePath, u64) {
        let (mut path, mut directory, mut bytes) = (TreePath::root(), &self.top, self.bytes());
        while let Some(node) = directory.nodes.iter().max_by_key(|node| node.content.bytes()) {
            let size = node.content.bytes();
            if size <= self.bytes() / 2 && path != TreePath::root() {
                break;
            }
            (path, bytes) = (path.join(&node.name), size);
            let Some(below) = node.content.directory() else { break };
            directory = below;
        }
        (path, bytes)
    }

    /// Returns the entries that the digest cannot represent correctly: unreadable ones, and sockets, pipes and devices.
    /// A directory comes before its contents.
    pub fn issues(&self) -> Vec<TreeIssue> {
        let mut issues = Vec::new();
        collect_issues(&self.top, &TreePath::root(), &mut issues);
        issues
    }

    /// Returns why git's index could not be used, if it could not. The rules files alone then decided what belongs to the tree.
    pub fn git_problem(&self) -> Option<GitIndexProblem> {
        self.git.problem()
    }

    /// Returns the paths that git tracks and that belong to no tree, because a component of them is a name that never does.
    pub fn tracked_outside(&self) -> Vec<TreePath> {
        let mut found = Vec::new();
        // Paths are sorted, so the directory of a path is mostly that of the path before.
        let (mut directory, mut is_out) = (&b""[..], false);
        for path in self.git.paths().iter() {
            let cut = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
            if path[..cut] != *directory {
                directory = &path[..cut];
                is_out = directory.split(|byte| *byte == b'/').any(is_always_out);
            }
            let name = path.get(cut..).map(|name| name.strip_prefix(b"/").unwrap_or(name)).unwrap_or_default();
            if is_out || is_always_out(name) {
                found.extend(TreePath::try_from(path));
            }
        }
        found
    }

    /// Returns whether git tracks the same paths as when another index was made.
    pub fn tracks_as(&self, other: &Self) -> bool {
        Arc::ptr_eq(self.git.paths(), other.git.paths())
    }

    /// Returns the path of the tree's root, as it was passed to `scan` or `from_bytes`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns whether both indexes share their top directory: one was made from the other, and no entry differed in
    /// content, inode or times.
    pub fn is_same(&self, other: &Self) -> bool {
        self.root == other.root && Arc::ptr_eq(&self.top, &other.top) && self.digested_inputs().eq(other.digested_inputs())
    }

    /// Returns every entry below the root. Directories come before their contents; names are in ascending order of
    /// their bytes.
    pub fn entries(&self) -> impl Iterator<Item = TreeEntry> {
        Entries { under_way: vec![(TreePath::root(), self.top.nodes.iter())] }
    }

    /// Returns the rules files, such as `.gitignore`, that were applied when the tree was read, with the digests of
    /// their texts.
    pub fn rules_files(&self) -> BTreeMap<TreePath, Digest> {
        let mut found = BTreeMap::new();
        let mut waiting = vec![(TreePath::root(), &self.top)];
        while let Some((path, directory)) = waiting.pop() {
            if !directory.holds_rules {
                continue;
            }
            for file in directory.rules.iter().flat_map(|_| RulesFile::ALL) {
                let digest = directory.rules.as_ref().and_then(|rules| rules.compiled.digest_of(file));
                found.extend(digest.map(|digest| (path.join(file.name().as_bytes()), digest)));
            }
            let below = directory.nodes.iter().filter_map(|node| Some((path.join(&node.name), node.content.directory()?)));
            waiting.extend(below);
        }
        found
    }

    /// Returns the directories of installed packages that were noted and not entered. Only an index of ignored inputs has any.
    pub fn environments(&self) -> Vec<TreePath> {
        let mut found = Vec::new();
        let mut waiting = vec![(TreePath::root(), &self.top)];
        while let Some((path, directory)) = waiting.pop() {
            if directory.is_environment {
                found.push(path);
            } else if directory.holds_environment {
                waiting
                    .extend(directory.nodes.iter().filter_map(|node| Some((path.join(&node.name), node.content.directory()?))));
            }
        }
        found.sort();
        found
    }

    /// Returns every directory in which a walk looked for entries, the root first, also those that hold nothing of the tree.
    pub fn directories(&self) -> Vec<TreePath> {
        let mut found = vec![(TreePath::root(), &self.top)];
        let mut next = 0;
        while let Some((path, directory)) = found.get(next).cloned() {
            let below = directory.nodes.iter().filter_map(|node| Some((path.join(&node.name), node.content.directory()?)));
            found.extend(below);
            next += 1;
        }
        found.into_iter().map(|(path, _)| path).collect()
    }

    /// Returns the entry at a path, if one belongs to the tree.
    pub fn lookup(&self, path: &TreePath) -> Option<TreeEntry> {
        let (kind, digest) = self.node(path)?.entry()?;
        Some(TreeEntry { path: path.clone(), kind, digest })
    }

    /// Returns when the file or link at a path was last modified, in nanoseconds since 1970, and its size in bytes.
    pub fn modified_and_size(&self, path: &TreePath) -> Option<(i64, u64)> {
        let stamp = self.node(path)?.content.leaf()?.stamp;
        Some((stamp.modified, stamp.size))
    }

    fn node(&self, path: &TreePath) -> Option<&Node> {
        let (mut directory, mut found) = (Some(&self.top), None);
        for name in path.as_bytes().split(|byte| *byte == b'/') {
            let node = directory?.find(name)?;
            directory = node.content.directory();
            found = Some(node);
        }
        found
    }
}

impl TreeIndex {
    /// Returns the entry at a path, if there is one, and every entry below it. A directory comes before its contents.
    pub fn below(&self, path: &TreePath) -> impl Iterator<Item = TreeEntry> {
        let directory = path
            .as_bytes()
            .split(|byte| *byte == b'/')
            .try_fold(&self.top, |directory, name| directory.find(name).and_then(|node| node.content.directory()));
        let under_way = directory.map(|directory| (path.clone(), directory.nodes.iter())).into_iter().collect();
        self.lookup(path).into_iter().chain(Entries { under_way })
    }
}

struct Entries<'index> {
    under_way: Vec<(TreePath, slice::Iter<'index, Node>)>,
}

impl Iterator for Entries<'_> {
    type Item = TreeEntry;

    fn next(&mut self) -> Option<TreeEntry> {
        loop {
            let (parent, nodes) = self.under_way.last_mut()?;
            let Some(node) = nodes.next() else {
                self.under_way.pop();
                continue;
            };
            let Some((kind, digest)) = node.entry() else { continue };
            let path = parent.join(&node.name);
            if let Some(below) = node.content.directory() {
                self.under_way.push((path.clone(), below.nodes.iter()));
            }
            return Some(TreeEntry { path, kind, digest });
        }
    }
}

fn collect_issues(directory: &Directory, path: &TreePath, issues: &mut Vec<TreeIssue>) {
    if directory.issues == 0 {
        return;
    }
    let mut aside = directory.aside.iter().peekable();
    let name_aside = |aside: &IssueEntry| TreeIssue { path: path.join(&aside.name), kind: aside.kind };
    for node in &directory.nodes {
        while let Some(before) = aside.next_if(|aside| aside.name < node.name) {
            issues.push(name_aside(before));
        }
        if node.content.is_unreadable() {
            issues.push(TreeIssue { path: path.join(&node.name), kind: TreeIssueKind::Unreadable });
        }
        if let Some(below) = node.content.directory() {
            collect_issues(below, &path.join(&node.name), issues);
        }
    }
    issues.extend(aside.map(name_aside));
}
