//! The tree digest of a commit: the digest that a clean checkout of the commit has, computed from git's objects.
//!
//! Where git would check out another content than the commit has, or the objects do not say everything, the commit is refused with
//! a reason ([`CommitRefusal`]); nothing is guessed.
//!
//! The directories are read first. Then the files are read and hashed by a thread for each processor, because unpacking and hashing
//! take most of the time.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::committed_leaves::{AttributesInForce, CommittedLeaf, LeafDigest, LeafReading, own_attributes, to_tree_path};
use crate::content::MAX_RULES_BYTES;
use crate::digest::{DigestedEntry, compute_directory_digest};
use crate::ignore::{
    ATTRIBUTES_FILE, AttributesFile, DirectoryRules, Matcher, RulesAbove, RulesFile, RulesScope, TreeMembership,
};
use crate::inputs::{digest_of_now, digest_with_inputs};
use crate::read::{is_too_deep, push_name};
use crate::refusal::CommitRefusal;
use proctor_git::{GitEntryKind, GitReadError, GitStorage, GitTreeEntry, ObjectId, ObjectProblem, SubmoduleNames};
use proctor_model::{Digest, EntryKind, TreeDigest, TreePath};

/// The most entries of a commit that are read. Git objects can be made so that a small repository stands for any number of files.
const MOST_ENTRIES: u64 = 5_000_000;
/// The most bytes of files that are read. Small objects can stand for large files, and one object for many files.
const MOST_BYTES: u64 = 16 << 30;
/// The most submodules of a commit that are read, with those in submodules. Objects can be made so that a few of them stand for any
/// number.
pub(super) const MOST_SUBMODULES: u64 = 1000;
/// How deep submodules may be nested. The packs of all repositories around a submodule are open while it is read.
pub(super) const DEEPEST_SUBMODULE: u32 = 16;
/// The largest `.gitattributes` of a commit that is read, in bytes. Each line becomes a pattern in memory.
const LONGEST_ATTRIBUTES_OF_COMMIT: usize = 256 * 1024;

/// The tree of a commit, below the project's root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommittedTree {
    /// The digest, with those of the inputs.
    pub digest: TreeDigest,
    /// The digest of the tree alone.
    pub own: Digest,
    /// The number of files and links.
    pub files: u64,
}

/// Computes the tree digest of a commit, as [`crate::TreeIndex::scan`] computes it for a clean checkout. Inputs beside the project that
/// lie in the repository have the content of the commit, others the content that they have now.
///
/// `root` is the commit's tree, and `below` the project's directory in it, which is empty for the root of the repository. Only the
/// settings of the matcher are used.
///
/// # Errors
/// When the digest cannot be told.
pub fn committed_tree(
    storage: &GitStorage,
    root: ObjectId,
    below: &TreePath,
    matcher: &Matcher,
) -> Result<CommittedTree, CommitRefusal> {
    committed_tree_within((storage, MOST_BYTES), root, below, matcher)
}

/// Computes the tree digest of a commit as [`committed_tree`] does, and reads at most this number of bytes of files.
///
/// # Errors
/// When the digest cannot be told.
pub fn committed_tree_within(
    (storage, most_bytes): (&GitStorage, u64),
    root: ObjectId,
    below: &TreePath,
    matcher: &Matcher,
) -> Result<CommittedTree, CommitRefusal> {
    refuse_lacking_clone(storage, read_commit((storage, most_bytes), root, below, matcher))
}

/// Computes the digest of a commit of which [`committed_tree`] has computed that of the tree alone, with the inputs of another matcher.
///
/// # Errors
/// When the digest cannot be told.
pub fn with_other_inputs(
    storage: &GitStorage,
    root: ObjectId,
    below: &TreePath,
    (own, matcher): (Digest, &Matcher),
) -> Result<TreeDigest, CommitRefusal> {
    let reading =
        Reading::begin((storage, MOST_BYTES), root).and_then(|reading| reading.with_inputs(root, below, (own, matcher)));
    refuse_lacking_clone(storage, reading)
}

