//! Observations that are not process output: a checked file, a request to a server with its answer, the health of a
//! service, a review.
//!
//! What a tool says it looked at, and what a check's control showed.

use std::collections::BTreeMap;
use std::time::Duration;

use proctor_wire::wire;

use crate::{Digest, DurationMs, PortHolder, ReviewObservation, StopReason, Timestamp};

/// What was observed about an action apart from the output of its process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Observation {
    /// Nothing more was observed, because the action is an ordinary command.
    #[default]
    Nothing,
    File(FileObservation),
    /// A request to a server, with the answer or the reason why no answer came.
    Exchange(Box<Exchange>),
    /// How a service that did not become ready answered its health checks.
    Service(ServiceObservation),
    Review(Box<ReviewObservation>),
}

/// What a condition about a file found when it was tested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileObservation {
    /// The file's path, as written in the plan.
    pub path: String,
    pub look: FileState,
}

/// What was found at the path of a checked file, where the links in the path lead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileState {
    /// The path is a regular file.
    Found(FoundFile),
    /// There is no file at the path.
    Missing,
    /// There is something at the path on disk, and nothing in the tree that is judged: it is ignored, or a directory without files.
    NotInTree { is_directory: bool },
    /// A link in the path leads out of the project and its environment, so proctor did not look further; the text says which link leads
    /// where.
    Outside(String),
    /// The file is of a kind that proctor does not read, such as a directory or a device; the text says which.
    Refused(String),
    /// The file was not read to its end, because the time limit of the check was reached.
    OutOfTime,
    /// The file was not read to its end, because the run was stopped.
    Stopped(StopReason),
}

/// A regular file at the checked path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    pub bytes: u64,
    /// The time of the last change, according to the file system.
    pub modified: Timestamp,
    /// The digest of the content; `None` if the check does not need the content.
    pub sha256: Option<Digest>,
    /// The content; `None` if the check does not need the content, or if the content is larger than the limit.
    pub content: Option<Vec<u8>>,
}

/// A request that was sent, or that could not be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// The time when the request began.
    pub sent: Timestamp,
    pub duration: DurationMs,
    pub outcome: ExchangeOutcome,
    /// What proctor examined to find out why no answer came; `None` if an answer came, nothing was sent, or the run was
    /// stopped.
    pub diagnosis: Option<Diagnosis>,
}

/// The answer to a request, or why no answer came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExchangeOutcome {
    Answered(HttpAnswer),
    /// No answer came; the fault says what went wrong.
    Unanswered(SystemFault),
    /// The request cannot be sent in the form that the specification gives; the text says why.
    Unsendable(String),
    /// No answer came within the action's time-out.
    OutOfTime,
    /// The request was abandoned because its run was stopped.
    Stopped(StopReason),
}

/// The answer to an HTTP request, as far as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpAnswer {
    pub status: u16,
    /// The headers; several headers of the same name are joined with a comma.
    pub headers: BTreeMap<String, String>,
    /// The body, or only its first [`HttpAnswer::BODY_CAP`] bytes if it is longer.
    pub body: Vec<u8>,
    /// Whether `body` is the whole body.
    pub is_complete: bool,
    /// The URL from which this answer came after redirects; `None` if no redirect was followed.
    pub redirected_to: Option<String>,
}

/// Why a command could not be started, why its exit status is unknown, or why a request got no answer.
#[wire(schema, sparse)]
pub struct SystemFault {
    /// The system's name for the error, such as `ENOENT`, or one of proctor's own names: `STATUS_LOST`, `ENOTFOUND`,
    /// `TLS`, `PROTOCOL`, `TOO_MANY_REDIRECTS`.
    pub code: String,
    /// The system's number for the error; `None` if the code is one of proctor's own.
    pub errno: Option<i32>,
    /// The system call that reported the error, if it is known.
    pub syscall: Option<String>,
    /// The network address that was tried last; `None` if the error is not about a connection.
    pub address: Option<String>,
    /// The port that was tried; `None` if the error is not about a connection.
    pub port: Option<u16>,
    /// What went wrong, in words.
    pub message: String,
}

