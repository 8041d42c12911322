//! `proctor why`: shows which rule decides whether a path belongs to the project's tree. It needs neither a run nor the service.
//! If the service watches the project, the last event of the path is shown as well.

use crate::cli::arguments::WhyOptions;
use crate::cli::commands::known::why_known;
use crate::cli::render;
use proctor_app::project::{setup, specification_files};
use proctor_app::why::why;
use proctor_app::{CommandError, Environment};
use proctor_model::CommandExit;

pub(crate) fn execute(options: &WhyOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let root = setup::project_root(environment, &options.project)?;
    // Without a path, what is known is asked for.
    let Some(path) = &options.path else {
        return why_known(environment, &specification_files::load_project(environment, &root)?);
    };
    let why = why(environment, &root, &environment.absolute(path))?;
    if options.json {
        render::document(&why.document());
    } else {
        why.explanation.lines().iter().for_each(render::line);
        if let Some(heard) = why.heard_line() {
            render::line(&heard);
        }
        if !why.exists {
            render::note("note: nothing has this name now");
        }
    }
    Ok(CommandExit::Proceed)
}
