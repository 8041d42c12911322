//! The records beside the report: the start of a run, an action, the action's tests, and the action's diagnostics
//! ("evidence file standards" in the design document seed 004).

use std::collections::BTreeMap;

use proctor_wire::wire;

use proctor_model::{
    ActionId, ActionType, Coverage, Diagnostic, DiagnosticSummary, Digest, DurationMs, LimitKind, RunId, Survivor, SystemFault,
    TaskId, TestBody, TestOutcome, Timestamp, TreeDigest, TreeFormat, Trigger, Usage,
};

use super::action::ShownV2;
use super::context::ProjectV2;
use super::report::TestSpecificationV2;

/// `run.json`, which is written before the first command starts, so that a run that dies leaves a trace (S2).
#[wire(open)]
pub struct RunStartV1<D = RunStartDetailsV1> {
    /// Always `proctor-run-v1`.
    pub schema: String,
    pub run_id: RunId,
    pub task: TaskId,
    /// All keys of the start record except `schema`, `runId` and `task`.
    #[serde(flatten)]
    pub details: D,
}

/// The keys of a start record in addition to `schema`, `runId` and `task`.
#[wire(open)]
pub struct RunStartDetailsV1 {
    /// The name and version of the program that wrote the record.
    pub generated_by: String,
    pub project: ProjectV2,
    /// The task, the origin and the digest of the plan that will be carried out.
    pub test_specification: TestSpecificationV2,
    /// The digest of the tree that will be tested.
    pub tree_digest: TreeDigest,
    /// The format of the tree's digest.
    #[serde(default, skip_serializing_if = "TreeFormat::is_unnamed")]
    pub tree_format: TreeFormat,
    pub trigger: Trigger,
    pub started: Timestamp,
    /// The id of the process that carries out the run.
    pub process_id: u32,
}

/// `STEP.3-typescript-compilation.json`: what was started, how it ended, and where its output is ("terminal output
/// evidence" in the design document seed 004).
#[wire(inexact, sparse)]
pub struct ActionRecordV1 {
    /// Always `proctor-action-v1`.
    pub schema: String,
    pub run_id: RunId,
    pub action_id: ActionId,
    #[serde(rename = "type")]
    pub action_type: ActionType,
    /// The action's name in the configuration.
    pub name: String,
    /// The command as the user wrote it.
    pub command: String,
    /// The program and its arguments, exactly as they were given to the kernel.
    #[kept]
    pub argv: Vec<String>,
    /// Whether the command runs in a shell, as the user asked.
    pub shell: bool,
    pub working_directory: String,
    /// The program that was executed; absent if it was not found.
    pub program: Option<ProgramV1>,
    /// When and how the command ended.
    pub execution: ExecutionV1,
    pub output: OutputV1,
    /// The command's environment variables; secret values are not shown.
    pub environment: EnvironmentRecordV1,
    /// The resources that the command used; absent if it never started.
    pub usage: Option<Usage>,
    /// The processes that the command left behind, which were killed (E14).
    pub survivors: Vec<Survivor>,
    /// Which program captured the output, when, and the hash of the output.
    pub authenticity: RecordAuthenticityV1,
}

/// The program file that was executed.
#[wire(sparse)]
pub struct ProgramV1 {
    /// The program's path with symbolic links resolved.
    pub path: String,
    /// The SHA-256 of the program file; absent if the file can be executed but not read.
    pub sha256: Option<Digest>,
    /// The version of the tool, from its installed package; absent if not known.
    pub version: Option<String>,
}

/// When and how a command ended.
#[wire(sparse)]
pub struct ExecutionV1 {
    /// The time when the command was started.
    pub start_time: Timestamp,
    /// The time when proctor noticed that the command had ended.
    pub end_time: Timestamp,
    pub duration: DurationMs,
    /// The exit code of a process that exited by itself; otherwise null.
    #[kept]
    pub exit_code: Option<i32>,
    /// The signal that ended the process, or the last signal that proctor sent before the process exited; otherwise
    /// null.
    #[kept]
    pub signal: Option<String>,
    /// Whether proctor stopped the process.
    pub killed: bool,
    /// The exit code of a process that proctor was stopping. It is recorded but never decides the result (E10).
    pub exit_code_after_stop: Option<i32>,
    /// The last signal that proctor sent to stop the process.
    pub stop_signal: Option<String>,
    /// The limit that the command exceeded, if any.
    pub limit: Option<LimitKind>,
    /// Why the command could not be started, or why its end is not known.
    pub error: Option<SystemFault>,
}

/// The output of a command. The log has the bytes of both streams in order of arrival, and the frames file says which
/// byte came from which stream (E16).
#[wire(sparse)]
pub struct OutputV1 {
    /// The file name of the log.
    pub log: String,
    /// The size of the log in bytes.
    pub log_bytes: u64,
    pub log_sha256: Digest,
    /// The file name of the frames file.
    pub frames: String,
    /// The size of the frames file in bytes.
    pub frames_bytes: u64,
    pub frames_sha256: Digest,
    /// The time when the last byte of output arrived.
    pub last_output: Option<Timestamp>,
    /// Whether a process still held a pipe open when reading ended, so that later output is lost.
    pub pipes_left_open: bool,
    /// The beginning and the end of standard output as plain text.
    pub stdout: String,
    /// The byte ranges shown in `stdout`.
    pub stdout_shown: ShownV2,
    /// The beginning and the end of standard error as plain text.
    pub stderr: String,
    /// The byte ranges shown in `stderr`.
    pub stderr_shown: ShownV2,
}

