//! Reads entries: the digest of a file, the text of a rules file, the target of a link.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;

use nix::fcntl::{OFlag, openat, readlinkat};
use nix::libc;
use nix::sys::stat::{FileStat, Mode, fstat};
use sha2::{Digest as _, Sha256};

use crate::node::{Leaf, LeafKind};
use crate::stamp::{EntryStamp, Trust};
use proctor_model::{Digest, Timestamp};

/// The most bytes of a rules file, such as `.gitignore`; a longer one counts as unreadable. git has no such bound, but
/// an untrusted tree needs one.
pub const MAX_RULES_BYTES: u64 = 1024 * 1024;

/// The size of the buffer through which files are read and hashed, in bytes.
pub(super) const BUFFER_BYTES: usize = 64 * 1024;

/// Reads a regular file; `listed` is the `stat` of the file before it was opened.
///
/// The result has the stamp (size, inode and times) from before the reading. If the file changes during the reading,
/// this stamp is marked racy (an equal stamp proves nothing), so the file is read again next time.
pub(super) fn read_file(
    directory: BorrowedFd<'_>,
    name: &CStr,
    listed: &FileStat,
    now: Timestamp,
    buffer: &mut [u8],
) -> io::Result<Leaf> {
    let stamp = EntryStamp::of(listed);
    let mut file = open(directory, name)?;
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
    let is_steady = EntryStamp::of(&opened) == stamp && EntryStamp::of(&fstat(&file)?) == stamp;
    let trust = if is_steady { stamp.trust(now) } else { Trust::Racy };
    Ok(Leaf { kind: file_kind(listed), stamp, trust, digest: Digest::from_hasher(hasher) })
}

/// Reads the target of a link and does not follow it.
pub(super) fn read_link(directory: BorrowedFd<'_>, name: &CStr, listed: &FileStat, now: Timestamp) -> io::Result<Leaf> {
    let target = readlinkat(directory, name)?;
    let stamp = EntryStamp::of(listed);
    Ok(Leaf { kind: LeafKind::Link, stamp, trust: stamp.trust(now), digest: Digest::of(target.as_bytes()) })
}

pub(super) fn read_rules(directory: BorrowedFd<'_>, name: &CStr) -> io::Result<Vec<u8>> {
    let file = open(directory, name)?;
    regular(&file)?;
    let mut text = Vec::new();
    let length = file.take(MAX_RULES_BYTES + 1).read_to_end(&mut text)?;
    if length as u64 > MAX_RULES_BYTES { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(text) }
}

/// Returns the leaf kind of a regular file, which says whether the file's owner may execute it.
pub(super) fn file_kind(stat: &FileStat) -> LeafKind {
    LeafKind::File { is_executable: stat.st_mode & 0o100 != 0 }
}

/// Returns the bits of a mode that give the type of an entry, such as `S_IFREG`.
pub(super) fn format(stat: &FileStat) -> libc::mode_t {
    stat.st_mode & libc::S_IFMT
}

fn open(directory: BorrowedFd<'_>, name: &CStr) -> io::Result<File> {
    // Since the listing the name may have become a link or a pipe: do not follow a link, do not wait for a pipe.
    let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
    Ok(File::from(openat(directory, name, flags, Mode::empty())?))
}

fn regular(file: &File) -> io::Result<FileStat> {
    let stat = fstat(file)?;
    if format(&stat) == libc::S_IFREG { Ok(stat) } else { Err(io::ErrorKind::InvalidInput.into()) }
}
