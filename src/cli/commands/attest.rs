//! `proctor attest`: tells other people, signed, which runs prove a commit, in a git note that they can verify.

use crate::cli::commands::gate::{self, Missing};
use crate::cli::commands::run::RunOutput;
use crate::cli::commands::{accept_changes, share};
use crate::cli::gate_arguments::AttestOptions;
use crate::cli::{environment, render, screen};
use proctor_app::attest::{Attestation, write_bundle};
use proctor_app::gate::{AskedFor, GateQuestion, open_repository};
use proctor_app::project::setup;
use proctor_app::share::{Share, put};
use proctor_app::{CommandError, Environment};
use proctor_evidence::{
    ATTESTATIONS, CommitClaim, FETCHED_ATTESTATIONS, NoteChange, attestation_bundle, remove_attestation_bundle,
};
use proctor_git::ObjectId;
use proctor_model::CommandExit;
use proctor_plan::verdict::GateState;

/// The revision that is meant where none is named.
const CHECKED_OUT: &str = "HEAD";

pub(crate) fn execute(options: &AttestOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let root = setup::project_root(environment, &options.project)?;
    if options.fetch {
        share::fetch(environment, &root)?;
        return Ok(CommandExit::Proceed);
    }
    let shared = if options.dry_run { Share::default() } else { share::approved(environment, &root)? };
    // What cannot be pushed is found out before anything is signed.
    let remote = if options.push { Some(share::remote(&shared)?.to_owned()) } else { None };
    let bundle = options.bundle.as_ref().map(|bundle| environment.absolute(bundle));
    if let Some(path) = bundle.as_ref().filter(|path| path.symlink_metadata().is_ok()) {
        return Err(CommandError::new(CommandExit::Usage, format!("`{}` is there already", path.display()))
            .hint("name a new file: --bundle FILE"));
    }
    let repository = open_repository(&root)?;
    let revision = options.revision.as_deref().unwrap_or(CHECKED_OUT);
    let question = GateQuestion {
        revision,
        asked_for: AskedFor::Branch(revision),
        policy_from: options.policy_from.as_deref(),
        notes: None,
    };
    let mut answer = gate::answer(&question, Missing::Left, environment, &repository, RunOutput::Nothing)?;
    let mut acceptance = Vec::new();
    if options.accept_changes && answer.tree.is_ok() {
        acceptance = accept_changes::accept(&answer, &root, &repository, &question, environment)?;
        answer = gate::answer(&question, Missing::Left, environment, &repository, RunOutput::Nothing)?;
    }
    let tree = match (answer.state, &answer.tree) {
        (GateState::Proved | GateState::Red, Ok(tree)) => tree,
        _ => {
            screen::gate_lines(&answer, environment::style(environment)).iter().for_each(render::line);
            if let Some(path) = bundle.as_ref().filter(|_| !acceptance.is_empty()) {
                write_bundle(path, &acceptance)?;
            }
            render::note(match acceptance[..] {
                [] => "nothing was attested, because the commit is neither proved nor red",
                _ => "nothing else was attested, because the commit is neither proved nor red",
            });
            return Ok(answer.state.exit());
        }
    };
    let is_proved = answer.state == GateState::Proved;
    let commit = options.revision.as_ref().map(|_| answer.commit);
    let told = Attestation::of(environment, (&root, &repository.below), &answer, *tree, commit)?;
    if options.dry_run {
        render::document(&told.documents());
        return Ok(answer.state.exit());
    }
    if let Some(directory) = &options.in_toto {
        told.write_in_toto(&environment.absolute(directory), &answer)?;
    }
    let signed = told.sign();
    // A bundle that cannot be written leaves no note behind, and the other way round.
    if let Some(path) = &bundle {
        write_bundle(path, &signed.after(&acceptance))?;
    }
    let add = || signed.add(&root, answer.git_tree);
    let change = add().inspect_err(|_| bundle.iter().for_each(|path| remove_attestation_bundle(path)))?;
    if !is_proved {
        screen::gate_lines(&answer, environment::style(environment)).iter().for_each(render::line);
    }
    let said = said(change, answer.git_tree, &told.claims);
    // Where git is asked to push, nobody has to type it.
    said.iter().take(if remote.is_some() { 1 } else { said.len() }).for_each(|line| render::line(line.as_str()));
    if let Some(remote) = &remote {
        share::push(environment, &root, remote, &mut || add().map(drop))?;
    }
    if let Some(directory) = &shared.directory {
        put(directory, *tree, attestation_bundle(&signed.after(&acceptance)))
            .map_err(|error| share::from_directory_error(&error))?;
        render::line(&format!("  shared in `{}`", directory.path().display()));
    }
    if let Some(note) = told.unknown_to_others(&answer, &question, environment, &root, &repository)? {
        render::note(&note);
    }
    if !is_proved {
        render::note("the failure was attested: whoever fetches the notes sees that the commit is red");
    }
    Ok(answer.state.exit())
}

fn said(change: NoteChange, tree: ObjectId, claims: &[CommitClaim]) -> [String; 3] {
    let word = match change {
        NoteChange::Added => "attested",
        NoteChange::Merged => "attested before, and united with the notes that were fetched",
        NoteChange::Nothing => "attested before",
    };
    let runs: Vec<&str> = claims.iter().map(|claim| claim.claim.run.as_str()).collect();
    [
        format!("{word} · {ATTESTATIONS} · tree {} · {}", &tree.hex()[..12], runs.join(", ")),
        format!("  push:  git push origin {ATTESTATIONS}"),
        format!("  fetch: git fetch origin +{ATTESTATIONS}:{FETCHED_ATTESTATIONS}"),
    ]
}
