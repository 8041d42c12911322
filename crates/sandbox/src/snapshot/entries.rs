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

use crate::snapshot::SnapshotError;
use crate::snapshot::copy_times::{CopiedTimes, FileToTime, plan_times, second_of};
use proctor_model::{Digest, EntryKind, TreePath};
use proctor_tree::{open_below, open_root};

/// The size of the buffer for copying files, in bytes.
pub(super) const BUFFER_BYTES: usize = 128 * 1024;

/// The mode bits that a copied file keeps. Set-user-id, set-group-id and sticky bits are dropped.
const KEPT_MODE: libc::mode_t = 0o777;

/// The mode bits that the owner always has on a directory of the copy. Otherwise the copy could not be updated later.
pub(super) const OWNER: Mode = Mode::S_IRWXU;

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
    given: GivenTimes,
    /// The removed files by their paths, as far as it is known that another file is put there.
    replaced: BTreeMap<TreePath, FileStat>,
}

/// What is known about the times of the files that are and were in a copy.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct GivenTimes {
    /// The latest time that a file of the copy got, in nanoseconds since 1970. `None` if it is unknown and not in the future.
    pub(super) newest: Option<i64>,
    /// The latest second, since 1970, of the time of a removed file. A file that is put where nothing is gets a later time, because
    /// a removed file may have been there.
    pub(super) removed: i64,
}

