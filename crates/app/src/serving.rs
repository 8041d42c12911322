//! Finds out whether the service watches a project. If the service cannot be used, a command does the work itself.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::client::{Client, ClientError};
use crate::environment::Environment;
use crate::error::CommandError;
use proctor_api::{ErrorKindV1, MethodV1, PageRequestV1, PageTicketV1, ProjectV1, ProjectsV1};
use proctor_evidence::serving_process;
use proctor_model::{CommandExit, Serving, encode_percent};

/// The time limit for requests that the service answers at once.
pub const AT_ONCE: Duration = Duration::from_secs(10);
/// How much longer a command waits for an answer than the service waits before it answers.
pub const MARGIN: Duration = Duration::from_secs(10);

/// A project that the service watches, and a client for requests about the project.
#[derive(Debug, Clone)]
pub struct ServedProject {
    pub client: Client,
    pub project: ProjectV1,
}

/// Asks the service that serves this store, whatever its runtime directory is; `None` if no service listens, or if it does not
/// answer properly.
pub fn ask_if_listening<A: DeserializeOwned>(environment: &Environment, path: &str) -> Option<A> {
    ask_within(environment, path, AT_ONCE)
}

fn ask_within<A: DeserializeOwned>(environment: &Environment, path: &str, within: Duration) -> Option<A> {
    match client(environment)?.ask::<A>(MethodV1::Get, path, within) {
        Ok(answer) => Some(answer),
        Err(ClientError::Absent { .. }) => None,
        Err(error) => {
            say_unusable(environment, &error);
            None
        }
    }
}

/// Returns a client of the service; `None` if no service listens, or if it does not answer properly.
pub fn listening(environment: &Environment) -> Option<Client> {
    // No project has this root, so nothing is read.
    ask_if_listening::<ProjectsV1>(environment, &at_root("/v1/projects", Path::new("/proc")))?;
    client(environment)
}

/// Returns every project as the service lists it; `None` if no service listens, or if it does not answer properly.
pub fn list_projects(environment: &Environment) -> Option<Vec<ProjectV1>> {
    ask_if_listening::<ProjectsV1>(environment, "/v1/projects").map(|answer| answer.projects)
}

/// Returns whether a service serves this store.
pub fn serves_store(environment: &Environment) -> bool {
    serving_process(environment.state_root()).is_some()
}

/// Returns the path of a request about the project at a root alone.
pub fn at_root(path: &str, root: &Path) -> String {
    format!("{path}?root={}", encode_percent(root.as_os_str().as_bytes(), "/"))
}

/// Asks the service for a ticket to the page, at this place of it; `None` if no service listens.
pub fn ask_for_page(environment: &Environment, place: &str) -> Result<Option<PageTicketV1>, CommandError> {
    let Some(socket) = socket_of_service(environment) else { return Ok(None) };
    let request = PageRequestV1 { to: Some(place.to_owned()) };
    match Client::new(&socket).send(MethodV1::Post, "/v1/page", &request, AT_ONCE) {
        Ok(ticket) => Ok(Some(ticket)),
        Err(ClientError::Absent { .. }) => Ok(None),
        Err(error) => Err(from_client_error(&error)),
    }
}

fn client(environment: &Environment) -> Option<Client> {
    Some(Client::new(&socket_of_service(environment)?).until(environment.caller().stop()))
}

/// Returns the control socket of the service that serves this store; otherwise the usual one, at which systemd may start the
/// service.
fn socket_of_service(environment: &Environment) -> Option<PathBuf> {
    let serving = serving_process(environment.state_root());
    serving.map(|serving| serving.socket).or_else(|| environment.control_socket())
}

/// Returns the service if it watches the project at `root`.
pub fn serving(environment: &Environment, root: &Path) -> Option<ServedProject> {
    serving_within(environment, root, AT_ONCE)
}

/// The same for a caller that has less time.
pub fn serving_within(environment: &Environment, root: &Path, within: Duration) -> Option<ServedProject> {
    let answer = ask_within::<ProjectsV1>(environment, &at_root("/v1/projects", root), within)?;
    let root = root.to_string_lossy();
    let is_it = |project: &ProjectV1| project.serving == Serving::Served && project.root == root;
    Some(ServedProject { project: answer.projects.into_iter().find(is_it)?, client: client(environment)? })
}

/// Prints a note that the service cannot be used and that this command does the work itself.
pub fn say_unusable(environment: &Environment, error: &ClientError) {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    environment.note(&format!("note: {error}{cause}; doing it here instead"));
}

/// Converts an error of the service's client into a command error with its exit code.
pub fn from_client_error(error: &ClientError) -> CommandError {
    if let ClientError::Closed = error {
        return CommandError::of(CommandExit::Usage, error)
            .hint("run the command outside of checks, in the system or container in which the service runs");
    }
    let ClientError::Refused(refusal) = error else {
        return CommandError::of(CommandExit::OwnFault, error).hint("see `proctor status` and the service's log");
    };
    let exit = match refusal.kind {
        ErrorKindV1::PersonNeeded | ErrorKindV1::BudgetSpent => CommandExit::PersonNeeded,
        ErrorKindV1::Unchanged => CommandExit::CodeNeedsWork,
        ErrorKindV1::Passed => CommandExit::Proceed,
        ErrorKindV1::EvidenceWrong => CommandExit::EvidenceWrong,
        ErrorKindV1::ConfigurationWrong => CommandExit::SpecificationWrong,
        ErrorKindV1::TooMany | ErrorKindV1::Stopping => CommandExit::NoFreshVerdict,
        ErrorKindV1::BadRequest
        | ErrorKindV1::NoSuchRange
        | ErrorKindV1::Refused
        | ErrorKindV1::TokenWrong
        | ErrorKindV1::TooSlow
        | ErrorKindV1::NotFound
        | ErrorKindV1::NotNow
        | ErrorKindV1::MethodNotAllowed
        | ErrorKindV1::TooLarge => CommandExit::Usage,
        ErrorKindV1::EnvironmentDiffers | ErrorKindV1::OwnFault => CommandExit::OwnFault,
    };
    CommandError::new(exit, refusal.message.clone()).hint(refusal.hint.clone())
}
