//! Handles one request: parses it strictly, asks the service's loop, and returns the answer.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_core::Stream;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::mpsc::Sender;
use tokio::sync::oneshot;

use crate::control::history::{HistoryPlace, HistoryQuestion, answer_history, answer_verification, with_failures};
use crate::control::page_server::PageDesk;
use crate::control::query::{LOOKING, parse_commit, parse_path, parse_query, parse_root, parse_task, parse_wait, wrong};
use crate::errand::{Errand, ErrandDone, ErrandKind, attendance};
use crate::service::{Call, ErrandCall, LookCare, NumberedEvent, Question, Reply, Subscription, Wait};
use proctor_api::page::{RawOutput, is_page_path};
use proctor_api::{
    AddRequestV1, AgentAnswerV1, AgentRequestV1, CycleV1, ErrorDocumentV1, ErrorKindV1, ErrorV1, PageRequestV1, Route, RouteName,
    RunRequestV1, ServiceV1, StatusV1, VariableV1,
};
use proctor_app::gate::{CommitGateV1, judge_commit};
use proctor_app::project::opening;
use proctor_app::{CommandError, Environment};
use proctor_model::{Asker, CommandExit, CycleRequest, Digest, ProjectId, TaskId, shown_json};
use proctor_project::PersonPresence;
use proctor_run::collaboration::Proposal;
use proctor_sandbox::passed_on;
use proctor_sandbox::process::PeerProcess;

/// A request is refused if its body has more bytes than this.
const LONGEST_BODY: usize = 64 * 1024;
/// How long a client may take to send the body of a request.
const READING_BODY: Duration = Duration::from_secs(5);
/// The time limit on the wait of a call for a place in the queue of the service's loop.
const QUEUING: Duration = Duration::from_secs(5);

/// The state that every request handler needs.
#[derive(Clone)]
pub(super) struct ControlContext {
    pub(super) calls: Sender<Call>,
    /// `None` where the page is served without the service.
    pub(super) service: Option<ServiceV1>,
    /// The environment of the service. Checks get only the variables of it that the allow-list names.
    pub(super) environment: Arc<Environment>,
    pub(super) history: HistoryPlace,
    pub(super) page: Arc<PageDesk>,
}

/// Answers a request, or tells the client why the request is refused.
pub(super) async fn handle(route: &'static Route, desk: ControlContext, request: Request) -> Response {
    match answer(route, &desk, request).await {
        Ok(response) => response,
        Err(error) => refusal(&error),
    }
}

/// Returns the response to a refused request.
pub(super) fn refusal(error: &ErrorV1) -> Response {
    respond(error.kind.status(), &ErrorDocumentV1 { error: error.clone() })
}

/// Records that a process which may not ask anything has connected, before it sees that it is closed out: the run that the process belongs
/// to cannot be sealed without it.
pub(super) async fn record_refused(context: &ControlContext, peer: PeerProcess) {
    let _recorded_or_stopping = context.ask(|reply| Call::Refused { peer, reply }).await;
}

