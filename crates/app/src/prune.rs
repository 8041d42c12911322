//! Removes the evidence of old runs, as far as a project exceeds its limits on kept evidence, and snapshots that nothing uses.

use std::collections::BTreeSet;
use std::path::Path;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::project::{opening, setup};
use crate::refusals::not_approved_error;
use proctor_model::{HealthProblem, PlanSettings, ProjectId};
use proctor_plan::config::judged_settings;
use proctor_project::{
    ProjectScope, PruningOutcome, RemovedSnapshots, SnapshotsToRemove, make_room, plan_pruning, remove_snapshots,
};

/// The beginning of the names of the settings by which evidence is removed.
const EVIDENCE_SETTINGS: &str = "evidence";

/// What was removed, or would be.
pub struct Pruned {
    pub runs: PruningOutcome,
    /// An error leaves what happened to the runs as it is.
    pub snapshots: Result<RemovedSnapshots, CommandError>,
}

/// Removes what the limits of the project in `directory` do not keep; `dry_run` only says what that would be.
///
/// # Errors
/// When the project is not registered, nobody approved a limit that removes more, or evidence cannot be removed.
pub fn prune(
    environment: &Environment,
    directory: &Path,
    wanted: SnapshotsToRemove,
    dry_run: bool,
) -> Result<Pruned, CommandError> {
    let root = setup::project_root(environment, directory)?;
    let (configuration, _) = setup::configuration(environment, &root)?;
    let full = |error: &CommandError| error.trouble().is_some_and(|trouble| trouble.problem == HealthProblem::DiskFull);
    // Opening the index may have to write it. The reserve is written again when this value is dropped.
    let mut reserve = None;
    let (mut archive, project) = match opening::open_registered(environment, &root) {
        Err(error) if full(&error) && !dry_run => {
            reserve = Some(make_room(environment.state_root())?);
            opening::open_registered(environment, &root)?
        }
        opened => opened?,
    };
    let registered: BTreeSet<ProjectId> = archive.projects()?.into_iter().map(|project| project.id).collect();
    let settings = opening::settings_of(environment, &root, &configuration)?;
    if settings.limits.is_unlimited() {
        environment.note("everything is kept: set `keep_runs`, `keep_days` or `max_bytes` in `[evidence]` of proctor.toml");
    }
    if !dry_run {
        let judged = PlanSettings { now: judged_settings(&configuration), allowed: configuration.allowed.clone() };
        if let Some(unapproved) = archive.unapproved_settings(&project, &judged, EVIDENCE_SETTINGS)? {
            return Err(not_approved_error(environment, &unapproved));
        }
    }
    drop(reserve);
    let state_root = environment.state_root();
    let runs = if dry_run {
        plan_pruning(state_root, &project, &settings.limits)
    } else {
        let scope = ProjectScope { project, root, asker: environment.asker() };
        proctor_project::prune(state_root, &scope, &settings)
    }?;
    let snapshots = remove_snapshots(state_root, &registered, wanted, dry_run).map_err(CommandError::from);
    Ok(Pruned { runs, snapshots })
}
