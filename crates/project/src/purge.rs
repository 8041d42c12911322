//! Removes all evidence of a project that a person removes from proctor. The ledger stays, so every verdict and hash does too.

use std::path::Path;
use std::time::Duration;

use crate::checked_index::{apply_written, catch_up};
use crate::error::ProjectError;
use crate::evidence::{lock_within, recover_runs};
use crate::repaired_index::open_index;
use crate::request::ProjectScope;
use crate::snapshot_storage::remove_snapshots_of;
use proctor_evidence::{Ledger, PurgePlan, Sizes, Store, plan_purge, purge_runs, remove_project_links, survey_runs};
use proctor_model::{ProjectId, PrunedRun};
use proctor_sandbox::process::clock;

/// Returns what a purge of the project would remove. Removes nothing.
///
/// # Errors
/// When the ledger or the evidence cannot be read.
pub fn survey_purge(state_root: &Path, project: &ProjectId) -> Result<PurgePlan, ProjectError> {
    let store = Store::open(state_root).map_err(ProjectError::Evidence)?;
    let survey = survey_runs(&store, project, Sizes::Measured).map_err(ProjectError::Evidence)?;
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
    let store = Store::open(state_root).map_err(ProjectError::Evidence)?;
    let reserve = store.use_reserve().map_err(ProjectError::Evidence)?;
    let purged = purge_locked(&store, scope, shown, wait)?;
    if purged.is_some() {
        remove_project_links(&scope.root, &store.project_directory(&scope.project)).map_err(ProjectError::Evidence)?;
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
    let mut ledger = Ledger::open(&lock).map_err(ProjectError::Evidence)?;
    // A run whose process died has no ledger line yet. It gets one, so that the purge can name it.
    let recovered = recover_runs(&lock, &mut ledger, &scope.asker)?;
    catch_up(store, &mut index, &scope.project)?;
    let plan = plan_purge(&survey_runs(store, &scope.project, Sizes::Measured).map_err(ProjectError::Evidence)?);
    let is_new = |run: &PrunedRun| !shown.runs.contains(run) && !recovered.contains(&run.run_id);
    if plan.runs.iter().any(is_new) {
        return Ok(None);
    }
    if plan.runs.is_empty() {
        // An earlier purge whose process died was finished when the ledger was opened.
        remove_snapshots_of(&lock)?;
        return Ok(Some(plan));
    }
    let purge = purge_runs(&lock, &mut ledger, plan.clone(), &scope.asker, clock::now()).map_err(ProjectError::Evidence)?;
    apply_written(store, &mut index, &scope.project, &purge.lines)?;
    index.empty_log().map_err(ProjectError::Index)?;
    remove_snapshots_of(&lock)?;
    Ok(Some(plan))
}
