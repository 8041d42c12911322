//! Removes runs. The ledger line that names them is on disk before the first file is removed, and all files are removed
//! before the next line is written.
//!
//! The manifest of each run is removed last. So verification can distinguish the remains of an interrupted removal from
//! files that another program added: it compares the files with the manifest, and the manifest with the ledger line.

use std::collections::BTreeSet;
use std::path::Path;

use crate::changes::{remove_directory, remove_file, sync_directory};
use crate::error::failed;
use crate::files::list_directory;
use crate::names::MANIFEST_NAME;
use crate::retention::purge::remove_project_directory;
use crate::{EvidenceError, FileOperation, Ledger, ProjectLock, StoredRun, list_runs};
use proctor_model::{Asker, LedgerBody, LedgerLine, PruneReason, PruneRecord, PrunedRun, TaskId, Timestamp};

/// The most runs that one ledger line names. The longest such line is far shorter than a reader accepts.
const MOST_OF_A_LINE: usize = 256;

/// The runs that `prune_runs` removed, and the ledger lines that say so.
#[derive(Debug, Default)]
pub struct PruneOutcome {
    /// The ledger lines that name the removed runs, each with the ledger's length in bytes after the line. The SQLite
    /// index needs both.
    pub lines: Vec<(u64, LedgerLine)>,
    pub runs: Vec<PrunedRun>,
}

/// Removes runs. If this fails, the removal is finished when the ledger is opened the next time.
pub fn prune_runs(
    lock: &ProjectLock,
    ledger: &mut Ledger,
    runs: Vec<PrunedRun>,
    asker: &Asker,
    now: Timestamp,
) -> Result<PruneOutcome, EvidenceError> {
    let mut pruning = PruneOutcome::default();
    for part in runs.chunks(MOST_OF_A_LINE) {
        let line = ledger.append(LedgerBody::Pruned(PruneRecord { runs: part.to_vec() }), asker, now)?;
        pruning.lines.push((ledger.length(), line));
        remove_named(lock, part)?;
    }
    pruning.runs = runs;
    Ok(pruning)
}

/// Finishes the removal if the ledger's last line prunes runs, or purges the project. Returns the number of runs that still
/// existed.
pub(crate) fn finish_last_pruning(lock: &ProjectLock, last: &LedgerLine) -> Result<usize, EvidenceError> {
    let removed = remove_named(lock, last.body.pruned_runs())?;
    // A run that is there now began after the purge, and its process may have died before it wrote a line.
    if matches!(last.body, LedgerBody::Purged(_)) && list_runs(lock.store(), lock.project(), None)?.is_empty() {
        remove_project_directory(lock)?;
    }
    Ok(removed)
}

/// Removes runs that exist although an earlier ledger line pruned them, because another program restored them.
pub fn remove_pruned_leftovers(lock: &ProjectLock, leftovers: &[StoredRun]) -> Result<(), EvidenceError> {
    leftovers.iter().try_for_each(|run| remove_run_directory(lock, &run.directory).map(drop))
}

