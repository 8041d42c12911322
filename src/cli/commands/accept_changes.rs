//! `proctor attest --accept-changes`: a person whose key the trusted commit names accepts that a commit asks for less than the trusted one.

use std::path::Path;

use crate::cli::commands::approve;
use crate::cli::{environment, render};
use proctor_app::attest::{add_patiently, open_attestor};
use proctor_app::gate::{self, GateAnswer, GateQuestion};
use proctor_app::project::opening;
use proctor_app::{CommandError, Environment};
use proctor_evidence::{ATTESTATIONS, AcceptedChanges, AcceptedOf, Store};
use proctor_git::ObjectId;
use proctor_model::{CommandExit, Digest};
use proctor_project::{AcceptedCommit, ProjectRepository, keep_accepted_commit, keep_trusted_tip};
use proctor_sandbox::process::clock;

/// How much of the commit's name the person types.
const TYPED: usize = 8;

/// Shows what the commit of `answer` asks for less than the trusted one, asks the person, and writes the signed statement into the note of
/// the commit's tree and of the changed files. Returns the lines of the notes; none if there is nothing to accept.
///
/// # Errors
/// When the policy comes from no commit, the trusted commit does not name this store's key, nobody is at a terminal or agrees, a change has a
/// name that must not leave this machine, or the note cannot be written.
pub(super) fn accept(
    answer: &GateAnswer,
    root: &Path,
    repository: &ProjectRepository,
    question: &GateQuestion<'_>,
    environment: &Environment,
) -> Result<Vec<Vec<u8>>, CommandError> {
    let changes = answer.acceptable();
    if changes.is_empty() {
        render::note(
            "there is nothing to accept: the commit takes no test, check or rule of the trusted one away, or it was accepted before",
        );
        return Ok(Vec::new());
    }
    if answer.is_accepted_here && !answer.lowered.is_empty() {
        accept_here(answer, root, environment)?;
        return Ok(Vec::new());
    }
    let trusted = answer.trusted.ok_or_else(|| {
        CommandError::new(
            CommandExit::Usage,
            format!("the policy comes from {}, and no commit of it names keys", answer.policy_from),
        )
        .hint("name the trusted commit: --policy-from REV")
    })?;
    let redactor = environment.outgoing_redactor();
    if let Some(told) = changes.iter().find(|change| redactor.redact(change) != **change) {
        return Err(CommandError::new(CommandExit::NoFreshVerdict, format!("`{told}` cannot be told to others as it is"))
            .hint("name it without absolute paths, secrets and names of people and machines"));
    }
    let attestor = open_attestor(environment)?;
    refuse_unnamed_key(answer, repository, question, environment, root, attestor.key())?;
    ask(&changes, answer, environment)?;
    let mut lines = Vec::new();
    for (of, changes) in accepted_together(answer, trusted) {
        let Some(object) = of.noted_at() else { continue };
        let below = repository.below.clone();
        let accepted = AcceptedChanges { of, below, changes, key: attestor.key(), accepted: clock::now() };
        let line = attestor.sign(&accepted.to_statement());
        add_patiently(root, object, (std::slice::from_ref(&line), None))?;
        lines.push(line);
    }
    render::line(&format!("accepted · {ATTESTATIONS} · tree {}", &answer.git_tree.hex()[..12]));
    Ok(lines)
}

/// Returns the changes by what their acceptance holds for: the contents of a file that they are made in, or else this commit's content beside
/// the trusted commit.
fn accepted_together(answer: &GateAnswer, trusted: ObjectId) -> Vec<(AcceptedOf, Vec<String>)> {
    let of_commit = AcceptedOf::Commit { git_tree: answer.git_tree, trusted };
    let mut found: Vec<(AcceptedOf, Vec<String>)> = Vec::new();
    for change in answer.acceptable() {
        let of = answer.accepted_files.get(&change).copied().unwrap_or(of_commit);
        match found.iter_mut().find(|(other, _)| *other == of) {
            Some((_, changes)) => changes.push(change),
            None => found.push((of, vec![change])),
        }
    }
    found
}

/// Refuses where the trusted commit does not name the key: nobody would believe the statement.
fn refuse_unnamed_key(
    answer: &GateAnswer,
    repository: &ProjectRepository,
    question: &GateQuestion<'_>,
    environment: &Environment,
    root: &Path,
    key: Digest,
) -> Result<(), CommandError> {
    let trusted = gate::trusted(repository, (question.asked_for, answer.commit), question.policy_from, (environment, root))?;
    let allowed = gate::signers(repository, &trusted, &answer.policy)?;
    let signers = opening::open_archive(environment)?.gate_signers(allowed)?;
    if signers.named_signer(key, clock::now()).is_some() {
        return Ok(());
    }
    let message = match &answer.policy.signers {
        Some(file) => format!("`{file}` of the trusted commit does not name key {} of this store", key.short()),
        None => "`[gate]` of the trusted commit names no file of `signers`".to_owned(),
    };
    Err(CommandError::new(CommandExit::PersonNeeded, message).hint(
        "let somebody accept the change whose key it names; `proctor key export --ssh` prints the line of this store's key for it",
    ))
}

/// Shows what is asked for less, and asks the person once.
fn ask(changes: &[String], answer: &GateAnswer, environment: &Environment) -> Result<(), CommandError> {
    let commit = answer.commit.hex();
    let beside = answer.beside.or(answer.trusted).map(|beside| format!(" ({})", &beside.hex()[..12])).unwrap_or_default();
    let asks = format!("commit {} asks for less than {}{beside}", &commit[..12], answer.beside_words());
    if !environment::is_person_present(environment) {
        let error = CommandError::new(CommandExit::PersonNeeded, asks);
        let error = error.with_details(changes);
        return Err(environment::why_nobody(environment, error.hint("run this at a terminal, which asks")));
    }
    let name = &commit[..TYPED];
    render::note(&format!("{asks}:"));
    changes.iter().for_each(|change| render::note(&format!("  {change}")));
    if approve::types(&format!("type {name} to accept that for this content: "), name, &approve::uninterrupted()?) {
        return Ok(());
    }
    Err(CommandError::new(CommandExit::PersonNeeded, "nothing was accepted"))
}

/// Keeps the commit as the one that was accepted last in this store, if the person agrees.
fn accept_here(answer: &GateAnswer, root: &Path, environment: &Environment) -> Result<(), CommandError> {
    ask(&answer.lowered, answer, environment)?;
    let store = Store::open(environment.state_root())?;
    keep_accepted_commit(&store, root, AcceptedCommit { commit: answer.commit, branch: answer.branch.clone() });
    if let Some(tip) = answer.tip.clone() {
        keep_trusted_tip(&store, root, tip);
    }
    render::line(&format!("accepted · commit {} · in this store", &answer.commit.hex()[..12]));
    Ok(())
}
