//! The stored form of observations that are not process output: files, answers, connections, services (detailed
//! examples 2 and 4 of the design document seed 004).

use proctor_wire::wire;
use serde::{Deserialize, Serialize};

use proctor_model::{Diagnostic, DurationMs, EvidenceFile, PortHolder, ResultType};

use super::action::ShownV2;

/// Either the findings of a tool, or what was examined because a server did not answer. The design document seed 004
/// uses one key for both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum DiagnosticsV2 {
    /// The errors and warnings that a tool reported, after the policy was applied.
    Findings(Vec<Diagnostic>),
    /// What was examined because a server did not answer.
    Connection(Box<ConnectionDiagnosticsV2>),
}

/// What was examined because a server did not answer.
#[wire(Default, schema, sparse)]
pub struct ConnectionDiagnosticsV2 {
    /// The health check of the service that is expected at the port; absent if the plan has no such service.
    pub server_health_check: Option<HealthCheckV2>,
    /// The processes that listen on the port; absent if the address is not on this machine.
    pub port_check: Option<PortCheckV2>,
    /// The addresses that the host name resolves to, or the lookup error (added to the original format).
    pub dns_resolution: Option<String>,
}

/// How a service answered when proctor asked whether it is ready.
#[wire(schema, sparse)]
pub struct HealthCheckV2 {
    /// Whether proctor checked the service at all.
    pub attempted: bool,
    /// What was checked: a URL, a port, or a command.
    pub url: String,
    /// The outcome: `HEALTHY`, `CONNECTION_REFUSED`, `TIMEOUT`, `UNHEALTHY` or `NOT_ATTEMPTED`.
    pub result: String,
    /// What the check saw, in words for people (added to the original format).
    pub detail: Option<String>,
    /// For how long proctor checked whether the service is ready; absent if that is not known.
    pub duration: Option<DurationMs>,
}

/// Whether a port is in use, and by which process.
#[wire(schema)]
pub struct PortCheckV2 {
    pub port: u16,
    /// Whether a process listens on the port.
    pub in_use: bool,
    /// The first process that listens on the port; null if no process listens.
    pub process: Option<PortProcessV2>,
}

/// A process that listens on a port, with the details that could be read.
#[wire(schema)]
pub struct PortProcessV2 {
    /// The process id; null if it could not be found.
    pub pid: Option<i32>,
    /// The file name of the process's program; null if it cannot be read.
    pub name: Option<String>,
    /// The command line of the process; null if it cannot be read.
    pub command: Option<String>,
    /// The user that the process runs as (added to the original format).
    pub user: String,
}

/// An earlier attempt of an action. Only the last attempt's result counts.
#[wire(schema)]
pub struct AttemptV2 {
    /// The attempt's number; the first is 1.
    pub attempt: u32,
    pub status: ResultType,
    pub reason: String,
    pub duration: DurationMs,
    pub evidence_files: Vec<String>,
}

/// The beginning and the end of a text, and which bytes of it are shown.
#[wire(schema)]
pub struct TextV2 {
    /// The shown parts as plain text.
    pub text: String,
    /// The byte ranges of the whole text that `text` shows.
    pub shown: ShownV2,
}

impl DiagnosticsV2 {
    /// Returns the findings of a tool; empty if a connection was examined instead.
    pub fn findings(&self) -> &[Diagnostic] {
        match self {
            Self::Findings(findings) => findings,
            Self::Connection(_) => &[],
        }
    }

    /// Returns whether there are neither findings nor observations.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Findings(findings) => findings.is_empty(),
            Self::Connection(_) => false,
        }
    }
}

impl Default for DiagnosticsV2 {
    fn default() -> Self {
        Self::Findings(Vec::new())
    }
}

impl From<&PortHolder> for PortProcessV2 {
    fn from(holder: &PortHolder) -> Self {
        let program = holder.argv.first().map(|path| path.rsplit('/').next().unwrap_or(path).to_owned());
        let command = (!holder.argv.is_empty()).then(|| holder.argv.join(" "));
        Self { pid: holder.pid, name: program, command, user: holder.user.clone() }
    }
}

/// Returns the names of files, sorted.
pub(in crate::report) fn names(files: &[EvidenceFile]) -> Vec<String> {
    let mut names: Vec<_> = files.iter().map(|file| file.name.clone()).collect();
    names.sort();
    names
}
