//! Room on a full disk: a reserve that pruning can use, and the removal of what a run has written that cannot be kept.

use std::path::{Path, PathBuf};

use nix::sys::statvfs::statvfs;
use nix::unistd::geteuid;

use crate::changes::{create_file, remove_directory, remove_file, write_all};
use crate::files::{if_exists, list_directory};
use crate::names::{MANIFEST_NAME, START_RECORD_NAME};
use crate::output::remove_outputs_of_run;
use crate::{EvidenceError, ProjectLock, Store};
use proctor_model::{RunId, TaskId};

/// The size of the reserve in bytes. A ledger line that prunes 256 runs has less than 100 KiB, and SQLite's log of its rows less
/// than 500 KiB.
const RESERVE_BYTES: usize = 1024 * 1024;
/// The reserve is written only where this many times its size is free.
const RESERVE_SHARE: u64 = 4;
/// A reserve of fewer bytes is of no use.
const SMALLEST_RESERVE: usize = 64 * 1024;

/// The room of the reserve, which a command may use on a full disk. When it is dropped, the reserve is written again from the
/// room that is left.
#[derive(Debug)]
#[must_use = "the reserve is written again when this value is dropped"]
pub struct UsedReserve {
    store: Store,
    is_used: bool,
}

impl Drop for UsedReserve {
    fn drop(&mut self) {
        // The reserve cannot be written while the disk is full; the next run that is sealed tries again.
        let _unwritten = if self.is_used { self.store.give_back_reserve() } else { Ok(()) };
    }
}

impl Store {
    /// Writes the reserve if it is missing or too small, and the disk has room for it. The bytes are written and not only
    /// promised, because a file with holes takes no room.
    ///
    /// # Errors
    /// When the file cannot be written. Then nothing is left of it.
    pub fn renew_reserve(&self) -> Result<(), EvidenceError> {
        let enough = RESERVE_SHARE * RESERVE_BYTES as u64;
        if self.reserve_length() == Some(RESERVE_BYTES as u64) || free_bytes(self.root()).is_none_or(|free| free < enough) {
            return Ok(());
        }
        self.write_reserve(RESERVE_BYTES)
    }

    /// Gives up the reserve if the disk has less room than the reserve takes. Afterwards the ledger and the index can be
    /// written, so that evidence can be pruned, or a person can decide something. The reserve is written again when the
    /// returned value is dropped.
    ///
    /// # Errors
    /// When the file cannot be removed.
    pub fn use_reserve(&self) -> Result<UsedReserve, EvidenceError> {
        let is_tight = free_bytes(self.root()).is_some_and(|free| free < RESERVE_BYTES as u64);
        let is_used = is_tight && self.reserve_length().is_some();
        if is_used {
            if_exists(remove_file(&self.reserve_path()))?;
        }
        Ok(UsedReserve { store: self.clone(), is_used })
    }

    /// Writes the reserve again, as large as the room that is left, before another process takes that room.
    fn give_back_reserve(&self) -> Result<(), EvidenceError> {
        let free = free_bytes(self.root()).map_or(0, |free| usize::try_from(free).unwrap_or(usize::MAX));
        if free < SMALLEST_RESERVE || self.reserve_length().is_some() {
            return Ok(());
        }
        self.write_reserve(free.min(RESERVE_BYTES))
    }

    fn write_reserve(&self, bytes: usize) -> Result<(), EvidenceError> {
        let path = self.reserve_path();
        if_exists(remove_file(&path))?;
        let mut file = create_file(&path)?;
        let written = write_all(&mut file, &path, &vec![0; bytes]);
        if written.is_err() {
            remove_file(&path)?;
        }
        written
    }

    fn reserve_length(&self) -> Option<u64> {
        self.reserve_path().symlink_metadata().ok().map(|metadata| metadata.len())
    }

    fn reserve_path(&self) -> PathBuf {
        self.root().join("reserve")
    }
}

/// Removes what an unsealed run has written, except for the record of its start, so that a run that filled the disk does not
/// keep it full. The next holder of the lock seals the run as INTERRUPTED. A run with a manifest may be sealed already, so it
/// is left as it is.
///
/// # Errors
/// When a file cannot be removed.
pub fn remove_half_of_run(lock: &ProjectLock, task: &TaskId, run_id: &RunId) -> Result<(), EvidenceError> {
    let directory = lock.store().run_directory(lock.project(), task, run_id);
    if directory.join(MANIFEST_NAME).symlink_metadata().is_ok() {
        return Ok(());
    }
    for entry in list_directory(&directory)? {
        let path = entry.path();
        if entry.file_name() == START_RECORD_NAME {
            continue;
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) { remove_directory(&path)? } else { remove_file(&path)? }
    }
    remove_outputs_of_run(lock, run_id)
}

/// Returns how many bytes this user may still write to the disk; `None` if the system does not say.
fn free_bytes(path: &Path) -> Option<u64> {
    let disk = statvfs(path).ok()?;
    Some(disk.blocks_available().saturating_mul(disk.fragment_size()))
}

/// Returns whether nothing more can be written to the disk with the store: not one page, by root too.
pub fn is_disk_full(store: &Store) -> bool {
    const PAGE: u64 = 4096;
    let Ok(disk) = statvfs(store.root()) else { return false };
    let free = if geteuid().is_root() { disk.blocks_free() } else { disk.blocks_available() };
    disk.blocks() > 0 && free.saturating_mul(disk.fragment_size()) < PAGE
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt as _;

    use super::*;
    use crate::testing::TestStore;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test makes the smaller reserve of a full disk")]
    fn the_reserve_takes_room_is_written_once_and_kept_while_there_is_room() {
        let test = TestStore::new();
        test.store.renew_reserve().unwrap();
        let reserve = test.store.root().join("reserve");
        let before = fs::metadata(&reserve).unwrap();
        assert_eq!(before.len(), RESERVE_BYTES as u64);
        test.store.renew_reserve().unwrap();
        drop(test.store.use_reserve().unwrap());
        assert_eq!(fs::metadata(&reserve).unwrap().ino(), before.ino());
        // A reserve that was written on a full disk is smaller. It is written anew in its full size when there is room.
        fs::write(&reserve, [0; SMALLEST_RESERVE]).unwrap();
        test.store.renew_reserve().unwrap();
        assert_eq!(fs::metadata(&reserve).unwrap().len(), RESERVE_BYTES as u64);
    }

    #[test]
    fn a_reserve_that_was_used_is_written_again() {
        let test = TestStore::new();
        let used = UsedReserve { store: test.store.clone(), is_used: true };
        drop(used);
        assert_eq!(test.store.reserve_length(), Some(RESERVE_BYTES as u64));
        fs::remove_file(test.store.reserve_path()).unwrap();
        drop(UsedReserve { store: test.store.clone(), is_used: false });
        assert_eq!(test.store.reserve_length(), None, "nobody used it");
    }
}
