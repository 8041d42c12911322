//! Cleaning up after a process that died: unsealed runs are sealed as INTERRUPTED, and none of their files is lost (S2,
//! E17).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::changes::{remove_directory, rename, seal_files};
use crate::files::{SizeAndDigest, hash_file, if_exists, list_directory, read_no_follow};
use crate::lock::LeftBehind;
use crate::names::{RECOVERED_PREFIX, START_RECORD_NAME, is_written_while_sealing, last_component};
use crate::output::remove_leftover_outputs;
use crate::seal::{ForeignEntries, RunFiles, join, regular_files, write_and_commit};
use crate::{EvidenceError, Ledger, OpenRun, ProjectLock, SealInput, list_runs, list_tasks, publish_latest, read_lines};
use proctor_model::{Asker, ProjectId, RunId, RunLine, TaskId, Timestamp};

/// A file that was found in the directory of an unsealed run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterruptedFile {
    /// The file's name now; recovery may have renamed the file. Bytes that are not UTF-8 are replaced.
    pub name: String,
    pub content: SizeAndDigest,
}

/// A run that was begun and not sealed: the facts from which its report is built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterruptedRun {
    pub project: ProjectId,
    pub task: TaskId,
    /// The id contains the time at which the run began.
    pub run_id: RunId,
    /// The content of `run.json`, which may be incomplete. `None` if there is no such file.
    pub start_record: Option<Vec<u8>>,
    /// All files of the run, sorted by name. Incomplete files have been renamed to `recovered-…`.
    pub files: Vec<InterruptedFile>,
}

/// The state of a run according to the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommittedState {
    LeadsLatest,
    SealedOnly,
    Removed,
}

/// Cleans up everything that earlier holders of the lock left, and returns the runs that became INTERRUPTED, oldest
/// first.
///
/// Callers call this once after they take the lock, and again after a run failed before its commit. `build_report`
/// makes the report and the ledger record of an interrupted run. If the lock file says that no run is open, run
/// directories are not scanned.
pub fn recover(
    lock: &ProjectLock,
    ledger: &mut Ledger,
    now: Timestamp,
    asker: &Asker,
    build_report: &dyn Fn(&InterruptedRun) -> SealInput,
) -> Result<Vec<RunId>, EvidenceError> {
    lock.check_no_run_is_open()?;
    remove_leftover_outputs(lock)?;
    let candidates = match lock.left_behind() {
        LeftBehind::Nothing => {
            lock.mark_recovered()?;
            return Ok(Vec::new());
        }
        LeftBehind::Run(run) => vec![run],
        LeftBehind::Unknown => all_runs(lock)?,
    };
    // The next steps publish what these lines say, so the lines have to survive a loss of power.
    ledger.sync()?;
    let committed = read_committed(lock)?;
    let mut interrupted = Vec::new();
    for run in &candidates {
        let directory = lock.store().run_directory(lock.project(), &run.task, &run.run_id);
        match committed.get(&run.run_id) {
            Some((_, CommittedState::LeadsLatest | CommittedState::SealedOnly)) => {}
            Some((_, CommittedState::Removed)) => remove_directory(&directory)?,
            None if is_missing_or_empty(&directory)? => remove_directory(&directory)?,
            None => {
                seal_interrupted(lock, run, &directory, ledger, now, asker, build_report)?;
                interrupted.push(run.run_id.clone());
            }
        }
    }
    let tasks: BTreeSet<_> = candidates.into_iter().map(|run| run.task).collect();
    for task in tasks {
        link_latest(lock, &task, &committed)?;
    }
    remove_empty_tasks(lock, &committed)?;
    lock.mark_recovered()?;
    Ok(interrupted)
}

/// Removes the directory of a task whose first run died before its own directory was made, or left nothing in it.
fn remove_empty_tasks(lock: &ProjectLock, committed: &BTreeMap<RunId, (TaskId, CommittedState)>) -> Result<(), EvidenceError> {
    let store = lock.store();
    for task in list_tasks(store, lock.project())? {
        let (directory, runs) = (store.task_directory(lock.project(), &task), store.runs_directory(lock.project(), &task));
        let has_only_runs = list_directory(&directory)?.iter().all(|entry| entry.path() == runs);
        if has_only_runs && list_directory(&runs)?.is_empty() && committed.values().all(|(of, _)| *of != task) {
            remove_directory(&directory)?;
        }
    }
    Ok(())
}

