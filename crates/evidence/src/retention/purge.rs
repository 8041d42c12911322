//! Removes all evidence of a project that a person removes (`proctor service remove --purge`). The ledger stays.
//!
//! The ledger line that says so is on disk before the first file is removed. If the process dies after that, the next
//! process that opens the ledger removes the rest, as with a pruning. If it dies before, nothing was removed. A project
//! with very many runs needs more than one line: the lines of ordinary prunings before the last one take its oldest runs.

use crate::changes::{remove_directory, sync_directory};
use crate::retention::{KeptRun, PruneOutcome, RetentionSurvey, prune_runs};
use crate::{EvidenceError, Ledger, ProjectLock};
use proctor_model::{Asker, LedgerBody, PruneReason, PrunedRun, PurgeRecord, Timestamp};

/// The most runs that the line of a purge names. So long a line still fits into the reserve of a full disk.
const MOST_OF_A_LINE: usize = 2_000;

/// What a purge removes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PurgePlan {
    /// The runs, the oldest first.
    pub runs: Vec<PrunedRun>,
    /// The total size of the runs, in bytes.
    pub bytes: u64,
    /// When the first of the runs started; `None` if there is no run.
    pub first: Option<Timestamp>,
    /// When the last of the runs started; `None` if there is no run.
    pub last: Option<Timestamp>,
}

/// Returns what a purge of the project removes: every run that is there, also those that no limit would remove.
pub fn plan_purge(survey: &RetentionSurvey) -> PurgePlan {
    let pruned = |run: &KeptRun| PrunedRun {
        run_id: run.run_id.clone(),
        task: run.task.clone(),
        manifest_hash: run.manifest_hash,
        why: PruneReason::Purged,
    };
    PurgePlan {
        runs: survey.kept.iter().map(pruned).collect(),
        bytes: survey.kept.iter().map(|run| run.bytes).sum(),
        first: survey.kept.iter().map(|run| run.started).min(),
        last: survey.kept.iter().map(|run| run.started).max(),
    }
}

/// Removes the runs of the plan, and with them the project's directory of evidence. If this fails, the removal is finished
/// when the ledger is opened the next time.
///
/// # Errors
/// When the ledger cannot be written, or a file cannot be removed.
pub fn purge_runs(
    lock: &ProjectLock,
    ledger: &mut Ledger,
    plan: PurgePlan,
    asker: &Asker,
    now: Timestamp,
) -> Result<PruneOutcome, EvidenceError> {
    let head = ledger.last_hash();
    let purged_runs = plan.runs.len() as u64;
    let (oldest, newest) = plan.runs.split_at(plan.runs.len().saturating_sub(MOST_OF_A_LINE));
    let mut purge = prune_runs(lock, ledger, oldest.to_vec(), asker, now)?;
    let record = PurgeRecord { head, purged_runs, bytes: plan.bytes, first: plan.first, last: plan.last, runs: newest.to_vec() };
    let line = ledger.append(LedgerBody::Purged(Box::new(record)), asker, now)?;
    purge.lines.push((ledger.length(), line));
    super::prune::remove_named(lock, newest)?;
    remove_project_directory(lock)?;
    purge.runs = plan.runs;
    Ok(purge)
}