impl SystemFault {
    /// Returns a fault that is not about a connection: without system call, address and port.
    pub fn plain(code: impl Into<String>, errno: Option<i32>, message: String) -> Self {
        Self { code: code.into(), errno, syscall: None, address: None, port: None, message }
    }
}

/// What proctor examined to find out why a request got no answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Diagnosis {
    /// The health of the service that the plan expects at the request's port; `None` if `port` is `None`, the plan has no such
    /// service, or a command checks whether the service is ready.
    pub health: Option<HealthObservation>,
    /// The processes that listen on the request's port; `None` if the host is not known to be this machine.
    pub port: Option<PortObservation>,
    /// The addresses that the request's host name resolves to, or the error of the lookup.
    pub resolution: Option<Result<Vec<String>, String>>,
}

/// The result of a service's health checks, or the fact that its health was not checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthObservation {
    /// What the health check asks: a URL, a port, or a command.
    pub target: String,
    pub result: HealthResult,
    /// What the health check saw, in words.
    pub detail: Option<String>,
    /// How long the service was checked; `None` if that is not known.
    pub duration: Option<DurationMs>,
}

/// What the health check of a service found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HealthResult {
    /// The service answered as expected.
    Healthy,
    /// No process listened on the service's port.
    ConnectionRefused,
    /// The service did not become healthy before its start-up limit.
    Timeout,
    /// The service answered wrongly, or the check failed in another way.
    Unhealthy,
    /// The service's health was not checked.
    NotAttempted,
}

/// The processes that listen on a port of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortObservation {
    pub port: u16,
    pub holders: Vec<PortHolder>,
}

/// How a service that did not become ready answered its health checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceObservation {
    /// The start-up limit: the service should have become ready within this time.
    pub timeout: Duration,
    /// How long the service ran.
    pub duration: DurationMs,
    /// The result of the last health check.
    pub health: HealthObservation,
    /// The processes that listen on the service's port; `None` if the port is not known.
    pub port: Option<PortObservation>,
}

impl HttpAnswer {
    /// The number of bytes after which an answer's body is cut: only the bytes before the cut are read, judged and stored.
    pub const BODY_CAP: usize = 4 * 1024 * 1024;
}

impl FileObservation {
    /// Returns the file that was found; `None` if there is none, or if it was not looked at to its end.
    pub fn found(&self) -> Option<&FoundFile> {
        match &self.look {
            FileState::Found(found) => Some(found),
            FileState::Missing
            | FileState::NotInTree { .. }
            | FileState::Outside(_)
            | FileState::Refused(_)
            | FileState::OutOfTime
            | FileState::Stopped(_) => None,
        }
    }

    /// Returns whether the file exists; `None` if something is there that is no file, or not in the judged tree, if proctor did not look at
    /// it, or if the check ended early.
    pub fn exists(&self) -> Option<bool> {
        self.found().map(|_| true).or((self.look == FileState::Missing).then_some(false))
    }
}

impl Exchange {
    /// Returns the server's answer; `None` if the request got no answer.
    pub fn answer(&self) -> Option<&HttpAnswer> {
        match &self.outcome {
            ExchangeOutcome::Answered(answer) => Some(answer),
            ExchangeOutcome::Unanswered(_)
            | ExchangeOutcome::Unsendable(_)
            | ExchangeOutcome::OutOfTime
            | ExchangeOutcome::Stopped(_) => None,
        }
    }
}

/// What a tool looked at, as the tool itself said it. It is never guessed.
#[wire(Copy, schema)]
pub struct Examined {
    pub what: ExaminedUnit,
    /// How many files or tests the tool looked at; `None` (`null` in a report) if the tool does not say it.
    pub count: Option<u64>,
}

/// The kind of thing that a tool looks at.
#[wire(Copy, lower, schema, named)]
pub enum ExaminedUnit {
    Files,
    Tests,
}

/// The result of a check's control: the check's command ran tests that must fail.
#[wire(schema, sparse)]
pub struct ControlObservation {
    /// Whether all tests of the control failed. If one passed, the runner's results for other tests prove nothing.
    pub held: bool,
    /// `false` if the control's tests had an error before they ran. Then the control says nothing about the runner. Absent otherwise.
    pub applicable: Option<bool>,
    /// What the control's tests did, in words.
    pub reason: String,
}
