//! What an action saw that is no output of a process: a file, an exchange with a server, how a service answered.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::{Digest, DurationMs, PortHolder, ReviewSeen, StopReason, Timestamp};

/// What an action saw beside the output of its process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Observed {
    /// Nothing: it is a command like any other.
    #[default]
    Nothing,
    /// A file.
    File(FileSeen),
    /// A request and its answer, or why there was none.
    Exchange(Box<Exchange>),
    /// A service that was not to be had.
    Service(ServiceSeen),
    /// A review.
    Review(Box<ReviewSeen>),
}

/// A look at a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSeen {
    /// Its path, as the plan has it.
    pub path: String,
    /// What was there.
    pub look: FileLook,
}

/// What was there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileLook {
    /// One regular file.
    Found(FoundFile),
    /// Nothing.
    Missing,
    /// Something that is not looked into, and why.
    Refused(String),
    /// A file that was not read to its end: the look took as long as it may.
    OutOfTime,
    /// A file that was not read to its end: the run was stopped.
    Stopped(StopReason),
}

/// A file that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    /// Its size in bytes.
    pub bytes: u64,
    /// When it was last written to, as the file system says.
    pub modified: Timestamp,
    /// The digest of its bytes; none where they were not read.
    pub sha256: Option<Digest>,
    /// Its bytes, where they were asked for and are not more than are kept.
    pub content: Option<Vec<u8>>,
}

/// A request that was sent, or was to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// When it began.
    pub sent: Timestamp,
    /// How long it took.
    pub duration: DurationMs,
    /// What came of it.
    pub outcome: ExchangeOutcome,
    /// What was looked at because no answer came; none otherwise.
    pub diagnosis: Option<Diagnosis>,
}

/// What came of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExchangeOutcome {
    /// An answer.
    Answered(HttpAnswer),
    /// None, and why.
    Unanswered(SystemFault),
    /// It cannot be sent as it is; why.
    Unsendable(String),
    /// None within the action's time-out.
    OutOfTime,
    /// It was given up because the run was stopped.
    Stopped(StopReason),
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpAnswer {
    /// Its status.
    pub status: u16,
    /// Its headers; several of one name are joined by a comma.
    pub headers: BTreeMap<String, String>,
    /// Its body, up to [`HttpAnswer::BODY_CAP`].
    pub body: Vec<u8>,
    /// Whether that is all of it.
    pub is_complete: bool,
    /// Where it came from in the end, where a redirect was followed.
    pub redirected_to: Option<String>,
}

/// Why a command could not be started, why its end is not known, or why a request was not answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SystemFault {
    /// The system's name of it (`ENOENT`), or one of our own: `STATUS_LOST`, `ENOTFOUND`, `TLS`, `PROTOCOL`, `TOO_MANY_REDIRECTS`.
    pub code: String,
    /// The system's number of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errno: Option<i32>,
    /// The system call that said so, where that is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub syscall: Option<String>,
    /// The address that was tried last.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub address: Option<String>,
    /// The port that was tried.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub port: Option<u16>,
    /// The sentence for people.
    pub message: String,
}

impl SystemFault {
    /// Returns a fault that is no connection's.
    pub fn plain(code: impl Into<String>, errno: Option<i32>, message: String) -> Self {
        Self { code: code.into(), errno, syscall: None, address: None, port: None, message }
    }
}

/// What was looked at after a request without an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Diagnosis {
    /// The look at the service that is expected at this port; none where the plan has no such service.
    pub health: Option<HealthSeen>,
    /// Who listens on the port; none where it is not a port of this machine.
    pub port: Option<PortSeen>,
    /// The addresses of the name; an error where it has none.
    pub resolution: Option<Result<Vec<String>, String>>,
}

/// A look at whether a service is healthy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthSeen {
    /// Where it was asked: a URL, a port, or a command.
    pub target: String,
    /// What came of it.
    pub result: HealthResult,
    /// What was seen, in words.
    pub detail: Option<String>,
    /// How long looks were taken, where that is known.
    pub duration: Option<DurationMs>,
}

/// What came of a look at a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HealthResult {
    /// It answered as it should.
    Healthy,
    /// Nobody listened.
    ConnectionRefused,
    /// It did not become healthy in time.
    Timeout,
    /// It answered, and not as it should, or something else went wrong.
    Unhealthy,
    /// It was not asked.
    NotAttempted,
}

/// Who listens on a port of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortSeen {
    /// The port.
    pub port: u16,
    /// Those who listen.
    pub holders: Vec<PortHolder>,
}

/// How a service was seen that was not to be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceSeen {
    /// How long it may take until it is ready.
    pub timeout: Duration,
    /// How long it went on, from its start to its end.
    pub duration: DurationMs,
    /// The looks at it.
    pub health: HealthSeen,
    /// Who listens on its port; none where it has no port that is known.
    pub port: Option<PortSeen>,
}

impl HttpAnswer {
    /// So many bytes of a body are read: what is judged and kept.
    pub const BODY_CAP: usize = 4 * 1024 * 1024;
}

impl Exchange {
    /// Returns the answer, where there was one.
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
