//! `proctor export`: a run written out, to be verified by somebody else.

use crate::cli::commands::key::of_evidence;
use crate::cli::commands::opening;
use crate::cli::environment::Environment;
use crate::cli::error::CommandError;
use crate::cli::evidence_arguments::ExportOptions;
use crate::cli::render;
use crate::cli::setup;
use crate::evidence::{Store, export_run};
use crate::model::CommandExit;

/// Carries the command out.
pub(crate) fn execute(options: &ExportOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let root = setup::project_root(environment, &options.project)?;
    let (archive, project) = opening::open_registered(environment, &root)?;
    let found = archive.find(&project, options.run.as_deref()).map_err(|error| super::of_run(&error))?;
    let run = found.ok_or_else(|| {
        CommandError::new(CommandExit::Usage, "there is no such sealed run").hint("`proctor log` lists the runs")
    })?;
    let to = environment.absolute(&options.to.clone().unwrap_or_else(|| run.run_id.as_str().into()));
    if to.symlink_metadata().is_ok() {
        return Err(CommandError::new(CommandExit::Usage, format!("`{}` is there already", to.display()))
            .hint("name a directory that is not there: `--to DIR`"));
    }
    let store = Store::open(environment.state_root()).map_err(|error| of_evidence(&error))?;
    let key = export_run(&store, &project, (&run.task, &run.run_id), &to).map_err(|error| of_evidence(&error))?;
    render::line(&format!("{} · signed by key {}", to.display(), key.id()));
    Ok(CommandExit::Proceed)
}
