//! `proctor prune`: removes the runs that exceed the project's limits.

use crate::cli::commands::opening;
use crate::cli::environment::Environment;
use crate::cli::error::CommandError;
use crate::cli::evidence_arguments::PruneOptions;
use crate::cli::render;
use crate::cli::setup;
use crate::model::CommandExit;
use crate::project::{ProjectScope, PruningOutcome, plan_pruning, prune};

pub(crate) fn execute(options: &PruneOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let root = setup::project_root(environment, &options.directory)?;
    let (configuration, _) = setup::configuration(&root)?;
    let (_, project) = opening::open_registered(environment, &root)?;
    let settings = opening::settings_of(environment.state_root(), &root, &configuration)?;
    if settings.limits.is_unlimited() {
        render::note("everything is kept: set `keep_runs`, `keep_days` or `max_bytes` in `[evidence]` of proctor.toml");
    }
    let pruned = if options.dry_run {
        plan_pruning(environment.state_root(), &project, &settings.limits)
    } else {
        let scope = ProjectScope { project, root, asker: environment.asker() };
        prune(environment.state_root(), &scope, &settings)
    };
    lines(&pruned.map_err(|error| super::from_run_error(&error))?, options.dry_run).iter().for_each(|line| render::line(line));
    Ok(CommandExit::Proceed)
}

fn lines(pruned: &PruningOutcome, dry_run: bool) -> Vec<String> {
    let mut lines: Vec<String> =
        pruned.runs.iter().map(|run| format!("{}  task {}  {}", run.run_id, run.task, run.why.setting())).collect();
    if pruned.finished > 0 {
        lines.push(format!("{} directories that a process which died had left were removed", pruned.finished));
    }
    let verb = if dry_run { "would be removed" } else { "removed" };
    lines.push(format!("{} runs, {} bytes {verb}; {} runs are kept", pruned.runs.len(), pruned.bytes, pruned.left));
    lines
}
