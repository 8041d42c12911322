//! Room on a full disk: a reserve that pruning can use, and the removal of what a run has written that cannot be kept.

use std::path::{Path, PathBuf};

use nix::sys::statvfs::statvfs;

use crate::evidence::changes::{create_file, remove_directory, remove_file, write_all};
use crate::evidence::files::{if_exists, list_directory};
use crate::evidence::names::{MANIFEST_NAME, START_RECORD_NAME};
use crate::evidence::output::remove_outputs_of_run;
use crate::evidence::{EvidenceError, ProjectLock, Store};
use crate::model::{RunId, TaskId};

/// The size of the reserve in bytes. A ledger line that prunes 256 runs has less than 100 KiB, and SQLite's log of its rows less
/// than 500 KiB.
const RESERVE_BYTES: usize = 1024 * 1024;
/// The reserve is written only where this many times its size is free.
const RESERVE_SHARE: u64 = 4;

impl Store {
    /// Writes the reserve if it is missing and the disk has room for it. The bytes are written and not only promised,
    /// because a file with holes takes no room.
    ///
    /// # Errors
    /// When the file cannot be written. Then nothing is left of it.
    pub fn renew_reserve(&self) -> Result<(), EvidenceError> {
        let path = self.reserve_path();
        let enough = RESERVE_SHARE * RESERVE_BYTES as u64;
        if path.exists() || free_bytes(self.root()).is_none_or(|free| free < enough) {
            return Ok(());
        }
        let mut file = create_file(&path)?;
        let written = write_all(&mut file, &path, &vec![0; RESERVE_BYTES]);
        if written.is_err() {
            remove_file(&path)?;
        }
        written
    }

    /// Gives up the reserve if the disk has less room than the reserve takes. Afterwards the ledger and the index can be
    /// written, so that evidence can be pruned.
    ///
    /// # Errors
    /// When the file cannot be removed.
    pub fn use_reserve(&self) -> Result<(), EvidenceError> {
        let is_tight = free_bytes(self.root()).is_some_and(|free| free < RESERVE_BYTES as u64);
        if is_tight {
            if_exists(remove_file(&self.reserve_path()))?;
        }
        Ok(())
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt as _;

    use super::*;
    use crate::evidence::testing::TestStore;

    #[test]
    fn the_reserve_takes_room_is_written_once_and_kept_while_there_is_room() {
        let test = TestStore::new();
        test.store.renew_reserve().unwrap();
        let reserve = test.store.root().join("reserve");
        let before = fs::metadata(&reserve).unwrap();
        assert_eq!(before.len(), RESERVE_BYTES as u64);
        test.store.renew_reserve().unwrap();
        test.store.use_reserve().unwrap();
        assert_eq!(fs::metadata(&reserve).unwrap().ino(), before.ino());
    }
}
