//! Finds out whether the service watches a project. If the service cannot be used, a command does the work itself.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::de::DeserializeOwned;

use crate::client::{Client, ClientError};
use crate::environment::Environment;
use crate::error::CommandError;
use proctor_api::{ErrorKindV1, MethodV1, PageRequestV1, PageTicketV1, ProjectV1, ProjectsV1};
use proctor_evidence::serving_process;
use proctor_model::{CommandExit, Serving, Timestamp, encode_percent};
use proctor_sandbox::process::clock;

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
    or_say(environment, client(environment)?.ask::<A>(MethodV1::Get, path, within))
}

/// Returns the answer. If there is none although a service listens, the person is told why.
pub(crate) fn or_say<A>(environment: &Environment, answer: Result<A, ClientError>) -> Option<A> {
    match answer {
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
    or_say(environment, find_served(environment, root, within)).flatten()
}

/// The same, without a word to the person; `None` if the service does not watch the project.
pub(crate) fn find_served(
    environment: &Environment,
    root: &Path,
    within: Duration,
) -> Result<Option<ServedProject>, ClientError> {
    let Some(client) = client(environment) else { return Ok(None) };
    let answer = client.ask::<ProjectsV1>(MethodV1::Get, &at_root("/v1/projects", root), within)?;
    let root = root.to_string_lossy();
    let is_it = |project: &ProjectV1| project.serving == Serving::Served && project.root == root;
    Ok(answer.projects.into_iter().find(is_it).map(|project| ServedProject { client, project }))
}

/// Prints a note that the service cannot be used and that this command does the work itself.
pub fn say_unusable(environment: &Environment, error: &ClientError) {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    environment.note(&format!("note: {error}{cause}; doing it here instead"));
    if matches!(error, ClientError::Late { .. }) {
        environment.note(&format!("hint: {}", hung_hint(environment)));
    }
}

/// Returns what to do about a service that does not answer: which process it is, and how to have it go on or end.
pub(crate) fn hung_hint(environment: &Environment) -> String {
    let Some(serving) = serving_process(environment.state_root()) else { return "see the service's log".to_owned() };
    let pid = serving.pid;
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let is_stopped = status.lines().any(|line| line.starts_with("State:\tT"));
    let go_on =
        if is_stopped { format!(", and a signal has stopped it: `kill -CONT {pid}` lets it go on") } else { String::new() };
    // The service sets the time of its socket whenever it does something.
    let last = serving.socket.symlink_metadata().and_then(|found| found.modified()).ok();
    let since = last
        .and_then(|last| last.duration_since(SystemTime::UNIX_EPOCH).ok())
        .and_then(|last| i64::try_from(last.as_millis()).ok());
    let silent = since.map_or_else(String::new, |since| {
        format!(", which last did something {}", Timestamp::from_millis(since).age_at(clock::now()))
    });
    format!(
        "the service is process {pid}{silent}{go_on}; `kill -KILL {pid}` ends it, and systemd or `proctor service daemon` starts another"
    )
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
