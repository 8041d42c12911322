//! The writable directories of actions (`PROCTOR_OUT`, E12): outside the run directory, gone when the run is over.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::evidence::changes::{open_directory_to_owner, remove_directory, rename_to_free, write_new};
use crate::evidence::error::failed;
use crate::evidence::files::list;
use crate::evidence::{Artifact, EvidenceError, FileOperation, ProjectLock, Refused, take_artifact};
use crate::model::{ActionId, RunId};

/// The directory an action may leave files in: `out/<project-id>/<run-id>/<action-id>`.
#[derive(Debug)]
pub struct OutputDirectory {
    path: PathBuf,
    stamp: Option<Stamp>,
}

/// What of a directory is another after anything that was done to it, as far as the clock of its file system tells moments apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    file: (u64, u64),
    owner: (u32, u32),
    mode: u32,
    changed: (i64, i64),
}

impl OutputDirectory {
    /// Creates the directory of an action; it must not exist yet.
    pub fn create(lock: &ProjectLock, run_id: &RunId, action_id: &ActionId) -> Result<Self, EvidenceError> {
        Self::create_for_attempt(lock, run_id, action_id, 1, None)
    }

    /// Creates the directory of an attempt of an action, from 1: each finds an empty one. It is made out of a spare one, that of an action
    /// of the run of which nobody is alive, where that is as it was when it was made: a thousand actions that leave nothing are one.
    pub fn create_for_attempt(
        lock: &ProjectLock,
        run_id: &RunId,
        action_id: &ActionId,
        attempt: u32,
        spare: Option<Self>,
    ) -> Result<Self, EvidenceError> {
        let run_directory = lock.store().outputs_directory(lock.project()).join(run_id.as_str());
        let name = if attempt <= 1 { action_id.to_string() } else { format!("{action_id}-attempt-{attempt}") };
        let path = run_directory.join(name);
        if !spare.is_some_and(|spare| spare.becomes(&path)) {
            lock.create_directories(&run_directory)?;
            lock.create_directory(&path)?;
        }
        Ok(Self { stamp: Stamp::of(&path), path })
    }

    /// Creates the directory of an attempt's control: what that leaves is nothing the attempt finds.
    pub fn create_for_control(
        lock: &ProjectLock,
        run_id: &RunId,
        action_id: &ActionId,
        attempt: u32,
    ) -> Result<Self, EvidenceError> {
        let run_directory = lock.store().outputs_directory(lock.project()).join(run_id.as_str());
        lock.create_directories(&run_directory)?;
        let path = run_directory.join(format!("{action_id}-control-{attempt}"));
        lock.create_directory(&path)?;
        Ok(Self { path, stamp: None })
    }

    /// Gives an untouched directory another name, which nobody may have yet; returns whether that was done. Any refusal is no matter: whoever
    /// asked makes what it needs.
    fn becomes(&self, path: &Path) -> bool {
        self.is_untouched() && rename_to_free(&self.path, path).is_ok_and(|is_named| is_named)
    }

    fn is_untouched(&self) -> bool {
        let is_as_it_was = self.stamp.is_some() && Stamp::of(&self.path) == self.stamp;
        is_as_it_was && list(&self.path).is_ok_and(|entries| entries.is_empty())
    }

    /// Puts a file of ours into it, before anything is started.
    pub fn put(&self, name: &str, bytes: &[u8]) -> Result<(), EvidenceError> {
        write_new(&self.path.join(name), bytes).map(drop)
    }

    /// Returns where it lies: the value of `PROCTOR_OUT`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes a file the action left in it, after its last process has ended.
    pub fn take(&self, relative: &Path, cap: u64) -> Result<Artifact, Refused> {
        take_artifact(&self.path, relative, cap)
    }
}

