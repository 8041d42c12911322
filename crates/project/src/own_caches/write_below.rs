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
use nix::sys::stat::{Mode, SFlag, fstatat, mkdirat};
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

    /// Makes a symbolic link. An entry that is already there stays, unless it is a link that leads nowhere.
    pub(super) fn link_anew(&self, name: &[u8], target: &Path) -> io::Result<()> {
        self.unlink_if_dangling(name);
        self.link(name, target)
    }

    /// Returns whether there is an entry of this name, and if it is a link, whether there is something at its end.
    pub(super) fn leads_somewhere(&self, name: &[u8]) -> bool {
        fstatat(self.0.as_fd(), name, AtFlags::empty()).is_ok()
    }

    /// Removes an entry if it is a link that leads nowhere: the user's own tool removed what it led to.
    pub(super) fn unlink_if_dangling(&self, name: &[u8]) {
        if !self.leads_somewhere(name) {
            self.unlink_link(name);
        }
    }

    /// Removes an entry if it is a symbolic link.
    pub(super) fn unlink_link(&self, name: &[u8]) {
        let found = fstatat(self.0.as_fd(), name, AtFlags::AT_SYMLINK_NOFOLLOW);
        if found.is_ok_and(|found| SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT == SFlag::S_IFLNK) {
            // Tested code may have put something else there in the meantime; a directory is not removed by this call.
            let _stays = unlinkat(self.0.as_fd(), name, UnlinkatFlags::NoRemoveDir);
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
