//! `proctor schema`: prints the JSON Schema of test specifications.

use crate::cli::error::CommandError;
use crate::cli::render;
use crate::model::CommandExit;
use crate::spec::specification::SCHEMA_TEXT;

pub(crate) fn execute() -> Result<CommandExit, CommandError> {
    render::text(SCHEMA_TEXT);
    Ok(CommandExit::Proceed)
}
