//! Reading: the digest of a file as it streams by, the text of a rules file, the target of a link.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use nix::libc;
use sha2::{Digest as _, Sha256};

use crate::model::{Digest, Timestamp};
use crate::tree::index::{Leaf, LeafKind};
use crate::tree::stamp::{Stamp, Trust};

/// A rules file beyond this size is not one; git has no bound, an untrusted tree needs one.
const MAX_RULES_BYTES: u64 = 1024 * 1024;

/// The size of the buffer files are read through.
pub(super) const BUFFER_BYTES: usize = 64 * 1024;

/// Reads a regular file that was listed as `listed`.
///
/// The leaf carries the stamp from before the reading: what changes meanwhile makes it racy, so that it is read again.
pub(super) fn read_file(path: &Path, listed: &Metadata, now: Timestamp, buffer: &mut [u8]) -> io::Result<Leaf> {
    let stamp = Stamp::of(listed);
    let mut file = open(path)?;
    let opened = regular(&file)?;
    let mut hasher = Sha256::new();
    loop {
        match file.read(buffer) {
            Ok(0) => break,
            Ok(length) => hasher.update(&buffer[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let is_steady = Stamp::of(&opened) == stamp && Stamp::of(&file.metadata()?) == stamp;
    let trust = if is_steady { stamp.trust(now) } else { Trust::Racy };
    Ok(Leaf { kind: file_kind(listed), stamp, trust, digest: Digest::from_hasher(hasher) })
}

/// Reads where a link leads, not what is there.
pub(super) fn read_link(path: &Path, listed: &Metadata, now: Timestamp) -> io::Result<Leaf> {
    let target = std::fs::read_link(path)?;
    let stamp = Stamp::of(listed);
    Ok(Leaf { kind: LeafKind::Link, stamp, trust: stamp.trust(now), digest: Digest::of(target.as_os_str().as_bytes()) })
}

/// Reads the text of a rules file.
pub(super) fn read_rules(path: &Path) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    regular(&file)?;
    let mut text = Vec::new();
    let length = file.take(MAX_RULES_BYTES + 1).read_to_end(&mut text)?;
    if length as u64 > MAX_RULES_BYTES { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(text) }
}

/// Returns whether a regular file is one its owner may execute.
pub(super) fn file_kind(metadata: &Metadata) -> LeafKind {
    if metadata.permissions().mode() & 0o100 == 0 { LeafKind::File } else { LeafKind::Executable }
}

fn open(path: &Path) -> io::Result<File> {
    // Between listing and opening the name may have become a link or a pipe: follow none, wait for none.
    OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY).open(path)
}

fn regular(file: &File) -> io::Result<Metadata> {
    let metadata = file.metadata()?;
    if metadata.is_file() { Ok(metadata) } else { Err(io::ErrorKind::InvalidInput.into()) }
}
