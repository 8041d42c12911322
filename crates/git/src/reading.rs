//! Reads the index of a project's repository. An index that was read before is read again only if git has replaced the
//! file.

use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::libc;

use crate::index_file::{GitIndexProblem, IndexContent, parse_index};
use crate::location::Repository;
use crate::tracked_paths::TrackedPaths;

/// The largest index that is read, in bytes: enough for some millions of files. A larger index is refused.
const MAX_INDEX_BYTES: u64 = 512 * 1024 * 1024;

/// The paths that git's index tracks below a project's root, or why the index could not be used.
#[derive(Debug, Clone, Default)]
pub struct GitIndex {
    /// The index file that was read, and its identity at that time; `None` if the project has no repository or no index.
    file: Option<(PathBuf, FileIdentity)>,
    paths: Arc<TrackedPaths>,
    problem: Option<GitIndexProblem>,
}

/// Recognises a file that was read before. Git never changes an index: it writes a new one and renames it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileIdentity {
    device_and_inode: (u64, u64),
    bytes: u64,
    /// The times of modification and of status change.
    times: [(i64, i64); 2],
}

impl GitIndex {
    /// Returns the tracked paths below the project's root. Empty if there is a problem.
    pub fn paths(&self) -> &Arc<TrackedPaths> {
        &self.paths
    }

    /// Returns why the index could not be used; `None` if it could be used or does not exist.
    pub fn problem(&self) -> Option<GitIndexProblem> {
        self.problem
    }
}

/// Reads the index of the repository that contains a project. If the index is the file that is `known`, or tracks the
/// same paths, the result shares the known paths.
pub fn read_git_index(root: &Path, known: Option<&GitIndex>) -> GitIndex {
    let Some(repository) = Repository::find(root) else { return GitIndex::default() };
    let path = repository.directory.join("index");
    let identity = match fs::metadata(&path) {
        Ok(metadata) => FileIdentity::of(&metadata),
        // A new repository has no index before the first `git add`.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return GitIndex::default(),
        Err(_) => {
            return GitIndex { file: None, paths: Arc::default(), problem: Some(GitIndexProblem::Unreadable) };
        }
    };
    let file = Some((path, identity));
    if let Some(known) = known.filter(|known| known.file == file) {
        return known.clone();
    }
    match read(&repository, root) {
        Ok(paths) => {
            // Git writes its index anew for many commands, and most of them change only the times in it.
            let known = known.map(|known| &known.paths).filter(|known| ***known == paths);
            GitIndex { file, paths: known.cloned().unwrap_or_else(|| Arc::new(paths)), problem: None }
        }
        Err(problem) => GitIndex { file, paths: Arc::default(), problem: Some(problem) },
    }
}

fn read(repository: &Repository, root: &Path) -> Result<TrackedPaths, GitIndexProblem> {
    let content = parse_index(&read_bytes(&repository.directory.join("index"))?)?;
    let shared = match content.shared_file() {
        Some(name) => Some(read_shared(&repository.directory.join(name))?),
        None => None,
    };
    let below = root.strip_prefix(&repository.work_tree).map_err(|_| GitIndexProblem::Unreadable)?;
    let mut prefix = below.as_os_str().as_bytes().to_owned();
    if !prefix.is_empty() {
        prefix.push(b'/');
    }
    content.tracked_below(&prefix, shared.as_ref())
}

fn read_shared(path: &Path) -> Result<IndexContent, GitIndexProblem> {
    let bytes = read_bytes(path).map_err(|_| GitIndexProblem::SharedPart)?;
    parse_index(&bytes).map_err(|_| GitIndexProblem::SharedPart)
}

fn read_bytes(path: &Path) -> Result<Vec<u8>, GitIndexProblem> {
    // Opening a pipe would block without this flag.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path);
    let file = file.map_err(|_| GitIndexProblem::Unreadable)?;
    if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Err(GitIndexProblem::Unreadable);
    }
    let mut bytes = Vec::new();
    let length = file.take(MAX_INDEX_BYTES + 1).read_to_end(&mut bytes).map_err(|_| GitIndexProblem::Unreadable)?;
    if length as u64 > MAX_INDEX_BYTES { Err(GitIndexProblem::TooLarge) } else { Ok(bytes) }
}

impl FileIdentity {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device_and_inode: (metadata.dev(), metadata.ino()),
            bytes: metadata.size(),
            times: [(metadata.mtime(), metadata.mtime_nsec()), (metadata.ctime(), metadata.ctime_nsec())],
        }
    }
}
