//! The report's entry of one action.

use proctor_wire::wire;
use serde::{Deserialize, Serialize};

use proctor_model::{
    ActionId, AgentAction, Classification, ControlObservation, Coverage, DebtGeneration, DiagnosticSummary, DurationMs, Examined,
    ResultType, ReviewObservation, RunId, Survivor, SystemFault, TestResults, Timestamp, TreeDigest, WrittenActionType,
};

use super::observed::{AttemptV2, DiagnosticsV2, HealthCheckV2, TextV2};
use super::report::SpecificationErrorV2;

/// Whether an action was carried out. The field `status` says how it ended (C62).
#[wire(Copy, Hash, screaming, schema)]
pub enum DispositionV2 {
    /// The action was started, or starting it failed.
    Executed,
    /// The action was not run: `skipReason` says why, and `status` is null. This includes a prerequisite that is
    /// `unchanged`.
    Skipped,
    /// The action's specification is wrong, so it was not run.
    Invalid,
    /// The action was not run. `reused` names the earlier run with the same inputs whose result is used.
    Reused,
}

/// Why an action was not run.
#[wire(Copy, Hash, kebab, schema)]
pub enum SkipReason {
    /// The action is a prerequisite, its inputs are unchanged since it last succeeded, and its outputs exist.
    Unchanged,
    /// A prerequisite did not succeed, so no check may start.
    PrerequisiteFailed,
    /// The run was stopped before the action's turn.
    Stopped,
    /// The user selected other checks by name.
    NotSelected,
    /// The check runs only when somebody asks for it, and nobody did.
    WaitsForRequest,
    /// An earlier step failed whose `continueOnFailure` is false, so the run did not go on.
    AfterFailure,
    /// A step on which this step depends did not succeed.
    DependencyFailed,
    /// The time limit of the whole run had passed.
    RunTimedOut,
    /// The specification of the action's task has errors, so nothing of it was run.
    SpecificationWrong,
}

impl SkipReason {
    /// Returns whether the run left the action out by its own choice of checks, so it says nothing about the action.
    pub fn is_left_out(self) -> bool {
        match self {
            Self::NotSelected | Self::WaitsForRequest => true,
            Self::Unchanged
            | Self::PrerequisiteFailed
            | Self::Stopped
            | Self::AfterFailure
            | Self::DependencyFailed
            | Self::RunTimedOut
            | Self::SpecificationWrong => false,
        }
    }
}

/// The report's entry of one action: what it was, how it ended and what follows from that.
#[wire(inexact, schema, sparse)]
pub struct ActionResultV2 {
    /// The action's id, for example `STEP.3`.
    pub action_id: ActionId,
    /// The action's name in the configuration (added to the original format).
    pub name: String,
    /// The type; of an action whose specification is wrong, the text that stands in its place.
    #[serde(rename = "type")]
    pub action_type: WrittenActionType,
    /// The tool whose output was read, for example `typescript` for tsc (added to the original format).
    pub tool: String,
    /// Whether the action was carried out, skipped, invalid or reused (added to the original format, C62).
    pub disposition: DispositionV2,
    /// Why the action was skipped; absent if the action was not skipped (added to the original format).
    pub skip_reason: Option<SkipReason>,
    /// The result type; null exactly if the action was skipped.
    #[kept]
    pub status: Option<ResultType>,
    /// Whether the result makes the verdict FAILED (added to the original format); absent if the action was skipped.
    pub blocking: Option<bool>,
    /// What the action is for, as the configuration describes it for people.
    pub description: String,
    /// The command as the user wrote it, the request, or the file (added to the original format).
    pub command: String,
    /// The directory in which the command ran, relative to the project (added to the original format); absent if it is the
    /// project's root.
    pub directory: Option<String>,
    /// The duration in the run that carried out the action; absent if it was skipped.
    pub duration: Option<DurationMs>,
    /// The log, as a file name in the report's directory. The name stays valid when the directory is moved or linked.
    pub evidence: Option<String>,
    /// All files of the action, as file names in the report's directory (added to the original format). Their hashes
    /// are in the report's `evidenceFiles`.
    pub evidence_files: Vec<String>,
    /// The earlier run whose result is used; this entry then shows the earlier run's findings. Absent if the action was
    /// not reused.
    pub reused: Option<ReusedV2>,
    /// The number of attempts, if there were several. The last attempt's result counts (added to the original format).
    pub attempts: Option<u32>,
    /// True if the action succeeded only after a failed attempt, so its success is unreliable (added to the original
    /// format).
    pub flaky: Option<bool>,
    /// The attempts before the last one (added to the original format).
    pub earlier_attempts: Vec<AttemptV2>,
    /// What the action did and found; absent if it was skipped.
    pub result: Option<ActionOutcomeV2>,
    /// The category code of the result and its reason; absent if the action was skipped.
    pub classification: Option<Classification>,
    /// The failed prerequisite that should have answered the action's request (added to the original format, C09).
    pub root_cause: Option<ActionId>,
    /// What did not run because the action failed or its specification is wrong; absent if everything could run.
    pub impact: Option<ImpactV2>,
    /// Whether the result becomes a debt item; absent if the action was skipped.
    pub debt_generation: Option<DebtGeneration>,
    /// What an agent should do about the result; absent if the action was skipped.
    pub agent_action: Option<AgentAction>,
    /// Whether the action's process was started early, before the run (added to the original format); absent if none was started for it.
    pub early_start: Option<EarlyStartV2>,
}

