//! `proctor key`: shows and replaces the keys that sign evidence. Private keys are never shown.

use crate::cli::environment::Environment;
use crate::cli::error::CommandError;
use crate::cli::evidence_arguments::{KeyOptions, KeyVerb};
use crate::cli::render;
use crate::evidence::{
    Endorsement, EvidenceError, KnownKey, LockError, Store, WaitDecision, allowed_signers, list_projects, read_key_ring,
    rotate_key,
};
use crate::model::CommandExit;
use crate::process::clock;
use crate::project::{ProjectError, check_ledgers};

pub(crate) fn execute(options: &KeyOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let store = Store::open(environment.state_root()).map_err(|error| from_evidence_error(&error))?;
    match &options.verb {
        KeyVerb::Show => show(&store),
        KeyVerb::Rotate { lost } => {
            rotate(&store, if *lost { Endorsement::PreviousKeyIsLost } else { Endorsement::ByThePreviousKey })
        }
        KeyVerb::Export { ssh, number } => export(&store, *ssh, *number),
    }
}

fn show(store: &Store) -> Result<CommandExit, CommandError> {
    let ring = read_key_ring(store).map_err(|error| from_evidence_error(&error))?;
    if ring.keys().is_empty() {
        render::note("no key yet: the first `proctor run` makes it");
    }
    for key in ring.keys() {
        key_lines(key, ring.current() == Some(key)).iter().for_each(render::line);
    }
    Ok(CommandExit::Proceed)
}

fn key_lines(key: &KnownKey, is_current: bool) -> Vec<String> {
    let use_of = if is_current { "in use" } else { "replaced" };
    let mut lines = vec![
        format!("key {} · {use_of} · made {} · {}", key.number(), key.made(), key.id()),
        format!("  {}", key.public().to_ssh_line()),
    ];
    lines.extend(
        key.projects()
            .filter(|(_, position)| position.sequence.0 > 0)
            .map(|(project, position)| format!("  signs {project} from line {}", position.sequence.0 + 1)),
    );
    lines
}

/// Replaces the signing key. Every project is locked first, so that no run signs with the old key afterwards. If
/// another process holds a project's lock, the command fails at once.
fn rotate(store: &Store, endorsement: Endorsement) -> Result<CommandExit, CommandError> {
    let mut locks = Vec::new();
    for project in list_projects(store).map_err(|error| from_evidence_error(&error))? {
        let lock = store.lock(&project, &mut || WaitDecision::GiveUp).map_err(|error| from_lock_error(&error))?;
        locks.push(lock);
    }
    // A ledger that was cut has a sound end, and only the index knows that lines are missing.
    if let Err(error) = check_ledgers(store) {
        return Err(if let ProjectError::Evidence(error) = &error { not_replaced(error) } else { super::from_run_error(&error) });
    }
    let key = rotate_key(store, &locks, endorsement, clock::now()).map_err(|error| not_replaced(&error))?;
    key_lines(&key, true).iter().for_each(render::line);
    Ok(CommandExit::Proceed)
}

fn not_replaced(error: &EvidenceError) -> CommandError {
    from_evidence_error(error).hint("the key was not replaced: run the command again when that is mended")
}

fn export(store: &Store, ssh: bool, number: Option<u32>) -> Result<CommandExit, CommandError> {
    let ring = read_key_ring(store).map_err(|error| from_evidence_error(&error))?;
    let key = match number {
        Some(number) => ring.keys().iter().find(|key| key.number() == number),
        None => ring.current(),
    };
    let Some(key) = key else {
        let what = number.map_or("there is no key yet".to_owned(), |number| format!("there is no key {number}"));
        return Err(CommandError::new(CommandExit::Usage, what)
            .hint("`proctor key show` lists the keys; the first `proctor run` makes the first"));
    };
    let text = if ssh { allowed_signers(key.public()) } else { key.public().to_pem() };
    render::text(&text);
    Ok(CommandExit::Proceed)
}

/// Converts an error about evidence into a command error.
pub(super) fn from_evidence_error(error: &EvidenceError) -> CommandError {
    let exit = match error {
        // The file is a pipe, a device or too large: the person has to name another file.
        EvidenceError::File { source, .. } if source.kind() == std::io::ErrorKind::InvalidInput => CommandExit::Usage,
        EvidenceError::Key { .. }
        | EvidenceError::LedgerLine { .. }
        | EvidenceError::LedgerOffset { .. }
        | EvidenceError::LedgerGone { .. }
        | EvidenceError::LedgerSegment { .. }
        | EvidenceError::LedgerChanged { .. }
        | EvidenceError::NotAsSealed { .. }
        | EvidenceError::NotSigned { .. }
        | EvidenceError::NotInLedger { .. }
        | EvidenceError::NotAnchored { .. }
        | EvidenceError::Archive { .. } => CommandExit::EvidenceWrong,
        EvidenceError::AnchoredEarlier { .. } => CommandExit::Usage,
        EvidenceError::File { .. }
        | EvidenceError::Name { .. }
        | EvidenceError::Encode { .. }
        | EvidenceError::LedgerFailed { .. }
        | EvidenceError::NotRecovered { .. }
        | EvidenceError::RunIsOpen { .. }
        | EvidenceError::Foreign { .. } => CommandExit::OwnFault,
    };
    CommandError::of(exit, error).hint(error.hint())
}

fn from_lock_error(error: &LockError) -> CommandError {
    let exit = match error {
        LockError::Busy { .. } => CommandExit::NoFreshVerdict,
        LockError::Evidence(_) => CommandExit::OwnFault,
    };
    CommandError::of(exit, error).hint(error.hint())
}
