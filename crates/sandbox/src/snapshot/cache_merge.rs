//! Moves what a check wrote to its caches into the kept cache of the check.
//!
//! The check may be hostile, and no process of it is left. Files are renamed and never opened; links are moved and never
//! followed; pipes, sockets and devices are dropped. Every directory is opened from a descriptor of its parent directory.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::ops::Bound;
use std::os::fd::{AsFd as _, OwnedFd};

use nix::errno::Errno;
use nix::fcntl::{OFlag, openat, renameat};
use nix::libc;
use nix::sys::stat::{FchmodatFlags, FileStat, Mode, fchmod, fchmodat, mkdirat};
use nix::unistd::{UnlinkatFlags, unlinkat};
use serde::{Deserialize, Serialize};

use crate::process::is_opaque;
use crate::snapshot::entries::{OWNER, format, mode_of, names_in, stat_of, there};
use crate::snapshot::error::with_hint;
use proctor_model::{Timestamp, TreePath};
use proctor_tree::ignore::{CacheKind, cache_kind, is_never_kept};
use proctor_tree::open_below;

/// The most directories between a cache's topmost entry and a file in it.
const MAX_DEPTH: usize = 64;

/// The most caches of one area that are recorded by path because their tools compare times. If a check makes more, its
/// kept cache counts as too large and is dropped.
const MAX_TIMED: usize = 10_000;

/// How much a cache holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct CacheSize {
    /// The disk space of the cache's files.
    pub(super) bytes: u64,
    pub(super) entries: u64,
}

/// Why a check's caches cannot be kept.
#[derive(Debug, thiserror::Error)]
pub(super) enum MergeFailure {
    #[error("it is larger than allowed")]
    TooLarge,
    #[error("its directories are nested too deeply")]
    TooDeep,
    #[error("{}", with_hint(.0))]
    Unreadable(#[from] io::Error),
}

impl From<Errno> for MergeFailure {
    fn from(errno: Errno) -> Self {
        Self::Unreadable(errno.into())
    }
}

/// A part of a check's kept cache that is being changed: the part for the project, or for one directory of installed packages.
pub(super) struct CacheArea<'a> {
    pub(super) kept: &'a OwnedFd,
    /// The caches whose tools compare by the order of times.
    pub(super) by_time: &'a mut BTreeMap<TreePath, CacheKind>,
    pub(super) size: &'a mut CacheSize,
    pub(super) limit: CacheSize,
    /// The present time. A modification time in a cache is later than this only if a program set it deliberately.
    pub(super) now: Timestamp,
    /// Whether a cache whose tool compares by the order of times holds a time that is later than now.
    pub(super) is_from_future: bool,
}

