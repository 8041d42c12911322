//! What a process that died left behind: unsealed runs become INTERRUPTED, and nothing of them is lost (S2, E17).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::evidence::archive::finish_begun_archiving;
use crate::evidence::changes::{remove_directory, rename, seal_files};
use crate::evidence::files::{hash_file, if_there, list, read_plain};
use crate::evidence::lock::LeftBehind;
use crate::evidence::names::{RECOVERED_PREFIX, START_RECORD_NAME, is_written_while_sealing, last_component};
use crate::evidence::output::remove_leftover_outputs;
use crate::evidence::seal::{ForeignEntries, join, regular_files, seal_synced};
use crate::evidence::{EvidenceError, Ledger, OpenRun, ProjectLock, Sealing, list_runs, publish_latest, read_lines};
use crate::model::{Asker, Digest, LedgerBody, ProjectId, RunId, TaskId, Timestamp};

/// A file that was found in the directory of a run that was not sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    /// Its name now, lossily decoded.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its SHA-256.
    pub sha256: Digest,
}

/// A run that was begun and not sealed, as its report must describe it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterruptedRun {
    /// Its project.
    pub project: ProjectId,
    /// Its task.
    pub task: TaskId,
    /// Its id, which holds its start.
    pub run_id: RunId,
    /// Its `run.json`, as far as it was written.
    pub start_record: Option<Vec<u8>>,
    /// Every file of it, sorted by name; half-written ones are called `recovered-…`.
    pub files: Vec<FoundFile>,
}

/// What the ledger says of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Committed {
    Counting,
    NotCounting,
    Dropped,
}

/// Deals with everything earlier holders of the lock left and returns the runs that became INTERRUPTED, oldest first.
///
/// To be called once after the lock is taken, and after a run failed before its commit. `build_report` makes the report and
/// the ledger's record of such a run. When the lock file says that nothing is open, nothing is scanned.
pub fn recover(
    lock: &ProjectLock,
    ledger: &mut Ledger,
    now: Timestamp,
    asker: &Asker,
    build_report: &dyn Fn(&InterruptedRun) -> Sealing,
) -> Result<Vec<RunId>, EvidenceError> {
    lock.check_no_run_is_open()?;
    remove_leftover_outputs(lock)?;
    finish_begun_archiving(lock)?;
    let candidates = match lock.left_behind() {
        LeftBehind::Nothing => {
            lock.note_recovered()?;
            return Ok(Vec::new());
        }
        LeftBehind::Run(run) => vec![run],
        LeftBehind::Unknown => all_runs(lock)?,
    };
    let committed = read_committed(lock)?;
    let mut interrupted = Vec::new();
    for run in &candidates {
        let directory = lock.store().run_directory(lock.project(), &run.task, &run.run_id);
        match committed.get(&run.run_id) {
            Some((_, Committed::Counting | Committed::NotCounting)) => {}
            Some((_, Committed::Dropped)) => remove_directory(&directory)?,
            None if is_bare(&directory)? => remove_directory(&directory)?,
            None => {
                seal_interrupted(lock, run, &directory, ledger, now, asker, build_report)?;
                interrupted.push(run.run_id.clone());
            }
        }
    }
    let tasks: BTreeSet<_> = candidates.into_iter().map(|run| run.task).collect();
    for task in tasks {
        link_last_counting(lock, &task, &committed)?;
    }
    lock.note_recovered()?;
    Ok(interrupted)
}

fn all_runs(lock: &ProjectLock) -> Result<Vec<OpenRun>, EvidenceError> {
    let mut runs = list_runs(lock.store(), lock.project(), None)?;
    runs.reverse();
    Ok(runs.into_iter().map(|run| OpenRun { task: run.task, run_id: run.run_id }).collect())
}

/// Reads which runs the ledger knows. It is read whole: this happens after a crash or a boot, not on every start.
fn read_committed(lock: &ProjectLock) -> Result<BTreeMap<RunId, (TaskId, Committed)>, EvidenceError> {
    let mut committed = BTreeMap::new();
    for line in read_lines(lock.store(), lock.project(), 0)? {
        match line?.1.body {
            LedgerBody::Run(run) if run.leads_latest() => {
                committed.insert(run.run_id, (run.task, Committed::Counting));
            }
            LedgerBody::Run(run) => {
                committed.insert(run.run_id, (run.task, Committed::NotCounting));
            }
            LedgerBody::Superseded(run) => {
                committed.insert(run.run_id, (run.task, Committed::Dropped));
            }
            LedgerBody::Pruned(record) => {
                committed.extend(record.runs.into_iter().map(|run| (run.run_id, (run.task, Committed::Dropped))));
            }
            LedgerBody::Registered(_)
            | LedgerBody::Phase(_)
            | LedgerBody::Override(_)
            | LedgerBody::Serving(_)
            | LedgerBody::Retest(_)
            | LedgerBody::Approval(_)
            | LedgerBody::TaskList(_)
            | LedgerBody::Violation(_)
            | LedgerBody::Archived(_)
            | LedgerBody::Governance(_) => {}
        }
    }
    Ok(committed)
}

/// Returns whether a directory is missing or has nothing in it: the process died before `run.json` was begun.
fn is_bare(directory: &Path) -> Result<bool, EvidenceError> {
    Ok(list(directory)?.is_empty())
}

fn seal_interrupted(
    lock: &ProjectLock,
    run: &OpenRun,
    directory: &Path,
    ledger: &mut Ledger,
    now: Timestamp,
    asker: &Asker,
    build_report: &dyn Fn(&InterruptedRun) -> Sealing,
) -> Result<(), EvidenceError> {
    set_half_written_aside(directory)?;
    let mut names = regular_files(directory, ForeignEntries::LeaveAlone)?;
    names.sort();
    let paths: Vec<_> = names.iter().map(|name| join(directory, name)).collect();
    seal_files(&paths)?;
    let mut digests = BTreeMap::new();
    let mut files = Vec::new();
    for (name, path) in names.into_iter().zip(&paths) {
        let (bytes, sha256) = hash_file(path)?;
        files.push(FoundFile { name: last_component(path), bytes, sha256 });
        digests.insert(name, sha256);
    }
    let interrupted = InterruptedRun {
        project: lock.project().clone(),
        task: run.task.clone(),
        run_id: run.run_id.clone(),
        start_record: if_there(read_plain(&directory.join(START_RECORD_NAME)))?,
        files,
    };
    let sealing = build_report(&interrupted);
    seal_synced((lock.store(), directory), digests, sealing, ledger, asker, now, &|_| {}).map(drop)
}

/// Renames a report, signatures, a manifest and temporary files, which may be half-written, to `recovered-…`.
fn set_half_written_aside(directory: &Path) -> Result<(), EvidenceError> {
    for entry in list(directory)? {
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

/// Makes `latest` point to the task's last run that counts; a process may have died, or power been lost, before it did.
fn link_last_counting(
    lock: &ProjectLock,
    task: &TaskId,
    committed: &BTreeMap<RunId, (TaskId, Committed)>,
) -> Result<(), EvidenceError> {
    let counting = committed.iter().filter(|(_, (of, state))| of == task && *state == Committed::Counting);
    let Some((last, _)) = counting.max_by_key(|(run_id, _)| run_id.number()) else { return Ok(()) };
    if lock.store().run_directory(lock.project(), task, last).is_dir() {
        publish_latest(lock, task, last)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
