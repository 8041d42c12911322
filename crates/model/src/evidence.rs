//! The files of a run's directory, and the kinds of these files.
//!
//! The forms in which a run is exported for other tools.
//!
//! A report of a tool that is too large to be held in memory.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::Digest;

/// What a file in a run's directory holds. The first six kinds come from `requiredEvidence` of specification 2.0.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EvidenceKind {
    /// The log of a test run, and the tests that proctor read from the tool's report.
    TestExecutionLog,
    TerminalOutput,
    Screenshots,
    /// The record of a request that a server answered, and the body of the answer.
    ApiResponses,
    /// The record of a request that got no answer. In the directory of a run whose process died, also a file that
    /// proctor does not know.
    ErrorLogs,
    /// Measured values, such as durations.
    PerformanceMetrics,
    /// Which bytes of a log came from which stream, and when.
    Frames,
    /// The record of an action that was carried out.
    ActionRecord,
    /// The findings that were read from a tool's output.
    Diagnostics,
    /// A tool's own report file, unchanged.
    ToolReport,
    /// The debt items of the run.
    TechnicalDebt,
    /// The run in a form that other tools read, as `also` of `[evidence]` asks for. It is made from the report and the other files.
    Export,
}

impl EvidenceKind {
    /// Returns the kind's name in reports, for example `api-responses`.
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
            Self::Export => "export",
        }
    }
}

/// A file in a run's directory, with the digest that was computed while the file was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EvidenceFile {
    /// The file's name in the run directory.
    pub name: String,
    pub kind: EvidenceKind,
    /// The id of the action that the file belongs to; `None` if it belongs to the whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action_id: Option<String>,
    pub bytes: u64,
    pub sha256: Digest,
}

/// A form in which a run is exported, so that another tool reads it without help. What is exported is no evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ExportFormat {
    /// JUnit XML: one suite for each check.
    Junit,
    /// CTRF, the Common Test Report Format: one JSON document with every test.
    Ctrf,
    /// SARIF 2.1.0: the findings of linters and type checkers, and the tests that failed.
    Sarif,
    /// Workflow commands of GitHub Actions: an annotation for each failure and finding.
    Github,
    /// A summary in Markdown, for a comment or a step summary.
    Markdown,
    /// One HTML file that is read without a network and without scripts.
    Html,
}

impl ExportFormat {
    /// All formats, in the order in which people are shown them.
    pub const ALL: [Self; 6] = [Self::Junit, Self::Ctrf, Self::Sarif, Self::Github, Self::Markdown, Self::Html];

    /// The name of each format on the command line and in `also` of `[evidence]`.
    pub const WORDS: [(&'static str, Self); 6] = [
        ("junit", Self::Junit),
        ("ctrf", Self::Ctrf),
        ("sarif", Self::Sarif),
        ("github", Self::Github),
        ("markdown", Self::Markdown),
        ("html", Self::Html),
    ];

    /// Returns the name of the file in a run's directory. No file of an action has such a name, because those begin with the action's id.
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::Junit => "export.junit.xml",
            Self::Ctrf => "export.ctrf.json",
            Self::Sarif => "export.sarif",
            Self::Github => "export.github.txt",
            Self::Markdown => "export.md",
            Self::Html => "export.html",
        }
    }
}

/// An open file with a tool's report. The file has no name, so nothing but this program can read or change it.
#[derive(Debug, Clone)]
pub struct LargeReport {
    file: Arc<File>,
    bytes: u64,
}

/// Reads a [`LargeReport`] from its beginning. Several readers do not disturb each other.
#[derive(Debug)]
pub struct LargeReportReader<'r> {
    report: &'r LargeReport,
    at: u64,
}

impl LargeReport {
    /// Takes an open file without a name, and its length.
    pub fn new(file: File, bytes: u64) -> Self {
        Self { file: Arc::new(file), bytes }
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn reader(&self) -> LargeReportReader<'_> {
        LargeReportReader { report: self, at: 0 }
    }
}

impl Read for LargeReportReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.report.bytes.saturating_sub(self.at);
        let most = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let count = self.report.file.read_at(&mut buffer[..most], self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

/// Two reports are the same if they are the same file.
impl PartialEq for LargeReport {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.file, &other.file)
    }
}

impl Eq for LargeReport {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_a_word_and_a_file_of_its_own() {
        assert_eq!(ExportFormat::WORDS.map(|(_, format)| format), ExportFormat::ALL);
        let names: std::collections::BTreeSet<_> = ExportFormat::ALL.into_iter().map(ExportFormat::file_name).collect();
        assert_eq!(names.len(), ExportFormat::ALL.len());
    }
}
