//! `proctor log`: lists the runs of a project, newest first. The runs are read from the index of the store, and not
//! through the evidence link in the project, because anybody can change that link (S1).

use crate::cli::arguments::LogOptions;
use crate::cli::commands::opening;
use crate::cli::environment::Environment;
use crate::cli::error::CommandError;
use crate::cli::render;
use crate::cli::screen;
use crate::cli::setup;
use crate::model::CommandExit;

pub(crate) fn execute(options: &LogOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let root = setup::project_root(environment, options.place.path())?;
    let (archive, project) = opening::open_registered(environment, &root)?;
    let runs = archive.runs(&project, options.limit).map_err(|error| super::from_run_error(&error))?;
    if runs.is_empty() {
        render::note("no runs yet: `proctor run` makes the first");
    }
    for run in &runs {
        render::line(&screen::log_line(run));
    }
    Ok(CommandExit::Proceed)
}
