//! Writes into a directory that tested code may change at any moment.
//!
//! The tested code may have put a link in place of a directory, through which proctor would write to a place that the
//! tested code chose. So every directory is opened relative to the one above it, and no link is followed.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, open, openat, renameat};
use nix::sys::stat::{Mode, fstatat, mkdirat};
use nix::unistd::{UnlinkatFlags, symlinkat, unlinkat};

const DIRECTORY: OFlag = OFlag::O_RDONLY.union(OFlag::O_DIRECTORY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);
const NEW_FILE: OFlag = OFlag::O_WRONLY.union(OFlag::O_CREAT).union(OFlag::O_EXCL).union(OFlag::O_CLOEXEC);
/// The name under which a file is copied before it gets its own name.
const UNFINISHED: &str = ".proctor-unfinished";

/// An open directory in which entries can be made.
pub(super) struct WritableDirectory(OwnedFd);

impl WritableDirectory {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(open(path, DIRECTORY, Mode::empty())?))
    }

    /// Opens a directory in this one, and creates it if it is missing.
    pub(super) fn directory(&self, name: &[u8]) -> io::Result<Self> {
        match mkdirat(self.0.as_fd(), name, Mode::S_IRWXU) {
            Ok(()) | Err(Errno::EEXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        Ok(Self(openat(self.0.as_fd(), name, DIRECTORY, Mode::empty())?))
    }

    pub(super) fn has(&self, name: &[u8]) -> bool {
        fstatat(self.0.as_fd(), name, AtFlags::AT_SYMLINK_NOFOLLOW).is_ok()
    }

    /// Makes a symbolic link. An entry that is already there stays.
    pub(super) fn link(&self, name: &[u8], target: &Path) -> io::Result<()> {
        match symlinkat(target.as_os_str().as_bytes(), self.0.as_fd(), name) {
            Ok(()) | Err(Errno::EEXIST) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Copies a file. The copy appears under its name once it is complete.
    pub(super) fn copy(&self, name: &[u8], from: &Path) -> io::Result<()> {
        let mut source = File::open(from)?;
        let _no_remains = unlinkat(self.0.as_fd(), UNFINISHED, UnlinkatFlags::NoRemoveDir);
        let mut copy = File::from(openat(self.0.as_fd(), UNFINISHED, NEW_FILE, Mode::S_IRUSR | Mode::S_IWUSR)?);
        io::copy(&mut source, &mut copy)?;
        Ok(renameat(self.0.as_fd(), UNFINISHED, self.0.as_fd(), name)?)
    }
}
