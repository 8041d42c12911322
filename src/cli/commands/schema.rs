//! `proctor generate schema`: prints the JSON Schemas of what proctor reads and writes.

use crate::cli::generate_arguments::{SchemaOptions, SchemaSubject};
use crate::cli::render;
use crate::cli::schemas;
use proctor_app::CommandError;
use proctor_model::CommandExit;
use proctor_plan::spec::specification::SCHEMA_TEXT;

pub(crate) fn execute(options: &SchemaOptions) -> Result<CommandExit, CommandError> {
    render::text(match options.what {
        SchemaSubject::Specification => SCHEMA_TEXT,
        SchemaSubject::Report => schemas::REPORT,
        SchemaSubject::Debt => schemas::DEBT,
        SchemaSubject::Ledger => schemas::LEDGER,
        SchemaSubject::Verify => schemas::VERIFY,
        SchemaSubject::Status => schemas::STATUS,
    });
    Ok(CommandExit::Proceed)
}
