//! One process at a time carries a governance workflow on: a lock of its own for each name, which ends with its holder however that ends.

use crate::evidence::changes::create_directories;
use crate::evidence::lock_file::{ALL_BYTES, LockFile};
use crate::evidence::{EvidenceError, Store};
use crate::model::ProjectId;

/// The right to carry a workflow on; given back when it is dropped.
#[derive(Debug)]
pub struct WorkflowLock {
    _file: LockFile,
}

impl Store {
    /// Takes the lock of a workflow, whose name is safe as a part of a path; none where another process has it.
    ///
    /// # Errors
    /// When the lock file cannot be had.
    pub fn lock_workflow(&self, project: &ProjectId, slug: &str) -> Result<Option<WorkflowLock>, EvidenceError> {
        let directory = self.root().join("workflows").join(project.as_str());
        create_directories(&directory)?;
        let file = LockFile::open(&directory.join(format!("{slug}.lock")))?;
        Ok(file.try_lock(&ALL_BYTES)?.then_some(WorkflowLock { _file: file }))
    }
}

#[cfg(test)]
mod tests {
    use crate::evidence::testing::TestStore;

    #[test]
    fn a_name_has_one_holder_and_another_name_another() {
        let test = TestStore::new();
        let lock = |slug: &str| test.store.lock_workflow(&test.project, slug).unwrap();
        let first = lock("notes");
        assert!(first.is_some() && lock("notes").is_none() && lock("ideas").is_some());
        drop(first);
        assert!(lock("notes").is_some());
    }
}
