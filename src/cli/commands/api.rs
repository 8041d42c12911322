//! `proctor api`: prints the page about the control socket.

use crate::cli::error::CommandError;
use crate::cli::render;
use crate::cli::service_arguments::ApiOptions;
use crate::model::CommandExit;

pub(crate) fn execute(_options: &ApiOptions) -> Result<CommandExit, CommandError> {
    render::text(&crate::api::page());
    Ok(CommandExit::Proceed)
}
