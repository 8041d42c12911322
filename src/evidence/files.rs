//! The few file operations everything here is made of. Files of ours are created, never overwritten.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;

use nix::libc;
use sha2::{Digest as _, Sha256};

use crate::evidence::error::failed;
use crate::evidence::{EvidenceError, FileOperation};
use crate::model::Digest;

/// Directories of ours.
pub(super) const DIRECTORY_MODE: u32 = 0o700;
/// Files of ours while they are written.
pub(super) const FILE_MODE: u32 = 0o600;
/// Files of ours once they are sealed.
const SEALED_MODE: u32 = 0o400;
/// Files outside the store that others may read; the user's mask applies.
const OPEN_MODE: u32 = 0o666;
/// Concurrent syncs share one commit of the file system's journal; more threads than this gain nothing.
const SYNC_THREADS: usize = 4;

/// Creates a directory and its parents, where they are missing, for the user alone.
pub(super) fn create_directories(path: &Path) -> Result<(), EvidenceError> {
    DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(path).map_err(failed(FileOperation::Create, path))
}

/// Creates a directory that must not exist yet.
pub(super) fn create_directory(path: &Path) -> Result<(), EvidenceError> {
    DirBuilder::new().mode(DIRECTORY_MODE).create(path).map_err(failed(FileOperation::Create, path))
}

/// Takes group's and others' permissions from a directory that has any.
pub(super) fn keep_private(path: &Path) -> Result<(), EvidenceError> {
    let mode = std::fs::metadata(path).map_err(failed(FileOperation::Open, path))?.mode();
    if mode & 0o077 == 0 {
        return Ok(());
    }
    std::fs::set_permissions(path, Permissions::from_mode(DIRECTORY_MODE)).map_err(failed(FileOperation::Protect, path))
}

/// Creates a file that must not exist yet, for reading and writing by the user alone. Descriptors close on exec.
pub(super) fn create_file(path: &Path) -> Result<File, EvidenceError> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(FILE_MODE)
        .open(path)
        .map_err(failed(FileOperation::Create, path))
}

/// Creates a file that must not exist yet, with these bytes.
pub(super) fn write_new(path: &Path, bytes: &[u8]) -> Result<File, EvidenceError> {
    let mut file = create_file(path)?;
    file.write_all(bytes).map_err(failed(FileOperation::Write, path))?;
    Ok(file)
}

/// Creates a directory outside the store, and its parents, where they are missing; the user's mask applies.
pub(super) fn create_open_directories(path: &Path) -> Result<(), EvidenceError> {
    DirBuilder::new().recursive(true).create(path).map_err(failed(FileOperation::Create, path))
}

/// Puts a file that others may read outside the store, in the place of the one there: whoever reads it sees the one or the other, whole.
pub(super) fn replace_open_file(path: &Path, bytes: &[u8]) -> Result<(), EvidenceError> {
    let name = format!(".{}.{}.new", path.file_name().unwrap_or_default().to_string_lossy(), std::process::id());
    let new = path.with_file_name(name);
    // What a dead process of the same id left.
    remove_file(&new)?;
    let created = OpenOptions::new().write(true).create_new(true).mode(OPEN_MODE).open(&new);
    let mut file = created.map_err(failed(FileOperation::Create, &new))?;
    file.write_all(bytes).map_err(failed(FileOperation::Write, &new))?;
    file.sync_all().map_err(failed(FileOperation::Sync, &new))?;
    rename(&new, path)
}

/// Opens a file for reading; a link in its last component is refused.
pub(super) fn open_plain(path: &Path) -> Result<File, EvidenceError> {
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
        .map_err(failed(FileOperation::Open, path))
}

/// Reads a whole file of ours; a link in its last component is refused.
pub(super) fn read_plain(path: &Path) -> Result<Vec<u8>, EvidenceError> {
    let mut bytes = Vec::new();
    open_plain(path)?.read_to_end(&mut bytes).map_err(failed(FileOperation::Read, path))?;
    Ok(bytes)
}

/// Computes size and digest of a file without holding it in memory.
pub(super) fn hash_file(path: &Path) -> Result<(u64, Digest), EvidenceError> {
    let mut file = open_plain(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0_u8; 64 * 1024];
    let mut total = 0_u64;
    loop {
        let count = match file.read(&mut buffer) {
            Ok(0) => return Ok((total, Digest::from_hasher(hasher))),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(failed(FileOperation::Read, path)(error)),
        };
        hasher.update(&buffer[..count]);
        total += count as u64;
    }
}

/// Waits until the entries of a directory are on disk.
pub(super) fn sync_directory(path: &Path) -> Result<(), EvidenceError> {
    let directory = File::open(path).map_err(failed(FileOperation::Open, path))?;
    directory.sync_all().map_err(failed(FileOperation::Sync, path))
}

/// Makes files read-only and waits until they are on disk, several at a time. All are tried; the first failure is returned.
pub(super) fn seal_files(paths: &[PathBuf]) -> Result<(), EvidenceError> {
    let share = paths.len().div_ceil(SYNC_THREADS).max(1);
    thread::scope(|scope| {
        let mut shares = paths.chunks(share);
        let own = shares.next().unwrap_or_default();
        let beside = |share| thread::Builder::new().spawn_scoped(scope, move || seal_share(share)).map_err(|_refused| share);
        let others: Vec<_> = shares.map(beside).collect();
        others.into_iter().fold(seal_share(own), |outcome, other| match other {
            Ok(thread) => outcome.and(thread.join().expect("syncing does not panic")),
            // There is no further thread to be had: one after the other is as good.
            Err(share) => outcome.and(seal_share(share)),
        })
    })
}

fn seal_share(paths: &[PathBuf]) -> Result<(), EvidenceError> {
    paths.iter().map(|path| seal_file(path)).fold(Ok(()), Result::and)
}

fn seal_file(path: &Path) -> Result<(), EvidenceError> {
    let file = open_plain(path)?;
    // Before the sync, so that it covers the mode too.
    file.set_permissions(Permissions::from_mode(SEALED_MODE)).map_err(failed(FileOperation::Protect, path))?;
    file.sync_all().map_err(failed(FileOperation::Sync, path))
}

/// Returns the value, or none where the file or directory is not there.
pub(super) fn if_there<T>(result: Result<T, EvidenceError>) -> Result<Option<T>, EvidenceError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(EvidenceError::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Lists a directory; one that is not there has no entries. The order is the directory's own.
pub(super) fn list(path: &Path) -> Result<Vec<std::fs::DirEntry>, EvidenceError> {
    let entries = if_there(std::fs::read_dir(path).map_err(failed(FileOperation::List, path)))?;
    let Some(entries) = entries else { return Ok(Vec::new()) };
    entries.collect::<io::Result<Vec<_>>>().map_err(failed(FileOperation::List, path))
}

/// Removes a file or link; that it is not there is no error.
pub(super) fn remove_file(path: &Path) -> Result<(), EvidenceError> {
    if_there(std::fs::remove_file(path).map_err(failed(FileOperation::Remove, path))).map(drop)
}

/// Renames within one directory of ours.
#[expect(clippy::disallowed_methods, reason = "the one rename: links that are switched and files that are recovered")]
pub(super) fn rename(from: &Path, to: &Path) -> Result<(), EvidenceError> {
    std::fs::rename(from, to).map_err(failed(FileOperation::Rename, from))
}