fn all_runs(lock: &ProjectLock) -> Result<Vec<OpenRun>, EvidenceError> {
    let mut runs = list_runs(lock.store(), lock.project(), None)?;
    runs.reverse();
    Ok(runs.into_iter().map(|run| OpenRun { task: run.task, run_id: run.run_id }).collect())
}

/// Reads from the ledger which runs were committed. This reads the whole ledger, which is acceptable because it happens
/// only after a crash or a boot.
fn read_committed(lock: &ProjectLock) -> Result<BTreeMap<RunId, (TaskId, CommittedState)>, EvidenceError> {
    let mut committed = BTreeMap::new();
    for line in read_lines(lock.store(), lock.project(), 0)? {
        match line?.1.body.about_runs() {
            Some(RunLine::Sealed(run)) => {
                let state = if run.leads_latest() { CommittedState::LeadsLatest } else { CommittedState::SealedOnly };
                committed.insert(run.run_id.clone(), (run.task.clone(), state));
            }
            Some(RunLine::Superseded(run)) => {
                committed.insert(run.run_id.clone(), (run.task.clone(), CommittedState::Removed));
            }
            Some(RunLine::Pruned(runs)) => {
                let removed = runs.iter().map(|run| (run.run_id.clone(), (run.task.clone(), CommittedState::Removed)));
                committed.extend(removed);
            }
            None => {}
        }
    }
    Ok(committed)
}

/// Returns whether a directory is missing or empty, which means that the process died before it began `run.json`.
fn is_missing_or_empty(directory: &Path) -> Result<bool, EvidenceError> {
    Ok(list_directory(directory)?.is_empty())
}

fn seal_interrupted(
    lock: &ProjectLock,
    run: &OpenRun,
    directory: &Path,
    ledger: &mut Ledger,
    now: Timestamp,
    asker: &Asker,
    build_report: &dyn Fn(&InterruptedRun) -> SealInput,
) -> Result<(), EvidenceError> {
    rename_half_written(directory)?;
    let mut names = regular_files(directory, ForeignEntries::LeaveAlone)?;
    names.sort();
    let paths: Vec<_> = names.iter().map(|name| join(directory, name)).collect();
    seal_files(&paths)?;
    let mut digests = BTreeMap::new();
    let mut files = Vec::new();
    for (name, path) in names.into_iter().zip(&paths) {
        let content = hash_file(path)?;
        files.push(InterruptedFile { name: last_component(path), content });
        digests.insert(name, content.sha256);
    }
    let interrupted = InterruptedRun {
        project: lock.project().clone(),
        task: run.task.clone(),
        run_id: run.run_id.clone(),
        start_record: if_exists(read_no_follow(&directory.join(START_RECORD_NAME)))?,
        files,
    };
    let sealing = build_report(&interrupted);
    let files = RunFiles { store: lock.store(), directory, digests, late: Vec::new() };
    write_and_commit(files, sealing, ledger, asker, now, &|_| {}, || Ok(())).map(drop)
}

/// Renames files that may be half-written (report, signatures, manifest, temporary files) to `recovered-…`.
fn rename_half_written(directory: &Path) -> Result<(), EvidenceError> {
    for entry in list_directory(directory)? {
        let name = entry.file_name().to_string_lossy().into_owned();
        if is_written_while_sealing(&name) || name.starts_with('.') {
            let plain = name.trim_start_matches('.');
            let free = (1_u32..)
                .map(|number| match number {
                    1 => directory.join(format!("{RECOVERED_PREFIX}{plain}")),
                    more => directory.join(format!("{RECOVERED_PREFIX}{more}-{plain}")),
                })
                .find(|path| path.symlink_metadata().is_err())
                .expect("numbers do not run out");
            rename(&entry.path(), &free)?;
        }
    }
    Ok(())
}

/// Makes `latest` point to the last run of the task that may be `latest`. The process that should have made the link
/// may have died, or a power loss may have undone the link.
fn link_latest(
    lock: &ProjectLock,
    task: &TaskId,
    committed: &BTreeMap<RunId, (TaskId, CommittedState)>,
) -> Result<(), EvidenceError> {
    let counting = committed.iter().filter(|(_, (of, state))| of == task && *state == CommittedState::LeadsLatest);
    let Some((last, _)) = counting.max_by_key(|(run_id, _)| run_id.number()) else { return Ok(()) };
    if lock.store().run_directory(lock.project(), task, last).is_dir() {
        publish_latest(lock, task, last)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
