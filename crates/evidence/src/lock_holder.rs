//! Tells which process holds a project's lock, without taking the lock.

use crate::files::{if_exists, open_no_follow};
use crate::lock_file::{ALL_BYTES, LockFile};
use crate::lock_record::LockRecord;
use crate::{EvidenceError, OpenRun, Store};
use proctor_model::ProjectId;

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