async fn answer(route: &'static Route, desk: &ControlContext, request: Request) -> Result<Response, ErrorV1> {
    let (head, body) = request.into_parts();
    let given = parse_query(route, head.uri.query())?;
    let project = || parse_project(head.uri.path());
    let asker = || head.extensions.get::<Arc<Asker>>().map(|asker| Asker::clone(asker)).ok_or_else(no_peer);
    let body = tokio::time::timeout(READING_BODY, to_bytes(body, LONGEST_BODY)).await.map_err(|_| too_slow())?;
    let body = body.map_err(|error| too_large(&error))?;
    // A request for an approval is always refused with the reason that it asks for an approval, even if its body is wrong too.
    if route.body.is_empty() && !body.is_empty() && route.name != RouteName::Approval {
        let message = format!("{} {} takes no body", route.method.word(), route.path);
        return Err(ErrorV1::new(ErrorKindV1::BadRequest, message, "leave it out"));
    }
    let header = |name: &str| head.headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let past = |route, project| {
        let given = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        // Over the control socket nobody gets raw output.
        let raw_output = head.extensions.get::<RawOutput>().copied().unwrap_or(RawOutput::Refused);
        let (path, range) = (head.uri.path().to_owned(), header("range"));
        answer_history(desk, HistoryQuestion { route, project, path, given, range, raw_output })
    };
    match route.name {
        RouteName::Status => status(desk, parse_root(&given)?).await.map(|status| respond(200, &status)),
        RouteName::Projects => {
            let root = parse_root(&given)?;
            desk.ask(|reply| Call::Projects { root, reply }).await.map(|projects| respond(200, &projects))
        }
        RouteName::Add => {
            let AddRequestV1 { root } = parse_body(&body)?;
            let asker = asker()?;
            desk.ask(|reply| Call::Add { root, asker, reply }).await.map(|added| respond(201, &added))
        }
        RouteName::Remove => {
            let (project, asker) = (project()?, asker()?);
            desk.ask(|reply| Call::Remove { project, asker, reply }).await.map(|removed| respond(200, &removed))
        }
        RouteName::Run => {
            let project = project()?;
            let request: RunRequestV1 = if body.is_empty() { RunRequestV1::default() } else { parse_body(&body)? };
            check_environment(desk.environment.variables(), request.environment.as_deref())?;
            desk.ask(|reply| Call::Run { project, request, reply }).await.map(|answer| respond(200, &answer))
        }
        RouteName::Verdict => {
            let (project, task, (wait, timeout)) = (project()?, parse_task(&given)?, parse_wait(&given)?);
            let question = Question { wait, care: LookCare::Whole };
            let answer = desk.ask(|reply| Call::Verdict { project, task, question, timeout, reply }).await?;
            with_failures(desk, answer).await.map(|answer| respond(200, &answer))
        }
        RouteName::Phase => {
            let (project, task) = (project()?, parse_task(&given)?);
            desk.ask(|reply| Call::Cycle { project, task, reply }).await.map(|cycle| respond(200, &cycle))
        }
        RouteName::Page => {
            let request: PageRequestV1 = if body.is_empty() { PageRequestV1::default() } else { parse_body(&body)? };
            let place = request.to.unwrap_or_else(|| "/".to_owned());
            if !is_page_path(&place) {
                return Err(wrong("to", &place, "write a place in the page, such as /projects/ID/runs/5"));
            }
            // The page shows raw output to a person alone, as `proctor show --log` does.
            let raw_output = match attendance(&asker()?, &desk.environment.agents_directory()) {
                PersonPresence::Person => RawOutput::Shown,
                PersonPresence::Nobody => RawOutput::Refused,
            };
            desk.page.open(desk, &place, raw_output).await.map(|ticket| respond(200, &ticket))
        }
        RouteName::SetPhase => {
            let (project, asker) = (project()?, asker()?);
            change_cycle(desk, project, parse_body(&body)?, asker).await.map(|cycle| respond(200, &cycle))
        }
        RouteName::Requests => {
            let (project, asker) = (project()?, asker()?);
            answer_agent(desk, project, parse_body(&body)?, asker).await.map(|answer| respond(200, &answer))
        }
        RouteName::Approval => Err(refuse_approval()),
        RouteName::Heard => {
            let (project, path) = (project()?, parse_path(&given)?);
            desk.ask(|reply| Call::Heard { project, path, reply }).await.map(|heard| respond(200, &heard))
        }
        RouteName::Past(route) => past(route, project()?).await,
        RouteName::Verification => {
            let run = head.uri.path().split('/').nth(5).unwrap_or_default().to_owned();
            answer_verification(desk, project()?, run).await
        }
        RouteName::Gate => answer_gate(desk, project()?, parse_commit(&given)?).await,
        RouteName::Events => {
            let after = header("last-event-id");
            let subscription = desk.ask(|reply| Call::Subscribe { after, reply }).await?;
            Ok(Sse::new(Wired(subscription)).keep_alive(KeepAlive::default()).into_response())
        }
    }
}

