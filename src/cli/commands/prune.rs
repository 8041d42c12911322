//! `proctor prune`: removes the evidence of old runs, as far as the project exceeds its limits on kept evidence, and snapshots that
//! nothing uses.

use std::collections::BTreeSet;

use crate::cli::evidence_arguments::PruneOptions;
use crate::cli::{render, screen};
use proctor_app::project::{opening, setup};
use proctor_app::refusals::not_approved_error;
use proctor_app::{CommandError, Environment};
use proctor_model::{CommandExit, HealthProblem, PlanSettings, ProjectId};
use proctor_plan::config::judged_settings;
use proctor_project::{
    ProjectScope, PruningOutcome, RemovedSnapshots, SnapshotsToRemove, make_room, plan_pruning, prune, remove_snapshots,
};

/// The beginning of the names of the settings by which evidence is removed.
const EVIDENCE_SETTINGS: &str = "evidence";

pub(crate) fn execute(options: &PruneOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let root = setup::project_root(environment, options.place.path())?;
    let (configuration, _) = setup::configuration(environment, &root)?;
    let full = |error: &CommandError| error.trouble().is_some_and(|trouble| trouble.problem == HealthProblem::DiskFull);
    // Opening the index may have to write it. The reserve is written again when this value is dropped.
    let mut reserve = None;
    let (mut archive, project) = match opening::open_registered(environment, &root) {
        Err(error) if full(&error) && !options.dry_run => {
            reserve = Some(make_room(environment.state_root())?);
            opening::open_registered(environment, &root)?
        }
        opened => opened?,
    };
    let registered = archive.projects()?.into_iter().map(|project| project.id);
    let registered: BTreeSet<ProjectId> = registered.collect();
    let settings = opening::settings_of(environment, &root, &configuration)?;
    if settings.limits.is_unlimited() {
        render::note("everything is kept: set `keep_runs`, `keep_days` or `max_bytes` in `[evidence]` of proctor.toml");
    }
    if !options.dry_run {
        let judged = PlanSettings { now: judged_settings(&configuration), allowed: configuration.allowed.clone() };
        let unapproved = archive.unapproved_settings(&project, &judged, EVIDENCE_SETTINGS);
        if let Some(unapproved) = unapproved? {
            return Err(not_approved_error(environment, &unapproved));
        }
    }
    drop(reserve);
    let pruned = if options.dry_run {
        plan_pruning(environment.state_root(), &project, &settings.limits)
    } else {
        let scope = ProjectScope { project, root, asker: environment.asker() };
        prune(environment.state_root(), &scope, &settings)
    };
    lines(&pruned?, options.dry_run).iter().for_each(render::line);
    let wanted = if options.snapshots { SnapshotsToRemove::All } else { SnapshotsToRemove::Unused };
    let removed = remove_snapshots(environment.state_root(), &registered, wanted, options.dry_run);
    let removed = removed?;
    snapshot_lines(&removed, options).iter().for_each(render::line);
    Ok(CommandExit::Proceed)
}

fn snapshot_lines(removed: &RemovedSnapshots, options: &PruneOptions) -> Vec<String> {
    let verb = if options.dry_run { "would be removed" } else { "removed" };
    let mut lines: Vec<String> =
        removed.removed.iter().map(|(project, bytes)| format!("snapshots of {project}, {bytes} bytes {verb}")).collect();
    if options.snapshots {
        lines.extend(removed.busy.iter().map(|project| format!("snapshots of {project} are in use and kept")));
    }
    lines
}

fn lines(pruned: &PruningOutcome, dry_run: bool) -> Vec<String> {
    let mut lines: Vec<String> =
        pruned.runs.iter().map(|run| format!("{}  task {}  {}", run.run_id, run.task, run.why.setting())).collect();
    if pruned.finished > 0 {
        lines.push(format!("{} directories that a process which died had left were removed", pruned.finished));
    }
    let verb = if dry_run { "would be removed" } else { "removed" };
    let (runs, bytes) = (screen::counted(pruned.runs.len() as u64, "run"), screen::counted(pruned.bytes, "byte"));
    let kept = if pruned.left == 1 { "1 run is kept".to_owned() } else { format!("{} runs are kept", pruned.left) };
    lines.push(format!("{runs}, {bytes} {verb}; {kept}"));
    lines
}
