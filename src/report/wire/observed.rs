//! What an action saw beside the output of a process: files, answers, connections, services (seed 004, detailed examples 2 and 4).

use serde::{Deserialize, Serialize};

use crate::model::{Diagnostic, DurationMs, EvidenceFile, PortHolder, ResultType};

use super::action::ShownV2;

/// The findings of a tool, or what was looked at because a server did not answer: seed 004 has one key for both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum DiagnosticsV2 {
    /// Errors and warnings, as the policy left them.
    Findings(Vec<Diagnostic>),
    /// What was looked at.
    Connection(Box<ConnectionDiagnosticsV2>),
}

/// What was looked at because a server did not answer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConnectionDiagnosticsV2 {
    /// The look at the service that is expected at the port; absent where the plan has none there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_health_check: Option<HealthCheckV2>,
    /// Who listens on the port; absent where it is none of this machine's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port_check: Option<PortCheckV2>,
    /// The addresses of the host's name, or why it has none (addition).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns_resolution: Option<String>,
}

/// A look at whether a service is healthy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HealthCheckV2 {
    /// Whether it was asked.
    pub attempted: bool,
    /// Where: a URL, a port, or a command.
    pub url: String,
    /// `HEALTHY`, `CONNECTION_REFUSED`, `TIMEOUT`, `UNHEALTHY`, `NOT_ATTEMPTED`.
    pub result: String,
    /// What was seen, in words (addition).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// How long looks were taken, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<DurationMs>,
}

/// Who listens on a port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PortCheckV2 {
    /// The port.
    pub port: u16,
    /// Whether somebody does.
    pub in_use: bool,
    /// Who, the first of them; null where nobody does.
    pub process: Option<PortProcessV2>,
}

/// A process that listens on a port, as far as it can be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PortProcessV2 {
    /// Its process id; null where its descriptors cannot be read.
    pub pid: Option<i32>,
    /// The file name of its program; null likewise.
    pub name: Option<String>,
    /// Its command; null likewise.
    pub command: Option<String>,
    /// The user it belongs to (addition).
    pub user: String,
}

/// An attempt before the one whose result is the action's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AttemptV2 {
    /// Its number, from 1.
    pub attempt: u32,
    /// How it ended.
    pub status: ResultType,
    /// Why.
    pub reason: String,
    /// How long it took.
    pub duration: DurationMs,
    /// Its files.
    pub evidence_files: Vec<String>,
}

/// A part of a text, and which bytes of it that are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TextV2 {
    /// The first and last of it, as plain text.
    pub text: String,
    /// Which bytes that is.
    pub shown: ShownV2,
}

impl DiagnosticsV2 {
    /// Returns the findings of a tool; none where it is something else.
    pub fn findings(&self) -> &[Diagnostic] {
        match self {
            Self::Findings(findings) => findings,
            Self::Connection(_) => &[],
        }
    }

    /// Returns whether there is nothing to say.
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