/// Removes the runs that a line names and waits until they are gone from the disk, because no later ledger line may be
/// written while one of these runs still exists.
pub(super) fn remove_named(lock: &ProjectLock, runs: &[PrunedRun]) -> Result<usize, EvidenceError> {
    let mut removed = 0;
    // What an earlier version packed and did not remove any more is all that is left to read of the run.
    for run in runs.iter().filter(|run| run.why != PruneReason::Archived) {
        removed += usize::from(remove_run_directory(lock, &lock.store().run_directory(lock.project(), &run.task, &run.run_id))?);
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

/// Removes the directory of a run, the manifest last; returns whether there was a directory. A link or a file at this
/// path is left alone.
fn remove_run_directory(_lock: &ProjectLock, directory: &Path) -> Result<bool, EvidenceError> {
    if !directory.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Ok(false);
    }
    // Files are removed in the order of their names, so that a process that dies leaves the same files on every file
    // system.
    let mut entries = list_directory(directory)?;
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
    use crate::names::MANIFEST_NAME;
    use crate::retention::survey::Sizes;
    use crate::retention::{plan_prune, prune_runs, remove_pruned_leftovers, survey_runs};
    use crate::testing::{TestStore, asker, now, put, run_id};
    use crate::{Ledger, UnfinishedKind, VerificationScope, verify_keys, verify_project};
    use proctor_model::{LedgerBody, OverallStatus, PruneRecord, RetentionLimits};

    fn faults(test: &TestStore) -> Vec<&'static str> {
        let keys = verify_keys(&test.store).unwrap().ring;
        let checked = verify_project(&test.store, &test.project, &keys, &VerificationScope::Everything, 1).unwrap();
        // The reports of these test runs are one line of text, so faults of reports are left out.
        let about_runs = ["runMissing", "runPruned", "runUnnamed", "pruneWrong", "foreign"];
        checked.faults.iter().map(|fault| fault.kind.word()).filter(|word| about_runs.contains(word)).collect()
    }

    fn leftovers(test: &TestStore) -> usize {
        let keys = verify_keys(&test.store).unwrap().ring;
        let checked = verify_project(&test.store, &test.project, &keys, &VerificationScope::Everything, 1).unwrap();
        // These test runs are never published, so other kinds of unfinished work are left out.
        checked.unfinished.iter().filter(|work| work.kind == UnfinishedKind::Pruning).count()
    }

    #[test]
    fn exactly_the_runs_that_the_ledger_line_names_are_removed() {
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
        let survey = survey_runs(&test.store, &test.project, Sizes::NotMeasured).unwrap();
        assert_eq!(survey.kept.iter().map(|run| run.run_id.number()).collect::<Vec<_>>(), [4, 5]);
        assert!(survey.pruned_leftovers.is_empty());
        drop((lock, ledger));
        assert_eq!(faults(&test), [] as [&str; 0]);
    }

    #[test]
    fn what_a_dead_process_did_not_remove_the_next_one_removes() {
        let test = TestStore::new();
        (1..=3).for_each(|number| drop(test.run(number, &[], OverallStatus::Success)));
        let (lock, mut ledger, _) = test.open();
        let survey = survey_runs(&test.store, &test.project, Sizes::NotMeasured).unwrap();
        let plan = plan_prune(&survey.kept, &RetentionLimits { runs: Some(1), ..RetentionLimits::default() }, now());
        // This is the state after a process that wrote the line and then died in the middle of removing a directory.
        ledger.append(LedgerBody::Pruned(PruneRecord { runs: plan }), &asker(), now()).unwrap();
        std::fs::remove_file(test.store.run_directory(&test.project, &test.task, &run_id(1)).join("run.json")).unwrap();
        drop((ledger, lock));
        assert_eq!((faults(&test), leftovers(&test)), (vec![], 2));
        let survey = survey_runs(&test.store, &test.project, Sizes::NotMeasured).unwrap();
        assert_eq!((survey.kept.len(), survey.pruned_leftovers.len()), (1, 2));
        let lock = test.lock();
        let ledger = Ledger::open(&lock).unwrap();
        assert_eq!(ledger.finished_prunings(), 2);
        let survey = survey_runs(&test.store, &test.project, Sizes::NotMeasured).unwrap();
        assert_eq!((survey.kept.len(), survey.pruned_leftovers.len()), (1, 0));
        drop((ledger, lock));
        assert_eq!((faults(&test), leftovers(&test)), (vec![], 0));
    }

    #[test]
    fn a_pruned_run_that_reappears_after_a_later_line_is_a_fault_until_the_next_pruning() {
        let test = TestStore::new();
        (1..=3).for_each(|number| drop(test.run(number, &[], OverallStatus::Success)));
        let saved = std::fs::read(test.store.run_directory(&test.project, &test.task, &run_id(1)).join(MANIFEST_NAME)).unwrap();
        let (lock, mut ledger, _) = test.open();
        let survey = survey_runs(&test.store, &test.project, Sizes::NotMeasured).unwrap();
        let plan = plan_prune(&survey.kept, &RetentionLimits { runs: Some(1), ..RetentionLimits::default() }, now());
        prune_runs(&lock, &mut ledger, plan, &asker(), now()).unwrap();
        drop((lock, ledger));
        test.run(5, &[], OverallStatus::Success);
        put(&test.store.run_directory(&test.project, &test.task, &run_id(1)).join(MANIFEST_NAME), &saved);
        assert_eq!((faults(&test), leftovers(&test)), (vec!["runPruned"], 0));
        let (lock, ledger, _) = test.open();
        assert_eq!(ledger.finished_prunings(), 0);
        let survey = survey_runs(&test.store, &test.project, Sizes::NotMeasured).unwrap();
        remove_pruned_leftovers(&lock, &survey.pruned_leftovers).unwrap();
        drop((lock, ledger));
        assert_eq!(faults(&test), [] as [&str; 0]);
    }

    #[test]
    fn a_pruned_run_that_is_put_back_and_a_line_that_prunes_another_are_reported() {
        let test = TestStore::new();
        (1..=3).for_each(|number| drop(test.run(number, &[], OverallStatus::Success)));
        let (lock, mut ledger, _) = test.open();
        let survey = survey_runs(&test.store, &test.project, Sizes::NotMeasured).unwrap();
        let plan = plan_prune(&survey.kept, &RetentionLimits { runs: Some(2), ..RetentionLimits::default() }, now());
        let mut other = plan.clone();
        prune_runs(&lock, &mut ledger, plan, &asker(), now()).unwrap();
        put(&test.store.run_directory(&test.project, &test.task, &run_id(1)).join("note"), b"");
        other[0].manifest_hash = proctor_model::Digest::of(b"another");
        ledger.append(LedgerBody::Pruned(PruneRecord { runs: other }), &asker(), now()).unwrap();
        drop((lock, ledger));
        let found = faults(&test);
        assert!(found.contains(&"runPruned") && found.contains(&"pruneWrong"), "{found:?}");
    }
}
