//! The records beside the report: the start of a run, an action, its tests, its diagnostics ("evidence file standards").

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::{
    ActionId, ActionType, Coverage, Diagnostic, DiagnosticSummary, Digest, DurationMs, LimitKind, RunId, Survivor, SystemFault,
    TaskId, TestOutcome, Timestamp, TreeDigest, Trigger, Usage,
};

use super::action::ShownV2;
use super::context::ProjectV2;
use super::report::TestSpecificationV2;

/// `run.json`: written before the first command of a run is started, so that a run that dies leaves a trace (S2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunStartV1<D = RunStartDetailsV1> {
    /// `proctor-run-v1`.
    pub schema: String,
    /// The run.
    pub run_id: RunId,
    /// Its task.
    pub task: TaskId,
    /// Everything else.
    #[serde(flatten)]
    pub details: D,
}

/// What a start record says beside `schema`, `runId` and `task`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunStartDetailsV1 {
    /// What wrote it.
    pub generated_by: String,
    /// The project.
    pub project: ProjectV2,
    /// What it is going to carry out: task, origin and plan digest.
    pub test_specification: TestSpecificationV2,
    /// The tree it is going to test.
    pub tree_digest: TreeDigest,
    /// What started it.
    pub trigger: Trigger,
    /// When it began.
    pub started: Timestamp,
    /// The process that carries it out.
    pub process_id: u32,
}

/// `STEP.3-typescript-compilation.json`: what was started, how it ended, where its output is (seed 004, terminal output evidence).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ActionRecordV1 {
    /// `proctor-action-v1`.
    pub schema: String,
    /// The run.
    pub run_id: RunId,
    /// The action.
    pub action_id: ActionId,
    /// Its kind.
    #[serde(rename = "type")]
    pub action_type: ActionType,
    /// Its name in the configuration.
    pub name: String,
    /// The command as the user wrote it.
    pub command: String,
    /// Program and arguments as they were handed to the kernel.
    pub argv: Vec<String>,
    /// Whether a shell was asked for.
    pub shell: bool,
    /// Where it ran.
    pub working_directory: String,
    /// The program that was found for it; absent where none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramV1>,
    /// When and how it ended.
    pub execution: ExecutionV1,
    /// What it printed.
    pub output: OutputV1,
    /// The variables it was given.
    pub environment: EnvironmentRecordV1,
    /// What it used; absent where it was never started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Processes it left behind; they were killed (E14).
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub survivors: Vec<Survivor>,
    /// Where the record comes from.
    pub authenticity: RecordAuthenticityV1,
}

/// The program file that was executed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProgramV1 {
    /// Its path, links resolved.
    pub path: String,
    /// Its SHA-256; absent where it may be executed and not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Digest>,
    /// The version of the tool it starts, as the tool's installed package says; absent where that is not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub version: Option<String>,
}

/// When and how a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExecutionV1 {
    /// When it was started.
    pub start_time: Timestamp,
    /// When its end was seen.
    pub end_time: Timestamp,
    /// How long it took.
    pub duration: DurationMs,
    /// The exit status of a process that ended by itself; else null.
    pub exit_code: Option<i32>,
    /// The signal that ended it or, where we stopped it and it exited, the last one we sent; else null.
    pub signal: Option<String>,
    /// Whether we stopped it.
    pub killed: bool,
    /// The exit status that came back after we had begun to stop it: a fact, never the result (E10).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code_after_stop: Option<i32>,
    /// The last signal we sent to stop it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_signal: Option<String>,
    /// The limit it hit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<LimitKind>,
    /// Why it could not be started, or why its end is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<SystemFault>,
}

