//! Removing runs: the ledger's line is on disk before anything of what it names is gone, and all of that is gone before the next line.
//!
//! Of each run the manifest goes last, so that what a process which dies leaves can be told from what somebody put there: verification
//! compares it with the manifest, and the manifest with the ledger's line.

use std::collections::BTreeSet;
use std::path::Path;

use crate::evidence::archive::archive_beside;
use crate::evidence::changes::{remove_directory, remove_file, sync_directory};
use crate::evidence::error::failed;
use crate::evidence::files::list;
use crate::evidence::names::MANIFEST_NAME;
use crate::evidence::{EvidenceError, FileOperation, Ledger, ProjectLock, StoredRun};
use crate::model::{Asker, LedgerBody, LedgerLine, PruneRecord, PrunedRun, TaskId, Timestamp};

/// A line of the ledger names so many at most; the longest such line is far below what a reader takes.
const MOST_OF_A_LINE: usize = 256;

/// What was removed.
#[derive(Debug, Default)]
pub struct Pruning {
    /// The lines that say so, each with the ledger's length after it, for the index.
    pub lines: Vec<(u64, LedgerLine)>,
    /// The runs.
    pub runs: Vec<PrunedRun>,
}

/// Removes runs. After an error what the last line names is removed by the next that opens the ledger.
pub fn prune_runs(
    lock: &ProjectLock,
    ledger: &mut Ledger,
    runs: Vec<PrunedRun>,
    asker: &Asker,
    now: Timestamp,
) -> Result<Pruning, EvidenceError> {
    let mut pruning = Pruning::default();
    for part in runs.chunks(MOST_OF_A_LINE) {
        let line = ledger.append(LedgerBody::Pruned(PruneRecord { runs: part.to_vec() }), asker, now)?;
        pruning.lines.push((ledger.length(), line));
        remove_named(lock, part)?;
    }
    pruning.runs = runs;
    Ok(pruning)
}

/// Removes what the ledger's last line prunes, where it does; returns how many directories were there.
pub(in crate::evidence) fn end_pruning(lock: &ProjectLock, last: &LedgerLine) -> Result<usize, EvidenceError> {
    if let LedgerBody::Pruned(record) = &last.body { remove_named(lock, &record.runs) } else { Ok(0) }
}

/// Removes every other directory of a run that the ledger calls pruned: somebody put it there.
pub fn finish_pruning(lock: &ProjectLock, unfinished: &[StoredRun]) -> Result<(), EvidenceError> {
    unfinished.iter().try_for_each(|run| remove(lock, &run.directory).map(drop))
}

/// Removes what a line names, and waits until it is gone from the disk: no later line may be there with it.
fn remove_named(lock: &ProjectLock, runs: &[PrunedRun]) -> Result<usize, EvidenceError> {
    let mut removed = 0;
    for run in runs {
        removed += usize::from(remove(lock, &lock.store().run_directory(lock.project(), &run.task, &run.run_id))?);
    }
    let tasks: BTreeSet<&TaskId> = runs.iter().map(|run| &run.task).collect();
    for task in tasks {
        let runs = lock.store().runs_directory(lock.project(), task);
        if runs.is_dir() {
            sync_directory(&runs)?;
        }
    }
    Ok(removed)
}

/// Removes a run however it is kept; returns whether it was there.
fn remove(held: &ProjectLock, directory: &Path) -> Result<bool, EvidenceError> {
    let was_there = remove_run_directory(held, directory)?;
    let archive = archive_beside(directory);
    let is_archive = archive.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
    if is_archive {
        remove_file(&archive)?;
    }
    Ok(was_there || is_archive)
}

