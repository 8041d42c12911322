//! `proctor key checkpoint`: prints the signed head of the ledger for people who do not have the ledger.

use crate::cli::anchor_arguments::CheckpointOptions;
use crate::cli::commands::anchor::no_key;
use crate::cli::commands::key::from_evidence_error;
use crate::cli::render;
use proctor_app::project::{opening, setup};
use proctor_app::{CommandError, Environment};
use proctor_evidence::{Store, read_key_ring, read_log, verifier_key};
use proctor_model::CommandExit;

pub(crate) fn execute(options: &CheckpointOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let root = setup::project_root(environment, &options.project)?;
    let (_, project) = opening::open_registered(environment, &root)?;
    let store = Store::open(environment.state_root()).map_err(|error| from_evidence_error(&error))?;
    if options.verifier_key {
        let ring = read_key_ring(&store).map_err(|error| from_evidence_error(&error))?;
        let key = ring.current().ok_or_else(no_key)?;
        render::line(&verifier_key(&project, key.public()));
        return Ok(CommandExit::Proceed);
    }
    let log = read_log(&store, &project).map_err(|error| from_evidence_error(&error))?;
    let head = log.sign_head(&store).map_err(|error| from_evidence_error(&error))?.ok_or_else(no_key)?;
    render::text(&head.to_text());
    Ok(CommandExit::Proceed)
}
