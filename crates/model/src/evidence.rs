//! The files of a run's directory, and the kinds of these files.

use crate::Digest;
use proctor_wire::wire;

/// What a file in a run's directory holds. The first six kinds come from `requiredEvidence` of specification 2.0.0.
#[wire(Copy, PartialOrd, Ord, Hash, kebab, schema, named)]
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

/// A file in a run's directory, with the digest that was computed while the file was written.
#[wire(open, schema, sparse)]
pub struct EvidenceFile {
    /// The file's name in the run directory.
    pub name: String,
    pub kind: EvidenceKind,
    /// The id of the action that the file belongs to; `None` if it belongs to the whole run.
    pub action_id: Option<String>,
    pub bytes: u64,
    pub sha256: Digest,
}

// The forms in which a run is exported for other tools.

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
    /// The name of each format on the command line and in `also` of `[evidence]`.
    pub const WORDS: [(&'static str, Self); 6] = [
        ("junit", Self::Junit),
        ("ctrf", Self::Ctrf),
        ("sarif", Self::Sarif),
        ("github", Self::Github),
        ("markdown", Self::Markdown),
        ("html", Self::Html),
    ];
}

words! {
    /// Returns the name of the file in a run's directory. No file of an action has such a name, because those begin with the action's id.
    pub fn ExportFormat::file_name, ALL: Junit "export.junit.xml", Ctrf "export.ctrf.json", Sarif "export.sarif",
        Github "export.github.txt", Markdown "export.md", Html "export.html"
}

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