impl CacheArea<'_> {
    /// Moves the cache at `path` of the layer `written` into the kept cache.
    pub(super) fn take(&mut self, written: &OwnedFd, path: &TreePath, kind: CacheKind) -> Result<(), MergeFailure> {
        let parent = path.parent().unwrap_or_default();
        let from = open_below(written.as_fd(), parent.as_bytes())?;
        let to = self.make_parents(written, &parent)?;
        self.take_entry(&from, &to, path, kind, 0)?;
        if kind.compares_by_time() {
            self.note_by_time(path, kind)?;
        }
        Ok(self.remove_empty_parents(parent)?)
    }

    /// Removes the kept entry at a path with everything below it, if there is one.
    pub(super) fn remove(&mut self, path: &TreePath) -> io::Result<()> {
        let parent = path.parent().unwrap_or_default();
        let Some(directory) = there(open_below(self.kept.as_fd(), parent.as_bytes()))? else { return Ok(()) };
        self.remove_at(&directory, path)?;
        self.remove_empty_parents(parent)
    }

    /// Removes the parent directories of a removed cache that have become empty. A check would see these directories,
    /// even if the tree has no such directories any more.
    fn remove_empty_parents(&mut self, mut directory: TreePath) -> io::Result<()> {
        while let Some(parent) = directory.parent() {
            let around = open_below(self.kept.as_fd(), parent.as_bytes())?;
            match unlinkat(&around, directory.name(), UnlinkatFlags::RemoveDir) {
                Ok(()) => self.size.entries = self.size.entries.saturating_sub(1),
                Err(Errno::ENOTEMPTY | Errno::EEXIST) => return Ok(()),
                Err(errno) => return Err(errno.into()),
            }
            directory = parent;
        }
        Ok(())
    }

    /// Makes the parent directories of a cache. Each gets the mode that the check sees at the same path.
    fn make_parents(&mut self, written: &OwnedFd, parent: &TreePath) -> Result<OwnedFd, MergeFailure> {
        let mut to = open_below(self.kept.as_fd(), b"")?;
        let mut from = open_below(written.as_fd(), b"")?;
        for name in parent.as_bytes().split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            let name = CString::new(name).map_err(io::Error::from)?;
            from = open_directory(&from, &name)?;
            match mkdirat(&to, name.as_c_str(), OWNER) {
                Err(Errno::EEXIST) => {}
                made => {
                    made?;
                    self.size.entries += 1;
                }
            }
            to = open_directory(&to, &name)?;
            fchmod(&to, mode_of(&nix::sys::stat::fstat(&from)?) | OWNER)?;
        }
        Ok(to)
    }

    fn take_entry(
        &mut self,
        from: &OwnedFd,
        to: &OwnedFd,
        path: &TreePath,
        kind: CacheKind,
        depth: usize,
    ) -> Result<(), MergeFailure> {
        if is_never_kept(path.as_bytes()) {
            return Ok(self.remove_at(to, path)?);
        }
        let name = CString::new(path.name()).map_err(io::Error::from)?;
        let stat = stat_of(from, &name)?;
        let own = cache_kind(path.name()).unwrap_or(CacheKind::Content);
        let strictest = kind.max(own);
        match format(&stat) {
            libc::S_IFDIR => self.take_directory(from, to, path, strictest, &stat, depth)?,
            libc::S_IFREG | libc::S_IFLNK => self.take_file(from, to, path, strictest, &stat)?,
            // Either the check removed the entry (overlayfs marks that by a device), or the entry is a pipe, socket or
            // device, which must not be kept.
            _ => return Ok(self.remove_at(to, path)?),
        }
        if own > kind { self.note_by_time(path, own) } else { Ok(()) }
    }

    fn take_directory(
        &mut self,
        from: &OwnedFd,
        to: &OwnedFd,
        path: &TreePath,
        kind: CacheKind,
        stat: &FileStat,
        depth: usize,
    ) -> Result<(), MergeFailure> {
        if depth >= MAX_DEPTH {
            return Err(MergeFailure::TooDeep);
        }
        let name = CString::new(path.name()).map_err(io::Error::from)?;
        let from = open_own_directory(from, &name)?;
        let kept = there(stat_of(to, &name))?;
        let goes_on = kept.is_some_and(|kept| format(&kept) == libc::S_IFDIR) && !is_opaque(from.as_fd())?;
        if !goes_on {
            self.remove_at(to, path)?;
            mkdirat(to, name.as_c_str(), OWNER)?;
            self.add(0)?;
        }
        let to = open_directory(to, &name)?;
        for (name, _) in names_in(&from)? {
            self.take_entry(&from, &to, &path.join(name.to_bytes()), kind, depth + 1)?;
        }
        fchmod(&to, mode_of(stat) | OWNER)?;
        Ok(())
    }

    fn take_file(
        &mut self,
        from: &OwnedFd,
        to: &OwnedFd,
        path: &TreePath,
        kind: CacheKind,
        stat: &FileStat,
    ) -> Result<(), MergeFailure> {
        let name = CString::new(path.name()).map_err(io::Error::from)?;
        if kind.compares_by_time() {
            let time = i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec);
            self.is_from_future |= time >= (i128::from(self.now.as_millis()) + 1) * 1_000_000;
        }
        let is_plain = format(stat) == libc::S_IFREG;
        if is_plain && stat.st_mode & 0o7000 != 0 {
            fchmodat(from, name.as_c_str(), mode_of(stat), FchmodatFlags::FollowSymlink)?;
        }
        match there(stat_of(to, &name))? {
            Some(kept) if format(&kept) != libc::S_IFDIR => self.subtract(&kept),
            Some(_) => self.remove_at(to, path)?,
            None => {}
        }
        renameat(from, name.as_c_str(), to, name.as_c_str())?;
        self.add(bytes_of(stat))
    }

    fn remove_at(&mut self, directory: &OwnedFd, path: &TreePath) -> io::Result<()> {
        self.by_time.remove(path);
        let below = (Bound::Included(path.join(b"")), Bound::Unbounded);
        let prefix = [path.as_bytes(), b"/"].concat();
        let known = self.by_time.range(below).map(|(known, _)| known.clone());
        let gone: Vec<TreePath> = known.take_while(|known| known.as_bytes().starts_with(&prefix)).collect();
        for gone in gone {
            self.by_time.remove(&gone);
        }
        self.remove_entry(directory, &CString::new(path.name())?)
    }

    /// Removes an entry of the kept cache. Its depth is limited, because [`CacheArea::take`] made it.
    fn remove_entry(&mut self, directory: &OwnedFd, name: &CString) -> io::Result<()> {
        let Some(stat) = there(stat_of(directory, name))? else { return Ok(()) };
        self.subtract(&stat);
        if format(&stat) != libc::S_IFDIR {
            return Ok(unlinkat(directory, name.as_c_str(), UnlinkatFlags::NoRemoveDir)?);
        }
        let below = open_directory(directory, name)?;
        for (entry, _) in names_in(&below)? {
            self.remove_entry(&below, &entry)?;
        }
        Ok(unlinkat(directory, name.as_c_str(), UnlinkatFlags::RemoveDir)?)
    }

    fn note_by_time(&mut self, path: &TreePath, kind: CacheKind) -> Result<(), MergeFailure> {
        self.by_time.insert(path.clone(), kind);
        if self.by_time.len() > MAX_TIMED { Err(MergeFailure::TooLarge) } else { Ok(()) }
    }

    fn add(&mut self, bytes: u64) -> Result<(), MergeFailure> {
        self.size.bytes += bytes;
        self.size.entries += 1;
        let is_over = self.size.bytes > self.limit.bytes || self.size.entries > self.limit.entries;
        if is_over { Err(MergeFailure::TooLarge) } else { Ok(()) }
    }

    fn subtract(&mut self, stat: &FileStat) {
        let bytes = if format(stat) == libc::S_IFDIR { 0 } else { bytes_of(stat) };
        self.size.bytes = self.size.bytes.saturating_sub(bytes);
        self.size.entries = self.size.entries.saturating_sub(1);
    }
}

/// Returns the space that a file takes on the disk. A sparse file is smaller than its length says.
fn bytes_of(stat: &FileStat) -> u64 {
    stat.st_blocks.unsigned_abs() * 512
}

fn open_directory(parent: &OwnedFd, name: &CString) -> io::Result<OwnedFd> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    Ok(openat(parent, name.as_c_str(), flags, Mode::empty())?)
}

/// Opens a directory from which entries are moved away. The owner first gets all permissions, because a check may have
/// removed them.
fn open_own_directory(parent: &OwnedFd, name: &CString) -> io::Result<OwnedFd> {
    fchmodat(parent, name.as_c_str(), OWNER, FchmodatFlags::FollowSymlink)?;
    open_directory(parent, name)
}
