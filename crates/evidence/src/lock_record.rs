//! The content of a lock file: the process that holds the lock, and the run that was open when the file was last
//! written.
//!
//! The record is only a hint, which saves recovery a scan of all runs. The truth is in the ledger. If the record cannot
//! be read or is from another boot, recovery scans all runs. A change of the record's format needs a new
//! [`LOCK_SCHEMA`]; a reader that does not know the schema scans all runs.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use proctor_wire::wire;

use crate::changes::write_at;
use crate::files::{if_exists, open_no_follow};
use crate::lock_file::{ALL_BYTES, LockFile};
use crate::{EvidenceError, Store};
use proctor_model::{ProjectId, RunId, TaskId};

/// The name and version of the record's format.
pub const LOCK_SCHEMA: &str = "proctor-lock-v1";

/// The length in bytes to which every record is padded, so that one write replaces the whole earlier record.
const RECORD_BYTES: usize = 512;

/// A run that was begun and not yet sealed.
#[wire]
pub struct OpenRun {
    pub task: TaskId,
    pub run_id: RunId,
}

#[wire]
pub(super) struct LockRecord {
    pub(super) schema: String,
    /// The process that holds the lock, or held it last.
    pub(super) pid: u32,
    /// The id of the boot in which `open_run` was recorded; empty if nothing is known about open runs.
    pub(super) boot_id: String,
    pub(super) open_run: Option<OpenRun>,
}

impl LockRecord {
    /// Returns a record that names the holder and says that nothing is known about open runs.
    pub(super) fn unknown(pid: u32) -> Self {
        Self { schema: LOCK_SCHEMA.to_owned(), pid, boot_id: String::new(), open_run: None }
    }

    /// Reads the record; returns `None` if the file is empty, half-written or of another schema.
    pub(super) fn read(file: &File) -> Option<Self> {
        let mut bytes = [0_u8; RECORD_BYTES];
        let count = file.read_at(&mut bytes, 0).ok()?;
        let record: Self = serde_json::from_slice(&bytes[..count]).ok()?;
        (record.schema == LOCK_SCHEMA).then_some(record)
    }

    /// Replaces the file's content. No sync is needed: after a power loss the boot id differs, and the record is
    /// ignored.
    pub(super) fn write(&self, file: &File, path: &Path) -> Result<(), EvidenceError> {
        let mut bytes = serde_json::to_vec(self).expect("our own values have a JSON form");
        bytes.resize(RECORD_BYTES.max(bytes.len() + 1) - 1, b' ');
        bytes.push(b'\n');
        write_at(file, path, &bytes, 0)
    }
}

// Tells which process holds a project's lock, without taking the lock.

/// What the lock file says about the process that holds a project's lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockHolder {
    /// The holder's process id, if the lock file contains it.
    pub pid: Option<u32>,
    /// The run that the holder has begun and not yet sealed, if the lock file says so.
    pub run: Option<OpenRun>,
}

impl Store {
    /// Returns the holder of a project's lock, or `None` if the lock is free. The holder may change before this
    /// function returns.
    pub fn lock_holder(&self, project: &ProjectId) -> Result<Option<LockHolder>, EvidenceError> {
        let Some(file) = LockFile::open_to_inspect(&self.lock_path(project))? else { return Ok(None) };
        if file.locked_by_others(ALL_BYTES)?.is_empty() {
            return Ok(None);
        }
        let record = LockRecord::read(file.file());
        Ok(Some(LockHolder { pid: record.as_ref().map(|record| record.pid), run: record.and_then(|record| record.open_run) }))
    }

    /// Returns the run that the lock file records as unfinished. Its process may be alive or dead. This takes no lock.
    pub fn unfinished_run(&self, project: &ProjectId) -> Result<Option<OpenRun>, EvidenceError> {
        let file = if_exists(open_no_follow(&self.lock_path(project)))?;
        Ok(file.and_then(|file| LockRecord::read(&file)).and_then(|record| record.open_run))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::Timestamp;

    #[test]
    fn the_longest_record_fits_and_a_shorter_one_replaces_it() {
        let file = tempfile::tempfile().unwrap();
        let long = LockRecord {
            schema: LOCK_SCHEMA.to_owned(),
            pid: u32::MAX,
            boot_id: "f".repeat(36),
            open_run: Some(OpenRun {
                task: TaskId::try_from("x".repeat(64)).unwrap(),
                run_id: RunId::new(Timestamp::from_millis(0), 999_999_999_999_999_999),
            }),
        };
        long.write(&file, Path::new("lock")).unwrap();
        assert_eq!(LockRecord::read(&file), Some(long));
        let short = LockRecord::unknown(1);
        short.write(&file, Path::new("lock")).unwrap();
        assert_eq!(LockRecord::read(&file), Some(short));
        assert_eq!(file.metadata().unwrap().len(), RECORD_BYTES as u64);
    }

    #[test]
    fn an_empty_cut_or_foreign_record_is_not_read() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(LockRecord::read(&file), None);
        file.write_all_at(br#"{"schema":"proctor-lock-v1","pid":1,"#, 0).unwrap();
        assert_eq!(LockRecord::read(&file), None);
        let other = LockRecord { schema: "proctor-lock-v2".to_owned(), ..LockRecord::unknown(1) };
        other.write(&file, Path::new("lock")).unwrap();
        assert_eq!(LockRecord::read(&file), None);
    }
}

#[cfg(test)]
mod lock_holder_tests {
    use crate::testing::TestStore;

    #[test]
    fn a_holder_is_seen_as_long_as_it_holds_and_looking_locks_nothing() {
        let test = TestStore::new();
        assert_eq!(test.store.lock_holder(&test.project).unwrap(), None);
        let lock = test.lock();
        let holder = test.store.lock_holder(&test.project).unwrap().expect("the lock is held");
        assert_eq!((holder.pid, holder.run), (Some(std::process::id()), None));
        drop(lock);
        assert_eq!(test.store.lock_holder(&test.project).unwrap(), None);
        test.lock();
    }
}
