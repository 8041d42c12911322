//! Removes a project's old evidence, in idle time or on request.

use std::path::Path;
use std::time::Duration;

use crate::checked_index::{apply_written, catch_up};
use crate::environment_digest::forget_gone_toolchains;
use crate::error::ProjectError;
use crate::evidence::{Evidence, lock_within, recover_runs};
use crate::repaired_index::open_index;
use crate::request::{ProjectScope, ProjectSettings};
use crate::snapshot_storage::remove_snapshots_of;
use crate::test_history::keep_tests;
use crate::workspace::Workspace;
use proctor_evidence::{
    Ledger, ProjectLock, PurgePlan, RetentionSurvey, Sizes, Store, UsedReserve, WaitDecision, compress_old_lines, has_old_lines,
    plan_prune, plan_purge, prune_runs, purge_runs, remove_project_links, remove_pruned_leftovers, survey_runs,
};
use proctor_index::StoreIndex;
use proctor_model::{ProjectId, PrunedRun, RetentionLimits, RunId};
use proctor_sandbox::process::clock;

/// The limits are applied once in this number of runs, because applying them means reading the whole ledger.
const RUNS_BETWEEN: u64 = 16;

/// The result of removing runs, or of planning to remove them.
#[derive(Debug, Default)]
pub struct PruningOutcome {
    /// The removed runs; after planning, the runs that would be removed.
    pub runs: Vec<PrunedRun>,
    /// The total size in bytes of the runs in `runs`.
    pub bytes: u64,
    /// The number of runs that the project keeps.
    pub left: usize,
    /// The number of runs' directories that an earlier process had begun to remove when it died. This call has finished
    /// the removal.
    pub finished: usize,
}

/// Returns which runs of a project exceed its limits. Removes nothing.
///
/// # Errors
///
/// When the ledger or the evidence cannot be read.
pub fn plan_pruning(state_root: &Path, project: &ProjectId, limits: &RetentionLimits) -> Result<PruningOutcome, ProjectError> {
    let store = Store::open(state_root)?;
    let survey = survey_runs(&store, project, Sizes::Measured)?;
    let runs = plan_prune(&survey.kept, limits, clock::now());
    Ok(pruning_outcome(&survey, runs, 0))
}

/// Gives up the store's reserve if the disk is full, so that the index can be opened, which may have to be written for that. The reserve
/// is written again when the returned value is dropped.
///
/// # Errors
/// When the store cannot be opened, or the reserve cannot be removed.
pub fn make_room(state_root: &Path) -> Result<UsedReserve, ProjectError> {
    Store::open(state_root).and_then(|store| store.use_reserve()).map_err(ProjectError::Evidence)
}

/// Removes the runs of a project that exceed its limits. On a full disk the store's reserve makes room for the ledger line
/// that has to come first. Also finishes a removal that was interrupted because its
/// process died.
///
/// # Errors
///
/// When another process locks the project's evidence for longer than `settings.lock_wait`, or the ledger, the evidence
/// or the index cannot be used.
pub fn prune(state_root: &Path, scope: &ProjectScope, settings: &ProjectSettings) -> Result<PruningOutcome, ProjectError> {
    let reserve = make_room(state_root)?;
    let pruned = with_lock(state_root, scope, settings, |store, index, lock, mut ledger| {
        prune_locked(store, index, lock, &mut ledger, scope, &settings.limits, Sizes::Measured)
    })?;
    drop(reserve);
    // Without a reserve the evidence is pruned all the same, and the next sealed run tries to write one.
    let _unwritten = Store::open(state_root).and_then(|store| store.renew_reserve());
    Ok(pruned)
}

/// Opens the store and its index, locks a project's evidence, opens its ledger, and calls `act` with all of them. The
/// lock is released afterwards.
pub(crate) fn with_lock<T>(
    state_root: &Path,
    scope: &ProjectScope,
    settings: &ProjectSettings,
    act: impl FnOnce(&Store, &mut StoreIndex, &ProjectLock, Ledger) -> Result<T, ProjectError>,
) -> Result<T, ProjectError> {
    let store = Store::open(state_root)?;
    let mut index = open_index(&store)?.index;
    let lock = lock_within(&store, &scope.project, settings.lock_wait)?;
    catch_up(&store, &mut index, &scope.project)?;
    let ledger = Ledger::open(&lock)?;
    act(&store, &mut index, &lock, ledger)
}

impl Workspace {
    /// Removes old runs of the project whose run was the last in this process, as the project's limits
    /// demand. The limits are applied only after every 16th run, and the call is meant for idle time: if another
    /// process has locked the project's evidence, nothing is done until a later run.
    ///
    /// Before, the tests of the project's last runs are added to the index of tests, while their evidence is there.
    pub fn keep_to_limits(&mut self) {
        let Some((scope, limits)) = self.last_runs.to_prune.take() else { return };
        keep_tests(&mut self.evidence, &scope.project);
        if let Err(error) = compress_ledger_if_due(&self.evidence.store, &scope) {
            tracing::warn!("old lines of the ledger of {} were not compressed: {error}", scope.project);
        }
        if limits.is_unlimited() {
            return;
        }
        if let Err(error) = prune_if_due(&mut self.evidence, &scope, &limits) {
            tracing::warn!("evidence of {} was not kept to its limits: {error}", scope.project);
        }
    }
}

