//! Locks on ranges of a file's bytes (open-file-description locks).
//!
//! The kernel releases such a lock when the last descriptor of its holder closes, however the holder ends (fcntl(2),
//! "Open file description locks"), so a lock never outlives its holder. Descriptors close on exec. A range may lie
//! beyond the end of the file. The meaning of the bytes is defined by `lock` and `slot`.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

use crate::changes::open_or_create;
use crate::error::failed;
use crate::files::{if_exists, open_no_follow};
use crate::{EvidenceError, FileOperation};

/// The range that covers a whole file, however long the file is.
pub(super) const ALL_BYTES: Range<i64> = 0..i64::MAX;

/// What to do after a failed attempt to take a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitDecision {
    GoOn,
    /// The function that waits returns without the lock.
    GiveUp,
}

/// An open lock file. Each value is a holder of its own: two values for the same path exclude each other, also within
/// one process.
#[derive(Debug)]
pub(super) struct LockFile {
    file: File,
    path: PathBuf,
}

impl LockFile {
    /// Opens a lock file and creates it if it is missing. This locks nothing.
    pub(super) fn open(path: &Path) -> Result<Self, EvidenceError> {
        Ok(Self { file: open_or_create(path)?, path: path.to_owned() })
    }

    /// Opens a lock file only to see which ranges are locked. Returns `None` if the file does not exist.
    pub(super) fn open_to_inspect(path: &Path) -> Result<Option<Self>, EvidenceError> {
        let file = if_exists(open_no_follow(path))?;
        Ok(file.map(|file| Self { file, path: path.to_owned() }))
    }

    /// Returns the file, to read or write its content.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Locks a range exclusively. Returns `false` if another holder has locked a part of it.
    pub(super) fn try_lock(&self, range: &Range<i64>) -> Result<bool, EvidenceError> {
        self.set(range, libc::F_WRLCK)
    }

    /// Releases a range. This works even while a process that was just forked has a copy of the descriptor.
    pub(super) fn unlock(&self, range: &Range<i64>) -> Result<(), EvidenceError> {
        self.set(range, libc::F_UNLCK).map(drop)
    }

    /// Returns the ranges that other holders have locked within a range, in ascending order.
    ///
    /// Locks may come and go during the search. A lock that was held all the time is always found.
    pub(super) fn locked_by_others(&self, within: Range<i64>) -> Result<Vec<Range<i64>>, EvidenceError> {
        let mut found = Vec::new();
        // The kernel returns any one lock of a range, not the first. So the parts of the range before and after this
        // lock have to be searched too.
        let mut unseen = vec![within];
        while let Some(range) = unseen.pop() {
            if let Some(lock) = self.any_lock_of_others(&range)? {
                unseen.push(range.start..lock.start);
                unseen.push(lock.end..range.end);
                found.push(lock);
            }
        }
        found.sort_by_key(|lock| lock.start);
        Ok(found)
    }

    fn any_lock_of_others(&self, range: &Range<i64>) -> Result<Option<Range<i64>>, EvidenceError> {
        if range.is_empty() {
            return Ok(None);
        }
        let mut lock = to_flock(range, libc::F_WRLCK);
        loop {
            return match fcntl(&self.file, FcntlArg::F_OFD_GETLK(&mut lock)) {
                Ok(_) if lock.l_type == libc::F_UNLCK as libc::c_short => Ok(None),
                Ok(_) => Ok(Some(to_range(&lock))),
                Err(Errno::EINTR) => continue,
                Err(error) => Err(failed(FileOperation::Lock, &self.path)(error)),
            };
        }
    }

    fn set(&self, range: &Range<i64>, kind: libc::c_int) -> Result<bool, EvidenceError> {
        let lock = to_flock(range, kind);
        loop {
            return match fcntl(&self.file, FcntlArg::F_OFD_SETLK(&lock)) {
                Ok(_) => Ok(true),
                Err(Errno::EAGAIN | Errno::EACCES) => Ok(false),
                Err(Errno::EINTR) => continue,
                Err(error) => Err(failed(FileOperation::Lock, &self.path)(error)),
            };
        }
    }
}

/// In a `flock` structure, length 0 means up to the largest possible offset.
fn to_flock(range: &Range<i64>, kind: libc::c_int) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: range.start,
        l_len: if range.end == i64::MAX { 0 } else { range.end - range.start },
        l_pid: 0,
    }
}

fn to_range(lock: &libc::flock) -> Range<i64> {
    let end = if lock.l_len == 0 { i64::MAX } else { lock.l_start.saturating_add(lock.l_len) };
    lock.l_start..end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_holders() -> (LockFile, LockFile, tempfile::TempDir) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("locks");
        (LockFile::open(&path).unwrap(), LockFile::open(&path).unwrap(), directory)
    }

    /// Returns the ranges that other holders have locked, as pairs of start and end.
    fn found(file: &LockFile, within: Range<i64>) -> Vec<(i64, i64)> {
        file.locked_by_others(within).unwrap().iter().map(|lock| (lock.start, lock.end)).collect()
    }

    #[test]
    fn ranges_exclude_each_other_where_they_meet_and_are_given_back_one_by_one() {
        let (one, other, _directory) = two_holders();
        assert!(one.try_lock(&(0..4)).unwrap());
        assert!(one.try_lock(&(8..9)).unwrap());
        assert!(!other.try_lock(&(3..5)).unwrap());
        assert!(other.try_lock(&(4..8)).unwrap());
        assert!(!other.try_lock(&ALL_BYTES).unwrap());
        one.unlock(&(0..4)).unwrap();
        assert!(other.try_lock(&(0..8)).unwrap());
        assert!(!other.try_lock(&(8..9)).unwrap());
    }

    #[test]
    fn locks_of_others_are_found_in_order_and_own_locks_are_not() {
        let (one, other, directory) = two_holders();
        let third = LockFile::open(&directory.path().join("locks")).unwrap();
        for range in [40..41, 10..12, 30..34] {
            assert!(one.try_lock(&range).unwrap());
        }
        assert!(third.try_lock(&(12..13)).unwrap());
        assert!(other.try_lock(&(20..21)).unwrap());
        assert_eq!(found(&other, ALL_BYTES), [(10, 12), (12, 13), (30, 34), (40, 41)]);
        assert_eq!(found(&other, 13..40), [(30, 34)]);
        assert_eq!(found(&other, 13..30), []);
        assert!(one.try_lock(&(50..i64::MAX)).unwrap());
        assert_eq!(found(&third, 45..60), [(50, i64::MAX)]);
    }
}
