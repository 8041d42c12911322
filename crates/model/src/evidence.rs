//! The files of a run's directory, and the kinds of these files.

use proctor_wire::wire;

use crate::Digest;

/// What a file in a run's directory holds. The first six kinds come from `requiredEvidence` of specification 2.0.0.
#[wire(Copy, PartialOrd, Ord, Hash, kebab, schema)]
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

words! {
    /// Returns the kind's name in reports, for example `api-responses`.
    pub fn EvidenceKind::word: TestExecutionLog "test-execution-log", TerminalOutput "terminal-output",
        Screenshots "screenshots", ApiResponses "api-responses", ErrorLogs "error-logs",
        PerformanceMetrics "performance-metrics", Frames "frames", ActionRecord "action-record",
        Diagnostics "diagnostics", ToolReport "tool-report", TechnicalDebt "technical-debt", Export "export"
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
