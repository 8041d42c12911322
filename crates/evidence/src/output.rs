//! The directories in which actions may leave files (`PROCTOR_OUT`, E12). They are outside the run directory and are
//! removed after the run.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::changes::{remove_directory, rename_if_free, set_private_directory_mode, write_new};
use crate::error::failed;
use crate::files::list_directory;
use crate::{Artifact, ArtifactRefusal, EvidenceError, FileOperation, ProjectLock, read_artifact};
use proctor_model::{ActionId, RunId};

/// The directory in which one action may leave files: `out/<project-id>/<run-id>/<action-id>`.
#[derive(Debug)]
pub struct OutputDirectory {
    path: PathBuf,
    stamp: Option<OutputStamp>,
}

/// Inode, times and similar facts about a directory. Any change to the directory changes at least one of these facts,
/// unless it happens within one tick of the file system's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OutputStamp {
    file: (u64, u64),
    owner: (u32, u32),
    mode: u32,
    changed: (i64, i64),
}

impl OutputDirectory {
    /// Creates the directory of an action's first attempt. An existing directory is an error.
    pub fn create(lock: &ProjectLock, run_id: &RunId, action_id: &ActionId) -> Result<Self, EvidenceError> {
        Self::create_for_attempt(lock, run_id, action_id, 1, None)
    }

    /// Creates the empty directory of an attempt of an action; attempts count from 1.
    ///
    /// If `spare` is given and nothing has touched it since it was created, it is renamed instead of creating a new
    /// one. `spare` is the directory of an earlier action of the run whose processes have all ended. So a thousand
    /// actions that leave no files need one directory.
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
        if !spare.is_some_and(|spare| spare.try_rename_to(&path)) {
            lock.create_directories(&run_directory)?;
            lock.create_directory(&path)?;
        }
        Ok(Self { stamp: OutputStamp::read(&path), path })
    }

    /// Creates the directory of a part of an attempt's tests; parts count from 1.
    ///
    /// # Errors
    /// When the directory exists, or cannot be created.
    pub fn create_for_shard(
        lock: &ProjectLock,
        run_id: &RunId,
        action_id: &ActionId,
        attempt: u32,
        shard: u32,
    ) -> Result<Self, EvidenceError> {
        let run_directory = lock.store().outputs_directory(lock.project()).join(run_id.as_str());
        lock.create_directories(&run_directory)?;
        let path = run_directory.join(format!("{action_id}-shard-{attempt}-{shard}"));
        lock.create_directory(&path)?;
        Ok(Self { path, stamp: None })
    }

    /// Creates the directory for the control run of an attempt. The attempt has another directory, so that it cannot
    /// see files of the control run.
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

    /// Renames an untouched directory; returns whether that worked. If not, the caller creates a new one, so the reason
    /// does not matter.
    fn try_rename_to(&self, path: &Path) -> bool {
        self.is_untouched() && rename_if_free(&self.path, path).is_ok_and(|is_named| is_named)
    }

    fn is_untouched(&self) -> bool {
        let is_as_it_was = self.stamp.is_some() && OutputStamp::read(&self.path) == self.stamp;
        is_as_it_was && list_directory(&self.path).is_ok_and(|entries| entries.is_empty())
    }

    /// Writes a file of proctor's own into the directory. Callers call this before they start a process of the action.
    pub fn put(&self, name: &str, bytes: &[u8]) -> Result<(), EvidenceError> {
        write_new(&self.path.join(name), bytes).map(drop)
    }

    /// Returns the directory's path, which the action gets as the variable `PROCTOR_OUT`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads a file that the action left in the directory. Callers call this after the action's last process has ended.
    pub fn read_artifact(&self, relative: &Path, cap: u64) -> Result<Artifact, ArtifactRefusal> {
        read_artifact(&self.path, relative, cap)
    }
}

impl OutputStamp {
    fn read(directory: &Path) -> Option<Self> {
        let metadata = directory.symlink_metadata().ok()?;
        Some(Self {
            file: (metadata.dev(), metadata.ino()),
            owner: (metadata.uid(), metadata.gid()),
            mode: metadata.mode(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}

/// Removes the output directories of a run, if there are any.
pub fn remove_outputs_of_run(lock: &ProjectLock, run_id: &RunId) -> Result<(), EvidenceError> {
    remove_tree(&lock.store().outputs_directory(lock.project()).join(run_id.as_str()))
}

/// Removes the output directories of all earlier runs of the project; no process of the project may be running. The
/// project's own directory stays, because the next run needs it.
pub(super) fn remove_leftover_outputs(lock: &ProjectLock) -> Result<(), EvidenceError> {
    let leftovers = list_directory(&lock.store().outputs_directory(lock.project()))?;
    leftovers.iter().try_for_each(|entry| remove_tree(&entry.path()))
}

pub(super) fn remove_tree(path: &Path) -> Result<(), EvidenceError> {
    match remove_directory(path) {
        Err(EvidenceError::File { source, .. }) if source.kind() == io::ErrorKind::PermissionDenied => {
            restore_permissions(path)?;
            remove_directory(path)
        }
        other => other,
    }
}

/// Gives the user back the permissions that a tool took from directories it made. Links are not followed.
fn restore_permissions(directory: &Path) -> Result<(), EvidenceError> {
    set_private_directory_mode(directory)?;
    for entry in list_directory(directory)? {
        if entry.file_type().map_err(failed(FileOperation::List, directory))?.is_dir() {
            restore_permissions(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::changes::rename;
    use crate::testing::{TestStore, mode, run_id};

    /// The name of a change to the spare directory, the change, and whether the next action still gets the directory.
    type SpareChange = (&'static str, fn(&Path), bool);

    #[test]
    fn only_an_untouched_directory_is_used_again_for_the_next_action() {
        let test = TestStore::new();
        let lock = test.lock();
        let create =
            |number, spare| OutputDirectory::create_for_attempt(&lock, &run_id(1), &ActionId::numbered("STEP", number), 1, spare);
        let inode = |output: &OutputDirectory| fs::metadata(output.path()).unwrap().ino();
        let rows: [SpareChange; 5] = [
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
            assert_eq!((mode(output.path()), list_directory(output.path()).unwrap().len()), (0o700, 0), "{what}");
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
        restore_permissions(output.path()).unwrap();
        assert_eq!(mode(&locked), 0o700);
        assert!(output.read_artifact(Path::new("a/b/c"), 10).is_ok());
        let path = output.path().to_owned();
        remove_outputs_of_run(&lock, &run_id(1)).unwrap();
        assert!(!path.exists());
        remove_outputs_of_run(&lock, &run_id(1)).unwrap();
        remove_leftover_outputs(&lock).unwrap();
        let run = OutputDirectory::create(&lock, &run_id(2), &ActionId::numbered("STEP", 1)).unwrap();
        remove_leftover_outputs(&lock).unwrap();
        assert!(!run.path().exists());
        assert!(list_directory(&test.store.outputs_directory(&test.project)).unwrap().is_empty());
    }
}
