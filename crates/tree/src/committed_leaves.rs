//! Reads and hashes the files and links of a commit, with a thread for each processor, and refuses those that git checks out with
//! another content.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use crate::ignore::{AttributesFile, CheckoutChange, Matcher, checkout_changes};
use crate::refusal::CommitRefusal;
use proctor_git::{GitDirectory, GitReadError, GitStorage, ObjectDatabase, ObjectId, ObjectKind, ObjectProblem};
use proctor_model::{Digest, TreePath};

/// The beginning of a pointer that git LFS puts in place of a file's content.
const LARGE_FILE_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// The largest `info/attributes` that is read, in bytes; git has the same limit.
const LONGEST_ATTRIBUTES: u64 = 100 << 20;

/// More threads are started for at least this number of files. Starting a thread and opening the packs costs as much as some files.
const HELP_FROM: usize = 100;
/// The most threads that read files.
const MAX_THREADS: usize = 8;
/// How many files a thread takes at once.
const SHARE: usize = 16;

/// The attributes files that hold in a directory, the deepest last, each with the length of its directory's path and the slash after
/// it.
pub(super) type AttributesInForce = Arc<[(usize, Arc<AttributesFile>)]>;

/// Reads the attributes that only this repository has. They override those of the commit.
pub(super) fn own_attributes(storage: &GitStorage) -> Result<Option<AttributesFile>, CommitRefusal> {
    let text = storage.common.text("info/attributes", LONGEST_ATTRIBUTES)?;
    Ok(text.map(|text| AttributesFile::parse(text.as_bytes())).filter(|file| !file.is_empty()))
}

/// A file or a link of the commit.
pub(super) struct CommittedLeaf {
    pub(super) is_link: bool,
    pub(super) id: ObjectId,
    /// The path from the root of the outermost repository.
    pub(super) path: Vec<u8>,
    pub(super) attributes: AttributesInForce,
}

/// The files and links of a commit, which several threads read.
pub(super) struct LeafReading<'a> {
    pub(super) matcher: &'a Matcher,
    /// The attributes that only this repository has.
    pub(super) own: Option<&'a AttributesFile>,
    /// Where the path from this repository's root begins in the path of a leaf.
    pub(super) repository_start: usize,
    pub(super) leaves: &'a [CommittedLeaf],
    /// The most bytes that all threads together read.
    pub(super) most_bytes: u64,
    /// How many bytes were read.
    pub(super) bytes: &'a AtomicU64,
}

/// The digest of a leaf; `None` for one of proctor's own links to the evidence, which belongs to no tree.
pub(super) type LeafDigest = Option<Digest>;

impl LeafReading<'_> {
    /// Returns the digests of all leaves, in their order. If some cannot be read, the error is that of the first of them.
    pub(super) fn read_all(&self, storage: &GitStorage) -> Result<Vec<LeafDigest>, CommitRefusal> {
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
        for change in checkout_changes(of_commit.chain(self.own.map(|file| (file, &leaf.path[self.repository_start..])))) {
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

pub(super) fn to_tree_path(path: &[u8]) -> TreePath {
    TreePath::try_from(path).unwrap_or_else(|_| TreePath::root())
}
