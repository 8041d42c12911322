//! Answers whether a commit is proved, by the runs that there are. Nothing is run.

use std::path::PathBuf;

use axum::response::Response;

use crate::control::handlers::{ControlContext, respond};
use proctor_api::{ErrorKindV1, ErrorV1};
use proctor_app::gate::{CommitGateV1, judge_commit};
use proctor_app::project::opening;
use proctor_app::{CommandError, Environment, from_run_error};
use proctor_model::{CommandExit, ProjectId};

/// Judges a commit of a project as `proctor gate` does, in a thread of its own: git's objects and the store are read.
pub(super) async fn answer_gate(desk: &ControlContext, project: ProjectId, commit: String) -> Result<Response, ErrorV1> {
    let environment = desk.environment.clone();
    let judge = move || {
        let root = root_of(&environment, &project)?;
        let answer = judge_commit(&environment, &root, &commit).map_err(|error| from_command_error(&error))?;
        Ok(respond(200, &CommitGateV1::of(&answer)))
    };
    tokio::task::spawn_blocking(judge)
        .await
        .unwrap_or_else(|_| Err(ErrorV1::new(ErrorKindV1::OwnFault, "the commit could not be judged", "see the service's log")))
}

fn root_of(environment: &Environment, project: &ProjectId) -> Result<PathBuf, ErrorV1> {
    let projects = opening::open_archive(environment)
        .and_then(|mut archive| archive.projects().map_err(|error| from_run_error(&error)))
        .map_err(|error| from_command_error(&error))?;
    let found = projects.into_iter().find(|known| known.id == *project).ok_or_else(|| {
        let message = format!("no project `{project}` is registered");
        ErrorV1::new(ErrorKindV1::NotFound, message, "`GET /v1/projects` lists the projects with their ids")
    })?;
    Ok(PathBuf::from(found.path))
}

/// Converts the error of a use case into one of the socket.
fn from_command_error(error: &CommandError) -> ErrorV1 {
    let kind = match error.exit() {
        CommandExit::Usage => ErrorKindV1::BadRequest,
        CommandExit::PersonNeeded => ErrorKindV1::PersonNeeded,
        CommandExit::SpecificationWrong => ErrorKindV1::ConfigurationWrong,
        CommandExit::EvidenceWrong => ErrorKindV1::EvidenceWrong,
        CommandExit::Proceed
        | CommandExit::CodeNeedsWork
        | CommandExit::OwnFault
        | CommandExit::NoFreshVerdict
        | CommandExit::Interrupted
        | CommandExit::Terminated => ErrorKindV1::OwnFault,
    };
    ErrorV1::new(kind, error.sentence(), error.hint_text())
}
