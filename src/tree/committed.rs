//! The tree digest of a commit: the digest that a clean checkout of the commit has, computed from git's objects.
//!
//! Where git would check out another content than the commit has, or the objects do not say everything, the commit is refused with
//! a reason ([`CommitRefusal`]); nothing is guessed.
//!
//! The directories are read first. Then the files are read and hashed by a thread for each processor, because unpacking and hashing
//! take most of the time.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use crate::git::{
    GitDirectory, GitEntryKind, GitReadError, GitStorage, GitTreeEntry, ObjectDatabase, ObjectId, ObjectKind, ObjectProblem,
};
use crate::ignore::{ATTRIBUTES_FILE, AttributesFile, CheckoutChange, Matcher, checkout_changes};
use crate::model::{Digest, EntryKind, TreeDigest, TreePath};
use crate::tree::digest::{DigestedEntry, compute_directory_digest};
use crate::tree::read::{is_too_deep, push_name};

/// The most entries of a commit that are read. Git objects can be made so that a small repository stands for any number of files.
const MOST_ENTRIES: u64 = 5_000_000;
/// The most bytes of files that are read. Small objects can stand for large files, and one object for many files.
const MOST_BYTES: u64 = 16 << 30;
/// The largest `.gitattributes` of a commit that is read, in bytes. Each line becomes a pattern in memory.
const LONGEST_ATTRIBUTES_OF_COMMIT: usize = 256 * 1024;
/// The largest `info/attributes` that is read, in bytes; git has the same limit.
const LONGEST_ATTRIBUTES: u64 = 100 << 20;
/// The beginning of a pointer that git LFS puts in place of a file's content.
const LARGE_FILE_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// More threads are started for at least this number of files. Starting a thread and opening the packs costs as much as some files.
const HELP_FROM: usize = 100;
/// The most threads that read files.
const MAX_THREADS: usize = 8;
/// How many files a thread takes at once.
const SHARE: usize = 16;

/// The tree of a commit, below the project's root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommittedTree {
    pub digest: TreeDigest,
    /// The number of files and links.
    pub files: u64,
}

/// Why the tree digest of a commit cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum CommitRefusal {
    #[error("the commit has no directory `{path}`, in which the project is")]
    NoProject { path: TreePath },
    #[error("`{path}` is a submodule: its content is no part of the commit")]
    Submodule { path: TreePath },
    #[error("`{path}` is a pointer of git LFS in place of the file's content")]
    LargeFilePointer { path: TreePath },
    /// Git gives the file another content in the working tree.
    #[error("git checks `{path}` out with another content than the commit has (attribute `{attribute}`)")]
    Converted {
        path: TreePath,
        /// The name of the attribute.
        attribute: &'static str,
    },
    #[error("`{path}` lies below more than 256 directories")]
    TooDeep { path: TreePath },
    #[error("the commit has more than five million entries")]
    TooManyEntries,
    #[error("the files of the commit have more than {most} bytes")]
    TooManyBytes { most: u64 },
    #[error("the `.gitattributes` of the directory `{path}` is longer than 256 KiB")]
    LongAttributes { path: TreePath },
    /// Two commits that differ there would have one tree digest.
    #[error("`{path}` is committed, and entries with this name belong to no tree, so no verdict is about its content")]
    LeftOut { path: TreePath },
    /// A run follows the link, and so has other settings than those that the commit is compared by.
    #[error("`{name}` of commit {commit} is no regular file, so its settings are not known")]
    OddConfiguration {
        name: &'static str,
        /// The beginning of the hash of the judged or the trusted commit.
        commit: String,
    },
    /// The repository was cloned without all of its objects.
    #[error("the clone is shallow or partial and lacks object {id}")]
    LackingClone {
        /// The object's hash in hexadecimal digits.
        id: String,
    },
    /// A tree object has a name or a mode that git does not write.
    #[error("the directory `{path}` of the commit has an entry that git does not write")]
    OddEntry { path: TreePath },
    #[error(transparent)]
    Git(#[from] GitReadError),
}

