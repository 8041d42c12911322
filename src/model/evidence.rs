//! Names for what lies in a run directory.

use serde::{Deserialize, Serialize};

use crate::model::Digest;

/// What a file of a run directory is; the first six words are specification 2.0.0's `requiredEvidence` (facts, 1.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EvidenceKind {
    /// Output and report of a test run.
    TestExecutionLog,
    /// What a command printed.
    TerminalOutput,
    /// Pictures.
    Screenshots,
    /// Answers of an API.
    ApiResponses,
    /// What was seen when something failed to run.
    ErrorLogs,
    /// Measurements.
    PerformanceMetrics,
    /// Which bytes of a log came from which stream, and when.
    Frames,
    /// The description of an action that was carried out.
    ActionRecord,
    /// What a tool's interpreter found.
    Diagnostics,
    /// A report a tool wrote, as it was.
    ToolReport,
    /// What is to be mended.
    TechnicalDebt,
}

impl EvidenceKind {
    /// Returns its word, for example `api-responses`.
    pub fn word(self) -> &'static str {
        match self {
            Self::TestExecutionLog => "test-execution-log",
            Self::TerminalOutput => "terminal-output",
            Self::Screenshots => "screenshots",
            Self::ApiResponses => "api-responses",
            Self::ErrorLogs => "error-logs",
            Self::PerformanceMetrics => "performance-metrics",
            Self::Frames => "frames",
            Self::ActionRecord => "action-record",
            Self::Diagnostics => "diagnostics",
            Self::ToolReport => "tool-report",
            Self::TechnicalDebt => "technical-debt",
        }
    }
}

/// A file of a run directory, with the digest computed while it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EvidenceFile {
    /// Its name in the run directory.
    pub name: String,
    /// What it is.
    pub kind: EvidenceKind,
    /// The action it belongs to, if to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action_id: Option<String>,
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256.
    pub sha256: Digest,
}
