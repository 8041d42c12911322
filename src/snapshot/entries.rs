//! Copies, creates and removes single entries of a project's copy. Symbolic links are never followed, in the project or
//! in the copy.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nix::dir::{Dir, Type};
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat, readlinkat, renameat};
use nix::libc;
use nix::sys::stat::{
    FchmodatFlags, FileStat, Mode, UtimensatFlags, fchmod, fchmodat, fstat, fstatat, futimens, mkdirat, utimensat,
};
use nix::sys::time::{TimeSpec, TimeValLike as _};
use nix::unistd::{AccessFlags, UnlinkatFlags, faccessat, geteuid, symlinkat, unlinkat};
use sha2::{Digest as _, Sha256};

use crate::model::{Digest, EntryKind, Timestamp, TreePath};
use crate::snapshot::SnapshotError;
use crate::tree::{open_below, open_root};

/// The size of the buffer for copying files, in bytes.
pub(super) const BUFFER_BYTES: usize = 128 * 1024;

/// The mode bits that a copied file keeps. Set-user-id, set-group-id and sticky bits are dropped.
const KEPT_MODE: libc::mode_t = 0o777;

/// The mode bits that the owner always has on a directory of the copy. Otherwise the copy could not be updated later.
pub(super) const OWNER: Mode = Mode::S_IRWXU;

/// Which modification times the files of the copy get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CopiedTimes {
    /// The time of the project's file, but no later than this time. This suffices for a new copy, because no tool has a
    /// cache for it yet.
    AtMost(Timestamp),
    /// Exactly this time. Tools such as make and `tsc -b` compare the times of inputs with those of outputs kept from
    /// earlier runs, so a changed input must be newer. The project's own time could be older, because the file may have
    /// been saved during a run.
    Now(Timestamp),
}

/// How much older than usual an aged file of the copy is. No source file has a time that is older than that of an aged file, so a
/// tool such as make, which compares the times of files, never takes an aged file for one that was made from the present sources.
const AGE: Duration = Duration::from_hours(40 * 365 * 24);

/// The earliest time that an aged file gets, in seconds since 1970: 2 January 1980. A ZIP archive cannot hold an earlier one.
const OLDEST: i64 = 315_619_200;

/// Decides for each path of a copy whether its file is aged.
pub(super) type IsAged<'a> = &'a (dyn Fn(&TreePath) -> bool + Sync);

/// The open directories from which and to which entries are copied.
pub(super) struct Copier<'a> {
    project: OwnedFd,
    base: OwnedFd,
    incoming: OwnedFd,
    next: AtomicU64,
    times: CopiedTimes,
    is_aged: IsAged<'a>,
    /// The latest second, since 1970, of the time of a removed file. A file that is put where nothing is gets a later time, because
    /// a removed file may have been there.
    removed: i64,
    /// The removed files by their paths, as far as it is known that another file is put there.
    replaced: BTreeMap<TreePath, FileStat>,
}

/// The result of copying one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Copied {
    /// The copied entry has the content that the index names.
    AsDigested,
    /// The project's entry has changed since the index was made.
    Moved,
}