impl CommitRefusal {
    /// Returns the word for the reason in documents that programs read.
    pub fn word(&self) -> &'static str {
        match self {
            Self::NoProject { .. } => "no-project",
            Self::Submodule { .. } => "submodule",
            Self::LargeFilePointer { .. } => "lfs-pointer",
            Self::Converted { attribute, .. } => attribute,
            Self::TooDeep { .. } => "too-deep",
            Self::TooManyEntries => "too-many-entries",
            Self::LongAttributes { .. } | Self::TooManyBytes { .. } => "too-large",
            Self::LeftOut { .. } => "left-out",
            Self::OddConfiguration { .. } => "odd-configuration",
            Self::LackingClone { .. } => "lacking-clone",
            Self::OddEntry { .. } => "odd-entry",
            Self::Git(error) => match error {
                GitReadError::Object { problem, .. } => match problem {
                    ObjectProblem::Missing => "missing-object",
                    ObjectProblem::Damaged => "damaged-object",
                    ObjectProblem::Kind => "wrong-kind",
                    ObjectProblem::TooLarge => "too-large",
                    ObjectProblem::TooManyPacks => "too-many-packs",
                    ObjectProblem::Linked => "linked",
                },
                GitReadError::NoObjects { .. } | GitReadError::Name(_) => "no-repository",
                GitReadError::Format { .. } => "format",
                GitReadError::Linked { .. } | GitReadError::NotAFile { .. } => "linked",
                GitReadError::TooLong { .. } => "too-large",
                GitReadError::Unreadable { .. } => "unreadable",
            },
        }
    }
}

/// Computes the tree digest of a commit, as [`crate::tree::TreeIndex::scan`] computes it for a clean checkout.
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
    match read_commit((storage, most_bytes), root, below, matcher) {
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
    let mut walk = CommitWalk {
        storage,
        matcher,
        entries: 0,
        path: Vec::new(),
        project_start: 0,
        attributes: Arc::from([]),
        leaves: Vec::new(),
    };
    let top = walk.read(root, below)?;
    let own = own_attributes(storage)?;
    let reading = LeafReading { matcher, own: own.as_ref(), leaves: &walk.leaves, most_bytes, bytes: AtomicU64::new(0) };
    let digests = reading.read_all(storage)?;
    let digest = assemble(&top, &digests).unwrap_or_else(|| compute_directory_digest(std::iter::empty()));
    let files = digests.iter().filter(|digest| digest.is_some()).count() as u64;
    Ok(CommittedTree { digest: TreeDigest(digest), files })
}

/// Reads the attributes that only this repository has. They override those of the commit.
fn own_attributes(storage: &GitStorage) -> Result<Option<AttributesFile>, CommitRefusal> {
    let text = storage.common.text("info/attributes", LONGEST_ATTRIBUTES)?;
    Ok(text.map(|text| AttributesFile::parse(text.as_bytes())).filter(|file| !file.is_empty()))
}

/// The attributes files that hold in a directory, the deepest last, each with the length of its directory's path and the slash after
/// it.
type AttributesInForce = Arc<[(usize, Arc<AttributesFile>)]>;

/// A directory of the commit. Its entries are sorted by the bytes of their names.
struct CommittedDirectory {
    entries: Vec<(Vec<u8>, CommittedEntry)>,
}

enum CommittedEntry {
    /// A file or a link, by its position in the list of all of them.
    Leaf(EntryKind, usize),
    Directory(CommittedDirectory),
}

/// A file or a link of the commit.
struct CommittedLeaf {
    is_link: bool,
    id: ObjectId,
    /// The path from the repository's root.
    path: Vec<u8>,
    attributes: AttributesInForce,
}

struct CommitWalk<'a> {
    storage: &'a GitStorage,
    matcher: &'a Matcher,
    /// How many entries were read.
    entries: u64,
    /// The path of the entry that is being read, from the repository's root.
    path: Vec<u8>,
    /// Where the path from the project's root begins in `path`.
    project_start: usize,
    attributes: AttributesInForce,
    leaves: Vec<CommittedLeaf>,
}