/// Removes the project's directory of evidence, in which only the links of its tasks are left when the runs are gone.
pub(super) fn remove_project_directory(lock: &ProjectLock) -> Result<(), EvidenceError> {
    let directory = lock.store().project_directory(lock.project());
    if directory.symlink_metadata().is_ok() {
        remove_directory(&directory)?;
        sync_directory(&lock.store().evidence_directory())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retention::{Sizes, survey_runs};
    use crate::testing::{TestStore, asker, now, put, run_id};
    use crate::{UnfinishedKind, VerificationResult, VerificationScope, publish_latest, verify_keys, verify_project};
    use proctor_model::OverallStatus;

    fn verified(test: &TestStore) -> VerificationResult {
        let keys = verify_keys(&test.store).unwrap().ring;
        verify_project(&test.store, &test.project, &keys, &VerificationScope::Everything, 1).unwrap()
    }

    /// The reports of these test runs are one line of text, so faults of reports are left out.
    fn faults(result: &VerificationResult) -> Vec<&'static str> {
        let of_reports = ["reportUnreadable", "reportDisagrees", "reportHash", "statementUnreadable"];
        let words = result.faults.iter().map(|fault| fault.kind.word());
        words.filter(|word| word.starts_with("run") || word.contains("Wrong") || !of_reports.contains(word)).collect()
    }

    #[test]
    fn a_purge_removes_everything_of_the_project_and_the_ledger_says_what_it_was() {
        let test = TestStore::new();
        (1..=3).for_each(|number| drop(test.run(number, &["STEP.1-a.log"], OverallStatus::Success)));
        publish_latest(&test.lock(), &test.task, &run_id(3)).unwrap();
        let (lock, mut ledger, _) = test.open();
        let head = ledger.last_hash();
        let plan = plan_purge(&survey_runs(&test.store, &test.project, Sizes::Measured).unwrap());
        assert!(plan.bytes > 300, "{plan:?}");
        let purge = purge_runs(&lock, &mut ledger, plan.clone(), &asker(), now()).unwrap();
        assert_eq!((purge.runs.len(), purge.lines.len()), (3, 1));
        let LedgerBody::Purged(record) = &purge.lines[0].1.body else { panic!("{purge:?}") };
        assert_eq!((record.head, record.purged_runs, record.bytes), (head, 3, plan.bytes));
        assert!(!test.store.project_directory(&test.project).exists());
        drop((lock, ledger));
        let result = verified(&test);
        assert_eq!((faults(&result), result.unfinished.len(), result.purged), (vec![], 0, 3), "{:?}", result.faults);
        // A run after the purge is a run like any other.
        test.run(9, &[], OverallStatus::Success);
        assert_eq!(verified(&test).purged, 3);
    }

    #[test]
    fn a_run_that_began_after_a_purge_and_died_is_sealed_as_interrupted() {
        let test = TestStore::new();
        test.run(1, &[], OverallStatus::Success);
        let (lock, mut ledger, _) = test.open();
        let plan = plan_purge(&survey_runs(&test.store, &test.project, Sizes::Measured).unwrap());
        purge_runs(&lock, &mut ledger, plan, &asker(), now()).unwrap();
        drop((lock, ledger));
        let run = test.begin(9);
        put(&run.path().join("STEP.1-a.log"), b"said");
        drop(run);
        assert_eq!(verified(&test).unfinished.iter().filter(|work| work.kind == UnfinishedKind::Purging).count(), 0);
        let (_lock, _ledger, interrupted) = test.open();
        assert_eq!(interrupted, [run_id(9)]);
    }

    #[test]
    fn a_purge_whose_process_died_is_unfinished_work_and_finished_by_the_next_writer() {
        let test = TestStore::new();
        (1..=3).for_each(|number| drop(test.run(number, &[], OverallStatus::Success)));
        publish_latest(&test.lock(), &test.task, &run_id(3)).unwrap();
        let (lock, mut ledger, _) = test.open();
        let plan = plan_purge(&survey_runs(&test.store, &test.project, Sizes::Measured).unwrap());
        // This is the state after a process that wrote the line, removed one run, and then died.
        let record = PurgeRecord {
            head: ledger.last_hash(),
            purged_runs: 3,
            bytes: plan.bytes,
            first: plan.first,
            last: plan.last,
            runs: plan.runs.clone(),
        };
        ledger.append(LedgerBody::Purged(Box::new(record)), &asker(), now()).unwrap();
        crate::retention::prune::remove_named(&lock, &plan.runs[2..]).unwrap();
        drop((lock, ledger));
        let result = verified(&test);
        let purging = result.unfinished.iter().filter(|work| work.kind == UnfinishedKind::Purging).count();
        assert_eq!((faults(&result), purging), (vec![], 1), "{:?} {:?}", result.faults, result.unfinished);
        let lock = test.lock();
        let ledger = Ledger::open(&lock).unwrap();
        assert_eq!(ledger.finished_prunings(), 2);
        assert!(!test.store.project_directory(&test.project).exists());
        drop((ledger, lock));
        let result = verified(&test);
        assert_eq!((faults(&result), result.unfinished.len()), (vec![], 0));
    }
}
