//! `proctor list`: every registered project. Read from the ledgers, which are the truth with and without the service.

use crate::api::{ProjectV1, ProjectsV1};
use crate::cli::environment::Environment;
use crate::cli::error::CommandError;
use crate::cli::render;
use crate::cli::screen;
use crate::cli::service_arguments::ListOptions;
use crate::model::CommandExit;
use crate::run::Archive;

/// Carries the command out.
pub(crate) fn execute(options: &ListOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let mut archive = Archive::open(environment.state_root()).map_err(|error| super::of_run(&error))?;
    let projects = archive.projects().map_err(|error| super::of_run(&error))?;
    let projects: Vec<ProjectV1> =
        projects.into_iter().map(|project| ProjectV1 { id: project.id, root: project.path, serving: project.serving }).collect();
    if options.json {
        render::document(&ProjectsV1 { projects });
        return Ok(CommandExit::Proceed);
    }
    if projects.is_empty() {
        render::note("no project is registered: `proctor run` or `proctor add` registers one");
    }
    projects.iter().for_each(|project| render::line(&screen::project_line(project)));
    Ok(CommandExit::Proceed)
}
