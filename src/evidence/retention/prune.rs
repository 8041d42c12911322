//! Removing runs: the ledger's line is on disk before anything of what it names is gone.

use std::path::Path;

use crate::evidence::archive::archive_beside;
use crate::evidence::changes::{remove_everything, remove_file};
use crate::evidence::{EvidenceError, Ledger, ProjectLock, StoredRun};
use crate::model::{Asker, LedgerBody, LedgerLine, PruneRecord, PrunedRun, Timestamp};

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

/// Removes runs. After an error what the lines name is removed by the next that prunes.
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
        for run in part {
            remove(lock, &lock.store().run_directory(lock.project(), &run.task, &run.run_id))?;
        }
    }
    pruning.runs = runs;
    Ok(pruning)
}

/// Removes what a process that died while it pruned has left.
pub fn finish_pruning(lock: &ProjectLock, unfinished: &[StoredRun]) -> Result<(), EvidenceError> {
    unfinished.iter().try_for_each(|run| remove(lock, &run.directory))
}

/// Removes a run however it is kept.
fn remove(_held: &ProjectLock, directory: &Path) -> Result<(), EvidenceError> {
    remove_everything(directory)?;
    let archive = archive_beside(directory);
    if archive.symlink_metadata().is_ok() { remove_file(&archive) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use crate::evidence::retention::survey::Sizes;
    use crate::evidence::retention::{finish_pruning, plan_prune, prune_runs, survey_runs};
    use crate::evidence::testing::{TestStore, asker, now, run_id};
    use crate::evidence::{Subject, verify_keys, verify_project};
    use crate::model::{LedgerBody, OverallStatus, PruneRecord, RetentionLimits};

    fn faults(test: &TestStore) -> Vec<&'static str> {
        let (keys, _) = verify_keys(&test.store).unwrap();
        let checked = verify_project(&test.store, &test.project, &keys, &Subject::Everything, 1).unwrap();
        // These runs have reports of one line: what is wrong with those is no matter here.
        let about_runs = ["runMissing", "runPruned", "runUnnamed", "pruneWrong", "foreign"];
        checked.faults.iter().map(|fault| fault.kind.word()).filter(|word| about_runs.contains(word)).collect()
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
        drop(ledger);
        let survey = survey_runs(&test.store, &test.project, Sizes::NotAsked).unwrap();
        assert_eq!((survey.kept.len(), survey.unfinished.len()), (1, 2));
        finish_pruning(&lock, &survey.unfinished).unwrap();
        drop(lock);
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
        std::fs::create_dir(test.store.run_directory(&test.project, &test.task, &run_id(1))).unwrap();
        other[0].manifest_hash = crate::model::Digest::of(b"another");
        ledger.append(LedgerBody::Pruned(PruneRecord { runs: other }), &asker(), now()).unwrap();
        drop((lock, ledger));
        let found = faults(&test);
        assert!(found.contains(&"runPruned") && found.contains(&"pruneWrong"), "{found:?}");
    }
}