/// An entry of the project that is to be copied.
#[derive(Debug, Clone, Copy)]
pub(super) struct EntryToPut<'c> {
    pub(super) path: &'c TreePath,
    pub(super) kind: EntryKind,
    /// The digest that the index names.
    pub(super) digest: Option<Digest>,
    /// When the project's file was last modified, in nanoseconds since 1970, by the index.
    pub(super) modified: i64,
    /// The size of the project's file in bytes, by the index.
    pub(super) size: u64,
    /// The time that the copy gets, in nanoseconds since 1970. See [`Copier::plan_times`].
    pub(super) time: i64,
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
        times: CopiedTimes,
        is_aged: IsAged<'a>,
        given: GivenTimes,
    ) -> io::Result<Self> {
        let (project, base, incoming) = (open_root(project)?, open_root(base)?, open_root(incoming)?);
        Ok(Self { project, base, incoming, next: AtomicU64::new(0), times, is_aged, given, replaced: BTreeMap::new() })
    }

    /// Decides the times of the files and links that are put. What they replace must have been removed before.
    pub(super) fn plan_times(&mut self, files: &mut [EntryToPut<'_>]) {
        let to_time = |file: &EntryToPut<'_>| {
            let is_aged = (self.is_aged)(file.path);
            FileToTime { modified: file.modified, is_aged, taken: self.taken(file, is_aged) }
        };
        let to_time: Vec<FileToTime> = files.iter().map(to_time).collect();
        let planned = plan_times(self.times, self.given.newest, &to_time);
        self.given.newest = planned.newest;
        files.iter_mut().zip(planned.times).for_each(|(file, time)| file.time = time);
    }

    /// Returns the second from which the time of a copied file must be told apart: that of the replaced file, if the sizes are
    /// equal, or else that of a removed file.
    fn taken(&self, file: &EntryToPut<'_>, is_aged: bool) -> Option<i64> {
        match (self.replaced.get(file.path), self.times) {
            (Some(replaced), _) => (replaced.st_size.cast_unsigned() == file.size).then_some(replaced.st_mtime),
            (None, CopiedTimes::From(_)) if !is_aged => Some(self.given.removed),
            (None, CopiedTimes::From(_) | CopiedTimes::AtMost(_)) => None,
        }
    }

    /// Copies one entry and replaces what is at its path in the copy. The parent directory must exist in the copy.
    pub(super) fn put(&self, entry: &EntryToPut<'_>) -> io::Result<Copied> {
        match entry.kind {
            EntryKind::Directory => self.put_directory(entry.path),
            EntryKind::Link => self.put_link(entry),
            EntryKind::File | EntryKind::Executable => self.put_file(entry),
        }
    }

    /// Removes an entry of the copy with everything below it. A missing entry is not an error. `is_put_again` says whether a file is
    /// put at the path afterwards.
    pub(super) fn remove(&mut self, path: &TreePath, is_put_again: bool) -> io::Result<()> {
        let Some((directory, name)) = there(self.parent(&self.base, path))? else { return Ok(()) };
        if let (Some(stat), CopiedTimes::From(now)) = (there(stat_of(&directory, &name))?, self.times) {
            let removed = match (format(&stat), is_put_again) {
                (libc::S_IFREG, true) => {
                    self.replaced.insert(path.clone(), stat);
                    i64::MIN
                }
                (libc::S_IFREG, false) => stat.st_mtime,
                // The files in a removed directory are not looked at. The latest second that any file can have stands for
                // the times of all of them.
                (_, _) => self.given.newest.map_or(i64::MIN, second_of).max(now.as_millis() / 1_000),
            };
            self.given.removed = self.given.removed.max(removed);
        }
        remove_entry(&directory, &name)
    }

    pub(super) fn given(&self) -> GivenTimes {
        self.given
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

    fn put_link(&self, &EntryToPut { path, digest, time, .. }: &EntryToPut<'_>) -> io::Result<Copied> {
        let Some((directory, name)) = there(self.parent(&self.project, path))? else { return Ok(Copied::Moved) };
        let target = match readlinkat(&directory, name.as_c_str()) {
            Err(Errno::EINVAL | Errno::ENOENT) => return Ok(Copied::Moved),
            target => target?,
        };
        if Some(Digest::of(target.as_bytes())) != digest {
            return Ok(Copied::Moved);
        }
        let (copy, name) = self.parent(&self.base, path)?;
        remove_entry(&copy, &name)?;
        symlinkat(target.as_os_str(), &copy, name.as_c_str())?;
        let time = TimeSpec::nanoseconds(time);
        utimensat(&copy, name.as_c_str(), &time, &time, UtimensatFlags::NoFollowSymlink)?;
        Ok(Copied::AsDigested)
    }

    fn put_file(&self, &EntryToPut { path, kind, digest: expected, time, .. }: &EntryToPut<'_>) -> io::Result<Copied> {
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
        let new = CString::new(self.next.fetch_add(1, Ordering::Relaxed).to_string())?;
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC;
        let mut copy = File::from(openat(&self.incoming, new.as_c_str(), flags, Mode::S_IRUSR | Mode::S_IWUSR)?);
        let finished = copy_and_digest(&mut live, &mut copy).and_then(|digest| {
            fchmod(&copy, mode_of_copy(&stat, may_write(&directory, &name, &stat)))?;
            let time = TimeSpec::nanoseconds(time);
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

    fn parent(&self, root: &OwnedFd, path: &TreePath) -> io::Result<(OwnedFd, CString)> {
        let parent = path.parent().unwrap_or_default();
        Ok((open_below(root.as_fd(), parent.as_bytes())?, CString::new(path.name())?))
    }

    /// Gives the copy of a file or directory the permissions that the project's file or directory has now. Does nothing if
    /// one of them is missing or of another kind. Whether the owner may execute a file is a part of the tree's digest, so a file of which
    /// this has changed since it was hashed counts as one of another kind.
    pub(super) fn take_mode(&self, path: &TreePath) -> io::Result<()> {
        let Some((live, name)) = there(self.parent(&self.project, path))? else { return Ok(()) };
        let Some((copy, _)) = there(self.parent(&self.base, path))? else { return Ok(()) };
        let (live_stat, copied) = (there(stat_of(&live, &name))?, there(stat_of(&copy, &name))?);
        let Some((live_stat, copied)) = live_stat.zip(copied).filter(|(live, copied)| format(live) == format(copied)) else {
            return Ok(());
        };
        let mode = match format(&copied) {
            libc::S_IFREG if kind_of(&live_stat) != kind_of(&copied) => return Ok(()),
            libc::S_IFREG => mode_of_copy(&live_stat, may_write(&live, &name, &live_stat)),
            libc::S_IFDIR => mode_of(&live_stat) | OWNER,
            _ => return Ok(()),
        };
        if mode != mode_of(&copied) {
            // Nobody else writes to the copy, so the entry has not become a link since.
            fchmodat(&copy, name.as_c_str(), mode, FchmodatFlags::FollowSymlink)?;
        }
        Ok(())
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

/// What happens in a rename to a file that has the new name already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameTaken {
    Refused,
    Exchanged,
}

/// Renames a file within a directory by renameat2(2), which nix has for the C library of GNU alone.
#[cfg(target_env = "gnu")]
pub(super) fn rename_with(directory: &OwnedFd, from: &CString, to: &CString, taken: NameTaken) -> Result<(), Errno> {
    use nix::fcntl::{RenameFlags, renameat2};
    let flags = match taken {
        NameTaken::Refused => RenameFlags::RENAME_NOREPLACE,
        NameTaken::Exchanged => RenameFlags::RENAME_EXCHANGE,
    };
    renameat2(directory, from.as_c_str(), directory, to.as_c_str(), flags)
}

#[cfg(not(target_env = "gnu"))]
pub(super) fn rename_with(directory: &OwnedFd, from: &CString, to: &CString, taken: NameTaken) -> Result<(), Errno> {
    use rustix::fs::{RenameFlags, renameat_with};
    let flags = match taken {
        NameTaken::Refused => RenameFlags::NOREPLACE,
        NameTaken::Exchanged => RenameFlags::EXCHANGE,
    };
    renameat_with(directory, from, directory, to, flags).map_err(|errno| Errno::from_raw(errno.raw_os_error()))
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

/// Returns whether this user may write a file of the project.
fn may_write(directory: &OwnedFd, name: &CString, stat: &FileStat) -> bool {
    let is_own = stat.st_uid == geteuid().as_raw();
    is_own || faccessat(directory, name.as_c_str(), AccessFlags::W_OK, AtFlags::AT_EACCESS).is_ok()
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