/// A process that was started for an action before the run, and that waited for the project's files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EarlyStartV2 {
    /// Whether it went on as the action. Otherwise it had ended before the action was started anew.
    pub used: bool,
    /// Why it was not used.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub why_not: Option<String>,
}

/// The earlier run that a reused result comes from, and the action's files in that run. No file is copied.
#[wire(schema, sparse)]
pub struct ReusedV2 {
    /// The run that carried out the action. A run that itself reused the result is never named here.
    pub run_id: RunId,
    /// The tree on which the action was carried out, if it is not the tree of this run; such a result is no proof for this
    /// tree. Absent if the tree is the same, and in older reports.
    pub other_tree: Option<TreeDigest>,
    /// The action's log, as a file name in the earlier run's directory.
    pub evidence: Option<String>,
    /// All files of the action in the earlier run's directory. Their hashes are in `reused` of the report.
    pub evidence_files: Vec<String>,
}

/// What is known about how an action ended: how its command, its HTTP request, its file validation or its service ended. A
/// skipped action has none of these fields.
#[wire(Default, inexact, schema, sparse)]
pub struct ActionOutcomeV2 {
    /// For a FILE_VALIDATION: whether the file exists as a regular file that is not a link.
    pub file_exists: Option<bool>,
    /// For a FILE_VALIDATION: the path, relative to the project.
    pub file_path: Option<String>,
    /// For a FILE_VALIDATION: the size in bytes.
    pub file_size: Option<u64>,
    /// For a FILE_VALIDATION: the time of the last change.
    pub last_modified: Option<Timestamp>,
    /// The beginning and the end of the file, if `evidenceCapture.fileContents` is set (added to the original format).
    pub file_contents: Option<TextV2>,
    /// For a request, a file or a plain command that is not as it must be: what was expected (added to the original format).
    pub expected: Option<String>,
    /// What was there instead of `expected` (added to the original format).
    pub received: Option<String>,
    /// The HTTP status code of the answer to a request (added to the original format).
    pub status_code: Option<u16>,
    /// The beginning and the end of the answer's body, if `evidenceCapture.requestResponse` is set or the answer is not as it must be
    /// (added to the original format).
    pub response_body: Option<TextV2>,
    /// The exit code of a process that exited by itself.
    pub exit_code: Option<i32>,
    /// The signal that ended the process, or the last signal that proctor sent before the process exited.
    pub signal: Option<String>,
    /// Whether proctor stopped the process; absent if it never started or its end is not known.
    pub killed: Option<bool>,
    /// Why the command could not be started, why its end is not known, or why a request got no answer.
    pub error: Option<SystemFault>,
    /// For a service that did not become ready: what it printed on standard error or standard output.
    pub server_output: Option<String>,
    /// For a service that did not become ready: the result of its health checks.
    pub health_check: Option<HealthCheckV2>,
    /// For a service: the time until it was ready; absent if it was never ready.
    pub ready_after: Option<DurationMs>,
    /// The exceeded time limit; `classification.limit` says which one.
    pub timeout: Option<DurationMs>,
    /// After a time-out: the measured duration.
    pub actual_duration: Option<DurationMs>,
    /// After a time-out: the end of the output before the process was stopped.
    pub partial_output: Option<String>,
    /// After a time-out: the time of the last output.
    pub last_update: Option<Timestamp>,
    /// The decision of a review, with all attempts (added to the original format).
    pub review: Option<ReviewObservation>,
    pub test_results: Option<TestResults>,
    /// Errors and warnings after the policy was applied, the first 500; or what was examined because a server did not
    /// answer.
    #[serde(skip_serializing_if = "DiagnosticsV2::is_empty", default)]
    pub diagnostics: DiagnosticsV2,
    /// Counts over all diagnostics, also those that are not listed.
    pub summary: Option<DiagnosticSummary>,
    /// False if the action was not run because its specification is wrong; otherwise absent.
    pub executed: Option<bool>,
    /// The errors in the specification of the action; absent if the specification is right.
    pub schema_validation: Option<SchemaValidationV2>,
    /// The measured and required test coverage; absent if no coverage was measured.
    pub coverage: Option<Coverage>,
    /// In how many processes the tests ran, if the check has `shards` (added to the original format).
    pub shards: Option<u32>,
    /// How the test report was requested (E5): `argument`, `own`, `inherited`.
    pub report_channel: Option<String>,
    /// What the tool looked at and how many, as the tool says it; its count is `null` where the tool does not say it. Absent if
    /// nothing more is known than the exit code (added to the original format).
    pub examined: Option<Examined>,
    /// The result of the control, the tests that must fail, if the check has one (added to the original format).
    pub control: Option<ControlObservation>,
    /// Warnings about the action that do not change its result but must be shown.
    pub warnings: Vec<String>,
    /// The processes that the action left behind, which were killed (E14).
    pub survivors: Vec<Survivor>,
    /// True if a process still held a pipe when reading ended. Any later output is in no file.
    pub pipes_left_open: Option<bool>,
    /// The beginning and the end of standard output as plain text (E11).
    pub stdout: Option<String>,
    /// The byte ranges shown in `stdout`; absent if standard output was empty.
    pub stdout_shown: Option<ShownV2>,
    /// The beginning and the end of standard error as plain text (E11).
    pub stderr: Option<String>,
    /// The byte ranges shown in `stderr`; absent if standard error was empty.
    pub stderr_shown: Option<ShownV2>,
}

