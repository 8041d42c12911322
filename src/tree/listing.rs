//! Opening directories without ever following a link, and listing them.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use nix::dir::{Dir, Type};
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, OpenHow, ResolveFlag, open, openat, openat2};
use nix::sys::stat::{FileStat, Mode, fstatat};

use crate::tree::content::format;

const FLAGS: OFlag = OFlag::O_RDONLY.union(OFlag::O_DIRECTORY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);

/// What is in a directory, sorted by the names' bytes. The names lie in one buffer: there is one of these for each directory.
pub(super) struct Listing {
    names: Vec<u8>,
    entries: Vec<Listed>,
}

#[derive(Debug, Clone, Copy)]
struct Listed {
    start: usize,
    /// Where the NUL is.
    end: usize,
    is_directory: bool,
}

/// Opens the root of a tree. Links on the way to it were resolved by whoever named it.
pub(super) fn open_root(root: &Path) -> io::Result<OwnedFd> {
    Ok(open(root, FLAGS.difference(OFlag::O_NOFOLLOW), Mode::empty())?)
}

/// Opens a directory of the tree by its path from the root.
///
/// One descriptor is open for each directory that is looked at, however deep it lies; and no component of the path may be a link,
/// which a path that is given to `open` could not guarantee while somebody renames.
pub(super) fn open_below(root: BorrowedFd<'_>, path: &[u8]) -> io::Result<OwnedFd> {
    if path.is_empty() {
        return Ok(openat(root, c".", FLAGS, Mode::empty())?);
    }
    let how = OpenHow::new().flags(FLAGS).resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_SYMLINKS);
    match openat2(root, path, how) {
        // Some sandboxes know no `openat2`; a path may be longer than the kernel takes at once; a rename may have come between.
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

/// Lists a directory, and gives its descriptor back for looking at what is in it.
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
        listing.entries.push(Listed { start, end, is_directory: entry.file_type() == Some(Type::Directory) });
    }
    // Some file systems do not say what an entry is.
    for position in untyped {
        let stat = stat_entry(directory.as_fd(), listing.name(position));
        listing.entries[position].is_directory = stat.is_ok_and(|stat| is_directory(&stat));
    }
    let Listing { names, entries } = &mut listing;
    entries.sort_unstable_by(|left, right| names[left.start..left.end].cmp(&names[right.start..right.end]));
    Ok((directory, listing))
}

/// Looks at an entry of a directory, never at what a link leads to.
pub(super) fn stat_entry(directory: BorrowedFd<'_>, name: &CStr) -> io::Result<FileStat> {
    Ok(fstatat(directory, name, AtFlags::AT_SYMLINK_NOFOLLOW)?)
}

/// Returns whether a look found a directory.
pub(super) fn is_directory(stat: &FileStat) -> bool {
    format(stat) == nix::libc::S_IFDIR
}

/// Returns a name for system calls. A path of a tree holds no NUL.
pub(super) fn to_c_name(name: &[u8]) -> CString {
    CString::new(name).expect("a path of a tree holds no NUL")
}

impl Listing {
    /// Returns how many entries there are.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the name of an entry.
    pub(super) fn name(&self, position: usize) -> &CStr {
        let Listed { start, end, .. } = self.entries[position];
        CStr::from_bytes_with_nul(&self.names[start..=end]).expect("a name ends with the one NUL it has")
    }

    /// Returns whether an entry was listed as a directory.
    pub(super) fn is_directory(&self, position: usize) -> bool {
        self.entries[position].is_directory
    }

    /// Returns the name of an entry, if there is one of this name.
    pub(super) fn find(&self, name: &[u8]) -> Option<&CStr> {
        let found = self.entries.binary_search_by(|entry| self.names[entry.start..entry.end].cmp(name));
        found.ok().map(|position| self.name(position))
    }
}
