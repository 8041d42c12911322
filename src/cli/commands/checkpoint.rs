//! `proctor key checkpoint`: prints the signed head of the ledger, or a proof about it, for people who do not have the ledger.

use std::path::Path;

use crate::cli::anchor_arguments::CheckpointOptions;
use crate::cli::commands::anchor::{from_anchor_refusal, no_key};
use crate::cli::commands::key::from_evidence_error;
use crate::cli::render;
use proctor_app::project::{opening, setup};
use proctor_app::{CommandError, Environment};
use proctor_evidence::{
    LedgerLog, LogDirectoryError, SignedCheckpoint, Store, read_anchor, read_key_ring, read_log, verifier_key,
    write_log_directory,
};
use proctor_model::{CommandExit, ProjectId};
use proctor_project::StoreReader;

pub(crate) fn execute(options: &CheckpointOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let root = setup::project_root(environment, &options.project)?;
    let (archive, project) = opening::open_registered(environment, &root)?;
    let store = Store::open(environment.state_root()).map_err(|error| from_evidence_error(&error))?;
    if options.verifier_key {
        let ring = read_key_ring(&store).map_err(|error| from_evidence_error(&error))?;
        let key = ring.current().ok_or_else(no_key)?;
        render::line(&verifier_key(&project, key.public()));
        return Ok(CommandExit::Proceed);
    }
    let log = read_log(&store, &project).map_err(|error| from_evidence_error(&error))?;
    let head = log.sign_head(&store).map_err(|error| from_evidence_error(&error))?.ok_or_else(no_key)?;
    if let Some(run) = &options.proof {
        render::text(&proof(&archive, &project, &log, &head, run)?);
    } else if let Some(file) = &options.since {
        render::text(&progress(&log, &head, &environment.absolute(file))?);
    } else if let Some(directory) = &options.log {
        let written =
            write_log_directory(&environment.absolute(directory), &log, &head).map_err(|error| from_directory_error(&error))?;
        render::line(&format!("{} · {} lines · {written} files written", directory.display(), log.size()));
    } else {
        render::text(&head.to_text());
    }
    Ok(CommandExit::Proceed)
}

fn proof(
    archive: &StoreReader,
    project: &ProjectId,
    log: &LedgerLog,
    head: &SignedCheckpoint,
    run: &str,
) -> Result<String, CommandError> {
    let found = archive.find(project, Some(run)).map_err(|error| super::from_run_error(&error))?;
    let index = found.and_then(|run| log.index_of(&run.run_id));
    let proof = index.and_then(|index| log.prove_inclusion(index, head));
    proof.map(|proof| proof.to_text()).ok_or_else(|| {
        CommandError::new(CommandExit::Usage, format!("there is no sealed run `{run}`")).hint("`proctor log` lists the runs")
    })
}

fn progress(log: &LedgerLog, head: &SignedCheckpoint, file: &Path) -> Result<String, CommandError> {
    let anchor = read_anchor(file).map_err(|error| from_evidence_error(&error))?.ok_or_else(|| {
        CommandError::new(CommandExit::Usage, format!("there is no file `{}`", file.display()))
            .hint("name the file with the checkpoint that somebody has")
    })?;
    let earlier = anchor
        .replaceable_by(log)
        .map_err(|refusal| from_anchor_refusal(&refusal, format!("nothing follows from `{}`", file.display())))?;
    let progress = log.prove_consistency(earlier.size, head).expect("the ledger goes on from it");
    Ok(progress.to_text())
}

fn from_directory_error(error: &LogDirectoryError) -> CommandError {
    let exit = match error {
        LogDirectoryError::Differs { .. } => CommandExit::EvidenceWrong,
        LogDirectoryError::NotACheckpoint { .. } => CommandExit::Usage,
        LogDirectoryError::Evidence(error) => return from_evidence_error(error),
    };
    CommandError::of(exit, error).hint(error.hint())
}
