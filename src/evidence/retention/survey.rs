//! What runs there are, by the ledger and by what lies on disk.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::evidence::error::failed;
use crate::evidence::files::list;
use crate::evidence::retention::{KeptRun, Standing, Weight};
use crate::evidence::{EvidenceError, FileOperation, Store, StoredRun, list_runs, read_lines};
use crate::model::{LedgerBody, OverallResult, ProjectId, RunId, RunRecord, Sequence, TaskId, TddState};

/// Whether the sizes of runs are asked for: every file is looked at for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sizes {
    /// They are.
    Measured,
    /// They are not.
    NotAsked,
}

/// What there is of a project.
#[derive(Debug, Default)]
pub struct RetentionSurvey {
    /// The sealed runs that are there and not pruned, in their order.
    pub kept: Vec<KeptRun>,
    /// The runs that the ledger calls pruned and of which something is there.
    pub unfinished: Vec<StoredRun>,
}

/// Looks at a project's runs.
pub fn survey_runs(store: &Store, project: &ProjectId, sizes: Sizes) -> Result<RetentionSurvey, EvidenceError> {
    let mut runs: BTreeMap<RunId, (Sequence, RunRecord)> = BTreeMap::new();
    let (mut pruned, mut states) = (BTreeSet::new(), BTreeMap::<TaskId, TddState>::new());
    for line in read_lines(store, project, 0)? {
        let line = line?.1;
        match line.body {
            LedgerBody::Run(record) => {
                states.extend(record.tdd.clone().map(|tdd| (record.task.clone(), tdd)));
                runs.insert(record.run_id.clone(), (line.sequence, *record));
            }
            LedgerBody::Pruned(record) => pruned.extend(record.runs.into_iter().map(|run| run.run_id)),
            LedgerBody::Phase(record) => drop(states.insert(record.task, record.tdd)),
            LedgerBody::Override(record) => drop(states.insert(record.task, record.tdd)),
            LedgerBody::Registered(_)
            | LedgerBody::Superseded(_)
            | LedgerBody::Serving(_)
            | LedgerBody::Retest(_)
            | LedgerBody::Approval(_)
            | LedgerBody::TaskList(_)
            | LedgerBody::Violation(_)
            | LedgerBody::Governance(_) => {}
        }
    }
    let awaited: BTreeSet<RunId> = states.into_values().filter_map(|state| state.paused.map(|pause| pause.run_id)).collect();
    let mut survey = RetentionSurvey::default();
    for stored in list_runs(store, project, None)? {
        if pruned.contains(&stored.run_id) {
            survey.unfinished.push(stored);
        } else if let Some((sequence, record)) = runs.get(&stored.run_id) {
            let bytes = match sizes {
                Sizes::Measured => measure(&stored.directory)?,
                Sizes::NotAsked => 0,
            };
            let is_awaited = awaited.contains(&stored.run_id);
            survey.kept.push(kept(*sequence, record, bytes, is_awaited));
        }
    }
    survey.kept.sort_by_key(|run| run.sequence);
    Ok(survey)
}

fn kept(sequence: Sequence, record: &RunRecord, bytes: u64, is_awaited: bool) -> KeptRun {
    let standing = match record.overall_result {
        Some(OverallResult::Passed) => Standing::Passed,
        Some(OverallResult::Failed) => Standing::Failed,
        None => Standing::Unjudged,
    };
    KeptRun {
        run_id: record.run_id.clone(),
        task: record.task.clone(),
        sequence,
        manifest_hash: record.manifest_hash,
        started: record.started,
        bytes,
        standing,
        weight: match (record.leads_latest(), record.plan_digest) {
            (true, Some(_)) => Weight::Verdict,
            (true, None) => Weight::Refused,
            (false, _) => Weight::Nothing,
        },
        is_awaited,
    }
}

/// Returns what the files of a run have; each takes whole blocks of its file system beside that.
fn measure(directory: &Path) -> Result<u64, EvidenceError> {
    let mut bytes = 0;
    for entry in list(directory)? {
        bytes += entry.metadata().map_err(failed(FileOperation::Read, &entry.path()))?.len();
    }
    Ok(bytes)
}
