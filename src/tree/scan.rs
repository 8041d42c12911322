//! The walk that makes an index, and the one that renews it.

use std::ffi::OsString;
use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::ignore::{Matcher, RulesFile, Scope, Standing};
use crate::model::{EntryKind, Timestamp, TreeIssue, TreeIssueKind, TreePath};
use crate::tree::content::{BUFFER_BYTES, file_kind, read_file, read_link, read_rules};
use crate::tree::error::TreeError;
use crate::tree::index::{Content, Directory, Index, KnownRules, Leaf, Node};
use crate::tree::stamp::{Stamp, Trust};

/// How many directories deep a walk goes; what lies deeper counts as unreadable. A tree made to exhaust the stack ends here.
const MAX_DEPTH: usize = 256;

impl Index {
    /// Looks at a whole tree and reads every file of it.
    ///
    /// The rules files found on the way are handed to the matcher, which answers for this tree afterwards. `now` is the time
    /// of the call; a later one would make stale stamps look settled.
    pub fn scan(root: &Path, matcher: &mut Matcher, now: Timestamp) -> Result<Self, TreeError> {
        walk(root, matcher, now, None)
    }

    /// Looks at the tree again and reads only what is not as it was, or was too fresh to tell. The same answer as a scan.
    pub fn rescan(&self, matcher: &mut Matcher, now: Timestamp) -> Result<Self, TreeError> {
        walk(&self.root, matcher, now, Some(&self.top))
    }
}

fn walk(root: &Path, matcher: &mut Matcher, now: Timestamp, previous: Option<&Directory>) -> Result<Index, TreeError> {
    let mut walk = Walk { at: root.to_owned(), matcher, now, buffer: vec![0; BUFFER_BYTES], files: 0, issues: Vec::new() };
    let scope = walk.matcher.root_scope();
    let top = walk.read_directory(&TreePath::root(), &scope, Standing::In, previous);
    let top = top.map_err(|source| TreeError::ReadRoot { path: root.to_owned(), source })?;
    let Walk { files, issues, .. } = walk;
    Ok(Index { root: root.to_owned(), digest: top.digest(), top, files, issues })
}

struct Walk<'matcher> {
    /// The directory the walk is in, for file calls.
    at: PathBuf,
    matcher: &'matcher mut Matcher,
    now: Timestamp,
    buffer: Vec<u8>,
    files: u64,
    issues: Vec<TreeIssue>,
}

/// An entry that was listed and is to be looked into.
struct Listed {
    name: OsString,
    path: TreePath,
    standing: Standing,
    metadata: io::Result<Metadata>,
    is_directory: bool,
}

