//! Observations that are not process output: a checked file, an exchange with a server, the answers of a service.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::{Digest, DurationMs, PortHolder, ReviewObservation, StopReason, Timestamp};

/// What an action observed in addition to the output of its process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Observation {
    /// Nothing, because it is an ordinary command.
    #[default]
    Nothing,
    File(FileObservation),
    /// A request with its answer, or with the reason why there was none.
    Exchange(Box<Exchange>),
    /// A service that did not become ready.
    Service(ServiceObservation),
    Review(Box<ReviewObservation>),
}

/// The check of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileObservation {
    /// The file's path, as written in the plan.
    pub path: String,
    pub look: FileState,
}

/// What was found at the path of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileState {
    /// A regular file.
    Found(FoundFile),
    /// Nothing is there.
    Missing,
    /// The entry is of a kind that is not read; the text says why.
    Refused(String),
    /// The file was not read to its end, because the time limit of the check was reached.
    OutOfTime,
    /// The file was not read to its end, because the run was stopped.
    Stopped(StopReason),
}

/// A regular file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    pub bytes: u64,
    /// The time of the last change, according to the file system.
    pub modified: Timestamp,
    /// The digest of the content; `None` if the content was not read.
    pub sha256: Option<Digest>,
    /// The content, if it was needed and is not larger than the limit.
    pub content: Option<Vec<u8>>,
}

/// A request that was sent, or should have been sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// When the request began.
    pub sent: Timestamp,
    pub duration: DurationMs,
    pub outcome: ExchangeOutcome,
    /// What was examined to explain a missing answer; `None` if an answer came.
    pub diagnosis: Option<Diagnosis>,
}

/// The answer to a request, or the reason why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExchangeOutcome {
    Answered(HttpAnswer),
    /// No answer came; the fault says why.
    Unanswered(SystemFault),
    /// The request cannot be sent as written; the text says why.
    Unsendable(String),
    /// No answer came within the action's time-out.
    OutOfTime,
    /// The request was abandoned because the run was stopped.
    Stopped(StopReason),
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpAnswer {
    pub status: u16,
    /// The headers; several headers of the same name are joined with a comma.
    pub headers: BTreeMap<String, String>,
    /// The body, cut at [`HttpAnswer::BODY_CAP`].
    pub body: Vec<u8>,
    /// Whether `body` is the whole body.
    pub is_complete: bool,
    /// The final address, when a redirect was followed.
    pub redirected_to: Option<String>,
}

/// Why a command could not be started, why its end is not known, or why a request was not answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SystemFault {
    /// The system's name for the error (`ENOENT`), or one of proctor's own: `STATUS_LOST`, `ENOTFOUND`, `TLS`, `PROTOCOL`,
    /// `TOO_MANY_REDIRECTS`.
    pub code: String,
    /// The system's number for the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errno: Option<i32>,
    /// The system call that reported the error, if it is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub syscall: Option<String>,
    /// The address that was tried last.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub address: Option<String>,
    /// The port that was tried.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub port: Option<u16>,
    /// The message for people.
    pub message: String,
}

impl SystemFault {
    /// Returns a fault without system call, address and port, for errors that are not about a connection.
    pub fn plain(code: impl Into<String>, errno: Option<i32>, message: String) -> Self {
        Self { code: code.into(), errno, syscall: None, address: None, port: None, message }
    }
}

/// What was examined after a request got no answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Diagnosis {
    /// The health of the service that is expected at the port; `None` if the plan has no such service.
    pub health: Option<HealthObservation>,
    /// The processes that listen on the port; `None` if the address is not on this machine.
    pub port: Option<PortObservation>,
    /// The addresses that the host name resolves to, or the error of the lookup.
    pub resolution: Option<Result<Vec<String>, String>>,
}

/// The result of a health check of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthObservation {
    /// The target of the check: a URL, a port, or a command.
    pub target: String,
    pub result: HealthResult,
    /// What was seen, in words.
    pub detail: Option<String>,
    /// For how long the service was checked, if that is known.
    pub duration: Option<DurationMs>,
}

/// The result of a health check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HealthResult {
    /// The service answered as expected.
    Healthy,
    /// Nobody listened on the port.
    ConnectionRefused,
    /// It did not become healthy in time.
    Timeout,
    /// The service answered wrongly, or the check failed in another way.
    Unhealthy,
    /// No check was made.
    NotAttempted,
}

/// The processes that listen on a port of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortObservation {
    pub port: u16,
    pub holders: Vec<PortHolder>,
}

/// Observations of a service that did not become ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceObservation {
    /// The limit for the time until it is ready.
    pub timeout: Duration,
    /// How long the service ran.
    pub duration: DurationMs,
    /// The result of the health checks.
    pub health: HealthObservation,
    /// The processes that listen on its port; `None` if its port is not known.
    pub port: Option<PortObservation>,
}

impl HttpAnswer {
    /// The most bytes of a body that are read, judged and stored.
    pub const BODY_CAP: usize = 4 * 1024 * 1024;
}

impl Exchange {
    /// Returns the answer, if one came.
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