impl<'a> Copier<'a> {
    pub(super) fn open(
        project: &Path,
        base: &Path,
        incoming: &Path,
        (times, is_aged): (CopiedTimes, IsAged<'a>),
        removed: i64,
    ) -> io::Result<Self> {
        let (project, base, incoming) = (open_root(project)?, open_root(base)?, open_root(incoming)?);
        Ok(Self { project, base, incoming, next: AtomicU64::new(0), times, is_aged, removed, replaced: BTreeMap::new() })
    }

    /// Copies one entry and replaces what is at its path in the copy. The parent directory must exist in the copy.
    pub(super) fn put(&self, path: &TreePath, kind: EntryKind, expected: Option<Digest>) -> io::Result<Copied> {
        match kind {
            EntryKind::Directory => self.put_directory(path),
            EntryKind::Link => self.put_link(path, expected),
            EntryKind::File | EntryKind::Executable => self.put_file(path, kind, expected),
        }
    }

    /// Removes an entry of the copy with everything below it. A missing entry is not an error. `is_put_again` says whether a file is
    /// put at the path afterwards.
    pub(super) fn remove(&mut self, path: &TreePath, is_put_again: bool) -> io::Result<()> {
        let Some((directory, name)) = there(self.parent(&self.base, path))? else { return Ok(()) };
        if let (Some(stat), CopiedTimes::Now(now)) = (there(stat_of(&directory, &name))?, self.times) {
            match (format(&stat), is_put_again) {
                (libc::S_IFREG, true) => drop(self.replaced.insert(path.clone(), stat)),
                (libc::S_IFREG, false) => self.removed = self.removed.max(stat.st_mtime),
                // The files in a removed directory are not looked at. The present second stands for the times of all
                // of them.
                (_, _) => self.removed = self.removed.max(now.as_millis() / 1_000),
            }
        }
        remove_entry(&directory, &name)
    }

    /// Returns the latest second of the time of a removed file.
    pub(super) fn removed(&self) -> i64 {
        self.removed
    }

    fn put_directory(&self, path: &TreePath) -> io::Result<Copied> {
        let Some((directory, name)) = there(self.parent(&self.project, path))? else { return Ok(Copied::Moved) };
        let Some(stat) = there(stat_of(&directory, &name))? else { return Ok(Copied::Moved) };
        if format(&stat) != libc::S_IFDIR {
            return Ok(Copied::Moved);
        }
        let (copy, name) = self.parent(&self.base, path)?;
        match mkdirat(&copy, name.as_c_str(), OWNER) {
            Err(Errno::EEXIST) if is_directory(&copy, &name) => {}
            Err(Errno::EEXIST) => {
                remove_entry(&copy, &name)?;
                mkdirat(&copy, name.as_c_str(), OWNER)?;
            }
            made => made?,
        }
        let made = openat(
            &copy,
            name.as_c_str(),
            OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC,
            Mode::empty(),
        )?;
        fchmod(&made, mode_of(&stat) | OWNER)?;
        Ok(Copied::AsDigested)
    }

    fn put_link(&self, path: &TreePath, expected: Option<Digest>) -> io::Result<Copied> {
        let Some((directory, name)) = there(self.parent(&self.project, path))? else { return Ok(Copied::Moved) };
        let target = match readlinkat(&directory, name.as_c_str()) {
            Err(Errno::EINVAL | Errno::ENOENT) => return Ok(Copied::Moved),
            target => target?,
        };
        if Some(Digest::of(target.as_bytes())) != expected {
            return Ok(Copied::Moved);
        }
        let (copy, name) = self.parent(&self.base, path)?;
        remove_entry(&copy, &name)?;
        symlinkat(target.as_os_str(), &copy, name.as_c_str())?;
        if let Some(stat) = there(stat_of(&directory, &name))? {
            let time = self.time_of(path, &stat);
            utimensat(&copy, name.as_c_str(), &time, &time, UtimensatFlags::NoFollowSymlink)?;
        }
        Ok(Copied::AsDigested)
    }

    fn put_file(&self, path: &TreePath, kind: EntryKind, expected: Option<Digest>) -> io::Result<Copied> {
        let Some((directory, name)) = there(self.parent(&self.project, path))? else { return Ok(Copied::Moved) };
        // A link or a pipe may have replaced the entry. A link must not be followed, and opening a pipe must not block.
        let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
        let mut live = match openat(&directory, name.as_c_str(), flags, Mode::empty()) {
            Err(Errno::ENOENT | Errno::ELOOP | Errno::ENXIO | Errno::EACCES) => return Ok(Copied::Moved),
            live => File::from(live?),
        };
        let stat = fstat(&live)?;
        if format(&stat) != libc::S_IFREG || kind_of(&stat) != kind {
            return Ok(Copied::Moved);
        }
        let (to, to_name) = self.parent(&self.base, path)?;
        let replaced = there(stat_of(&to, &to_name))?.filter(|replaced| format(replaced) == libc::S_IFREG);
        let replaced = replaced.or_else(|| self.replaced.get(path).copied());
        let new = CString::new(self.next.fetch_add(1, Ordering::Relaxed).to_string())?;
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC;
        let mut copy = File::from(openat(&self.incoming, new.as_c_str(), flags, Mode::S_IRUSR | Mode::S_IWUSR)?);
        let finished = copy_and_digest(&mut live, &mut copy).and_then(|digest| {
            let is_own = stat.st_uid == geteuid().as_raw();
            let may_write = is_own || faccessat(&directory, name.as_c_str(), AccessFlags::W_OK, AtFlags::AT_EACCESS).is_ok();
            fchmod(&copy, mode_of_copy(&stat, may_write))?;
            let time = self.told_apart((path, self.time_of(path, &stat)), stat.st_size, replaced.as_ref());
            futimens(&copy, &time, &time)?;
            Ok(digest)
        });
        if finished.as_ref().ok() != expected.as_ref() {
            unlinkat(&self.incoming, new.as_c_str(), UnlinkatFlags::NoRemoveDir)?;
            return finished.map(|_| Copied::Moved);
        }
        match renameat(&self.incoming, new.as_c_str(), &to, to_name.as_c_str()) {
            Err(Errno::EISDIR | Errno::ENOTEMPTY | Errno::EEXIST) => {
                remove_entry(&to, &to_name)?;
                renameat(&self.incoming, new.as_c_str(), &to, to_name.as_c_str())?;
            }
            moved => moved?,
        }
        Ok(Copied::AsDigested)
    }

    fn time_of(&self, path: &TreePath, stat: &FileStat) -> TimeSpec {
        let of = |time: Timestamp| TimeSpec::milliseconds(time.as_millis());
        let own = TimeSpec::new(stat.st_mtime, stat.st_mtime_nsec);
        let time = match self.times {
            CopiedTimes::AtMost(newest) => own.min(of(newest)),
            CopiedTimes::Now(now) => of(now),
        };
        if (self.is_aged)(path) { (time - TimeSpec::from_duration(AGE)).max(TimeSpec::new(OLDEST, 0)) } else { time }
    }

    /// Returns the time for a copied file of this size that replaces another file or follows a removed one. mypy compares whole
    /// seconds and sizes, so a file of the same size must not have a time in the same second.
    fn told_apart(&self, (path, time): (&TreePath, TimeSpec), size: libc::off_t, replaced: Option<&FileStat>) -> TimeSpec {
        let taken = match (replaced, self.times) {
            (Some(replaced), _) if replaced.st_size == size => replaced.st_mtime,
            (None, CopiedTimes::Now(_)) if !(self.is_aged)(path) => self.removed,
            (Some(_) | None, _) => return time,
        };
        if taken >= time.tv_sec() { TimeSpec::new(taken + 1, 0) } else { time }
    }

    fn parent(&self, root: &OwnedFd, path: &TreePath) -> io::Result<(OwnedFd, CString)> {
        let parent = path.parent().unwrap_or_default();
        Ok((open_below(root.as_fd(), parent.as_bytes())?, CString::new(path.name())?))
    }
}

/// Removes the contents of a directory and keeps the directory itself.
pub(super) fn empty_directory(path: &Path) -> io::Result<()> {
    let directory = open_root(path)?;
    names_in(&directory)?.iter().try_for_each(|(name, _)| remove_entry(&directory, name))
}

/// Removes a directory with everything in it, also what a check has made inaccessible. A missing directory is not an error.
///
/// # Errors
/// When an entry cannot be removed.
pub fn remove_directory(path: &Path) -> Result<(), SnapshotError> {
    let removed = match empty_directory(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        emptied => emptied.and_then(|()| fs::remove_dir(path)),
    };
    removed.map_err(|source| SnapshotError::Copy { path: path.to_owned(), source })
}

pub(super) fn copy_and_digest(from: &mut File, to: &mut File) -> io::Result<Digest> {
    let (mut hasher, mut buffer) = (Sha256::new(), vec![0; BUFFER_BYTES]);
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(Digest::from_hasher(hasher)),
            Ok(length) => {
                hasher.update(&buffer[..length]);
                to.write_all(&buffer[..length])?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn remove_entry(directory: &OwnedFd, name: &CString) -> io::Result<()> {
    match unlinkat(directory, name.as_c_str(), UnlinkatFlags::NoRemoveDir) {
        Ok(()) | Err(Errno::ENOENT) => return Ok(()),
        Err(Errno::EISDIR | Errno::EPERM) => {}
        Err(errno) => return Err(errno.into()),
    }
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let below = match openat(directory, name.as_c_str(), flags, Mode::empty()) {
        // overlayfs makes a directory that nobody may open, and a check can take away its own permissions on a
        // directory.
        Err(Errno::EACCES) => {
            fchmodat(directory, name.as_c_str(), OWNER, FchmodatFlags::FollowSymlink)?;
            openat(directory, name.as_c_str(), flags, Mode::empty())?
        }
        opened => opened?,
    };
    let names = names_in(&below)?;
    if !names.is_empty() {
        fchmod(&below, OWNER)?;
    }
    for (entry, _) in names {
        remove_entry(&below, &entry)?;
    }
    Ok(unlinkat(directory, name.as_c_str(), UnlinkatFlags::RemoveDir)?)
}

pub(super) fn names_in(directory: &OwnedFd) -> io::Result<Vec<(CString, Option<Type>)>> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let mut directory = Dir::openat(directory, c".", flags, Mode::empty())?;
    let mut names = Vec::new();
    for entry in directory.iter() {
        let entry = entry?;
        if entry.file_name() != c"." && entry.file_name() != c".." {
            names.push((entry.file_name().to_owned(), entry.file_type()));
        }
    }
    Ok(names)
}

/// Turns a "not found" error into `None`.
pub(super) fn there<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if is_gone(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns whether an error means that a path, or a directory on the way to it, was removed or replaced.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR | libc::ELOOP | libc::EXDEV))
}

