//! `proctor service remove`: the service stops watching a project. Its evidence, id and approvals are kept (S7). With `--purge`, a person
//! at a terminal removes the evidence too; the ledger and the keys stay.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cli::commands::approve;
use crate::cli::service_arguments::RemoveOptions;
use crate::cli::{environment, render, screen};
use proctor_api::{MethodV1, ProjectV1};
use proctor_app::project::{opening, setup};
use proctor_app::serving::MARGIN;
use proctor_app::{CommandError, Environment, serving};
use proctor_evidence::PurgePlan;
use proctor_model::{CommandExit, Serving, shown_line};
use proctor_plan::config::Configuration;
use proctor_project::{ProjectScope, RegisteredProject, discard_snapshots, make_room, purge, record_serving, survey_purge};

pub(crate) fn execute(options: &RemoveOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let project = find(environment, options.named.as_ref().unwrap_or(&options.project))?;
    // The project's own `lock_wait` is not read: the directory and its configuration may no longer exist.
    let lock_wait = Configuration::default().evidence.lock_wait;
    let scope = ProjectScope { project: project.id.clone(), root: PathBuf::from(&project.path), asker: environment.asker() };
    if !options.purge {
        if leave_alone(environment, &project, &scope, lock_wait)? {
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
    // On a full disk nothing of this may end half done. The reserve is written again when this value is dropped.
    let _reserve = make_room(environment.state_root())?;
    let was_watched = leave_alone(environment, &project, &scope, lock_wait)?;
    let purged = purge(environment.state_root(), &scope, &plan, lock_wait)?;
    let Some(purged) = purged else {
        let watched = if was_watched { ", and the service leaves it alone" } else { "" };
        return Err(CommandError::new(
            CommandExit::PersonNeeded,
            format!("{} has other runs now: nothing was purged{watched}", project.id),
        )
        .hint("run the command again: it shows what is there"));
    };
    render::line(&format!("purged: {}; the ledger and the keys stay", extent(&purged)));
    Ok(CommandExit::Proceed)
}

/// Shows what a purge would remove, and asks for the project's name. Returns `None` if the person typed anything else. Whatever
/// was typed before the question was shown is no answer.
fn agreed_purge(environment: &Environment, project: &RegisteredProject) -> Result<Option<PurgePlan>, CommandError> {
    let plan = survey_purge(environment.state_root(), &project.id)?;
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

/// Has the service leave the project alone, and removes its snapshots and caches. Returns whether the service watched it.
fn leave_alone(
    environment: &Environment,
    project: &RegisteredProject,
    scope: &ProjectScope,
    lock_wait: Duration,
) -> Result<bool, CommandError> {
    if project.serving == Serving::NotServed {
        discard_snapshots(environment.state_root(), &project.id, lock_wait)?;
        return Ok(false);
    }
    if let Some(client) = serving::listening(environment) {
        let path = format!("/v1/projects/{}", project.id);
        let _removed: ProjectV1 =
            client.ask(MethodV1::Delete, &path, lock_wait + MARGIN).map_err(|error| serving::from_client_error(&error))?;
    } else {
        record_serving(environment.state_root(), scope, Serving::NotServed, lock_wait)?;
    }
    Ok(true)
}

/// Finds a registered project by its id or by its directory. The directory may no longer exist.
fn find(environment: &Environment, wanted: &Path) -> Result<RegisteredProject, CommandError> {
    let mut archive = opening::open_archive(environment)?;
    let projects = archive.projects()?;
    let absolute = environment.absolute(wanted);
    let root = absolute.canonicalize().unwrap_or(absolute);
    let is_it = |project: &RegisteredProject| Path::new(project.id.as_str()) == wanted || Path::new(&project.path) == root;
    // Several projects may have been registered at the same path. Prefer a project that the service watches.
    let mut found: Vec<_> = projects.into_iter().filter(is_it).collect();
    found.sort_by_key(|project| project.serving == Serving::NotServed);
    found.into_iter().next().ok_or_else(|| {
        CommandError::new(CommandExit::Usage, format!("`{}` is no registered project", wanted.display()))
            .hint("`proctor service list` shows the projects with their ids")
    })
}