/// Removes the directory of a run, its manifest last; returns whether it was there. A link or a file in its place is somebody else's.
fn remove_run_directory(_held: &ProjectLock, directory: &Path) -> Result<bool, EvidenceError> {
    if !directory.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Ok(false);
    }
    // In the order of their names, so that a process that dies leaves the same behind it on every file system.
    let mut entries = list(directory)?;
    entries.retain(|entry| entry.file_name() != MANIFEST_NAME);
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let is_directory = entry.file_type().map_err(failed(FileOperation::List, &path))?.is_dir();
        if is_directory {
            remove_directory(&path)?
        } else {
            remove_file(&path)?
        };
    }
    remove_file(&directory.join(MANIFEST_NAME))?;
    remove_directory(directory)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use crate::evidence::names::MANIFEST_NAME;
    use crate::evidence::retention::survey::Sizes;
    use crate::evidence::retention::{finish_pruning, plan_prune, prune_runs, survey_runs};
    use crate::evidence::testing::{TestStore, asker, now, put, run_id};
    use crate::evidence::{Ledger, Subject, UnfinishedKind, verify_keys, verify_project};
    use crate::model::{LedgerBody, OverallStatus, PruneRecord, RetentionLimits};

    fn faults(test: &TestStore) -> Vec<&'static str> {
        let (keys, _) = verify_keys(&test.store).unwrap();
        let checked = verify_project(&test.store, &test.project, &keys, &Subject::Everything, 1).unwrap();
        // These runs have reports of one line: what is wrong with those is no matter here.
        let about_runs = ["runMissing", "runPruned", "runUnnamed", "pruneWrong", "foreign"];
        checked.faults.iter().map(|fault| fault.kind.word()).filter(|word| about_runs.contains(word)).collect()
    }

    fn unfinished(test: &TestStore) -> usize {
        let (keys, _) = verify_keys(&test.store).unwrap();
        let checked = verify_project(&test.store, &test.project, &keys, &Subject::Everything, 1).unwrap();
        // Nobody calls a run of these published.
        checked.unfinished.iter().filter(|begun| begun.kind == UnfinishedKind::Pruning).count()
    }

    #[test]
    fn the_ledger_says_what_is_removed_and_nothing_else_is() {
        let test = TestStore::new();
        (1..=5).for_each(|number| drop(test.run(number, &["STEP.1-a.log"], OverallStatus::Success)));
        let (lock, mut ledger, _) = test.open();
        let survey = survey_runs(&test.store, &test.project, Sizes::Measured).unwrap();
        assert!(survey.kept.len() == 5 && survey.kept.iter().all(|run| run.bytes > 100), "{survey:?}");
        let limits = RetentionLimits { runs: Some(2), ..RetentionLimits::default() };
        let plan = plan_prune(&survey.kept, &limits, now());
        let pruning = prune_runs(&lock, &mut ledger, plan, &asker(), now()).unwrap();
        assert_eq!(pruning.runs.iter().map(|run| run.run_id.number()).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!((pruning.lines.len(), pruning.lines[0].0), (1, ledger.length()));
        let survey = survey_runs(&test.store, &test.project, Sizes::NotAsked).unwrap();
        assert_eq!(survey.kept.iter().map(|run| run.run_id.number()).collect::<Vec<_>>(), [4, 5]);
        assert!(survey.unfinished.is_empty());
        drop((lock, ledger));
        assert_eq!(faults(&test), [] as [&str; 0]);
    }

    #[test]
    fn what_a_dead_process_did_not_remove_is_removed_by_the_next() {
        let test = TestStore::new();
        (1..=3).for_each(|number| drop(test.run(number, &[], OverallStatus::Success)));
        let (lock, mut ledger, _) = test.open();
        let survey = survey_runs(&test.store, &test.project, Sizes::NotAsked).unwrap();
        let plan = plan_prune(&survey.kept, &RetentionLimits { runs: Some(1), ..RetentionLimits::default() }, now());
        // It died after the line, and in the middle of a directory.
        ledger.append(LedgerBody::Pruned(PruneRecord { runs: plan }), &asker(), now()).unwrap();
        std::fs::remove_file(test.store.run_directory(&test.project, &test.task, &run_id(1)).join("run.json")).unwrap();
        drop((ledger, lock));
        assert_eq!((faults(&test), unfinished(&test)), (vec![], 2));
        let survey = survey_runs(&test.store, &test.project, Sizes::NotAsked).unwrap();
        assert_eq!((survey.kept.len(), survey.unfinished.len()), (1, 2));
        let lock = test.lock();
        let ledger = Ledger::open(&lock).unwrap();
        assert_eq!(ledger.ended_prunings(), 2);
        let survey = survey_runs(&test.store, &test.project, Sizes::NotAsked).unwrap();
        assert_eq!((survey.kept.len(), survey.unfinished.len()), (1, 0));
        drop((ledger, lock));
        assert_eq!((faults(&test), unfinished(&test)), (vec![], 0));
    }

    #[test]
    fn what_lies_there_behind_a_later_line_is_a_fault_until_the_next_pruning() {
        let test = TestStore::new();
        (1..=3).for_each(|number| drop(test.run(number, &[], OverallStatus::Success)));
        let saved = std::fs::read(test.store.run_directory(&test.project, &test.task, &run_id(1)).join(MANIFEST_NAME)).unwrap();
        let (lock, mut ledger, _) = test.open();
        let survey = survey_runs(&test.store, &test.project, Sizes::NotAsked).unwrap();
        let plan = plan_prune(&survey.kept, &RetentionLimits { runs: Some(1), ..RetentionLimits::default() }, now());
        prune_runs(&lock, &mut ledger, plan, &asker(), now()).unwrap();
        drop((lock, ledger));
        test.run(5, &[], OverallStatus::Success);
        put(&test.store.run_directory(&test.project, &test.task, &run_id(1)).join(MANIFEST_NAME), &saved);
        assert_eq!((faults(&test), unfinished(&test)), (vec!["runPruned"], 0));
        let (lock, ledger, _) = test.open();
        assert_eq!(ledger.ended_prunings(), 0);
        let survey = survey_runs(&test.store, &test.project, Sizes::NotAsked).unwrap();
        finish_pruning(&lock, &survey.unfinished).unwrap();
        drop((lock, ledger));
        assert_eq!(faults(&test), [] as [&str; 0]);
    }

    #[test]
    fn a_pruned_run_that_is_put_back_and_a_line_that_prunes_another_are_named() {
        let test = TestStore::new();
        (1..=3).for_each(|number| drop(test.run(number, &[], OverallStatus::Success)));
        let (lock, mut ledger, _) = test.open();
        let survey = survey_runs(&test.store, &test.project, Sizes::NotAsked).unwrap();
        let plan = plan_prune(&survey.kept, &RetentionLimits { runs: Some(2), ..RetentionLimits::default() }, now());
        let mut other = plan.clone();
        prune_runs(&lock, &mut ledger, plan, &asker(), now()).unwrap();
        put(&test.store.run_directory(&test.project, &test.task, &run_id(1)).join("note"), b"");
        other[0].manifest_hash = crate::model::Digest::of(b"another");
        ledger.append(LedgerBody::Pruned(PruneRecord { runs: other }), &asker(), now()).unwrap();
        drop((lock, ledger));
        let found = faults(&test);
        assert!(found.contains(&"runPruned") && found.contains(&"pruneWrong"), "{found:?}");
    }
}
