//! The keys that sign evidence, and the signed head of a ledger. Private keys are never shown.

use std::path::Path;
use std::time::Duration;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::project::{opening, setup};
use proctor_evidence::{
    AnchorFileError, AnchorRefusal, Endorsement, EvidenceError, KeyRing, KnownKey, LedgerLog, LockError, ProjectLock,
    SignedCheckpoint, Store, WaitDecision, allowed_signers, can_endorse, exported_keys, list_projects, read_key_ring, read_log,
    read_regular_file, rotate_key, sign_file, verifier_key, write_anchor,
};
use proctor_model::{CommandExit, ProjectId};
use proctor_project::{ProjectError, check_ledgers, registrar};
use proctor_sandbox::process::clock::{self, Monotonic};

/// How long [`rotate`] waits for processes that write evidence.
const LONGEST_WAIT: Duration = Duration::from_secs(15 * 60);
/// The longest file that [`sign`] signs, in bytes.
const LONGEST_SIGNED: u64 = 16 << 20;

/// Returns the store's keys, and the projects whose ledgers they sign.
///
/// # Errors
/// When the store cannot be read.
pub fn list(environment: &Environment) -> Result<(KeyRing, Vec<ProjectId>), CommandError> {
    let store = open(environment)?;
    Ok((read_key_ring(&store)?, list_projects(&store)?))
}

/// Refuses to give up a key that can still sign: nothing can endorse the key that follows a lost one, and everything that was signed before
/// is verified with that word from then on.
///
/// # Errors
/// When the key is there, or the store cannot be read.
pub fn refuse_loss(environment: &Environment) -> Result<(), CommandError> {
    if can_endorse(&open(environment)?)? {
        return Err(CommandError::new(CommandExit::Usage, "the key is not lost: its private half is there and can sign")
            .hint("`proctor key rotate` replaces it, and it signs the handing-over"));
    }
    Ok(())
}

/// Replaces the signing key, and returns the new one with the projects that it signs for. Every project is locked first, so that no run
/// signs with the old key afterwards; where another process has the lock, it is waited for.
///
/// # Errors
/// When a lock cannot be had within 15 minutes, a ledger is faulty, or the key cannot be written.
pub fn rotate(environment: &Environment, endorsement: Endorsement) -> Result<(KnownKey, Vec<ProjectId>), CommandError> {
    let store = &open(environment)?;
    let begun = clock::monotonic();
    let _no_new_project = lock_in_turn(environment, store, &registrar(), begun)?;
    let mut locks = Vec::new();
    for project in list_projects(store)? {
        locks.push(lock_in_turn(environment, store, &project, begun)?);
    }
    // A ledger that was cut has a sound end, and only the index knows that lines are missing.
    if let Err(error) = check_ledgers(store) {
        return Err(if let ProjectError::Evidence(error) = &error { not_replaced(error) } else { CommandError::from(error) });
    }
    let key = rotate_key(store, &locks, endorsement, clock::now()).map_err(|error| not_replaced(&error))?;
    Ok((key, locks.iter().map(|lock| lock.project().clone()).collect()))
}

/// Takes the lock of a project, and says once for whom it waits.
fn lock_in_turn(
    environment: &Environment,
    store: &Store,
    project: &ProjectId,
    begun: Monotonic,
) -> Result<ProjectLock, CommandError> {
    let mut has_said = false;
    let mut waiting = || {
        if !has_said {
            has_said = true;
            environment.note(&format!("another process works on {project}: the key is replaced when it is done"));
        }
        if clock::monotonic().since(begun) < LONGEST_WAIT { WaitDecision::GoOn } else { WaitDecision::GiveUp }
    };
    store.lock(project, &mut waiting).map_err(|error| from_lock_error(&error))
}

fn not_replaced(error: &EvidenceError) -> CommandError {
    CommandError::from(error).hint("the key was not replaced: run the command again when that is mended")
}

