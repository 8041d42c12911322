//! `proctor tdd`: shows and changes a red, green, refactor cycle. The cycle's state is in the ledger (R5). Only a
//! person may send on a task that waits for a person (R9). If the service watches the project, the service makes the
//! change, so that each project has a single writer (S2).

use std::path::Path;

use crate::cli::arguments::{TddOptions, TddVerb};
use crate::cli::{environment, render, screen};
use proctor_api::{CycleV1, MethodV1};
use proctor_app::client::ClientError;
use proctor_app::project::{RunResources, opening, setup, specification_files};
use proctor_app::serving::MARGIN;
use proctor_app::{CommandError, Environment, serving};
use proctor_model::{CommandExit, CycleRequest, TaskId, TddState};
use proctor_plan::config::Configuration;
use proctor_project::{PersonPresence, ProjectError};

pub(crate) fn execute(options: &TddOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let request = match &options.verb {
        TddVerb::Show { task, json } => return show(options, environment, task, *json),
        TddVerb::Start { task, phase } => CycleRequest::Start { task: read_task(task)?, phase: *phase },
        TddVerb::Phase { phase, task } => CycleRequest::Phase { task: read_task(task)?, phase: *phase },
        TddVerb::Reset { task } => CycleRequest::Reset { task: read_task(task)? },
        TddVerb::Resolve { task, to, reason } => {
            CycleRequest::Resolve { task: read_task(task)?, to: *to, reason: reason.clone() }
        }
    };
    let task = request.task();
    let attendance = if environment::is_person_present(environment) { PersonPresence::Person } else { PersonPresence::Nobody };
    if attendance == PersonPresence::Nobody && matches!(request, CycleRequest::Resolve { .. }) {
        // Only a person may end a task's wait for a person. This is checked here, because the service does not know
        // whether a person is at the terminal.
        return Err(CommandError::from(ProjectError::PersonNeeded { task: task.clone() }));
    }
    let root = setup::project_root(environment, &options.project)?;
    let state = match hand_over(environment, &root, &request)? {
        Some(state) => state,
        None => change_here(environment, options, &request, attendance)?,
    };
    render::line(&screen::cycle_line(task, &state));
    Ok(CommandExit::Proceed)
}

/// Lets the service change the cycle if the service watches the project, because then only the service writes the
/// project's ledger. Returns `None` if the service does not watch the project or no longer listens.
fn hand_over(environment: &Environment, root: &Path, request: &CycleRequest) -> Result<Option<TddState>, CommandError> {
    let Some(served) = serving::serving(environment, root) else { return Ok(None) };
    let path = format!("/v1/projects/{}/phase", served.project.id);
    // The service waits for the end of a run at most for the time that another writer would wait for the lock.
    let within = Configuration::default().evidence.lock_wait + MARGIN;
    match served.client.send::<CycleV1>(MethodV1::Post, &path, request, within) {
        Ok(answer) => Ok(Some(answer.state)),
        Err(error @ ClientError::Absent { .. }) => {
            serving::say_unusable(environment, &error);
            Ok(None)
        }
        // The service may have changed the cycle already. A second change here could apply the request twice.
        Err(error) => Err(serving::from_client_error(&error)),
    }
}

fn change_here(
    environment: &Environment,
    options: &TddOptions,
    request: &CycleRequest,
    attendance: PersonPresence,
) -> Result<TddState, CommandError> {
    let launcher = opening::start_launcher(environment)?;
    let loaded = specification_files::load(environment, &options.project, Some(request.task().as_str()))?;
    let RunResources { mut workspace, scope, settings, .. } = opening::open(environment, launcher, &loaded, None)?;
    workspace.change_cycle(&scope, &settings, request, attendance).map_err(CommandError::from)
}

fn show(options: &TddOptions, environment: &Environment, task: &str, json: bool) -> Result<CommandExit, CommandError> {
    let task = read_task(task)?;
    let root = setup::project_root(environment, &options.project)?;
    let (archive, project) = opening::open_registered(environment, &root)?;
    let state = archive.tdd(&project, &task)?;
    if json {
        render::document(&state);
        return Ok(CommandExit::Proceed);
    }
    screen::cycle(&task, &state).iter().for_each(render::line);
    Ok(CommandExit::Proceed)
}

fn read_task(text: &str) -> Result<TaskId, CommandError> {
    TaskId::try_from(text)
        .map_err(|error| CommandError::of(CommandExit::Usage, &error).hint("the task of a project's own checks is `default`"))
}
