//! `proctor generate api`: prints the page about the control socket.

use crate::cli::render;
use proctor_app::CommandError;
use proctor_model::CommandExit;

pub(crate) fn execute() -> Result<CommandExit, CommandError> {
    render::text(&proctor_api::routes_page());
    Ok(CommandExit::Proceed)
}
