//! Who writes a project's evidence at this moment, seen from outside: nothing is locked by looking.

use crate::evidence::files::{if_there, open_plain};
use crate::evidence::lock_file::{ALL_BYTES, LockFile};
use crate::evidence::lock_record::LockRecord;
use crate::evidence::{EvidenceError, OpenRun, Store};
use crate::model::ProjectId;

/// Whoever holds a project's lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Its process, where its lock file says so.
    pub pid: Option<u32>,
    /// The run it has begun and not sealed, where its lock file says so.
    pub run: Option<OpenRun>,
}

impl Store {
    /// Returns who holds a project's lock; none where nobody does. It may be another one by the time this returns.
    pub fn holder(&self, project: &ProjectId) -> Result<Option<Holder>, EvidenceError> {
        let Some(file) = LockFile::look_at(&self.lock_path(project))? else { return Ok(None) };
        if file.locked_by_others(ALL_BYTES)?.is_empty() {
            return Ok(None);
        }
        let record = LockRecord::read(file.file());
        Ok(Some(Holder { pid: record.as_ref().map(|record| record.pid), run: record.and_then(|record| record.open_run) }))
    }

    /// Returns the run of a project that was begun and not brought to its end, as far as the lock file says: one that goes on, or one
    /// whose process died. Nothing is locked by looking.
    pub fn unfinished_run(&self, project: &ProjectId) -> Result<Option<OpenRun>, EvidenceError> {
        let file = if_there(open_plain(&self.lock_path(project)))?;
        Ok(file.and_then(|file| LockRecord::read(&file)).and_then(|record| record.open_run))
    }
}

#[cfg(test)]
mod tests {
    use crate::evidence::testing::TestStore;

    #[test]
    fn a_holder_is_seen_as_long_as_it_holds_and_looking_locks_nothing() {
        let test = TestStore::new();
        assert_eq!(test.store.holder(&test.project).unwrap(), None);
        let lock = test.lock();
        let holder = test.store.holder(&test.project).unwrap().expect("the lock is held");
        assert_eq!((holder.pid, holder.run), (Some(std::process::id()), None));
        drop(lock);
        assert_eq!(test.store.holder(&test.project).unwrap(), None);
        test.lock();
    }
}
