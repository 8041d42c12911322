//! Which runs a project has, by the ledger and on disk.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::error::failed;
use crate::files::list_directory;
use crate::retention::{KeptRun, KeptRunResult, RunSignificance};
use crate::{EvidenceError, FileOperation, Store, StoredRun, list_runs, read_lines};
use proctor_model::{LedgerBody, OverallResult, ProjectId, RunId, RunRecord, Sequence, TaskId, TddState};

/// Whether the sizes of runs are measured, for which the metadata of every file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sizes {
    Measured,
    NotMeasured,
}

/// The runs of a project that are on disk.
#[derive(Debug, Default)]
pub struct RetentionSurvey {
    /// The sealed runs that are on disk and not pruned, in ledger order.
    pub kept: Vec<KeptRun>,
    /// The runs that the ledger calls pruned although a directory still exists.
    pub pruned_leftovers: Vec<StoredRun>,
}

/// Lists a project's runs, with the facts that decide whether they may be removed.
pub fn survey_runs(store: &Store, project: &ProjectId, sizes: Sizes) -> Result<RetentionSurvey, EvidenceError> {
    let mut runs: BTreeMap<RunId, (Sequence, RunRecord)> = BTreeMap::new();
    let mut pruned = BTreeSet::new();
    let mut states = BTreeMap::<TaskId, TddState>::new();
    for line in read_lines(store, project, 0)? {
        let line = line?.1;
        match line.body {
            LedgerBody::Run(record) => {
                states.extend(record.tdd.clone().map(|tdd| (record.task.clone(), tdd)));
                runs.insert(record.run_id.clone(), (line.sequence, *record));
            }
            LedgerBody::Pruned(record) => pruned.extend(record.runs.into_iter().map(|run| run.run_id)),
            LedgerBody::Purged(record) => pruned.extend(record.runs.into_iter().map(|run| run.run_id)),
            LedgerBody::Phase(record) => drop(states.insert(record.task, record.tdd)),
            LedgerBody::Override(record) => drop(states.insert(record.task, record.tdd)),
            // The directory of a packed run is what an earlier version did not remove any more: a run like the others.
            LedgerBody::Archived(_)
            | LedgerBody::Registered(_)
            | LedgerBody::Superseded(_)
            | LedgerBody::Serving(_)
            | LedgerBody::Retest(_)
            | LedgerBody::Approval(_)
            | LedgerBody::TaskList(_)
            | LedgerBody::Violation(_)
            | LedgerBody::Governance(_)
            | LedgerBody::KeyReplaced(_)
            | LedgerBody::Claim(_)
            | LedgerBody::Proof(_) => {}
        }
    }
    let awaited: BTreeSet<RunId> = states.into_values().filter_map(|state| state.paused.map(|pause| pause.run_id)).collect();
    let mut survey = RetentionSurvey::default();
    for stored in list_runs(store, project, None)? {
        if pruned.contains(&stored.run_id) {
            survey.pruned_leftovers.push(stored);
        } else if let Some((sequence, record)) = runs.get(&stored.run_id) {
            let bytes = match sizes {
                Sizes::Measured => total_size(&stored.directory)?,
                Sizes::NotMeasured => 0,
            };
            let is_awaited = awaited.contains(&stored.run_id);
            survey.kept.push(KeptRun { bytes, waits_for_person: is_awaited, ..kept_run_from_record(*sequence, record) });
        }
    }
    survey.kept.sort_by_key(|run| run.sequence);
    Ok(survey)
}

/// Returns the facts that the ledger record has about a run. `survey_runs` adds the size, and
/// whether it waits for a person.
fn kept_run_from_record(sequence: Sequence, record: &RunRecord) -> KeptRun {
    let result = match record.overall_result {
        Some(OverallResult::Passed) => KeptRunResult::Passed,
        Some(OverallResult::Failed) => KeptRunResult::Failed,
        None => KeptRunResult::Unjudged,
    };
    KeptRun {
        run_id: record.run_id.clone(),
        task: record.task.clone(),
        sequence,
        manifest_hash: record.manifest_hash,
        started: record.started,
        bytes: 0,
        result,
        significance: match (record.leads_latest(), record.plan_digest) {
            (true, Some(_)) => RunSignificance::Verdict,
            (true, None) => RunSignificance::Refused,
            (false, _) => RunSignificance::Nothing,
        },
        waits_for_person: false,
        reused_runs: record.reused.clone(),
    }
}

/// Returns the sum of the sizes of a run's files in bytes. The files take more space on disk, because a file system
/// stores whole blocks.
fn total_size(directory: &Path) -> Result<u64, EvidenceError> {
    let mut bytes = 0;
    for entry in list_directory(directory)? {
        bytes += entry.metadata().map_err(failed(FileOperation::Read, &entry.path()))?.len();
    }
    Ok(bytes)
}
