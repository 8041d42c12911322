//! One process at a time works on a governance workflow. Each workflow has a lock file. Its lock is released when the
//! process that holds it ends, however the process ends.

use crate::changes::create_directories;
use crate::lock_file::{ALL_BYTES, LockFile};
use crate::{EvidenceError, Store};
use proctor_model::ProjectId;

/// The right to work on a workflow. The lock is released when this value is dropped.
#[derive(Debug)]
pub struct WorkflowLock {
    _file: LockFile,
}

impl Store {
    /// Takes the lock of a workflow, or returns `None` if another process has it. `slug` must be safe as a file name.
    ///
    /// # Errors
    /// When the lock file cannot be opened or locked.
    pub fn lock_workflow(&self, project: &ProjectId, slug: &str) -> Result<Option<WorkflowLock>, EvidenceError> {
        let directory = self.root().join("workflows").join(project.as_str());
        create_directories(&directory)?;
        let file = LockFile::open(&directory.join(format!("{slug}.lock")))?;
        Ok(file.try_lock(&ALL_BYTES)?.then_some(WorkflowLock { _file: file }))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::TestStore;

    #[test]
    fn each_workflow_has_at_most_one_holder() {
        let test = TestStore::new();
        let lock = |slug: &str| test.store.lock_workflow(&test.project, slug).unwrap();
        let first = lock("notes");
        assert!(first.is_some() && lock("notes").is_none() && lock("ideas").is_some());
        drop(first);
        assert!(lock("notes").is_some());
    }
}
