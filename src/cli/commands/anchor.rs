//! The signed head of the ledger, for people who do not have the ledger: `proctor key checkpoint` prints it, `proctor key anchor` copies it
//! to another place, where this machine's user cannot rewrite it.

use std::path::Path;

use crate::cli::evidence_arguments::{AnchorOptions, CheckpointOptions};
use crate::cli::render;
use proctor_app::project::{opening, setup};
use proctor_app::{CommandError, Environment};
use proctor_evidence::{
    AnchorFileError, AnchorRefusal, GitAnchorError, LedgerLog, SignedCheckpoint, Store, read_key_ring, read_log, verifier_key,
    write_anchor,
};
use proctor_git::GitReadError;
use proctor_model::{CommandExit, ProjectId};

pub(super) fn anchor(options: &AnchorOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let Some(file) = &options.file else {
        return Err(CommandError::new(CommandExit::Usage, "nothing says to which file the head of the ledger is to be written")
            .hint(
                "name it: `--file FILE`; git makes it a note: `proctor key checkpoint | git notes --ref=proctor add -f -F -`",
            ));
    };
    let (store, project) = open(&options.project, environment)?;
    let (log, head) = signed_head(&store, &project)?;
    write_anchor(&environment.absolute(file), &log, &head).map_err(|error| from_anchor_file_error(&error))?;
    render::line(&format!("{} lines anchored · {}", log.size(), file.display()));
    Ok(CommandExit::Proceed)
}

pub(super) fn print_head(options: &CheckpointOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let (store, project) = open(&options.project, environment)?;
    if options.verifier_key {
        let ring = read_key_ring(&store)?;
        let key = ring.current().ok_or_else(no_key)?;
        render::line(&verifier_key(&project, key.public()));
    } else {
        render::text(&signed_head(&store, &project)?.1.to_text());
    }
    Ok(CommandExit::Proceed)
}

fn open(project: &Path, environment: &Environment) -> Result<(Store, ProjectId), CommandError> {
    let root = setup::project_root(environment, project)?;
    let (_, project) = opening::open_registered(environment, &root)?;
    Ok((Store::open(environment.state_root())?, project))
}

fn signed_head(store: &Store, project: &ProjectId) -> Result<(LedgerLog, SignedCheckpoint), CommandError> {
    let log = read_log(store, project)?;
    let head = log.sign_head(store)?.ok_or_else(no_key)?;
    Ok((log, head))
}

/// Returns the error that the store has no signing key yet.
fn no_key() -> CommandError {
    CommandError::new(CommandExit::Usage, "there is no key yet").hint("the first `proctor run` makes it")
}

/// Converts the refusal to replace a checkpoint into a command error.
pub(super) fn from_anchor_refusal(refusal: &AnchorRefusal, what: String) -> CommandError {
    let exit = match refusal {
        AnchorRefusal::NotOurs(_) | AnchorRefusal::OtherProject(_) => CommandExit::Usage,
        AnchorRefusal::Rewritten(_) => CommandExit::EvidenceWrong,
    };
    CommandError::caused(exit, what, refusal).hint(refusal.hint())
}

/// Converts an error of the git repository into a command error.
pub(super) fn from_git_error(error: &GitAnchorError) -> CommandError {
    let exit = match error {
        GitAnchorError::Evidence(error) => return CommandError::from(error),
        GitAnchorError::Read(GitReadError::Object { .. }) => CommandExit::EvidenceWrong,
        GitAnchorError::Read(GitReadError::Unreadable { .. }) => CommandExit::OwnFault,
        GitAnchorError::Read(
            GitReadError::NoObjects { .. }
            | GitReadError::Format { .. }
            | GitReadError::Name(_)
            | GitReadError::Linked { .. }
            | GitReadError::NotAFile { .. }
            | GitReadError::TooLong { .. },
        )
        | GitAnchorError::NoRepository { .. }
        | GitAnchorError::TooManyNotes
        | GitAnchorError::NoteInTheWay { .. }
        | GitAnchorError::Locked { .. } => CommandExit::Usage,
    };
    CommandError::of(exit, error).hint(error.hint())
}

fn from_anchor_file_error(error: &AnchorFileError) -> CommandError {
    match error {
        AnchorFileError::Refused { source, .. } => from_anchor_refusal(source, error.to_string()),
        AnchorFileError::Evidence(error) => CommandError::from(error),
    }
}
