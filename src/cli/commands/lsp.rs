//! `proctor lsp`: a server of the Language Server Protocol on standard input and output.

use std::io::{BufReader, stdin};

use crate::cli::render;
use crate::cli::service_arguments::LspOptions;
use proctor_app::project::setup;
use proctor_app::{Caller, CommandError, Environment, Stop};
use proctor_model::CommandExit;

pub(crate) fn execute(options: &LspOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let directory = setup::named_root(environment, options.place.path())?;
    let environment = environment.with_caller(Caller::of_program(Stop::default()));
    proctor_lsp::serve(&environment, &directory, BufReader::new(stdin()), render::protocol_output()).or_else(|error| {
        // An editor that is gone is no fault.
        tracing::info!("`proctor lsp` ended: {error}");
        Ok(CommandExit::Proceed)
    })
}