/// Compresses the old lines of the ledger of a project, if there are many and no other process has locked it.
fn compress_ledger_if_due(store: &Store, scope: &ProjectScope) -> Result<(), ProjectError> {
    if !has_old_lines(store, &scope.project)? {
        return Ok(());
    }
    let Ok(lock) = store.lock(&scope.project, &mut || WaitDecision::GiveUp) else { return Ok(()) };
    let ledger = Ledger::open(&lock)?;
    let done = compress_old_lines(&lock, &ledger)?;
    tracing::info!("{} bytes of the ledger of {} were compressed to {}", done.before, scope.project, done.after);
    Ok(())
}

fn prune_if_due(evidence: &mut Evidence, scope: &ProjectScope, limits: &RetentionLimits) -> Result<(), ProjectError> {
    if !evidence.index.sealed_runs(&scope.project)?.is_multiple_of(RUNS_BETWEEN) {
        return Ok(());
    }
    let Ok(lock) = evidence.store.lock(&scope.project, &mut || WaitDecision::GiveUp) else { return Ok(()) };
    evidence.catch_up(&scope.project)?;
    let mut ledger = Ledger::open(&lock)?;
    let sizes = if limits.bytes.is_some() { Sizes::Measured } else { Sizes::NotMeasured };
    let pruned = prune_locked(&evidence.store, &mut evidence.index, &lock, &mut ledger, scope, limits, sizes)?;
    if !pruned.runs.is_empty() {
        tracing::info!("{} runs of {} were pruned, {} are left", pruned.runs.len(), scope.project, pruned.left);
    }
    Ok(())
}

fn prune_locked(
    store: &Store,
    index: &mut StoreIndex,
    lock: &ProjectLock,
    ledger: &mut Ledger,
    scope: &ProjectScope,
    limits: &RetentionLimits,
    sizes: Sizes,
) -> Result<PruningOutcome, ProjectError> {
    forget_gone_toolchains(store);
    let ended = ledger.finished_prunings();
    let survey = survey_runs(store, &scope.project, sizes)?;
    remove_pruned_leftovers(lock, &survey.pruned_leftovers)?;
    let now = clock::now();
    let plan = plan_prune(&survey.kept, limits, now);
    let pruning = prune_runs(lock, ledger, plan, &scope.asker, now)?;
    apply_written(store, index, &scope.project, &pruning.lines)?;
    Ok(pruning_outcome(&survey, pruning.runs, ended + survey.pruned_leftovers.len()))
}

fn pruning_outcome(survey: &RetentionSurvey, runs: Vec<PrunedRun>, finished: usize) -> PruningOutcome {
    let is_removed = |run_id: &RunId| runs.iter().any(|run| run.run_id == *run_id);
    let bytes = survey.kept.iter().filter(|run| is_removed(&run.run_id)).map(|run| run.bytes).sum();
    let left = survey.kept.len() - runs.len();
    PruningOutcome { runs, bytes, left, finished }
}

// Removes all evidence of a project that a person removes from proctor. The ledger stays, so every verdict and hash does too.

/// Returns what a purge of the project would remove. Removes nothing.
///
/// # Errors
/// When the ledger or the evidence cannot be read.
pub fn survey_purge(state_root: &Path, project: &ProjectId) -> Result<PurgePlan, ProjectError> {
    let store = Store::open(state_root)?;
    let survey = survey_runs(&store, project, Sizes::Measured)?;
    Ok(plan_purge(&survey))
}

/// Removes all evidence of a project, its snapshots and caches, and the link in its directory that leads to the evidence.
/// `shown` is what a person agreed to. Returns what was removed; `None` if there are other runs now, and nothing was removed. On a full disk the store's reserve makes room for the ledger line
/// that has to come first.
///
/// # Errors
/// When another process locks the project's evidence for longer than `wait`, or the ledger, the evidence or the index cannot
/// be used. What was begun is then finished by the next process that writes evidence of the project.
pub fn purge(
    state_root: &Path,
    scope: &ProjectScope,
    shown: &PurgePlan,
    wait: Duration,
) -> Result<Option<PurgePlan>, ProjectError> {
    let store = Store::open(state_root)?;
    let reserve = store.use_reserve()?;
    let purged = purge_locked(&store, scope, shown, wait)?;
    if purged.is_some() {
        remove_project_links(&scope.root, &store.project_directory(&scope.project))?;
    }
    drop(reserve);
    // Without a reserve the evidence is purged all the same, and the next sealed run tries to write one.
    let _unwritten = store.renew_reserve();
    Ok(purged)
}

fn purge_locked(
    store: &Store,
    scope: &ProjectScope,
    shown: &PurgePlan,
    wait: Duration,
) -> Result<Option<PurgePlan>, ProjectError> {
    let mut index = open_index(store)?.index;
    let lock = lock_within(store, &scope.project, wait)?;
    catch_up(store, &mut index, &scope.project)?;
    let mut ledger = Ledger::open(&lock)?;
    // A run whose process died has no ledger line yet. It gets one, so that the purge can name it.
    let recovered = recover_runs(&lock, &mut ledger, &scope.asker)?;
    catch_up(store, &mut index, &scope.project)?;
    let plan = plan_purge(&survey_runs(store, &scope.project, Sizes::Measured)?);
    let is_new = |run: &PrunedRun| !shown.runs.contains(run) && !recovered.contains(&run.run_id);
    if plan.runs.iter().any(is_new) {
        return Ok(None);
    }
    if plan.runs.is_empty() {
        // An earlier purge whose process died was finished when the ledger was opened.
        remove_snapshots_of(&lock)?;
        return Ok(Some(plan));
    }
    let purge = purge_runs(&lock, &mut ledger, plan.clone(), &scope.asker, clock::now())?;
    apply_written(store, &mut index, &scope.project, &purge.lines)?;
    index.empty_log()?;
    remove_snapshots_of(&lock)?;
    Ok(Some(plan))
}