/// Returns the public keys, or the one with this number: in PEM, or as lines of an allowed-signers file of SSH.
///
/// # Errors
/// When there is no such key, or the store cannot be read.
pub fn export(environment: &Environment, ssh: bool, number: Option<u32>) -> Result<String, CommandError> {
    let ring = read_key_ring(&open(environment)?)?;
    let text = match number {
        None => exported_keys(&ring, ssh),
        Some(number) => ring
            .keys()
            .iter()
            .find(|key| key.number() == number)
            .map(|key| if ssh { allowed_signers(key.public()) } else { key.public().to_pem() }),
    };
    text.ok_or_else(|| no_such_key(number.map_or("there is no key yet".to_owned(), |number| format!("there is no key {number}"))))
}

fn no_such_key(what: String) -> CommandError {
    CommandError::new(CommandExit::Usage, what).hint("`proctor key show` lists the keys; the first `proctor run` makes the first")
}

/// Returns the signature of a file, as `ssh-keygen -Y verify` reads it.
///
/// # Errors
/// When the file cannot be read or is too long, or there is no key yet.
pub fn sign(environment: &Environment, file: &Path) -> Result<String, CommandError> {
    let store = open(environment)?;
    let message = read_regular_file(&environment.absolute(file), LONGEST_SIGNED)
        .map_err(|error| CommandError::of(CommandExit::Usage, &error))?;
    let signature = sign_file(&store, &message)?.ok_or_else(|| no_such_key("there is no key yet".to_owned()))?;
    Ok(String::from_utf8_lossy(&signature).into_owned())
}

/// Returns the signed head of the ledger of the project in a directory, as `proctor verify --anchor` reads it.
///
/// # Errors
/// When the project is not registered, or there is no key yet.
pub fn checkpoint(environment: &Environment, project: &Path) -> Result<String, CommandError> {
    let (store, project) = open_project(environment, project)?;
    Ok(signed_head(&store, &project)?.1.to_text())
}

/// Returns the key that verifies checkpoints of the project in a directory, in the form of signed notes.
///
/// # Errors
/// When the project is not registered, or there is no key yet.
pub fn checkpoint_key(environment: &Environment, project: &Path) -> Result<String, CommandError> {
    let (store, project) = open_project(environment, project)?;
    let ring = read_key_ring(&store)?;
    Ok(verifier_key(&project, ring.current().ok_or_else(no_key)?.public()))
}

/// Writes the signed head of the ledger into a file, and returns how many lines the ledger has.
///
/// # Errors
/// When the project is not registered, there is no key yet, or the file has something else than an earlier head of this ledger.
pub fn anchor(environment: &Environment, project: &Path, file: &Path) -> Result<u64, CommandError> {
    let (store, project) = open_project(environment, project)?;
    let (log, head) = signed_head(&store, &project)?;
    write_anchor(&environment.absolute(file), &log, &head).map_err(|error| from_anchor_file_error(&error))?;
    Ok(log.size())
}

fn open(environment: &Environment) -> Result<Store, CommandError> {
    Ok(Store::open(environment.state_root())?)
}

fn open_project(environment: &Environment, project: &Path) -> Result<(Store, ProjectId), CommandError> {
    let root = setup::project_root(environment, project)?;
    let (_, project) = opening::open_registered(environment, &root)?;
    Ok((open(environment)?, project))
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

fn from_anchor_file_error(error: &AnchorFileError) -> CommandError {
    match error {
        AnchorFileError::Refused { source, .. } => {
            let exit = match source {
                AnchorRefusal::NotOurs(_) | AnchorRefusal::OtherProject(_) => CommandExit::Usage,
                AnchorRefusal::Rewritten(_) => CommandExit::EvidenceWrong,
            };
            CommandError::caused(exit, error.to_string(), source).hint(source.hint())
        }
        AnchorFileError::Evidence(error) => CommandError::from(error),
    }
}

fn from_lock_error(error: &LockError) -> CommandError {
    let exit = match error {
        LockError::Busy { .. } => CommandExit::NoFreshVerdict,
        LockError::Evidence(_) => CommandExit::OwnFault,
    };
    CommandError::of(exit, error).hint(error.hint())
}
