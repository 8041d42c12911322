//! A directory that the actions of one run share, usually as their `/tmp`. It is removed after the run.

use std::path::{Path, PathBuf};

use crate::changes::{create_directories, create_directory};
use crate::files::list_directory;
use crate::output::remove_tree;
use crate::prepared_files::PreparedFiles;
use crate::{EvidenceError, ProjectLock};

/// The largest number of attempts to remove a directory. An attempt fails if a keeper (the process that supervises an action)
/// creates a directory in it meanwhile. A keeper is done with that within a millisecond.
const TRIES: usize = 20;

/// The scratch directory of one run: `scratch/<project-id>/<process>-<number>`. It may be created before it is known
/// which run will use it.
#[derive(Debug)]
pub struct ScratchDirectory {
    path: PathBuf,
    prepared: PreparedFiles,
}

impl ScratchDirectory {
    /// Creates a new directory and removes the directories of earlier runs. No action can still use those, because only
    /// the lock holder runs actions of the project. `number` must be unique within this process.
    pub fn create(lock: &ProjectLock, number: u64) -> Result<Self, EvidenceError> {
        let all = lock.store().scratch_directory(lock.project());
        create_directories(&all)?;
        list_directory(&all)?.iter().for_each(|entry| remove_patiently(&entry.path()));
        let path = all.join(format!("{}-{number}", std::process::id()));
        create_directory(&path)?;
        Ok(Self { path, prepared: PreparedFiles::default() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether the directory belongs to this project and still exists.
    pub fn is_usable_for(&self, lock: &ProjectLock) -> bool {
        self.path.starts_with(lock.store().scratch_directory(lock.project())) && self.path.is_dir()
    }

    /// Creates the files and directories that the next run needs first. Actions cannot see these files, because actions
    /// see only other subdirectories of the scratch directory.
    pub fn prepare_files(&mut self) -> Result<(), EvidenceError> {
        self.prepared = PreparedFiles::create(&self.path.join("ready"))?;
        Ok(())
    }

    /// Hands the prepared files over to the run that begins.
    pub fn hand_over_prepared_files(&mut self, lock: &ProjectLock) {
        lock.use_prepared_files(std::mem::take(&mut self.prepared));
    }

    /// Removes the directory with everything in it.
    pub fn remove(self) {
        remove_patiently(&self.path);
    }
}

/// Removes a directory in which a keeper (the process that supervises an action) may still be making directories,
/// because the keeper waits for another run or is being killed. If all attempts fail, the next run removes the rest,
/// which is not evidence.
fn remove_patiently(path: &Path) {
    let _left = (0..TRIES).find(|_| remove_tree(path).is_ok());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestStore;

    #[test]
    fn the_next_run_gets_another_directory_and_nothing_of_a_dead_one_is_left() {
        let test = TestStore::new();
        let lock = test.lock();
        let first = ScratchDirectory::create(&lock, 1).unwrap();
        std::fs::create_dir_all(first.path().join("tmp/left")).unwrap();
        let second = ScratchDirectory::create(&lock, 2).unwrap();
        assert!(!first.is_usable_for(&lock) && second.is_usable_for(&lock));
        let all = test.store.scratch_directory(&test.project);
        second.remove();
        assert!(list_directory(&all).unwrap().is_empty());
    }
}