impl ControlContext {
    pub(super) async fn ask<T>(&self, call: impl FnOnce(Reply<T>) -> Call) -> Result<T, ErrorV1> {
        self.begin(call).await?.await.unwrap_or_else(|_| Err(unanswered()))
    }

    async fn begin<T>(&self, call: impl FnOnce(Reply<T>) -> Call) -> Result<oneshot::Receiver<Result<T, ErrorV1>>, ErrorV1> {
        let (reply, answer) = oneshot::channel();
        // Many clients may ask at the same moment, and the loop takes their calls within milliseconds. A queue that stays
        // full means that the loop is overloaded.
        self.calls
            .send_timeout(call(reply), QUEUING)
            .await
            .map_err(|_| ErrorV1::new(ErrorKindV1::TooMany, "as many ask already as may", "ask again in a moment"))?;
        Ok(answer)
    }
}

/// Asks every served project, or the one at a root, before it waits for the first answer, so that the projects check their trees in parallel.
async fn status(desk: &ControlContext, root: Option<PathBuf>) -> Result<StatusV1, ErrorV1> {
    let watched = desk.ask(|reply| Call::Watched { root, reply }).await?;
    let question = Question { wait: Wait::Now, care: LookCare::Events };
    let task = TaskId::default_task;
    let ask = |project| desk.begin(|reply| Call::Verdict { project, task: task(), question, timeout: LOOKING, reply });
    let mut asked = Vec::new();
    for project in watched {
        asked.push(ask(project).await?);
    }
    let mut projects = Vec::new();
    for answer in asked {
        match answer.await.unwrap_or_else(|_| Err(unanswered())) {
            Ok(answer) => projects.push(answer.project),
            // The project was removed after the list was made.
            Err(error) if error.kind == ErrorKindV1::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(StatusV1 { service: desk.service.clone(), projects })
}

/// Refuses a run if the service's environment differs from the caller's, because the result could differ from the
/// caller's own run.
fn check_environment(ambient: &BTreeMap<OsString, OsString>, asked: Option<&[VariableV1]>) -> Result<(), ErrorV1> {
    let Some(asked) = asked else { return Ok(()) };
    let digest = |value: &OsString| Digest::of(value.as_bytes());
    let differs = |variable: &&VariableV1| ambient.get(OsStr::new(&variable.name)).map(digest) != variable.digest;
    let mut names: Vec<String> = asked.iter().filter(differs).map(|variable| variable.name.clone()).collect();
    let own = passed_on(ambient).into_keys().map(|name| name.to_string_lossy().into_owned());
    names.extend(own.filter(|name| !asked.iter().any(|variable| variable.name == *name)));
    if names.is_empty() {
        return Ok(());
    }
    let message = format!("the service's environment differs from the caller's in: {}", names.join(", "));
    Err(ErrorV1::new(ErrorKindV1::EnvironmentDiffers, message, "leave `environment` out to run in the service's"))
}

fn parse_project(path: &str) -> Result<ProjectId, ErrorV1> {
    let id = path.split('/').nth(3).unwrap_or_default();
    ProjectId::try_from(id).map_err(|error| {
        ErrorV1::new(ErrorKindV1::NotFound, error.to_string(), "`GET /v1/projects` lists the projects with their ids")
    })
}

fn parse_body<T: DeserializeOwned>(body: &Bytes) -> Result<T, ErrorV1> {
    serde_json::from_slice(body).map_err(|error| {
        ErrorV1::new(
            ErrorKindV1::BadRequest,
            format!("the body is not understood: {error}"),
            "`proctor generate api` shows its shape",
        )
    })
}

fn too_large(error: &axum::Error) -> ErrorV1 {
    let message = format!("the body could not be read: {error}");
    ErrorV1::new(ErrorKindV1::TooLarge, message, "a body has 64 KiB at most")
}

fn too_slow() -> ErrorV1 {
    let message = format!("the body did not come within {} s", READING_BODY.as_secs());
    ErrorV1::new(ErrorKindV1::TooSlow, message, "send it at once")
}

fn no_peer() -> ErrorV1 {
    ErrorV1::new(ErrorKindV1::OwnFault, "nothing is known of who asks", "see the service's log")
}

fn unanswered() -> ErrorV1 {
    ErrorV1::new(ErrorKindV1::Stopping, "the service gave no answer: it is stopping", "ask again when it is up")
}

pub(super) fn respond(status: u16, value: &impl Serialize) -> Response {
    let text = serde_json::to_string(value).expect("our own values have a JSON form");
    // Hidden characters stand as JSON's escapes, so that an answer can be shown at a terminal.
    let body = format!("{}\n", shown_json(&text));
    let response = Response::builder().status(status).header("content-type", "application/json");
    response.body(Body::from(body)).expect("the head is made of known values")
}

/// The stream of events in the form in which clients receive them (server-sent events).
struct Wired(Subscription);

impl Stream for Wired {
    type Item = Result<Event, axum::Error>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        std::pin::Pin::new(&mut self.0).poll_next(context).map(|event| event.map(|event| Ok(wired(&event))))
    }
}

fn wired(numbered: &NumberedEvent) -> Event {
    let text = serde_json::to_string(&numbered.event).expect("our own values have a JSON form");
    let wired = Event::default().event(numbered.event.name()).data(shown_json(&text));
    match &numbered.id {
        Some(id) => wired.id(id),
        None => wired,
    }
}

// Answers whether a commit is proved, by the runs that there are. Nothing is run.

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
        .and_then(|mut archive| archive.projects().map_err(CommandError::from))
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

// Requests about a task: changes of its cycle, and requests of agents. Each request becomes an errand, which the project's
// worker carries out between runs. The result becomes a message for the client.

pub(super) async fn change_cycle(
    desk: &ControlContext,
    project: ProjectId,
    request: CycleRequest,
    asker: Asker,
) -> Result<CycleV1, ErrorV1> {
    let task = request.task().clone();
    let what = match request {
        CycleRequest::Start { .. } => "`tdd start`",
        CycleRequest::Phase { .. } => "`tdd phase`",
        CycleRequest::Reset { .. } => "`tdd reset`",
        CycleRequest::Resolve { .. } => "`tdd resolve`",
    };
    let errand = Errand { task: task.clone(), asker, what: ErrandKind::Cycle(request) };
    match send(desk, project, errand, what.to_owned()).await? {
        ErrandDone::Changed(state) => Ok(CycleV1 { task, state: *state }),
        ErrandDone::Computed(_) | ErrandDone::Granted(_) | ErrandDone::Reviewed(_) => Err(mixed_up()),
    }
}

/// Answers the request of an agent. A granted retest is run first, and the answer contains its result.
pub(super) async fn answer_agent(
    desk: &ControlContext,
    project: ProjectId,
    request: AgentRequestV1,
    asker: Asker,
) -> Result<AgentAnswerV1, ErrorV1> {
    let task_id = request.task_id().clone();
    let (kind, what) = match &request {
        AgentRequestV1::RequestStatusUpdate { status, .. } => {
            (ErrandKind::Completion, format!("REQUEST_STATUS_UPDATE {}", status.word()))
        }
        AgentRequestV1::RequestRetest { .. } => (ErrandKind::Retest, "REQUEST_RETEST".to_owned()),
        AgentRequestV1::FixSpecification { specification, path, .. } => {
            (fix(&task_id, specification.as_ref(), path.as_ref())?, "FIX_SPECIFICATION".to_owned())
        }
    };
    let errand = Errand { task: task_id.clone(), asker, what: kind };
    match (send(desk, project.clone(), errand, what).await?, request) {
        (ErrandDone::Computed(completion), AgentRequestV1::RequestStatusUpdate { status, .. }) => {
            Ok(AgentAnswerV1::from_completion(status, completion))
        }
        (ErrandDone::Granted(granted), _) => {
            let request = RunRequestV1 { task: Some(task_id.clone()), ..RunRequestV1::default() };
            let run = desk.ask(|reply| Call::Run { project, request, reply }).await?;
            let (number, budget, exit_code) = (granted.number, granted.budget, run.exit_code);
            Ok(AgentAnswerV1::Retested { task_id, number, budget, run, exit_code })
        }
        (ErrandDone::Reviewed(reviewed), _) => Ok(AgentAnswerV1::from_review(task_id, reviewed)),
        (ErrandDone::Computed(_) | ErrandDone::Changed(_), _) => Err(mixed_up()),
    }
}

/// Returns the errand that checks the configuration or a specification. Without a proposal, the errand for the task `default`
/// checks the configuration, and the errand for any other task checks that task's specification.
fn fix(task: &TaskId, specification: Option<&String>, path: Option<&String>) -> Result<ErrandKind, ErrorV1> {
    let proposal = match (specification, path) {
        (Some(_), Some(_)) => {
            let message = "`specification` and `path` both say what is proposed";
            return Err(ErrorV1::new(ErrorKindV1::BadRequest, message, "leave one of them out"));
        }
        (Some(text), None) => Some(Proposal::Text(text.clone())),
        (None, Some(file)) => Some(Proposal::File(file.clone())),
        (None, None) => None,
    };
    if *task == TaskId::default_task() && proposal.is_none() {
        return Ok(ErrandKind::Problems);
    }
    Ok(ErrandKind::Review(proposal))
}

/// Returns the refusal of an approval. No request can approve (S7), because a person has to approve at a terminal.
pub(super) fn refuse_approval() -> ErrorV1 {
    ErrorV1::new(
        ErrorKindV1::PersonNeeded,
        "no request on the socket can approve a plan",
        "a person registers the project at a terminal, which approves its plan: `proctor service add` or `proctor run`; what the checks or a task ask \
         less for than before is approved by `proctor approve`",
    )
}

async fn send(desk: &ControlContext, project: ProjectId, errand: Errand, what: String) -> Result<ErrandDone, ErrorV1> {
    // If the client disconnects, this future and its reply are dropped. An errand that still waits is then not carried out.
    desk.ask(|reply| Call::Errand { project, call: ErrandCall { errand, what, reply } }).await
}

fn mixed_up() -> ErrorV1 {
    ErrorV1::new(ErrorKindV1::OwnFault, "the answer is to another question", "see the service's log")
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use hyper::server::conn::http1;
    use hyper_util::rt::TokioIo;
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
    use tokio::net::UnixStream;

    use super::*;
    use crate::service::Subscribers;
    use proctor_api::EventV1;

    #[test]
    fn a_reader_that_keeps_up_with_its_socket_is_never_cut_off() {
        const BURST: usize = 5_000;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().expect("a runtime");
        runtime.block_on(async {
            let mut subscribers = Subscribers::default();
            let stream = Mutex::new(subscribers.add(None).map(Wired));
            let answer = hyper::service::service_fn(move |_request| {
                let stream = stream.lock().expect("nobody panics").take().expect("one request");
                std::future::ready(Ok::<_, std::convert::Infallible>(Sse::new(stream).into_response()))
            });
            let (ours, mut theirs) = UnixStream::pair().expect("two sockets");
            let serving = tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(ours), answer));
            theirs.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.expect("written");
            let mut lines = BufReader::new(theirs).lines();
            // Each burst comes before the reader has its turn, and all of them together are more than may wait for it.
            let event = EventV1::Changed { project: ProjectId::mint("shop", 1) };
            for _ in 0..6 {
                (0..BURST).for_each(|_| subscribers.tell(&event));
                let mut left = BURST;
                while left > 0 {
                    let line = lines.next_line().await.expect("it is open").expect("it goes on");
                    left -= usize::from(line.starts_with("id: "));
                    assert_ne!(line, "event: end", "{left} of a burst are left");
                }
            }
            subscribers.end();
            while !lines.next_line().await.expect("it is open").expect("the reason comes").contains("\"reason\":\"stopping\"") {}
            drop(lines);
            let _broken_off = serving.await;
        });
    }
}
