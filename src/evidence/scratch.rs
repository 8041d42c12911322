//! What the actions of a run share while it is under way, their `/tmp` above all; gone when the run is over.

use std::path::{Path, PathBuf};

use crate::evidence::changes::{create_directories, create_directory};
use crate::evidence::files::list;
use crate::evidence::output::remove_tree;
use crate::evidence::ready::Ready;
use crate::evidence::{EvidenceError, ProjectLock};

/// How often a removal is tried: a keeper makes its places within a millisecond.
const TRIES: usize = 20;

/// The directory of one run: `scratch/<project-id>/<process>-<number>`. It may be made before the run is known.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    ready: Ready,
}

impl Scratch {
    /// Makes a directory that no run has used and removes what others have left: only the lock's holder runs anything of the project.
    /// `number` is another one for each directory of this process.
    pub fn create(lock: &ProjectLock, number: u64) -> Result<Self, EvidenceError> {
        let all = lock.store().scratch_directory(lock.project());
        create_directories(&all)?;
        list(&all)?.iter().for_each(|entry| remove_patiently(&entry.path()));
        let path = all.join(format!("{}-{number}", std::process::id()));
        create_directory(&path)?;
        Ok(Self { path, ready: Ready::default() })
    }

    /// Returns where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether it belongs to this project and nobody has removed it.
    pub fn is_ready_for(&self, lock: &ProjectLock) -> bool {
        self.path.starts_with(lock.store().scratch_directory(lock.project())) && self.path.is_dir()
    }

    /// Makes the files and directories that the run will need first, for a run that is not there yet. No action sees them: what is
    /// shared lies beside them.
    pub fn make_ready(&mut self) -> Result<(), EvidenceError> {
        self.ready = Ready::make(&self.path.join("ready"))?;
        Ok(())
    }

    /// Gives what was made ready to the run that begins.
    pub fn lend(&mut self, lock: &ProjectLock) {
        lock.use_ready(std::mem::take(&mut self.ready));
    }

    /// Removes it with everything in it.
    pub fn remove(self) {
        remove_patiently(&self.path);
    }
}

/// Removes a directory in which a keeper that is parked for another run, or is just being killed, may still make its places. What is
/// left after some tries is nobody's evidence and goes with the next run.
fn remove_patiently(path: &Path) {
    let _left = (0..TRIES).find(|_| remove_tree(path).is_ok());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::testing::TestStore;

    #[test]
    fn the_next_run_gets_another_directory_and_nothing_of_a_dead_one_is_left() {
        let test = TestStore::new();
        let lock = test.lock();
        let first = Scratch::create(&lock, 1).unwrap();
        std::fs::create_dir_all(first.path().join("tmp/left")).unwrap();
        let second = Scratch::create(&lock, 2).unwrap();
        assert!(!first.is_ready_for(&lock) && second.is_ready_for(&lock));
        let all = test.store.scratch_directory(&test.project);
        second.remove();
        assert!(list(&all).unwrap().is_empty());
    }
}
