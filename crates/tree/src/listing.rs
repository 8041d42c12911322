//! Opens and lists directories without ever following a link.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use nix::dir::{Dir, Type};
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, OpenHow, ResolveFlag, open, openat, openat2};
use nix::sys::stat::{FileStat, Mode, fstatat};

use crate::content::format;

const FLAGS: OFlag = OFlag::O_RDONLY.union(OFlag::O_DIRECTORY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);

/// The entries of a directory, sorted by the names' bytes. All names share one buffer, because there is a listing for
/// every directory of the tree.
pub(super) struct Listing {
    names: Vec<u8>,
    entries: Vec<Listed>,
}

#[derive(Debug, Clone, Copy)]
struct Listed {
    start: usize,
    /// The position of the NUL after the name.
    end: usize,
    is_directory: bool,
    /// Whether the entry was listed as a link, or without its type.
    may_be_link: bool,
}

/// Opens the root of a tree. The caller has resolved links in its path already.
pub fn open_root(root: &Path) -> io::Result<OwnedFd> {
    Ok(open(root, FLAGS.difference(OFlag::O_NOFOLLOW), Mode::empty())?)
}

/// Opens a directory of the tree by its path from the root.
///
/// This needs one descriptor however deep the directory lies. No component of the path may be a link; plain `open`
/// could not guarantee that while another program renames directories.
pub fn open_below(root: BorrowedFd<'_>, path: &[u8]) -> io::Result<OwnedFd> {
    if path.is_empty() {
        return Ok(openat(root, c".", FLAGS, Mode::empty())?);
    }
    let how = OpenHow::new().flags(FLAGS).resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_SYMLINKS);
    match openat2(root, path, how) {
        // Some sandboxes do not support `openat2`, a path may be too long for one call, or a rename may have
        // interfered.
        Err(Errno::ENOSYS | Errno::EPERM | Errno::ENAMETOOLONG | Errno::EAGAIN) => open_by_steps(root, path),
        other => Ok(other?),
    }
}

fn open_by_steps(root: BorrowedFd<'_>, path: &[u8]) -> io::Result<OwnedFd> {
    let mut directory = root.try_clone_to_owned()?;
    for name in path.split(|byte| *byte == b'/') {
        directory = openat(&directory, name, FLAGS, Mode::empty())?;
    }
    Ok(directory)
}

/// Lists a directory and returns its descriptor, from which its entries can be read.
pub(super) fn list(directory: OwnedFd) -> io::Result<(Dir, Listing)> {
    let mut directory = Dir::from_fd(directory)?;
    let mut listing = Listing { names: Vec::new(), entries: Vec::new() };
    let mut untyped = Vec::new();
    for entry in directory.iter() {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        if entry.file_type().is_none() {
            untyped.push(listing.entries.len());
        }
        let start = listing.names.len();
        listing.names.extend_from_slice(name.to_bytes_with_nul());
        let end = listing.names.len() - 1;
        let (is_directory, may_be_link) = match entry.file_type() {
            Some(kind) => (kind == Type::Directory, kind == Type::Symlink),
            None => (false, true),
        };
        listing.entries.push(Listed { start, end, is_directory, may_be_link });
    }
    // Some file systems do not say in a listing whether an entry is a directory, so `stat` is asked.
    for position in untyped {
        let stat = stat_entry(directory.as_fd(), listing.name(position));
        listing.entries[position].is_directory = stat.is_ok_and(|stat| is_directory(&stat));
    }
    let Listing { names, entries } = &mut listing;
    entries.sort_unstable_by(|left, right| names[left.start..left.end].cmp(&names[right.start..right.end]));
    Ok((directory, listing))
}

/// Returns the `stat` of an entry; a link is not followed.
pub(super) fn stat_entry(directory: BorrowedFd<'_>, name: &CStr) -> io::Result<FileStat> {
    Ok(fstatat(directory, name, AtFlags::AT_SYMLINK_NOFOLLOW)?)
}

pub(super) fn is_directory(stat: &FileStat) -> bool {
    format(stat) == nix::libc::S_IFDIR
}

pub(super) fn is_link(stat: &FileStat) -> bool {
    format(stat) == nix::libc::S_IFLNK
}

/// Returns a name with the NUL at its end that system calls need. A path of a tree contains no NUL itself.
pub(super) fn to_c_name(name: &[u8]) -> CString {
    CString::new(name).expect("a path of a tree holds no NUL")
}

impl Listing {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn name(&self, position: usize) -> &CStr {
        let Listed { start, end, .. } = self.entries[position];
        CStr::from_bytes_with_nul(&self.names[start..=end]).expect("a name ends with the one NUL it has")
    }

    /// Returns whether an entry was listed as a directory.
    pub(super) fn is_directory(&self, position: usize) -> bool {
        self.entries[position].is_directory
    }

    /// Returns whether an entry can be a link: it was listed as one, or the file system did not say what it is.
    pub(super) fn may_be_link(&self, position: usize) -> bool {
        self.entries[position].may_be_link
    }

    /// Returns the name in the listing that equals `name`, with the NUL that system calls need.
    pub(super) fn find(&self, name: &[u8]) -> Option<&CStr> {
        let found = self.entries.binary_search_by(|entry| self.names[entry.start..entry.end].cmp(name));
        found.ok().map(|position| self.name(position))
    }
}
