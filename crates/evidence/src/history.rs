//! Reading runs back from the store, never through the link in the project.

use std::cmp::Reverse;
use std::path::PathBuf;

use crate::error::failed;
use crate::files::{SizeAndDigest, hash_file, if_exists, list_directory, open_no_follow, read_chunks, read_no_follow};
use crate::names::{REPORT_NAME, check_component};
use crate::{EvidenceError, FileOperation, Store};
use proctor_model::{EvidenceFile, ProjectId, RunId, TaskId};

/// A run that has a directory. Only the ledger says whether the run was committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRun {
    pub task: TaskId,
    pub run_id: RunId,
    pub directory: PathBuf,
}

/// Lists the tasks of a project that have evidence, sorted.
pub fn list_tasks(store: &Store, project: &ProjectId) -> Result<Vec<TaskId>, EvidenceError> {
    let mut tasks: Vec<_> =
        directories_in(store.project_directory(project))?.into_iter().filter_map(|name| TaskId::try_from(name).ok()).collect();
    tasks.sort();
    Ok(tasks)
}

/// Lists the runs of a project, or of one of its tasks, newest first. Entries that are not named like a run are
/// skipped.
pub fn list_runs(store: &Store, project: &ProjectId, task: Option<&TaskId>) -> Result<Vec<StoredRun>, EvidenceError> {
    let tasks = match task {
        Some(task) => vec![task.clone()],
        None => list_tasks(store, project)?,
    };
    let mut runs = Vec::new();
    for task in tasks {
        let names = directories_in(store.runs_directory(project, &task))?;
        runs.extend(names.into_iter().filter_map(|name| RunId::try_from(name).ok()).map(|run_id| StoredRun {
            task: task.clone(),
            directory: store.run_directory(project, &task, &run_id),
            run_id,
        }));
    }
    runs.sort_by_key(|run| Reverse((run.run_id.number(), run.run_id.clone())));
    Ok(runs)
}

/// Reads a run's `execution-report.json`.
pub fn read_report(store: &Store, project: &ProjectId, task: &TaskId, run_id: &RunId) -> Result<Vec<u8>, EvidenceError> {
    read_no_follow(&store.run_directory(project, task, run_id).join(REPORT_NAME))
}

/// Reads a file of a run by its name, or returns `None` if the run has no such file.
pub fn read_file(
    store: &Store,
    project: &ProjectId,
    task: &TaskId,
    run_id: &RunId,
    name: &str,
) -> Result<Option<Vec<u8>>, EvidenceError> {
    check_component(name)?;
    if_exists(read_no_follow(&store.run_directory(project, task, run_id).join(name)))
}

/// Passes the bytes of a file of a run to `take`, chunk by chunk.
pub fn stream_file(
    store: &Store,
    project: &ProjectId,
    (task, run_id): (&TaskId, &RunId),
    name: &str,
    take: &mut dyn FnMut(&[u8]),
) -> Result<(), EvidenceError> {
    check_component(name)?;
    let path = store.run_directory(project, task, run_id).join(name);
    read_chunks(&mut open_no_follow(&path)?, take).map_err(failed(FileOperation::Read, &path))
}

/// Returns whether a file of a run has the size and digest that the report gives. A file that cannot be read is not
/// intact.
pub fn is_intact(store: &Store, project: &ProjectId, task: &TaskId, run_id: &RunId, file: &EvidenceFile) -> bool {
    let directory = store.run_directory(project, task, run_id);
    check_component(&file.name).is_ok()
        && hash_file(&directory.join(&file.name))
            .is_ok_and(|found| found == SizeAndDigest { bytes: file.bytes, sha256: file.sha256 })
}

/// Returns every project that has a ledger, sorted by id.
pub fn list_projects(store: &Store) -> Result<Vec<ProjectId>, EvidenceError> {
    let mut projects = Vec::new();
    for entry in list_directory(&store.ledger_directory())? {
        let name = entry.file_name();
        let id = name.to_str().and_then(|name| name.strip_suffix(".jsonl")).map(ProjectId::try_from);
        projects.extend(id.into_iter().flatten());
    }
    projects.sort();
    Ok(projects)
}

/// Returns the names of the directories in a directory. Links to directories are left out, and a link in the place of the directory
/// itself is not followed.
fn directories_in(path: PathBuf) -> Result<Vec<String>, EvidenceError> {
    let mut names = Vec::new();
    if path.is_symlink() {
        return Ok(names);
    }
    for entry in list_directory(&path)? {
        if entry.file_type().map_err(failed(FileOperation::List, &path))?.is_dir() {
            names.extend(entry.file_name().into_string().ok());
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::testing::{TestStore, run_id};
    use proctor_model::OverallStatus;

    #[test]
    fn runs_are_listed_newest_first_and_read_back() {
        let test = TestStore::new();
        for number in 1..=3 {
            test.run(number, &["STEP.1-a.log"], OverallStatus::Success);
        }
        let runs = list_runs(&test.store, &test.project, None).unwrap();
        assert_eq!(runs.iter().map(|run| run.run_id.number()).collect::<Vec<_>>(), [3, 2, 1]);
        assert_eq!(list_runs(&test.store, &test.project, Some(&test.task)).unwrap(), runs);
        assert_eq!(list_tasks(&test.store, &test.project).unwrap(), std::slice::from_ref(&test.task));
        assert_eq!(read_report(&test.store, &test.project, &test.task, &run_id(2)).unwrap(), test.report(2));
        let record = read_file(&test.store, &test.project, &test.task, &run_id(2), "run.json").unwrap();
        assert!(record.is_some_and(|record| !record.is_empty()));
        let mut log = Vec::new();
        let run = (&test.task, &run_id(2));
        stream_file(&test.store, &test.project, run, "STEP.1-a.log", &mut |bytes| log.extend_from_slice(bytes)).unwrap();
        assert_eq!(log, b"STEP.1-a.log");
    }

    #[test]
    fn strange_names_and_links_are_no_runs() {
        let test = TestStore::new();
        test.run(1, &[], OverallStatus::Success);
        let runs = test.store.runs_directory(&test.project, &test.task);
        std::fs::create_dir(runs.join("old")).unwrap();
        symlink(runs.join(run_id(1).as_str()), runs.join(run_id(2).as_str())).unwrap();
        assert_eq!(list_runs(&test.store, &test.project, None).unwrap().len(), 1);
        for bad in ["../run.json", "", "/etc/passwd"] {
            assert!(read_file(&test.store, &test.project, &test.task, &run_id(1), bad).is_err(), "{bad}");
            assert!(stream_file(&test.store, &test.project, (&test.task, &run_id(1)), bad, &mut |_| ()).is_err(), "{bad}");
        }
    }
}