/// What a command printed. The log has the exact bytes of both streams in order of arrival, the frames say which were whose (E16).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OutputV1 {
    /// File name of the log.
    pub log: String,
    /// Its bytes.
    pub log_bytes: u64,
    /// Its SHA-256.
    pub log_sha256: Digest,
    /// File name of the frames.
    pub frames: String,
    /// Its bytes.
    pub frames_bytes: u64,
    /// Its SHA-256.
    pub frames_sha256: Digest,
    /// When the last byte arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_output: Option<Timestamp>,
    /// Whether something still held a pipe when reading ended.
    pub pipes_left_open: bool,
    /// First and last of standard output, as plain text.
    pub stdout: String,
    /// Which bytes of standard output that is.
    pub stdout_shown: ShownV2,
    /// First and last of standard error, as plain text.
    pub stderr: String,
    /// Which bytes of standard error that is.
    pub stderr_shown: ShownV2,
}

/// The variables a command was given (E12).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EnvironmentRecordV1 {
    /// All names, sorted.
    pub names: Vec<String>,
    /// The values that may be shown.
    pub values: BTreeMap<String, String>,
    /// SHA-256 over the lines `name=value` NUL of all others, sorted; absent when there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rest_digest: Option<Digest>,
}

/// Where a record comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecordAuthenticityV1 {
    /// What captured the output.
    pub captured_by: String,
    /// When the action's end was seen.
    pub timestamp: Timestamp,
    /// SHA-256 of the log.
    pub output_hash: Digest,
}

/// `STEP.4-test-results.json`: every test of an action (seed 004, test results evidence).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TestResultsRecordV1 {
    /// `proctor-test-results-v1`.
    pub schema: String,
    /// The run.
    pub run_id: RunId,
    /// The action.
    pub action_id: ActionId,
    /// Its kind.
    #[serde(rename = "type")]
    pub action_type: ActionType,
    /// The tool: `pytest`.
    pub test_framework: String,
    /// The file of the tests, where all of them are of one and the tool's report names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_file: Option<String>,
    /// When and how it ended.
    pub execution: ExecutionV1,
    /// The tests.
    pub results: TestRunV1,
    /// The coverage that was read; else null.
    pub coverage: Option<Coverage>,
    /// How the test report was asked for (E5).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report_channel: Option<String>,
    /// Where the record comes from.
    pub authenticity: RecordAuthenticityV1,
}

/// The tests of an action, counted and listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TestRunV1 {
    /// All of them.
    pub num_total_tests: u64,
    /// Passed.
    pub num_passed_tests: u64,
    /// Failures and errors.
    pub num_failed_tests: u64,
    /// Skips and expected failures.
    pub num_pending_tests: u64,
    /// One entry each, in the report's order.
    pub test_results: Vec<TestRecordV1>,
}

/// One test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TestRecordV1 {
    /// Module and class, or the `describe` blocks around it.
    pub ancestor_titles: Vec<String>,
    /// All of these and the title in one, as the tool joins them.
    pub full_name: String,
    /// How it ended.
    pub status: TestOutcome,
    /// The test's name.
    pub title: String,
    /// How long it took, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<u64>,
    /// What it said when it did not pass.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub failure_messages: Vec<String>,
    /// Where it failed, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<TestLocationV1>,
}

/// Where a test failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TestLocationV1 {
    /// The file.
    pub file: String,
    /// The line, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// `STEP.3-typescript-diagnostics.json`, `STEP.11-eslint-report.json`: every finding of an action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DiagnosticsRecordV1 {
    /// `proctor-diagnostics-v1`.
    pub schema: String,
    /// The run.
    pub run_id: RunId,
    /// The action.
    pub action_id: ActionId,
    /// Its kind.
    #[serde(rename = "type")]
    pub action_type: ActionType,
    /// The tool, as seed 004 names it.
    pub tool: String,
    /// When and how it ended.
    pub execution: ExecutionV1,
    /// Errors and warnings, as the policy left them.
    #[serde(rename = "diagnostics")]
    pub findings: Vec<Diagnostic>,
    /// Their counts.
    pub summary: DiagnosticSummary,
    /// Where the record comes from.
    pub authenticity: RecordAuthenticityV1,
}