pub(super) fn stat_of(directory: &OwnedFd, name: &CString) -> io::Result<FileStat> {
    Ok(fstatat(directory, name.as_c_str(), AtFlags::AT_SYMLINK_NOFOLLOW)?)
}

fn is_directory(directory: &OwnedFd, name: &CString) -> bool {
    stat_of(directory, name).is_ok_and(|stat| format(&stat) == libc::S_IFDIR)
}

pub(super) fn format(stat: &FileStat) -> libc::mode_t {
    stat.st_mode & libc::S_IFMT
}

pub(super) fn mode_of(stat: &FileStat) -> Mode {
    Mode::from_bits_truncate(stat.st_mode & KEPT_MODE)
}

/// Returns the mode of the copy of a file. The copy belongs to this user. So if this user may not write the file, because it belongs
/// to somebody else, nobody may write the copy.
fn mode_of_copy(stat: &FileStat, may_write: bool) -> Mode {
    let mode = mode_of(stat);
    if may_write { mode } else { mode.difference(Mode::S_IWUSR | Mode::S_IWGRP | Mode::S_IWOTH) }
}

fn kind_of(stat: &FileStat) -> EntryKind {
    if stat.st_mode & 0o100 == 0 { EntryKind::File } else { EntryKind::Executable }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copy_of_a_file_that_this_user_may_not_write_cannot_be_written() {
        let file = tempfile::tempfile().expect("a file");
        fchmod(&file, Mode::from_bits_truncate(0o764)).expect("it is ours");
        let stat = fstat(&file).expect("it is open");
        assert_eq!(mode_of_copy(&stat, true).bits(), 0o764);
        assert_eq!(mode_of_copy(&stat, false).bits(), 0o544);
    }
}