impl Walk<'_> {
    /// Reads the directory the walk is in; `scope` is that of the directory above.
    fn read_directory(
        &mut self,
        path: &TreePath,
        scope: &Scope,
        standing: Standing,
        previous: Option<&Directory>,
    ) -> io::Result<Directory> {
        let entries = fs::read_dir(&self.at)?.map(|entry| entry.map(|entry| (entry.file_name(), entry)));
        let mut entries = entries.collect::<io::Result<Vec<_>>>()?;
        entries.sort_unstable_by(|left, right| left.0.as_bytes().cmp(right.0.as_bytes()));
        let rules = self.take_over_rules(path, standing, &entries, previous);
        let scope = if path.is_root() {
            self.matcher.root_scope()
        } else {
            let mut scope = scope.clone();
            self.matcher.enter(&mut scope, path, standing);
            scope
        };
        // Listed before anything is looked into: the descriptor is closed by then, so depth costs none.
        let listed: Vec<Listed> = entries.into_iter().filter_map(|(name, entry)| self.list(path, &scope, name, &entry)).collect();
        let mut nodes = Vec::with_capacity(listed.len());
        for listed in listed {
            let known = previous.and_then(|previous| previous.find(listed.name.as_bytes()));
            self.at.push(&listed.name);
            let content = self.read_entry(&scope, &listed, known);
            self.at.pop();
            nodes.extend(content.map(|content| Node { name: listed.name.into_vec().into_boxed_slice(), content }));
        }
        Ok(Directory { nodes, rules })
    }

    /// Asks the matcher about an entry, and the file system about what the matcher lets through.
    fn list(&self, parent: &TreePath, scope: &Scope, name: OsString, entry: &DirEntry) -> Option<Listed> {
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let path = parent.join(name.as_bytes());
        let standing = self.matcher.standing(scope, &path, is_directory);
        let is_wanted = standing.belongs() || (is_directory && standing.is_walked());
        is_wanted.then(|| Listed { name, path, standing, metadata: entry.metadata(), is_directory })
    }

    /// Reads an entry; none for what is gone by now, is nothing a tree consists of, or has nothing in it.
    fn read_entry(&mut self, scope: &Scope, listed: &Listed, known: Option<&Node>) -> Option<Content> {
        let path = &listed.path;
        let unknown_kind = if listed.is_directory { EntryKind::Directory } else { EntryKind::File };
        let metadata = match &listed.metadata {
            Ok(metadata) => metadata,
            Err(error) => return self.give_up(path, error, unknown_kind, None),
        };
        let kind = metadata.file_type();
        if kind.is_dir() {
            // What was listed as something else was judged as something else; the next look will judge it right.
            return if listed.is_directory { self.read_below(path, scope, listed.standing, known) } else { None };
        }
        if !kind.is_file() && !kind.is_symlink() {
            self.name_issue(path.clone(), TreeIssueKind::Special);
            return None;
        }
        let leaf = match known.and_then(|node| reusable(node, metadata)) {
            Some(leaf) => Ok(leaf),
            None if kind.is_symlink() => read_link(&self.at, metadata, self.now),
            None => read_file(&self.at, metadata, self.now, &mut self.buffer),
        };
        match leaf {
            Ok(leaf) => {
                self.files += 1;
                Some(Content::Leaf(leaf))
            }
            Err(error) => {
                let kind = if kind.is_symlink() { EntryKind::Link } else { file_kind(metadata).entry_kind() };
                self.give_up(path, &error, kind, Some(Stamp::of(metadata)))
            }
        }
    }

    fn read_below(&mut self, path: &TreePath, scope: &Scope, standing: Standing, known: Option<&Node>) -> Option<Content> {
        if path.as_bytes().iter().filter(|byte| **byte == b'/').count() >= MAX_DEPTH {
            return self.give_up(path, &io::ErrorKind::InvalidFilename.into(), EntryKind::Directory, None);
        }
        let known = known.and_then(|node| node.content.directory());
        match self.read_directory(path, scope, standing, known) {
            Ok(directory) if directory.nodes.is_empty() => None,
            Ok(directory) => {
                let digest = directory.digest();
                Some(Content::Directory(directory, digest))
            }
            Err(error) => self.give_up(path, &error, EntryKind::Directory, None),
        }
    }

    /// Names an entry that could not be read; what has vanished in the meantime is simply not there.
    fn give_up(&mut self, path: &TreePath, error: &io::Error, kind: EntryKind, stamp: Option<Stamp>) -> Option<Content> {
        if error.kind() == io::ErrorKind::NotFound {
            return None;
        }
        self.name_issue(path.clone(), TreeIssueKind::Unreadable);
        self.files += u64::from(kind != EntryKind::Directory);
        Some(Content::Unreadable(kind, stamp))
    }

    fn name_issue(&mut self, path: TreePath, kind: TreeIssueKind) {
        // A rules file is read twice: for its rules and as an entry.
        let is_named = RulesFile::named(path.name()).is_some() && self.issues.iter().any(|issue| issue.path == path);
        if !is_named {
            self.issues.push(TreeIssue { path, kind });
        }
    }

    /// Hands the rules files of a directory to the matcher, or makes it forget those that are not there.
    fn take_over_rules(
        &mut self,
        path: &TreePath,
        standing: Standing,
        entries: &[(OsString, DirEntry)],
        previous: Option<&Directory>,
    ) -> Vec<KnownRules> {
        let mut known = Vec::new();
        for file in RulesFile::ALL {
            let found = entries.binary_search_by(|(name, _)| name.as_bytes().cmp(file.name().as_bytes())).ok();
            let entry = found.filter(|_| standing.reads_rules()).map(|position| &entries[position].1);
            let before = previous.and_then(|previous| previous.rules.iter().find(|rules| rules.file == file));
            match entry.and_then(|entry| self.take_over(path, file, entry, before)) {
                Some(rules) => known.push(rules),
                None => self.matcher.remove_rules(path, file),
            }
        }
        known
    }

    fn take_over(
        &mut self,
        directory: &TreePath,
        file: RulesFile,
        entry: &DirEntry,
        before: Option<&KnownRules>,
    ) -> Option<KnownRules> {
        // A link is no rules file, for git neither: what it leads to is not part of this tree.
        let metadata = entry.metadata().ok().filter(Metadata::is_file)?;
        let stamp = Stamp::of(&metadata);
        let is_known = |rules: &&KnownRules| rules.stamp == stamp && rules.trust == Trust::Settled;
        if let Some(before) = before.filter(is_known)
            && self.matcher.rules_digest(directory, file) == Some(before.digest)
        {
            return Some(*before);
        }
        match read_rules(&entry.path()) {
            Ok(text) => {
                // A line that is no pattern changes nothing, as for git; the settings' patterns were checked when they were read.
                let _problems = self.matcher.add_rules(directory, file, &text);
                let digest = self.matcher.rules_digest(directory, file)?;
                Some(KnownRules { file, stamp, trust: stamp.trust(self.now), digest })
            }
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    self.name_issue(directory.join(file.name().as_bytes()), TreeIssueKind::Unreadable);
                }
                None
            }
        }
    }
}

/// Returns what is known of an entry, if its stamp proves that it still holds.
fn reusable(node: &Node, metadata: &Metadata) -> Option<Leaf> {
    let leaf = node.content.leaf()?;
    (leaf.trust == Trust::Settled && leaf.stamp == Stamp::of(metadata)).then_some(*leaf)
}
