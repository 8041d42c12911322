//! `proctor key`: shows and replaces the keys that sign evidence. Private keys are never shown.

use std::path::Path;
use std::time::Duration;

use crate::cli::commands::{anchor, approve};
use crate::cli::evidence_arguments::{KeyOptions, KeyVerb};
use crate::cli::{environment, render};
use proctor_app::{CommandError, Environment};
use proctor_evidence::{
    Endorsement, EvidenceError, KnownKey, LockError, ProjectLock, Store, WaitDecision, allowed_signers, can_endorse,
    exported_keys, list_projects, read_key_ring, read_regular_file, rotate_key, sign_file,
};
use proctor_model::{CommandExit, ProjectId};
use proctor_project::{ProjectError, check_ledgers, registrar};
use proctor_sandbox::process::clock::{self, Monotonic};

/// How long `rotate` waits for processes that write evidence.
const LONGEST_WAIT: Duration = Duration::from_secs(15 * 60);
/// The longest file that `sign` signs, in bytes.
const LONGEST_SIGNED: u64 = 16 << 20;
/// What a person types to say that the key is lost.
const LOST: &str = "lost";

pub(crate) fn execute(options: &KeyOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let open = || Store::open(environment.state_root()).map_err(CommandError::from);
    match &options.verb {
        KeyVerb::Checkpoint(options) => anchor::print_head(options, environment),
        KeyVerb::Anchor(options) => anchor::anchor(options, environment),
        KeyVerb::Show => show(&open()?),
        KeyVerb::Rotate { lost: false } => rotate(&open()?, Endorsement::ByThePreviousKey),
        KeyVerb::Rotate { lost: true } => {
            let store = open()?;
            if !is_loss_confirmed(&store, environment)? {
                render::line("the key was not replaced");
                return Ok(CommandExit::PersonNeeded);
            }
            rotate(&store, Endorsement::PreviousKeyIsLost)
        }
        KeyVerb::Export { ssh, number } => export(&open()?, *ssh, *number),
        KeyVerb::Sign { file } => sign(&open()?, &environment.absolute(file)),
    }
}

fn show(store: &Store) -> Result<CommandExit, CommandError> {
    let ring = read_key_ring(store)?;
    if ring.keys().is_empty() {
        render::note("no key yet: the first `proctor run` makes it");
    }
    let projects = list_projects(store)?;
    for (position, key) in ring.keys().iter().enumerate() {
        key_lines(key, ring.keys().get(position + 1), &projects).iter().for_each(render::line);
    }
    Ok(CommandExit::Proceed)
}

/// Returns the lines about a key: with which lines of which ledger it signs. `next` is the key that replaced it.
fn key_lines(key: &KnownKey, next: Option<&KnownKey>, projects: &[ProjectId]) -> Vec<String> {
    let use_of = if next.is_none() { "in use" } else { "replaced, its private half destroyed" };
    let mut lines = vec![
        format!("key {} · {use_of} · made {} · {}", key.number(), key.made(), key.id()),
        format!("  {}", key.public().to_ssh_line()),
    ];
    for project in projects {
        let end = |key: &KnownKey| key.took_over_after(project).map_or(0, |position| position.sequence.0);
        let (from, to) = (end(key) + 1, next.map(end));
        match to {
            None if from > 1 => lines.push(format!("  signs {project} from line {from}")),
            Some(to) if to >= from => lines.push(format!("  signed {project} from line {from} to {to}")),
            None | Some(_) => {}
        }
    }
    lines
}

