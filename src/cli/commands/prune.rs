//! `proctor prune`: removes the evidence of old runs, as far as the project exceeds its limits on kept evidence, and snapshots that
//! nothing uses.

use crate::cli::evidence_arguments::PruneOptions;
use crate::cli::{render, screen};
use proctor_app::{CommandError, Environment, prune};
use proctor_model::CommandExit;
use proctor_project::{PruningOutcome, RemovedSnapshots, SnapshotsToRemove};

pub(crate) fn execute(options: &PruneOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let wanted = if options.snapshots { SnapshotsToRemove::All } else { SnapshotsToRemove::Unused };
    let pruned = prune::prune(environment, options.place.path(), wanted, options.dry_run)?;
    lines(&pruned.runs, options.dry_run).iter().for_each(render::line);
    snapshot_lines(&pruned.snapshots?, options).iter().for_each(render::line);
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