impl Stamp {
    fn of(directory: &Path) -> Option<Self> {
        let metadata = directory.symlink_metadata().ok()?;
        Some(Self {
            file: (metadata.dev(), metadata.ino()),
            owner: (metadata.uid(), metadata.gid()),
            mode: metadata.mode(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}

/// Removes what is left of a run's output directories.
pub fn remove_outputs_of_run(lock: &ProjectLock, run_id: &RunId) -> Result<(), EvidenceError> {
    remove_tree(&lock.store().outputs_directory(lock.project()).join(run_id.as_str()))
}

/// Removes what dead runs of the project left; nobody of the project may be running. The project's own directory stays: the next run
/// needs it.
pub(super) fn remove_leftover_outputs(lock: &ProjectLock) -> Result<(), EvidenceError> {
    let leftovers = list(&lock.store().outputs_directory(lock.project()))?;
    leftovers.iter().try_for_each(|entry| remove_tree(&entry.path()))
}

pub(super) fn remove_tree(path: &Path) -> Result<(), EvidenceError> {
    match remove_directory(path) {
        Err(EvidenceError::File { source, .. }) if source.kind() == io::ErrorKind::PermissionDenied => {
            unlock_tree(path)?;
            remove_directory(path)
        }
        other => other,
    }
}

/// Gives the user back the permissions that a tool took from directories it made. Links are not followed.
fn unlock_tree(directory: &Path) -> Result<(), EvidenceError> {
    open_directory_to_owner(directory)?;
    for entry in list(directory)? {
        if entry.file_type().map_err(failed(FileOperation::List, directory))?.is_dir() {
            unlock_tree(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::evidence::changes::rename;
    use crate::evidence::testing::{TestStore, mode, run_id};

    /// What was done to a directory, and whether it is the next action's.
    type Row = (&'static str, fn(&Path), bool);

    #[test]
    fn a_directory_that_is_as_it_was_made_is_the_next_actions_and_no_other_is() {
        let test = TestStore::new();
        let lock = test.lock();
        let create =
            |number, spare| OutputDirectory::create_for_attempt(&lock, &run_id(1), &ActionId::numbered("STEP", number), 1, spare);
        let inode = |output: &OutputDirectory| fs::metadata(output.path()).unwrap().ino();
        let rows: [Row; 5] = [
            ("nothing", |_| {}, true),
            ("a file", |path| drop(File::create(path.join("left")).unwrap()), false),
            ("its mode", |path| fs::set_permissions(path, Permissions::from_mode(0o500)).unwrap(), false),
            (
                "it is another one",
                |path| {
                    rename(path, &path.with_extension("away")).unwrap();
                    fs::create_dir(path).unwrap();
                    fs::set_permissions(path, Permissions::from_mode(0o700)).unwrap();
                },
                false,
            ),
            ("it is gone", |path| fs::remove_dir(path).unwrap(), false),
        ];
        let mut number = 1;
        for (what, touch, is_given) in rows {
            let spare = create(number, None).unwrap();
            let (before, path) = (inode(&spare), spare.path().to_owned());
            touch(&path);
            let was_there = path.exists();
            let output = create(number + 1, Some(spare)).unwrap();
            assert_eq!(path.exists(), was_there && !is_given, "{what}");
            assert!(!is_given || inode(&output) == before, "{what}");
            assert_eq!((mode(output.path()), list(output.path()).unwrap().len()), (0o700, 0), "{what}");
            let again = create(number + 2, Some(output)).unwrap();
            assert_eq!(again.path().file_name().unwrap().to_str(), Some(format!("STEP.{}", number + 2).as_str()), "{what}");
            number += 3;
        }
        let (one, other) = (create(100, None).unwrap(), create(101, None).unwrap());
        assert!(create(101, Some(one)).is_err(), "a name that somebody has is nobody else's");
        assert!(other.path().exists());
    }

    #[test]
    fn an_action_gets_a_private_directory_and_it_goes_with_its_content() {
        let test = TestStore::new();
        let lock = test.lock();
        let output = OutputDirectory::create(&lock, &run_id(1), &ActionId::numbered("STEP", 1)).unwrap();
        assert_eq!(mode(output.path()), 0o700);
        assert!(OutputDirectory::create(&lock, &run_id(1), &ActionId::numbered("STEP", 1)).is_err());
        let locked = output.path().join("a/b");
        std::fs::create_dir_all(&locked).unwrap();
        std::fs::File::create(locked.join("c")).unwrap();
        std::fs::set_permissions(&locked, Permissions::from_mode(0o000)).unwrap();
        unlock_tree(output.path()).unwrap();
        assert_eq!(mode(&locked), 0o700);
        assert!(output.take(Path::new("a/b/c"), 10).is_ok());
        let path = output.path().to_owned();
        remove_outputs_of_run(&lock, &run_id(1)).unwrap();
        assert!(!path.exists());
        remove_outputs_of_run(&lock, &run_id(1)).unwrap();
        remove_leftover_outputs(&lock).unwrap();
        let run = OutputDirectory::create(&lock, &run_id(2), &ActionId::numbered("STEP", 1)).unwrap();
        remove_leftover_outputs(&lock).unwrap();
        assert!(!run.path().exists());
        assert!(list(&test.store.outputs_directory(&test.project)).unwrap().is_empty());
    }
}