/// The byte ranges that an excerpt shows. Positions refer to the stream itself and not to the log (E11).
#[wire(Default, schema)]
pub struct ShownV2 {
    /// The number of bytes in the whole stream, shown or not.
    pub total_bytes: u64,
    /// The shown byte ranges in ascending order.
    pub ranges: Vec<ByteRangeV2>,
}

/// A range of bytes in a stream; it includes `from` and excludes `to`.
#[wire(Copy, schema)]
pub struct ByteRangeV2 {
    /// The first shown byte, counted from 0.
    pub from: u64,
    /// The first byte after the range.
    pub to: u64,
}

/// The actions that did not run because of a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum ImpactV2 {
    /// The effect of a failed prerequisite.
    Prerequisite(PrerequisiteImpactV2),
    /// The effect of a wrong specification of an action.
    Action(ActionImpactV2),
}

/// How many checks a failed prerequisite kept from running.
#[wire(schema)]
pub struct PrerequisiteImpactV2 {
    /// How many checks did not run because of the failed prerequisite.
    pub subsequent_steps_skipped: u64,
    /// True if not a single check could run.
    pub test_execution_aborted: bool,
    pub reason: String,
}

/// The effect of a wrong specification: the action itself was not run.
#[wire(schema)]
pub struct ActionImpactV2 {
    /// Whether the action was skipped because its specification is wrong.
    pub action_skipped: bool,
    pub reason: String,
}

/// The errors in the specification of an action.
#[wire(schema)]
pub struct SchemaValidationV2 {
    /// Whether the action satisfies the schema and the lint rules.
    pub valid: bool,
    /// The errors, with positions relative to the action.
    pub errors: Vec<SpecificationErrorV2>,
}
