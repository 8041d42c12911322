//! `proctor history diff`: compares two runs.

use std::path::Path;

use crate::cli::environment;
use crate::cli::history_arguments::DiffOptions;
use crate::cli::render;
use crate::cli::screen;
use proctor_app::history::{ComparedRuns, compare};
use proctor_app::project::setup;
use proctor_app::{CommandError, Environment};
use proctor_model::CommandExit;

pub(crate) fn execute(options: &DiffOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let root = setup::project_root(environment, &options.project)?;
    let runs = match &options.from {
        Some(from) => ComparedRuns::Named { from, to: options.to.as_deref() },
        None if options.since_green => ComparedRuns::SinceGreen,
        None => ComparedRuns::LastTwo,
    };
    if options.json {
        render::document(&compare(environment, &root, runs)?);
        return Ok(CommandExit::Proceed);
    }
    show(environment, &root, runs)
}

/// Shows how two runs differ.
pub(crate) fn show(environment: &Environment, root: &Path, runs: ComparedRuns<'_>) -> Result<CommandExit, CommandError> {
    let compared = compare(environment, root, runs)?;
    screen::comparison_lines(&compared.comparison, environment::style(environment)).iter().for_each(render::line);
    Ok(CommandExit::Proceed)
}
