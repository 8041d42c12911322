//! `proctor key`: shows and replaces the keys that sign evidence, and prints or keeps the signed head of the ledger, for people who do not
//! have the ledger.

use crate::cli::commands::approve;
use crate::cli::evidence_arguments::{AnchorOptions, KeyOptions, KeyVerb};
use crate::cli::{environment, render};
use proctor_app::{CommandError, Environment, keys};
use proctor_evidence::{Endorsement, KnownKey};
use proctor_model::{CommandExit, ProjectId};

/// What a person types to say that the key is lost.
const LOST: &str = "lost";

pub(crate) fn execute(options: &KeyOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    match &options.verb {
        KeyVerb::Checkpoint(options) if options.verifier_key => {
            render::line(&keys::checkpoint_key(environment, &options.project)?);
        }
        KeyVerb::Checkpoint(options) => render::text(&keys::checkpoint(environment, &options.project)?),
        KeyVerb::Anchor(options) => anchor(options, environment)?,
        KeyVerb::Show => show(environment)?,
        KeyVerb::Rotate { lost: false } => rotate(environment, Endorsement::ByThePreviousKey)?,
        KeyVerb::Rotate { lost: true } => {
            if !is_loss_confirmed(environment)? {
                render::line("the key was not replaced");
                return Ok(CommandExit::PersonNeeded);
            }
            rotate(environment, Endorsement::PreviousKeyIsLost)?;
        }
        KeyVerb::Export { ssh, number } => render::text(&keys::export(environment, *ssh, *number)?),
        KeyVerb::Sign { file } => render::text(&keys::sign(environment, file)?),
    }
    Ok(CommandExit::Proceed)
}

fn anchor(options: &AnchorOptions, environment: &Environment) -> Result<(), CommandError> {
    let Some(file) = &options.file else {
        return Err(CommandError::new(CommandExit::Usage, "nothing says to which file the head of the ledger is to be written")
            .hint(
                "name it: `--file FILE`; git makes it a note: `proctor key checkpoint | git notes --ref=proctor add -f -F -`",
            ));
    };
    let lines = keys::anchor(environment, &options.project, file)?;
    render::line(&format!("{lines} lines anchored · {}", file.display()));
    Ok(())
}

fn show(environment: &Environment) -> Result<(), CommandError> {
    let (ring, projects) = keys::list(environment)?;
    if ring.keys().is_empty() {
        render::note("no key yet: the first `proctor run` makes it");
    }
    for (position, key) in ring.keys().iter().enumerate() {
        key_lines(key, ring.keys().get(position + 1), &projects).iter().for_each(render::line);
    }
    Ok(())
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

/// Asks the person whether the key is lost for ever, and returns whether the person said so.
fn is_loss_confirmed(environment: &Environment) -> Result<bool, CommandError> {
    keys::refuse_loss(environment)?;
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

fn rotate(environment: &Environment, endorsement: Endorsement) -> Result<(), CommandError> {
    let (key, projects) = keys::rotate(environment, endorsement)?;
    key_lines(&key, None, &projects).iter().for_each(render::line);
    Ok(())
}
