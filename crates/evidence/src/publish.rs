//! Publishes a committed run: sets the link `latest` and the links to the run's files, which people use.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::changes::{make_link, remove_file, rename};
use crate::error::failed;
use crate::files::{if_exists, list_directory};
use crate::{EvidenceError, FileOperation, MANIFEST_NAME, ProjectLock};
use proctor_model::{RunId, TaskId};

pub(super) const LATEST: &str = "latest";
const NEW_LATEST: &str = ".latest.new";

/// Makes the task's link `latest` point to a sealed run, and makes a link beside `latest` to every file of the run
/// except the manifest: `execution-report.json -> latest/execution-report.json` and so on. A second call changes
/// nothing.
///
/// Callers call this only for runs that may become `latest` (E17). The links are not synced: after a power loss,
/// recovery makes them again.
pub fn publish_latest(lock: &ProjectLock, task: &TaskId, run_id: &RunId) -> Result<(), EvidenceError> {
    let task_directory = lock.store().task_directory(lock.project(), task);
    let target = Path::new("runs").join(run_id.as_str());
    let latest = task_directory.join(LATEST);
    if read_link(&latest)? != Some(target.clone()) {
        let new = task_directory.join(NEW_LATEST);
        remove_file(&new)?;
        make_link(&target, &new)?;
        rename(&new, &latest)?;
    }
    link_files(&task_directory, &task_directory.join(target))
}

/// Makes a link beside `latest` to every file of the run except the manifest, and removes links to files that the run
/// does not have.
fn link_files(task_directory: &Path, run_directory: &Path) -> Result<(), EvidenceError> {
    let mut missing: BTreeSet<OsString> =
        list_directory(run_directory)?.into_iter().map(|entry| entry.file_name()).filter(|name| name != MANIFEST_NAME).collect();
    for entry in list_directory(task_directory)? {
        let name = entry.file_name();
        let is_wanted = missing.remove(&name);
        if !is_wanted && read_link(&entry.path())? == Some(Path::new(LATEST).join(&name)) {
            remove_file(&entry.path())?;
        }
    }
    for name in missing {
        let path = task_directory.join(&name);
        make_link(&Path::new(LATEST).join(&name), &path)?;
    }
    Ok(())
}

/// Returns the target of a link, or `None` if the path does not exist or is no link.
fn read_link(path: &Path) -> Result<Option<PathBuf>, EvidenceError> {
    match path.read_link() {
        Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => Ok(None),
        other => if_exists(other.map_err(failed(FileOperation::Open, path))),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::testing::{TestStore, run_id};
    use proctor_model::OverallStatus;

    #[test]
    fn latest_follows_the_last_run_and_names_come_and_go_with_it() {
        let test = TestStore::new();
        let task = test.store.task_directory(&test.project, &test.task);
        test.run(1, &["STEP.1-a.log", "STEP.2-b.log"], OverallStatus::Success);
        publish_latest(&test.lock(), &test.task, &run_id(1)).unwrap();
        assert_eq!(std::fs::read_link(task.join("latest")).unwrap(), Path::new("runs").join(run_id(1).as_str()));
        assert_eq!(std::fs::read(task.join("execution-report.json")).unwrap(), test.report(1));
        assert!(task.join("STEP.2-b.log").exists());
        test.run(2, &["STEP.1-a.log"], OverallStatus::Success);
        for _ in 0..2 {
            publish_latest(&test.lock(), &test.task, &run_id(2)).unwrap();
            assert_eq!(std::fs::read(task.join("execution-report.json")).unwrap(), test.report(2));
            assert!(task.join("STEP.2-b.log").symlink_metadata().is_err());
        }
    }

    #[test]
    fn a_half_made_link_of_a_dead_process_is_no_obstacle() {
        let test = TestStore::new();
        let task = test.store.task_directory(&test.project, &test.task);
        test.run(1, &[], OverallStatus::Success);
        symlink("nowhere", task.join(NEW_LATEST)).unwrap();
        publish_latest(&test.lock(), &test.task, &run_id(1)).unwrap();
        assert!(task.join("latest/run.json").exists());
        assert!(task.join(NEW_LATEST).symlink_metadata().is_err());
    }
}
