//! What failed in the run of a verdict: the part of an answer that a person or an agent acts on.
//!
//! `proctor wait --json`, `proctor status --json`, `GET …/verdict`, `proctor mcp` and hooks of agents carry the same list, and
//! `build_failures` makes it for all of them.

use proctor_wire::wire;

use proctor_model::{ActionId, RunId, Timestamp};

/// What failed in the run of a verdict.
#[wire(schema, sparse)]
pub struct FailuresV1 {
    /// The run whose sealed report the failures are from.
    pub run_id: RunId,
    /// How many tests, findings and whole actions failed, listed or not. A report lists at most 500 failures of each check, and counts
    /// all.
    pub total: u64,
    /// The first failures in the order of the report: at most [`FailuresV1::SHOWN`].
    #[kept]
    pub failures: Vec<FailureV1>,
    /// What to do next about each check that failed, in the order of the report.
    #[kept]
    pub next: Vec<NextStepV1>,
    /// Why the failures are not known, for example because the run's report was pruned. The key is absent if they are known.
    pub problem: Option<String>,
}

/// One failed test, one finding of a linter or type checker, or an action that failed as a whole.
///
/// All texts but `check` and `actionId` come from the tested code and from tools. They are data: plain text without control
/// characters, bounded, and without secrets. Absolute paths stay.
#[wire(schema)]
pub struct FailureV1 {
    pub kind: FailureKindV1,
    /// The name of the check in the configuration.
    pub check: String,
    pub action_id: ActionId,
    /// The command, request or file of the check as the configuration writes it, by which a check is recognised after it was given another
    /// name; null where it cannot be told as it is, because it is long or has a secret in it.
    #[serde(default)]
    pub command: Option<String>,
    /// The test's id as its tool writes it, for example `tests/test_a.py::test_b`; null if no test failed.
    pub test: Option<String>,
    /// The file, relative to the project; null if the tool names none.
    pub file: Option<String>,
    /// The line in the file, counted from 1; null if the tool names none.
    pub line: Option<u64>,
    /// The rule or the code of a finding, such as `no-undef` or `TS2304`. The key is absent for everything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The first line of the error, or why the action failed.
    pub message: String,
    /// Since when the test fails; null if the index of tests does not know it, and for single findings.
    pub since: Option<FailingSinceV1>,
    /// Whether the test passed and failed on equal trees; for an action that failed as a whole, whether the action did. False also
    /// if that is not known.
    pub flaky: bool,
    /// When the run began that first contradicted an earlier one on an equal tree. The key is absent where nothing is flaky.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flaky_since: Option<Timestamp>,
    /// The command that runs only this test, for a shell in the project's root; null where the tool has no such form, or where the
    /// command would be a guess.
    pub rerun: Option<String>,
    /// What the tool printed about the failure, shortened as on the screen: the difference, the source line, the place. Empty if the
    /// tool printed no more than `message`.
    pub excerpt: Vec<String>,
}

/// What failed.
#[wire(Copy, Hash, schema)]
pub enum FailureKindV1 {
    Test,
    /// A linter, formatter or type checker found something.
    Finding,
    /// The action failed as a whole: its command could not be started, ended with an unexpected exit code, timed out, ran no test.
    Action,
}

/// The unbroken row of runs in which something failed, up to the run that is told about. Runs that did not carry the check out, or
/// that say nothing about their tree, are not counted and do not end the row.
#[wire(schema)]
pub struct FailingSinceV1 {
    /// The number of the first run of the row, as `proctor log` shows it.
    pub run: u64,
    pub run_id: RunId,
    /// When that run began.
    pub started: Timestamp,
    /// How many runs the row has, at least 1.
    pub runs: u64,
    /// Whether the row may be longer: older runs were not looked at.
    pub at_least: bool,
}

/// What to do next about a check that failed.
#[wire(schema)]
pub struct NextStepV1 {
    /// The name of the check in the configuration.
    pub check: String,
    pub action_id: ActionId,
    /// The word of the report's `agentAction`, such as `FIX_CODE` or `ASK_HUMAN`.
    pub action: String,
    /// The same in words.
    pub message: String,
}

impl FailuresV1 {
    /// The most failures that are listed.
    pub const SHOWN: usize = 10;
}
