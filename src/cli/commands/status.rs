//! `proctor status`: shows whether each project's last verdict is for the tree as it is now. Nothing is run.

use crate::cli::environment;
use crate::cli::render;
use crate::cli::screen;
use crate::cli::service_arguments::StatusOptions;
use proctor_api::StatusV1;
use proctor_app::project::{setup, specification_files};
use proctor_app::status::{Standing, status, with_failures};
use proctor_app::{CommandError, Environment};
use proctor_model::CommandExit;
use proctor_sandbox::process::clock;

pub(crate) fn execute(options: &StatusOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let environment = &environment.with_values(&options.values.set);
    let wanted = if options.scope.all { None } else { Some(setup::project_root(environment, options.scope.place.path())?) };
    let task = options.scope.task.as_deref().map(specification_files::read_task).transpose()?;
    let Standing { mut status, failure } = status(environment, wanted, task.as_ref())?;
    if options.json {
        // What people read here has one line for each task, so no report is read for it.
        status.projects = status.projects.into_iter().map(|project| with_failures(environment, project)).collect();
    }
    show(&status, options.json, environment);
    failure.map_or(Ok(CommandExit::Proceed), Err)
}

fn show(status: &StatusV1, json: bool, environment: &Environment) {
    if json {
        render::document(status);
        return;
    }
    let style = environment::style(environment);
    if status.projects.is_empty() {
        render::note("no project is registered: `proctor run` or `proctor service add` registers one");
    }
    for project in &status.projects {
        screen::project_status(project, clock::now(), style).iter().for_each(render::line);
    }
}
