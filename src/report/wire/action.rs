//! One action of a run, as the report shows it.

use serde::{Deserialize, Serialize};

use crate::model::{
    ActionId, ActionType, AgentAction, Classification, ControlSeen, Coverage, DebtGeneration, DiagnosticSummary, DurationMs,
    ResultType, ReviewSeen, RunId, Survivor, SystemFault, TestResults, Timestamp,
};

use super::observed::{AttemptV2, DiagnosticsV2, HealthCheckV2, TextV2};
use super::report::SpecificationErrorV2;

/// Whether an action was carried out, apart from how it ended (C62).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum DispositionV2 {
    /// It was started, or starting it was tried.
    Executed,
    /// It was not run; `skipReason` says why, `status` is null. An unchanged prerequisite is this with `unchanged`.
    Skipped,
    /// Its specification is wrong; nothing was run.
    Invalid,
    /// It was not run: it has the result of an earlier run on the same inputs, which `reused` names.
    Reused,
}

/// Why an action was not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SkipReason {
    /// A prerequisite: nothing it depends on has changed since it last succeeded, and what it makes is there.
    Unchanged,
    /// A prerequisite did not succeed.
    PrerequisiteFailed,
    /// The run was stopped before it was its turn.
    Stopped,
    /// Other checks were asked for by name.
    NotSelected,
    /// An earlier step did not succeed, and the run does not go on after that (`continueOnFailure`).
    AfterFailure,
    /// A step it comes after did not succeed.
    DependencyFailed,
    /// The time-out of the run as a whole was over.
    RunTimedOut,
}

/// One action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ActionResultV2 {
    /// `STEP.3`.
    pub action_id: ActionId,
    /// Its name in the configuration (addition).
    pub name: String,
    /// Its kind.
    #[serde(rename = "type")]
    pub action_type: ActionType,
    /// The tool whose output was read, as seed 004 names it (addition).
    pub tool: String,
    /// Whether it was carried out (addition, C62).
    pub disposition: DispositionV2,
    /// Why it was not (addition).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skip_reason: Option<SkipReason>,
    /// How it ended; null exactly when it was skipped.
    pub status: Option<ResultType>,
    /// Whether it decides the verdict (addition); absent when it was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocking: Option<bool>,
    /// What it does.
    pub description: String,
    /// The command as the user wrote it, the request, or the file (addition).
    pub command: String,
    /// How long it took, in the run that carried it out; absent when it was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<DurationMs>,
    /// Its log: a file name in the report's own directory, where the file lies wherever the directory is moved or linked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// All its files, named likewise (addition). Their hashes are in the report's `evidenceFiles`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub evidence_files: Vec<String>,
    /// The run that carried it out, where that was an earlier one; what the entry says is then what that run found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reused: Option<ReusedV2>,
    /// How often it was carried out, where that was more than once: the result is the last attempt's (addition).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// Set where it succeeded after an attempt that had not: a success that is not to be relied on (addition).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flaky: Option<bool>,
    /// The attempts before the last (addition).
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub earlier_attempts: Vec<AttemptV2>,
    /// What came of it; absent when it was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<ActionOutcomeV2>,
    /// Why it is what it is; absent when it was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classification: Option<Classification>,
    /// The prerequisite whose failure left the action's request without an answer, where one was to listen there (addition, C09).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub root_cause: Option<ActionId>,
    /// What its failure kept from running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub impact: Option<ImpactV2>,
    /// Whether it becomes a debt item; absent when it was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debt_generation: Option<DebtGeneration>,
    /// What to do about it; absent when it was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_action: Option<AgentAction>,
}

/// The earlier run an action's result comes from, and its files there: nothing is copied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReusedV2 {
    /// The run that carried the action out, never one that reused it itself.
    pub run_id: RunId,
    /// The action's log in that run's directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// All its files there. Their hashes are in this report's `reused`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub evidence_files: Vec<String>,
}

