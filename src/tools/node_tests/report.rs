//! Reads the JSON that Jest (`--json`) and Vitest (`--reporter=json`) write. Owns the shape only; what is not used is not read.

use serde::Deserialize;

/// Larger reports are not read (64 MiB).
pub(super) const MAX_BYTES: usize = 64 * 1024 * 1024;

/// A report as it stands in the file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document {
    /// How many tests the tool counts. Never a count to be used, only to be compared with (E5).
    pub(super) num_total_tests: u64,
    /// How many failed, likewise. The other counts are left alone: Vitest 1 counts skipped tests as passed.
    pub(super) num_failed_tests: u64,
    /// Whether the tool calls it a success. Says yes where an error outside of tests failed the run (Vitest), so it proves nothing.
    pub(super) success: bool,
    /// Whether the run was cut short (Jest).
    #[serde(default)]
    pub(super) was_interrupted: bool,
    /// One for each file of tests.
    pub(super) test_results: Vec<File>,
}

/// A file of tests.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct File {
    /// Its path, absolute.
    pub(super) name: String,
    /// `passed`, `failed`, or Jest's `focused`, `skipped` and the like.
    pub(super) status: String,
    /// Everything that went wrong in it.
    #[serde(default)]
    pub(super) message: Option<String>,
    /// Its tests. Empty where it could not be loaded.
    pub(super) assertion_results: Vec<Assertion>,
}

/// One test.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Assertion {
    /// The `describe` blocks around it.
    pub(super) ancestor_titles: Vec<String>,
    /// Its own title.
    pub(super) title: String,
    /// `passed`, `failed`, `pending`, `skipped`, `todo`, `disabled`.
    pub(super) status: String,
    /// How long it took, in milliseconds.
    #[serde(default)]
    pub(super) duration: Option<f64>,
    /// What it said when it failed.
    #[serde(default)]
    pub(super) failure_messages: Option<Vec<String>>,
    /// Where it stands, where the tool was asked for that.
    #[serde(default)]
    pub(super) location: Option<Location>,
}

/// A place in the file of the test.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub(super) struct Location {
    /// From 1.
    pub(super) line: u64,
}

/// Reads a report. One that ends early is no JSON, so what is read is whole.
pub(super) fn read(bytes: &[u8]) -> Result<Document, serde_json::Error> {
    serde_json::from_slice(bytes)
}
