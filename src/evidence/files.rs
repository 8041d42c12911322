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