/// What came of an action that was carried out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ActionOutcomeV2 {
    /// Whether the file is there, as one regular file that is no link; of a FILE_VALIDATION, like the three after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_exists: Option<bool>,
    /// Its path, relative to the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_path: Option<String>,
    /// Its size in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_size: Option<u64>,
    /// When it was last written to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<Timestamp>,
    /// The first and last of it, where `evidenceCapture.fileContents` asks for it (addition).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_contents: Option<TextV2>,
    /// The status of an answer (addition).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_code: Option<u16>,
    /// The first and last of an answer's body, where `evidenceCapture.requestResponse` asks for it (addition).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_body: Option<TextV2>,
    /// The exit status of a process that ended by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that ended it or, where we stopped it and it exited, the last one we sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// Whether we stopped it; absent where it was never started or its end is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub killed: Option<bool>,
    /// Why it could not be started, why its end is not known, or why a request was not answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<SystemFault>,
    /// For a service that was not to be had: the last of what it printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_output: Option<String>,
    /// For a service that was not to be had: the looks at it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health_check: Option<HealthCheckV2>,
    /// For a service: how long its start took; absent where it was never ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_after: Option<DurationMs>,
    /// The limit it hit, where it is one of time: `classification.limit` says which.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<DurationMs>,
    /// How long it really took; where it hit a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual_duration: Option<DurationMs>,
    /// The last of what it printed before it was stopped; where it hit a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial_output: Option<String>,
    /// When it last printed something; where it hit a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_update: Option<Timestamp>,
    /// What a review decides, with every attempt (addition).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewSeen>,
    /// What the tests amount to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_results: Option<TestResults>,
    /// Errors and warnings, as the policy left them, the first 500; or what was looked at because a server did not answer.
    #[serde(skip_serializing_if = "DiagnosticsV2::is_empty", default)]
    pub diagnostics: DiagnosticsV2,
    /// Counts over all diagnostics.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<DiagnosticSummary>,
    /// Set to false where the specification of the action is wrong, so that nothing was run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executed: Option<bool>,
    /// What is wrong with it then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema_validation: Option<SchemaValidationV2>,
    /// The coverage that was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
    /// How the test report was asked for (E5): `argument`, `own`, `inherited`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report_channel: Option<String>,
    /// What the tests came to that must fail, where the check has such a control (addition).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control: Option<ControlSeen>,
    /// What changes nothing and must be seen.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub warnings: Vec<String>,
    /// Processes it left behind; they were killed (E14).
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub survivors: Vec<Survivor>,
    /// Set when something still held a pipe when reading ended: later output is in no file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pipes_left_open: Option<bool>,
    /// First and last of standard output, as plain text (E11).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
    /// Which bytes of standard output that is; absent when there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout_shown: Option<ShownV2>,
    /// First and last of standard error, as plain text (E11).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// Which bytes of standard error that is; absent when there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr_shown: Option<ShownV2>,
}

/// Which bytes of a stream an excerpt shows. Positions count the stream's own bytes, not those of the log (E11).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShownV2 {
    /// How many bytes the stream had.
    pub total_bytes: u64,
    /// The ranges that are shown, ascending.
    pub ranges: Vec<ByteRangeV2>,
}

/// Bytes `from..to`: `to` is the first that is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ByteRangeV2 {
    /// The first byte that is shown, from 0.
    pub from: u64,
    /// The first byte after it that is not.
    pub to: u64,
}

/// What a failure kept from running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ImpactV2 {
    /// That of a prerequisite.
    Prerequisite(PrerequisiteImpactV2),
    /// That of an action whose specification is wrong.
    Action(ActionImpactV2),
}

/// What a failed prerequisite kept from running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PrerequisiteImpactV2 {
    /// How many checks did not run because of it.
    pub subsequent_steps_skipped: u64,
    /// Whether that were all of them.
    pub test_execution_aborted: bool,
    /// Why.
    pub reason: String,
}

/// That an action was not run itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ActionImpactV2 {
    /// That it was not run.
    pub action_skipped: bool,
    /// Why.
    pub reason: String,
}

/// What holding an action to the schema came to; of one whose specification is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SchemaValidationV2 {
    /// Whether it is as the schema and the lint want it.
    pub valid: bool,
    /// What is not; places are counted from the action.
    pub errors: Vec<SpecificationErrorV2>,
}
