//! Archives a project's runs: on request, and in idle time if the settings ask for it.

use std::path::Path;

use crate::checked_index::apply_written;
use crate::error::ProjectError;
use crate::request::{ProjectScope, ProjectSettings};
use crate::retention::with_lock;
use proctor_evidence::{
    ArchiveExemption, ArchiveOutcome, ArchivePlan, ArchiveRequest, Ledger, ProjectLock, RetentionSurvey, Sizes, Store,
    archive_runs, finish_archiving, plan_archive, remove_pruned_leftovers, survey_runs,
};
use proctor_index::StoreIndex;
use proctor_model::{PackedRun, ProjectId, RunId};
use proctor_sandbox::process::clock;

/// The result of archiving runs, or of planning to archive them.
#[derive(Debug, Default)]
pub struct ArchivingOutcome {
    /// The archived runs; after planning, the runs that would be archived.
    pub runs: Vec<ArchivedRunSize>,
    /// The runs that are not archived, each with the reason.
    pub stays: Vec<(RunId, String)>,
    /// The number of archived runs whose directories an earlier process had begun to remove when it died. This call has
    /// finished the removal.
    pub finished: usize,
}

/// A run that was archived, or would be archived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchivedRunSize {
    pub run_id: RunId,
    /// The size of the run's files in bytes.
    pub before: u64,
    /// The size of the run's archive in bytes; `None` after planning.
    pub after: Option<u64>,
}

/// Returns which runs of a project would be archived. Changes nothing.
///
/// # Errors
///
/// When the ledger or the evidence cannot be read.
pub fn plan_archiving(state_root: &Path, project: &ProjectId, wish: &ArchiveRequest) -> Result<ArchivingOutcome, ProjectError> {
    let store = Store::open(state_root).map_err(ProjectError::Evidence)?;
    let survey = survey_runs(&store, project, Sizes::Measured).map_err(ProjectError::Evidence)?;
    let plan = plan_archive(&survey.kept, wish, clock::now());
    let planned =
        |run: &proctor_evidence::KeptRun| ArchivedRunSize { run_id: run.run_id.clone(), before: run.bytes, after: None };
    let runs = plan.runs.iter().map(planned).collect();
    Ok(ArchivingOutcome { runs, stays: said(&plan.exempted), finished: 0 })
}

/// Archives runs of a project. Also finishes an archiving that was interrupted because its process died.
///
/// # Errors
///
/// When another process locks the project's evidence for longer than `settings.lock_wait`, or the ledger, the evidence
/// or the index cannot be used.
pub fn archive(
    state_root: &Path,
    scope: &ProjectScope,
    settings: &ProjectSettings,
    wish: &ArchiveRequest,
) -> Result<ArchivingOutcome, ProjectError> {
    with_lock(state_root, scope, settings, |store, index, lock, mut ledger| {
        archive_locked(store, index, lock, &mut ledger, scope, wish)
    })
}

/// Archives the runs that `wish` selects. The caller holds the project's lock.
pub(crate) fn archive_locked(
    store: &Store,
    index: &mut StoreIndex,
    lock: &ProjectLock,
    ledger: &mut Ledger,
    scope: &ProjectScope,
    wish: &ArchiveRequest,
) -> Result<ArchivingOutcome, ProjectError> {
    let mut finished = finish_archiving(lock).map_err(ProjectError::Evidence)?;
    let survey: RetentionSurvey = survey_runs(store, &scope.project, Sizes::NotMeasured).map_err(ProjectError::Evidence)?;
    remove_pruned_leftovers(lock, &survey.pruned_leftovers).map_err(ProjectError::Evidence)?;
    finished += survey.pruned_leftovers.len();
    let now = clock::now();
    let ArchivePlan { runs, exempted: stays } = plan_archive(&survey.kept, wish, now);
    let archiving = archive_runs(lock, ledger, &runs, &scope.asker, now).map_err(ProjectError::Evidence)?;
    apply_written(store, index, &scope.project, &archiving.lines)?;
    Ok(archiving_outcome(archiving, &stays, finished))
}

fn archiving_outcome(archiving: ArchiveOutcome, stays: &[(RunId, ArchiveExemption)], finished: usize) -> ArchivingOutcome {
    let done = |run: PackedRun| ArchivedRunSize { run_id: run.run_id, before: run.bytes, after: Some(run.archive_bytes) };
    let mut all = said(stays);
    all.extend(archiving.refused.into_iter().map(|(run_id, why)| (run_id, why.to_string())));
    ArchivingOutcome { runs: archiving.runs.into_iter().map(done).collect(), stays: all, finished }
}

fn said(stays: &[(RunId, ArchiveExemption)]) -> Vec<(RunId, String)> {
    stays.iter().map(|(run_id, why)| (run_id.clone(), why.reason().to_owned())).collect()
}
