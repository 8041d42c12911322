//! `proctor service remove`: the service stops watching a project. Its evidence, id and approvals are kept (S7). With `--purge`, a person
//! at a terminal removes the evidence too; the ledger and the keys stay.

use std::path::Path;

use crate::cli::commands::approve;
use crate::cli::service_arguments::RemoveOptions;
use crate::cli::{environment, render, screen};
use proctor_app::project::setup;
use proctor_app::{CommandError, Environment, remove};
use proctor_evidence::PurgePlan;
use proctor_model::{CommandExit, shown_line};
use proctor_project::RegisteredProject;

pub(crate) fn execute(options: &RemoveOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let project = remove::find(environment, options.named.as_ref().unwrap_or(&options.project))?;
    if !options.purge {
        if remove::leave_alone(environment, &project)? {
            render::line(&format!("{} is left alone from here on; its evidence stays", project.id));
        } else {
            render::line(&format!("{} was not watched", project.id));
        }
        return Ok(CommandExit::Proceed);
    }
    let Some(plan) = agreed_purge(environment, &project)? else {
        render::line("nothing was removed");
        return Ok(CommandExit::PersonNeeded);
    };
    let purged = remove::purge(environment, &project, &plan)?;
    render::line(&format!("purged: {}; the ledger and the keys stay", extent(&purged)));
    Ok(CommandExit::Proceed)
}

/// Shows what a purge would remove, and asks for the project's name. Returns `None` if the person typed anything else. Whatever
/// was typed before the question was shown is no answer.
fn agreed_purge(environment: &Environment, project: &RegisteredProject) -> Result<Option<PurgePlan>, CommandError> {
    let plan = remove::survey(environment, project)?;
    let name = setup::directory_name(Path::new(&project.path));
    let shown = [
        format!("{} (`{}`)", project.id, shown_line(&project.path)),
        format!("  goes: {}, with reports, logs and signatures", extent(&plan)),
        "  stays: the ledger with every verdict and hash, the keys, and all other projects".to_owned(),
    ];
    if !environment::is_person_present(environment) {
        let error = CommandError::new(CommandExit::PersonNeeded, "only a person at a terminal can remove evidence");
        let hint = "run the command yourself at a terminal; without `--purge` the evidence stays";
        return Err(environment::why_nobody(environment, error.with_details(&shown).hint(hint)));
    }
    shown.iter().for_each(render::note);
    let question = format!("to remove it for ever, type `{}`; anything else removes nothing: ", shown_line(&name));
    Ok(approve::types(&question, &name, &approve::uninterrupted()?).then_some(plan))
}

/// Returns how many runs there are, how large they are, and from when to when, in words.
fn extent(plan: &PurgePlan) -> String {
    let runs = screen::counted(plan.runs.len() as u64, "run");
    match (plan.first, plan.last) {
        (Some(first), Some(last)) => format!("{runs}, {} bytes, started from {first} to {last}", plan.bytes),
        (None, _) | (_, None) => runs,
    }
}