impl CommitWalk<'_> {
    fn read(&mut self, root: ObjectId, below: &TreePath) -> Result<CommittedDirectory, CommitRefusal> {
        let mut entries = self.entries_of(root)?;
        for name in below.as_bytes().split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            let found = entries.iter().find(|entry| entry.name == name);
            let found = found.filter(|entry| entry.kind() == Some(GitEntryKind::Own(EntryKind::Directory)));
            let tree = found.ok_or_else(|| CommitRefusal::NoProject { path: below.clone() })?.id;
            push_name(&mut self.path, name);
            entries = self.entries_of(tree)?;
        }
        self.project_start = if self.path.is_empty() { 0 } else { self.path.len() + 1 };
        self.directory(entries)
    }

    fn directory(&mut self, mut entries: Vec<GitTreeEntry>) -> Result<CommittedDirectory, CommitRefusal> {
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
            let found = match kind {
                GitEntryKind::Submodule => return Err(CommitRefusal::Submodule { path: to_tree_path(&self.path) }),
                GitEntryKind::Own(EntryKind::Directory) => CommittedEntry::Directory(self.subdirectory(entry.id)?),
                GitEntryKind::Own(leaf @ (EntryKind::Link | EntryKind::File | EntryKind::Executable)) => {
                    self.leaf(leaf, entry.id)
                }
            };
            read.entries.push((entry.name, found));
        }
        self.path.truncate(length);
        Ok(read)
    }

    fn subdirectory(&mut self, tree: ObjectId) -> Result<CommittedDirectory, CommitRefusal> {
        if is_too_deep(&self.path[self.project_start..]) {
            return Err(CommitRefusal::TooDeep { path: to_tree_path(&self.path) });
        }
        let above = Arc::clone(&self.attributes);
        let entries = self.entries_of(tree)?;
        let read = self.directory(entries)?;
        self.attributes = above;
        Ok(read)
    }

    fn leaf(&mut self, kind: EntryKind, id: ObjectId) -> CommittedEntry {
        let attributes = Arc::clone(&self.attributes);
        self.leaves.push(CommittedLeaf { is_link: kind == EntryKind::Link, id, path: self.path.clone(), attributes });
        CommittedEntry::Leaf(kind, self.leaves.len() - 1)
    }

    /// Reads a directory at the present path, and adds its attributes file if that asks for a change of any content.
    fn entries_of(&mut self, tree: ObjectId) -> Result<Vec<GitTreeEntry>, CommitRefusal> {
        let entries = self.storage.entries(tree)?;
        self.entries += entries.len() as u64;
        if self.entries > MOST_ENTRIES {
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

/// The files and links of a commit, which several threads read.
struct LeafReading<'a> {
    matcher: &'a Matcher,
    /// The attributes that only this repository has.
    own: Option<&'a AttributesFile>,
    leaves: &'a [CommittedLeaf],
    /// The most bytes that all threads together read.
    most_bytes: u64,
    /// How many bytes were read.
    bytes: AtomicU64,
}

/// The digest of a leaf; `None` for one of proctor's own links to the evidence, which belongs to no tree.
type LeafDigest = Option<Digest>;

impl LeafReading<'_> {
    /// Returns the digests of all leaves, in their order. If some cannot be read, the error is that of the first of them.
    fn read_all(&self, storage: &GitStorage) -> Result<Vec<LeafDigest>, CommitRefusal> {
        let next = AtomicUsize::new(0);
        let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(MAX_THREADS);
        let helpers = if self.leaves.len() < HELP_FROM { 0 } else { processors - 1 };
        let common = &storage.common;
        let mut read = thread::scope(|scope| {
            let started: Vec<_> = (0..helpers).map(|_| scope.spawn(|| self.help(common, &next))).collect();
            let mut read = self.read_shares(&storage.objects, &next);
            for helper in started {
                read.extend(helper.join().expect("reading an object does not panic"));
            }
            read
        });
        read.sort_unstable_by_key(|(position, _)| *position);
        read.into_iter().map(|(_, digest)| digest).collect()
    }

    /// Reads leaves in a thread of its own. Without packs of its own, it leaves the work to the others.
    fn help(&self, common: &GitDirectory, next: &AtomicUsize) -> Vec<(usize, Result<LeafDigest, CommitRefusal>)> {
        ObjectDatabase::open(common).map_or_else(|_| Vec::new(), |objects| self.read_shares(&objects, next))
    }

    fn read_shares(&self, objects: &ObjectDatabase, next: &AtomicUsize) -> Vec<(usize, Result<LeafDigest, CommitRefusal>)> {
        let mut read = Vec::new();
        loop {
            let start = next.fetch_add(SHARE, Ordering::Relaxed);
            let end = self.leaves.len().min(start.saturating_add(SHARE));
            if start >= end {
                return read;
            }
            read.extend((start..end).map(|position| (position, self.read(objects, &self.leaves[position]))));
        }
    }

    fn read(&self, objects: &ObjectDatabase, leaf: &CommittedLeaf) -> Result<LeafDigest, CommitRefusal> {
        let too_many = || CommitRefusal::TooManyBytes { most: self.most_bytes };
        if self.bytes.load(Ordering::Relaxed) > self.most_bytes {
            return Err(too_many());
        }
        let object = objects.read(leaf.id)?;
        let length = object.content.len() as u64;
        if self.bytes.fetch_add(length, Ordering::Relaxed) + length > self.most_bytes {
            return Err(too_many());
        }
        if object.kind != ObjectKind::Blob {
            let problem = ObjectProblem::Kind;
            return Err(CommitRefusal::Git(GitReadError::Object { id: leaf.id.hex(), problem }));
        }
        if leaf.is_link {
            let is_own = self.matcher.is_own_link(&object.content);
            return Ok((!is_own).then(|| Digest::of(&object.content)));
        }
        if !leaf.attributes.is_empty() || self.own.is_some() {
            self.refuse_converted(leaf, &object.content)?;
        }
        Ok(Some(Digest::of(&object.content)))
    }

    /// Refuses a file whose content git changes when it checks the file out.
    fn refuse_converted(&self, leaf: &CommittedLeaf, content: &[u8]) -> Result<(), CommitRefusal> {
        let of_commit = leaf.attributes.iter().map(|(start, file)| (file.as_ref(), &leaf.path[*start..]));
        let path = || to_tree_path(&leaf.path);
        for change in checkout_changes(of_commit.chain(self.own.map(|file| (file, leaf.path.as_slice())))) {
            let attribute = match change {
                CheckoutChange::LineEndings if content.contains(&b'\n') => "eol",
                CheckoutChange::Ident if content.windows(3).any(|bytes| bytes == b"$Id") => "ident",
                CheckoutChange::Encoding if !content.is_empty() => "working-tree-encoding",
                CheckoutChange::Filter => "filter",
                CheckoutChange::LargeFile if content.starts_with(LARGE_FILE_POINTER) => {
                    return Err(CommitRefusal::LargeFilePointer { path: path() });
                }
                CheckoutChange::LineEndings | CheckoutChange::Ident | CheckoutChange::Encoding | CheckoutChange::LargeFile => {
                    continue;
                }
            };
            return Err(CommitRefusal::Converted { path: path(), attribute });
        }
        Ok(())
    }
}

/// Computes the digest of a directory; `None` if nothing in it belongs to the tree.
fn assemble(directory: &CommittedDirectory, digests: &[LeafDigest]) -> Option<Digest> {
    let digested = directory.entries.iter().filter_map(|(name, entry)| {
        let (kind, digest) = match entry {
            CommittedEntry::Leaf(kind, position) => (*kind, digests[*position]?),
            CommittedEntry::Directory(below) => (EntryKind::Directory, assemble(below, digests)?),
        };
        Some(DigestedEntry { kind, digest: Some(digest), name: name.as_slice() })
    });
    let digested: Vec<DigestedEntry<'_>> = digested.collect();
    (!digested.is_empty()).then(|| compute_directory_digest(digested.into_iter()))
}

/// Returns whether a name may be that of an entry in a directory. Git checks out no other.
pub(super) fn is_clean(name: &[u8]) -> bool {
    !name.is_empty() && name != b"." && name != b".." && !name.eq_ignore_ascii_case(b".git") && !name.contains(&b'/')
}

fn to_tree_path(path: &[u8]) -> TreePath {
    TreePath::try_from(path).unwrap_or_else(|_| TreePath::root())
}
