//! What runs there are, by the ledger and by what lies on disk.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::evidence::archive::list_archives;
use crate::evidence::error::failed;
use crate::evidence::files::list;
use crate::evidence::retention::{KeptRun, RunForm, Standing, Weight};
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
    let (mut pruned, mut archived) = (BTreeSet::new(), BTreeSet::new());
    let mut states = BTreeMap::<TaskId, TddState>::new();
    for line in read_lines(store, project, 0)? {
        let line = line?.1;
        match line.body {
            LedgerBody::Run(record) => {
                states.extend(record.tdd.clone().map(|tdd| (record.task.clone(), tdd)));
                runs.insert(record.run_id.clone(), (line.sequence, *record));
            }
            LedgerBody::Pruned(record) => pruned.extend(record.runs.into_iter().map(|run| run.run_id)),
            LedgerBody::Archived(record) => archived.extend(record.runs.into_iter().map(|run| run.run_id)),
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
            survey.kept.push(KeptRun { bytes, is_awaited, ..kept(*sequence, record) });
        }
    }
    for archive in list_archives(store, project)? {
        let directory = store.run_directory(project, &archive.task, &archive.run_id);
        if directory.is_dir() {
            // It was counted: as long as it has both, the directory is the run.
        } else if pruned.contains(&archive.run_id) {
            survey.unfinished.push(StoredRun { task: archive.task, run_id: archive.run_id, directory });
        } else if let Some((sequence, record)) = runs.get(&archive.run_id).filter(|_| archived.contains(&archive.run_id)) {
            let look = archive.path.symlink_metadata().map_err(failed(FileOperation::Read, &archive.path))?;
            let is_awaited = awaited.contains(&archive.run_id);
            survey.kept.push(KeptRun { bytes: look.len(), is_awaited, form: RunForm::Archive, ..kept(*sequence, record) });
        }
    }
    survey.kept.sort_by_key(|run| run.sequence);
    Ok(survey)
}

/// Says of a run what its record does.
fn kept(sequence: Sequence, record: &RunRecord) -> KeptRun {
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
        bytes: 0,
        standing,
        weight: match (record.leads_latest(), record.plan_digest) {
            (true, Some(_)) => Weight::Verdict,
            (true, None) => Weight::Refused,
            (false, _) => Weight::Nothing,
        },
        is_awaited: false,
        rests_on: record.reused.clone(),
        form: RunForm::Directory,
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