/// The environment variables of a command (E12).
#[wire(sparse)]
pub struct EnvironmentRecordV1 {
    /// The names of all variables, sorted.
    #[kept]
    pub names: Vec<String>,
    /// The values of the variables that may be shown, by name.
    #[kept]
    pub values: BTreeMap<String, String>,
    /// SHA-256 over `name=value` and a NUL byte for each variable whose value is not shown, sorted; absent if all
    /// values are shown.
    pub rest_digest: Option<Digest>,
}

/// Where a record of a command comes from, and the hash of the output behind it.
#[wire]
pub struct RecordAuthenticityV1 {
    /// The program that captured the output.
    pub captured_by: String,
    /// The time when proctor noticed that the action had ended.
    pub timestamp: Timestamp,
    /// The SHA-256 of the log.
    pub output_hash: Digest,
}

/// `STEP.4-test-results.json`: all tests of an action ("test results evidence" in the design document seed 004).
#[wire(inexact, sparse)]
pub struct TestResultsRecordV1 {
    /// Always `proctor-test-results-v1`.
    pub schema: String,
    pub run_id: RunId,
    pub action_id: ActionId,
    #[serde(rename = "type")]
    pub action_type: ActionType,
    /// The tool that ran the tests, for example `pytest`.
    pub test_framework: String,
    /// The file of the tests, if the tool's report names a file and it is the same for all tests.
    pub test_file: Option<String>,
    /// When and how the action ended.
    pub execution: ExecutionV1,
    pub results: TestRunV1,
    /// The test coverage; null if it was not measured.
    #[kept]
    pub coverage: Option<Coverage>,
    /// How the test report was requested (E5).
    pub report_channel: Option<String>,
    /// Which program captured the output, when, and the hash of the output.
    pub authenticity: RecordAuthenticityV1,
}

/// The tests of an action with their counts.
#[wire]
pub struct TestRunV1 {
    pub num_total_tests: u64,
    pub num_passed_tests: u64,
    /// The number of tests with a failure or an error.
    pub num_failed_tests: u64,
    /// The number of tests that were skipped or failed as expected.
    pub num_pending_tests: u64,
    /// One entry for each test, in the order of the tool's report.
    pub test_results: Vec<TestRecordV1>,
}

/// One test in the record of an action's tests.
#[wire(sparse)]
pub struct TestRecordV1 {
    /// What encloses the test: module and class, or the `describe` blocks.
    #[kept]
    pub ancestor_titles: Vec<String>,
    /// The full name of the test as the tool writes it for people, or its name in the tool's report if the other name is not
    /// known.
    pub full_name: String,
    /// The test's name in the tool's report, if it is not `fullName` (added to the original format). Runs are compared by it.
    pub report_name: Option<String>,
    pub status: TestOutcome,
    /// Whether the test failed and was expected to fail, such as pytest's `xfail`; its status is then `skipped` (added to the original
    /// format).
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub expected_to_fail: bool,
    /// The test's own name, without the names of the classes, modules or groups that enclose the test.
    pub title: String,
    /// The test's duration in milliseconds.
    pub duration: Option<u64>,
    /// The test's duration in microseconds, where the tool tells more than milliseconds (added to the original format).
    pub duration_us: Option<u64>,
    /// The messages of the test's failure, or why it was skipped; empty if the test passed.
    pub failure_messages: Vec<String>,
    /// The place where the test failed, if it is known.
    pub location: Option<TestLocationV1>,
    /// The mark of the test's source text, by which it is known again after it was renamed; absent if the text was not found (added
    /// to the original format).
    pub body: Option<TestBody>,
    /// The test's file, where neither `fullName` begins with it nor the whole record has it (added to the original format).
    pub test_file: Option<String>,
}

impl TestRecordV1 {
    /// Returns the name by which tests of different runs are compared, as [`proctor_model::TestFailure::stable_name`] does.
    pub fn stable_name(&self) -> &str {
        self.report_name.as_deref().unwrap_or(&self.full_name)
    }
}

/// The place in a file where a test failed.
#[wire(sparse)]
pub struct TestLocationV1 {
    pub file: String,
    /// The line of the failure, if the tool's report names one.
    pub line: Option<u64>,
}

/// `STEP.3-typescript-diagnostics.json`, `STEP.11-eslint-report.json`: all findings of an action.
#[wire(inexact)]
pub struct DiagnosticsRecordV1 {
    /// Always `proctor-diagnostics-v1`.
    pub schema: String,
    pub run_id: RunId,
    pub action_id: ActionId,
    #[serde(rename = "type")]
    pub action_type: ActionType,
    /// The tool that reported the findings, for example `typescript` for tsc.
    pub tool: String,
    /// When and how the action ended.
    pub execution: ExecutionV1,
    /// The errors and warnings of the tool, with the severities that the policy gave them.
    #[serde(rename = "diagnostics")]
    pub findings: Vec<Diagnostic>,
    /// The number of findings of each severity.
    pub summary: DiagnosticSummary,
    /// Which program captured the output, when, and the hash of the output.
    pub authenticity: RecordAuthenticityV1,
}