/// Asks the person whether the key is lost for ever, and returns whether the person said so. Nothing can endorse the next key then, and
/// `proctor verify` says so about everything that was signed before. So a key that can still sign is never given up this way.
fn is_loss_confirmed(store: &Store, environment: &Environment) -> Result<bool, CommandError> {
    if can_endorse(store)? {
        return Err(CommandError::new(CommandExit::Usage, "the key is not lost: its private half is there and can sign")
            .hint("`proctor key rotate` replaces it, and it signs the handing-over"));
    }
    let consequence = "the new key is endorsed by nobody: `proctor verify` says so from then on, about everything in this store";
    if !environment::is_person_present(environment) {
        let error = CommandError::new(CommandExit::PersonNeeded, "only a person at a terminal can say that the key is lost");
        let hint = "put the key back from a backup, or run the command yourself at a terminal";
        return Err(environment::why_nobody(environment, error.detail(consequence).hint(hint)));
    }
    render::note(consequence);
    let question = format!("to begin with a new key, type `{LOST}`; anything else replaces nothing: ");
    Ok(approve::types(&question, LOST, &approve::uninterrupted()?))
}

/// Replaces the signing key. Every project is locked first, so that no run signs with the old key afterwards; where another process has
/// the lock, it is waited for.
fn rotate(store: &Store, endorsement: Endorsement) -> Result<CommandExit, CommandError> {
    let begun = clock::monotonic();
    let _no_new_project = lock_in_turn(store, &registrar(), begun)?;
    let mut locks = Vec::new();
    for project in list_projects(store)? {
        locks.push(lock_in_turn(store, &project, begun)?);
    }
    // A ledger that was cut has a sound end, and only the index knows that lines are missing.
    if let Err(error) = check_ledgers(store) {
        return Err(if let ProjectError::Evidence(error) = &error { not_replaced(error) } else { CommandError::from(error) });
    }
    let key = rotate_key(store, &locks, endorsement, clock::now()).map_err(|error| not_replaced(&error))?;
    let projects: Vec<ProjectId> = locks.iter().map(|lock| lock.project().clone()).collect();
    key_lines(&key, None, &projects).iter().for_each(render::line);
    Ok(CommandExit::Proceed)
}

/// Takes the lock of a project, and says once for whom it waits.
fn lock_in_turn(store: &Store, project: &ProjectId, begun: Monotonic) -> Result<ProjectLock, CommandError> {
    let mut has_said = false;
    let mut waiting = || {
        if !has_said {
            has_said = true;
            render::note(&format!("another process works on {project}: the key is replaced when it is done"));
        }
        if clock::monotonic().since(begun) < LONGEST_WAIT { WaitDecision::GoOn } else { WaitDecision::GiveUp }
    };
    store.lock(project, &mut waiting).map_err(|error| from_lock_error(&error))
}

fn not_replaced(error: &EvidenceError) -> CommandError {
    CommandError::from(error).hint("the key was not replaced: run the command again when that is mended")
}

fn export(store: &Store, ssh: bool, number: Option<u32>) -> Result<CommandExit, CommandError> {
    let ring = read_key_ring(store)?;
    let text = match number {
        None => exported_keys(&ring, ssh),
        Some(number) => ring
            .keys()
            .iter()
            .find(|key| key.number() == number)
            .map(|key| if ssh { allowed_signers(key.public()) } else { key.public().to_pem() }),
    };
    let Some(text) = text else {
        return Err(no_key(number.map_or("there is no key yet".to_owned(), |number| format!("there is no key {number}"))));
    };
    render::text(&text);
    Ok(CommandExit::Proceed)
}

fn no_key(what: String) -> CommandError {
    CommandError::new(CommandExit::Usage, what).hint("`proctor key show` lists the keys; the first `proctor run` makes the first")
}

fn sign(store: &Store, file: &Path) -> Result<CommandExit, CommandError> {
    let message = read_regular_file(file, LONGEST_SIGNED).map_err(|error| CommandError::of(CommandExit::Usage, &error))?;
    let signature = sign_file(store, &message)?;
    let signature = signature.ok_or_else(|| no_key("there is no key yet".to_owned()))?;
    render::text(&String::from_utf8_lossy(&signature));
    Ok(CommandExit::Proceed)
}

fn from_lock_error(error: &LockError) -> CommandError {
    let exit = match error {
        LockError::Busy { .. } => CommandExit::NoFreshVerdict,
        LockError::Evidence(_) => CommandExit::OwnFault,
    };
    CommandError::of(exit, error).hint(error.hint())
}
