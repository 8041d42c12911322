//! `proctor why`: shows which rule decides whether a path belongs to the project's tree. It needs neither a run nor the service.
//! If the service watches the project, the last event of the path is shown as well.

use crate::cli::arguments::WhyOptions;
use crate::cli::render;
use proctor_app::project::setup;
use proctor_app::why::why;
use proctor_app::{CommandError, Environment};
use proctor_model::CommandExit;

pub(crate) fn execute(options: &WhyOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let root = setup::project_root(environment, &options.project)?;
    let why = why(environment, &root, &environment.absolute(&options.path))?;
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
