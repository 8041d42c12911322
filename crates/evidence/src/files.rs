//! Reading from the store: files, their digests, the entries of a directory. Everything that changes the disk is in
//! `changes`.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::libc;
use sha2::{Digest as _, Sha256};

use crate::error::failed;
use crate::regular_file::read_up_to;
use crate::{EvidenceError, FileOperation};
use proctor_model::Digest;

/// Opens a file for reading. A symbolic link in the last component is refused, and a pipe is not waited for.
pub(super) fn open_no_follow(path: &Path) -> Result<File, EvidenceError> {
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
        .map_err(failed(FileOperation::Open, path))
}

/// The largest file that is read into memory, in bytes. A larger file is reported and not read; it may be a file with
/// holes that somebody put into the store or into a copy of the store.
pub(super) const LARGEST_CONTENT: u64 = 1 << 30;
/// The largest file of a run, in bytes. All files of an archive together have the same limit. A larger file is reported and
/// not read.
pub(super) const LARGEST_FILE: u64 = 1 << 36;

/// Reads a whole file of at most [`LARGEST_CONTENT`] bytes. A symbolic link in the last component is refused.
pub(super) fn read_no_follow(path: &Path) -> Result<Vec<u8>, EvidenceError> {
    read_up_to(open_no_follow(path)?, LARGEST_CONTENT).map_err(failed(FileOperation::Read, path))
}

/// The size and the digest by which a file's content is recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeAndDigest {
    pub bytes: u64,
    pub sha256: Digest,
}

/// Computes size and SHA-256 of a file without holding it in memory.
pub(super) fn hash_file(path: &Path) -> Result<SizeAndDigest, EvidenceError> {
    hash_reader(&mut open_no_follow(path)?).map_err(failed(FileOperation::Read, path))
}

/// Computes size and SHA-256 of everything that a reader yields.
pub(super) fn hash_reader(reader: &mut dyn Read) -> io::Result<SizeAndDigest> {
    let (mut hasher, mut bytes) = (Sha256::new(), 0_u64);
    read_chunks(reader, &mut |piece| {
        hasher.update(piece);
        bytes += piece.len() as u64;
    })?;
    Ok(SizeAndDigest { bytes, sha256: Digest::from_hasher(hasher) })
}

/// Reads to the end and passes each chunk to `take`. Chunks are small, so that a chunk is still in the processor's
/// cache when it is hashed.
pub(super) fn read_chunks(reader: &mut dyn Read, take: &mut dyn FnMut(&[u8])) -> io::Result<()> {
    let mut buffer = vec![0_u8; 64 * 1024];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => take(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Turns the error "no such file or directory" into `None`.
pub(super) fn if_exists<T>(result: Result<T, EvidenceError>) -> Result<Option<T>, EvidenceError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(EvidenceError::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Lists a directory in no particular order. A directory that does not exist has no entries.
pub(super) fn list_directory(path: &Path) -> Result<Vec<std::fs::DirEntry>, EvidenceError> {
    let entries = if_exists(std::fs::read_dir(path).map_err(failed(FileOperation::List, path)))?;
    let Some(entries) = entries else { return Ok(Vec::new()) };
    entries.collect::<io::Result<Vec<_>>>().map_err(failed(FileOperation::List, path))
}