fn refuse_lacking_clone<T>(storage: &GitStorage, answered: Result<T, CommitRefusal>) -> Result<T, CommitRefusal> {
    match answered {
        Err(CommitRefusal::Git(GitReadError::Object { id, problem: ObjectProblem::Missing }))
            if storage.lacks_objects_by_design() =>
        {
            Err(CommitRefusal::LackingClone { id })
        }
        answered => answered,
    }
}

fn read_commit(
    (storage, most_bytes): (&GitStorage, u64),
    root: ObjectId,
    below: &TreePath,
    matcher: &Matcher,
) -> Result<CommittedTree, CommitRefusal> {
    let reading = Reading::begin((storage, most_bytes), root)?;
    let mut walk = reading.walk(matcher);
    let top = walk.read(root, below)?;
    let (digest, files) = walk.read_leaves(&top)?;
    let own = digest.unwrap_or_else(|| compute_directory_digest(std::iter::empty()));
    Ok(CommittedTree { digest: reading.with_inputs(root, below, (own, matcher))?, own, files })
}

/// What all walks through one commit share.
struct Reading<'a> {
    storage: &'a GitStorage,
    limits: ReadingLimits,
    submodules: Option<SubmoduleNames>,
}

impl<'a> Reading<'a> {
    fn begin((storage, most_bytes): (&'a GitStorage, u64), root: ObjectId) -> Result<Self, CommitRefusal> {
        let limits = ReadingLimits { most_bytes, bytes: AtomicU64::new(0), entries: Cell::new(0), submodules: Cell::new(0) };
        Ok(Self { storage, limits, submodules: SubmoduleNames::of_commit(storage, root)? })
    }

    fn walk<'w>(&'w self, matcher: &'w Matcher) -> CommitWalk<'w> {
        CommitWalk {
            storage: self.storage,
            matcher,
            limits: &self.limits,
            submodules: self.submodules.clone(),
            nesting: 0,
            path: Vec::new(),
            repository_start: 0,
            project_start: 0,
            attributes: Arc::from([]),
            leaves: Vec::new(),
            files_of_submodules: 0,
        }
    }

    /// Computes the digest of the commit with the inputs of a matcher. `own` is the digest of the project's tree alone.
    fn with_inputs(
        &self,
        root: ObjectId,
        below: &TreePath,
        (own, matcher): (Digest, &Matcher),
    ) -> Result<TreeDigest, CommitRefusal> {
        let inputs = matcher.inputs().iter().map(|place| {
            let committed = match place.in_repository(below) {
                Some(path) => {
                    let of_input = matcher.for_input(self.walk(matcher).rules_above(root, &path)?);
                    Some(self.walk(&of_input).read_input(root, &path)?)
                }
                None => None,
            };
            let (kind, digest) = match committed {
                Some(Some(read)) => read,
                Some(None) if !place.is_ignored() => (EntryKind::File, None),
                Some(None) | None => digest_of_now(place, matcher),
            };
            Ok((place.name.as_str(), kind, digest))
        });
        let inputs: Vec<_> = inputs.collect::<Result<_, CommitRefusal>>()?;
        Ok(TreeDigest(digest_with_inputs(own, inputs.into_iter())))
    }
}

/// What is left of the limits, for the commit and its submodules together.
struct ReadingLimits {
    /// How many bytes of file contents may be read at most.
    most_bytes: u64,
    /// How many bytes of file contents were read so far.
    bytes: AtomicU64,
    /// How many entries were read.
    entries: Cell<u64>,
    /// How many submodules were read.
    submodules: Cell<u64>,
}

/// A directory of the commit. Its entries are sorted by the bytes of their names.
struct CommittedDirectory {
    entries: Vec<(Vec<u8>, CommittedEntry)>,
}

enum CommittedEntry {
    /// A file or a link, by its position in the list of all of them.
    Leaf(EntryKind, usize),
    Directory(CommittedDirectory),
    /// A submodule, by the digest of its directory; `None` if nothing in it belongs to the tree.
    Submodule(Option<Digest>),
}

/// Reads the directories of a commit, or of the commit of one of its submodules.
struct CommitWalk<'a> {
    storage: &'a GitStorage,
    matcher: &'a Matcher,
    limits: &'a ReadingLimits,
    /// The names of the commit's submodules; `None` if it has no `.gitmodules`.
    submodules: Option<SubmoduleNames>,
    /// How many repositories are around this one: 0, or more in a submodule.
    nesting: u32,
    /// The path of the entry that is being read, from the root of the outermost repository.
    path: Vec<u8>,
    /// Where the path from this repository's root begins in `path`.
    repository_start: usize,
    /// Where the path from the project's root begins in `path`.
    project_start: usize,
    attributes: AttributesInForce,
    leaves: Vec<CommittedLeaf>,
    files_of_submodules: u64,
}

