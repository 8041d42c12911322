//! Reads the JSON that Jest (`--json`) and Vitest (`--reporter=json`) write. Only the fields that are used are
//! declared.

use serde::Deserialize;

/// The largest report that is read (64 MiB).
pub(super) const MAX_BYTES: usize = 64 * 1024 * 1024;

/// The report of a whole run, which is one JSON document.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document {
    /// The number of tests according to the tool. It is only compared with the listed tests and never shown (E5).
    pub(super) num_total_tests: u64,
    /// The number of failed tests according to the tool, also only compared with the listed tests. The tool's other
    /// counts are not read, because Vitest 1 counts skipped tests as passed.
    pub(super) num_failed_tests: u64,
    /// Whether the tool considers the run a success. Vitest writes `true` even if an error outside the tests failed the
    /// run, so `true` proves nothing.
    pub(super) success: bool,
    /// Whether the run was interrupted; only Jest writes this.
    #[serde(default)]
    pub(super) was_interrupted: bool,
    /// The results of the run, grouped by test file.
    pub(super) test_results: Vec<File>,
}

/// One test file, with the results of its tests.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct File {
    /// The file's absolute path.
    pub(super) name: String,
    /// The status of the file: `passed` or `failed`; Jest also writes `focused`, `skipped` and others.
    pub(super) status: String,
    /// All errors of the file as one text.
    #[serde(default)]
    pub(super) message: Option<String>,
    /// The file's tests. Empty if the file could not be loaded.
    pub(super) assertion_results: Vec<Assertion>,
}

/// One test; the report calls a test an assertion.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Assertion {
    /// The titles of the enclosing `describe` blocks.
    pub(super) ancestor_titles: Vec<String>,
    /// The test's own title.
    pub(super) title: String,
    /// The status of the test: `passed`, `failed`, `pending`, `skipped`, `todo` or `disabled`.
    pub(super) status: String,
    /// The test's duration in milliseconds.
    #[serde(default)]
    pub(super) duration: Option<f64>,
    /// The messages of a failed test.
    #[serde(default)]
    pub(super) failure_messages: Option<Vec<String>>,
    /// Where the test stands in its file, if the tool was asked to include this.
    #[serde(default)]
    pub(super) location: Option<Location>,
}

/// A place in the test's file.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub(super) struct Location {
    /// The line, starting at 1.
    pub(super) line: u64,
}

/// Reads a report. A truncated report is not valid JSON, so a report that can be read is complete.
pub(super) fn read(bytes: &[u8]) -> Result<Document, serde_json::Error> {
    serde_json::from_slice(bytes)
}
