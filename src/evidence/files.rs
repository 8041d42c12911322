//! Reading: files of ours, their digests, what lies in a directory. What changes something is in `changes`.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::libc;
use sha2::{Digest as _, Sha256};

use crate::evidence::error::failed;
use crate::evidence::{EvidenceError, FileOperation};
use crate::model::Digest;

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
    hash_reader(&mut open_plain(path)?).map_err(failed(FileOperation::Read, path))
}

/// Computes size and digest of what is read.
pub(super) fn hash_reader(reader: &mut dyn Read) -> io::Result<(u64, Digest)> {
    let (mut hasher, mut total) = (Sha256::new(), 0_u64);
    read_pieces(reader, &mut |piece| {
        hasher.update(piece);
        total += piece.len() as u64;
    })?;
    Ok((total, Digest::from_hasher(hasher)))
}

/// Reads to the end, and hands on each piece. Small ones, so that what was read is hashed while it is in the processor's cache.
pub(super) fn read_pieces(reader: &mut dyn Read, take: &mut dyn FnMut(&[u8])) -> io::Result<()> {
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
