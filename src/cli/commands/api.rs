//! `proctor api`: the page that describes the control socket to a person.

use crate::cli::error::CommandError;
use crate::cli::render;
use crate::cli::service_arguments::ApiOptions;
use crate::model::CommandExit;

/// Carries the command out.
pub(crate) fn execute(_options: &ApiOptions) -> Result<CommandExit, CommandError> {
    render::bytes(crate::api::page().as_bytes());
    Ok(CommandExit::Proceed)
}