impl CommitWalk<'_> {
    fn read(&mut self, root: ObjectId, below: &TreePath) -> Result<CommittedDirectory, CommitRefusal> {
        let entries = self.descend(root, below)?;
        self.read_from(&entries.ok_or_else(|| CommitRefusal::NoProject { path: below.clone() })?)
    }

    /// Reads what the commit's rules files above an input say about it. They decide in submodules alone.
    fn rules_above(&mut self, root: ObjectId, path: &TreePath) -> Result<RulesAbove, CommitRefusal> {
        if self.submodules.is_none() {
            return Ok(RulesAbove::default());
        }
        RulesAbove::read(path.as_bytes(), true, |directory| {
            self.path.clear();
            let entries = self.descend(root, &to_tree_path(directory))?;
            self.rules_texts(&entries.unwrap_or_default())
        })
    }

    /// Reads the file or directory of an input. Returns its kind and its digest; `None` if the commit has nothing there.
    fn read_input(&mut self, root: ObjectId, path: &TreePath) -> Result<Option<(EntryKind, Option<Digest>)>, CommitRefusal> {
        let parent = self.descend(root, &path.parent().unwrap_or_default())?.unwrap_or_default();
        let Some(entry) = parent.iter().find(|entry| entry.name == path.name()) else { return Ok(None) };
        push_name(&mut self.path, path.name());
        match entry.kind() {
            Some(GitEntryKind::Own(EntryKind::Directory)) => {
                let entries = self.entries_of(entry.id)?;
                let read = self.read_from(&entries)?;
                let (digest, _) = self.read_leaves(&read)?;
                Ok(Some((EntryKind::Directory, Some(digest.unwrap_or_else(|| compute_directory_digest(std::iter::empty()))))))
            }
            Some(GitEntryKind::Own(kind @ (EntryKind::File | EntryKind::Executable | EntryKind::Link))) => {
                let _only_leaf = self.leaf(kind, entry.id);
                Ok(Some((kind, self.read_all_leaves()?.into_iter().next().flatten())))
            }
            Some(GitEntryKind::Submodule) | None => Err(CommitRefusal::OddEntry { path: to_tree_path(&self.path) }),
        }
    }

    /// Goes down to a directory of the commit, and returns its entries; `None` if the commit has no such directory.
    fn descend(&mut self, root: ObjectId, below: &TreePath) -> Result<Option<Vec<GitTreeEntry>>, CommitRefusal> {
        let mut entries = self.entries_of(root)?;
        for name in below.as_bytes().split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            let found = entries.iter().find(|entry| entry.name == name);
            let found = found.filter(|entry| entry.kind() == Some(GitEntryKind::Own(EntryKind::Directory)));
            let Some(tree) = found.map(|found| found.id) else { return Ok(None) };
            push_name(&mut self.path, name);
            entries = self.entries_of(tree)?;
        }
        Ok(Some(entries))
    }

    /// Reads the directory at the present path, which has these entries, as the root of a tree.
    fn read_from(&mut self, entries: &[GitTreeEntry]) -> Result<CommittedDirectory, CommitRefusal> {
        self.project_start = if self.path.is_empty() { 0 } else { self.path.len() + 1 };
        let scope = self.submodules.is_some().then(|| self.matcher.bare_scope(Arc::default()));
        let scope = self.narrow(scope.as_ref(), self.matcher.root_membership(), entries)?;
        self.directory(entries.to_vec(), scope.as_ref())
    }

    /// Reads a directory. `scope` has the rules that apply in it; `None` if the commit has no submodule: the rules decide only in
    /// submodules.
    fn directory(
        &mut self,
        mut entries: Vec<GitTreeEntry>,
        scope: Option<&RulesScope>,
    ) -> Result<CommittedDirectory, CommitRefusal> {
        // Git sorts directories as if their names ended with a slash.
        entries.sort_unstable_by(|left, right| left.name.cmp(&right.name));
        let length = self.path.len();
        let mut read = CommittedDirectory { entries: Vec::with_capacity(entries.len()) };
        let mut before: Option<Vec<u8>> = None;
        for entry in entries {
            self.path.truncate(length);
            let odd = || CommitRefusal::OddEntry { path: to_tree_path(&self.path) };
            if !is_clean(&entry.name) || before.as_ref() == Some(&entry.name) {
                return Err(odd());
            }
            let kind = entry.kind().ok_or_else(odd)?;
            push_name(&mut self.path, &entry.name);
            before = Some(entry.name.clone());
            let is_directory = matches!(kind, GitEntryKind::Own(EntryKind::Directory) | GitEntryKind::Submodule);
            if !self.matcher.selects_committed(&self.path[self.project_start..], is_directory) {
                if is_directory || !self.matcher.is_task_list(&self.path[self.project_start..]) {
                    return Err(CommitRefusal::LeftOut { path: to_tree_path(&self.path) });
                }
                continue;
            }
            let membership = scope.map(|scope| self.matcher.membership_of(scope, &self.path[self.project_start..], is_directory));
            // In the repository itself, git tracks every entry, whatever a rule says.
            let is_in = |member: TreeMembership| if is_directory { member.is_walked() } else { member.belongs() };
            if self.nesting > 0 && !membership.is_some_and(is_in) {
                return Err(CommitRefusal::LeftOutOfSubmodule { path: to_tree_path(&self.path) });
            }
            let rules = scope.zip(membership);
            let found = match kind {
                GitEntryKind::Submodule => CommittedEntry::Submodule(self.submodule(entry.id, rules)?),
                GitEntryKind::Own(EntryKind::Directory) => CommittedEntry::Directory(self.subdirectory(entry.id, rules)?),
                GitEntryKind::Own(leaf @ (EntryKind::Link | EntryKind::File | EntryKind::Executable)) => {
                    self.leaf(leaf, entry.id)
                }
            };
            read.entries.push((entry.name, found));
        }
        self.path.truncate(length);
        Ok(read)
    }

    /// Reads a subdirectory. `rules` has the rules of the directory around it, and whether these make the subdirectory a part of the tree.
    fn subdirectory(
        &mut self,
        tree: ObjectId,
        rules: Option<(&RulesScope, TreeMembership)>,
    ) -> Result<CommittedDirectory, CommitRefusal> {
        if is_too_deep(&self.path[self.project_start..]) {
            return Err(CommitRefusal::TooDeep { path: to_tree_path(&self.path) });
        }
        let above = Arc::clone(&self.attributes);
        let entries = self.entries_of(tree)?;
        let scope = match rules {
            Some((scope, membership)) => self.narrow(Some(scope), membership, &entries)?,
            None => None,
        };
        let read = self.directory(entries, scope.as_ref())?;
        self.attributes = above;
        Ok(read)
    }

    /// Computes the digest of a submodule's directory, as a checkout with this submodule has it; `None` if nothing in it belongs to the
    /// tree.
    fn submodule(
        &mut self,
        commit: ObjectId,
        rules: Option<(&RulesScope, TreeMembership)>,
    ) -> Result<Option<Digest>, CommitRefusal> {
        let not_here = || CommitRefusal::Submodule { path: to_tree_path(&self.path) };
        self.limits.submodules.set(self.limits.submodules.get() + 1);
        if self.limits.submodules.get() > MOST_SUBMODULES || self.nesting >= DEEPEST_SUBMODULE {
            return Err(CommitRefusal::TooManySubmodules { most: MOST_SUBMODULES, deepest: DEEPEST_SUBMODULE });
        }
        let names = self.submodules.as_ref().ok_or_else(not_here)?;
        let storage = self.storage.submodule(names, &self.path[self.repository_start..], commit).ok_or_else(not_here)?;
        let walked = self.walk_submodule(&storage, commit, rules);
        match walked {
            Err(CommitRefusal::Git(GitReadError::Object { problem: ObjectProblem::Missing, .. })) => Err(not_here()),
            Err(refusal) => Err(refusal),
            Ok((digest, files)) => {
                self.files_of_submodules += files;
                Ok(digest)
            }
        }
    }

    fn walk_submodule(
        &self,
        storage: &GitStorage,
        commit: ObjectId,
        rules: Option<(&RulesScope, TreeMembership)>,
    ) -> Result<(Option<Digest>, u64), CommitRefusal> {
        let tree = storage.tree_of(commit)?;
        let mut walk = CommitWalk {
            storage,
            matcher: self.matcher,
            limits: self.limits,
            submodules: Some(SubmoduleNames::of_commit(storage, tree)?.unwrap_or_default()),
            nesting: self.nesting + 1,
            path: self.path.clone(),
            repository_start: self.path.len() + 1,
            project_start: self.project_start,
            attributes: Arc::from([]),
            leaves: Vec::new(),
            files_of_submodules: 0,
        };
        let top = walk.subdirectory(tree, rules)?;
        walk.read_leaves(&top)
    }

    /// Returns the rules that apply in a directory, which has these entries.
    fn narrow(
        &self,
        scope: Option<&RulesScope>,
        membership: TreeMembership,
        entries: &[GitTreeEntry],
    ) -> Result<Option<RulesScope>, CommitRefusal> {
        let Some(scope) = scope else { return Ok(None) };
        let texts = self.rules_texts(entries)?;
        let directory = to_tree_path(self.path.get(self.project_start..).unwrap_or_default());
        let rules = (!texts.is_empty()).then(|| Arc::new(DirectoryRules::parse(directory, &texts)));
        Ok(Some(self.matcher.narrow(scope, membership, rules.as_ref())))
    }

    /// Returns the texts of the rules files of a directory, which has these entries.
    fn rules_texts(&self, entries: &[GitTreeEntry]) -> Result<Vec<(RulesFile, Vec<u8>)>, CommitRefusal> {
        let (mut texts, is_file) =
            (Vec::new(), |kind| matches!(kind, Some(GitEntryKind::Own(EntryKind::File | EntryKind::Executable))));
        for file in RulesFile::ALL {
            let found = entries.iter().find(|entry| entry.name == file.name().as_bytes());
            if let Some(entry) = found.filter(|entry| is_file(entry.kind())) {
                let text = self.storage.blob(entry.id)?;
                // A longer file has no effect in a checkout either.
                if text.len() as u64 <= MAX_RULES_BYTES {
                    texts.push((file, text));
                }
            }
        }
        Ok(texts)
    }

    /// Reads the files and links of the directories that were read. Returns the digest of the top directory, or `None` if nothing in it
    /// belongs to the tree, and the number of files and links, with those of submodules.
    fn read_leaves(&self, top: &CommittedDirectory) -> Result<(Option<Digest>, u64), CommitRefusal> {
        let digests = self.read_all_leaves()?;
        let files = digests.iter().filter(|digest| digest.is_some()).count() as u64;
        Ok((assemble(top, &digests), files + self.files_of_submodules))
    }

    fn read_all_leaves(&self) -> Result<Vec<LeafDigest>, CommitRefusal> {
        let own = own_attributes(self.storage)?;
        let reading = LeafReading {
            matcher: self.matcher,
            own: own.as_ref(),
            repository_start: self.repository_start,
            leaves: &self.leaves,
            most_bytes: self.limits.most_bytes,
            bytes: &self.limits.bytes,
        };
        reading.read_all(self.storage)
    }

    fn leaf(&mut self, kind: EntryKind, id: ObjectId) -> CommittedEntry {
        let attributes = Arc::clone(&self.attributes);
        self.leaves.push(CommittedLeaf { is_link: kind == EntryKind::Link, id, path: self.path.clone(), attributes });
        CommittedEntry::Leaf(kind, self.leaves.len() - 1)
    }

    /// Reads a directory at the present path, and adds its attributes file if that asks for a change of any content.
    fn entries_of(&mut self, tree: ObjectId) -> Result<Vec<GitTreeEntry>, CommitRefusal> {
        let entries = self.storage.entries(tree)?;
        self.limits.entries.set(self.limits.entries.get() + entries.len() as u64);
        if self.limits.entries.get() > MOST_ENTRIES {
            return Err(CommitRefusal::TooManyEntries);
        }
        let found = entries.iter().find(|entry| entry.name == ATTRIBUTES_FILE.as_bytes());
        // As git does, a link of this name is not followed.
        let is_file =
            |entry: &&GitTreeEntry| matches!(entry.kind(), Some(GitEntryKind::Own(EntryKind::File | EntryKind::Executable)));
        if let Some(entry) = found.filter(is_file) {
            let text = self.storage.blob(entry.id)?;
            if text.len() > LONGEST_ATTRIBUTES_OF_COMMIT {
                return Err(CommitRefusal::LongAttributes { path: to_tree_path(&self.path) });
            }
            let is_highest = self.attributes.is_empty();
            let file = if is_highest { AttributesFile::parse(&text) } else { AttributesFile::parse_below(&text) };
            if !file.is_empty() {
                let start = if self.path.is_empty() { 0 } else { self.path.len() + 1 };
                let above = self.attributes.iter().cloned();
                self.attributes = above.chain([(start, Arc::new(file))]).collect();
            }
        }
        Ok(entries)
    }
}

/// Computes the digest of a directory; `None` if nothing in it belongs to the tree.
fn assemble(directory: &CommittedDirectory, digests: &[LeafDigest]) -> Option<Digest> {
    let digested = directory.entries.iter().filter_map(|(name, entry)| {
        let (kind, digest) = match entry {
            CommittedEntry::Leaf(kind, position) => (*kind, digests[*position]?),
            CommittedEntry::Directory(below) => (EntryKind::Directory, assemble(below, digests)?),
            CommittedEntry::Submodule(digest) => (EntryKind::Directory, (*digest)?),
        };
        Some(DigestedEntry { kind, digest: Some(digest), name: name.as_slice() })
    });
    let digested: Vec<DigestedEntry<'_>> = digested.collect();
    (!digested.is_empty()).then(|| compute_directory_digest(digested.into_iter()))
}

/// Returns whether a name may be that of an entry in a directory. Git checks out no other.
pub fn is_clean(name: &[u8]) -> bool {
    !name.is_empty() && name != b"." && name != b".." && !name.eq_ignore_ascii_case(b".git") && !name.contains(&b'/')
}
