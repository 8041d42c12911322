//! The master report: its frame, its sums, what the task amounts to, and what it says about its own origin.

use serde::{Deserialize, Serialize};

use crate::model::{
    Digest, DurationMs, EvidenceFile, LimitKind, OverallStatus, PlanNote, PlanOrigin, Problem, RunId, TaskId, Timestamp, Trigger,
    ViolationRecord,
};

use super::action::ActionResultV2;
use super::context::{
    ConfigurationChangeV2, ContentionV2, CustodyV2, EnvironmentV2, IsolationV2, ProjectV2, ReusedVerdictV2, RouteV2, TddV2,
    TreeV2,
};
use super::criteria::{CompletionV2, ValidationCriteriaV2};
use super::debt::TechnicalDebtGeneratedV2;
use super::tests_modified::TestsModifiedV2;

/// `execution-report.json`: the single source of truth about one run (seed 004; additions E15).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExecutionReportV2 {
    /// `2.0.0`.
    pub report_version: String,
    /// When the report was built.
    pub generated_at: Timestamp,
    /// What built it: `proctor 0.1.0`.
    pub generated_by: String,
    /// The project that was tested (addition).
    pub project: ProjectV2,
    /// What was asked for.
    pub test_specification: TestSpecificationV2,
    /// Why nothing was run: everything that is wrong with the specification of the task, wherever it stands in it (addition, C78).
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub specification_errors: Vec<SpecificationErrorV2>,
    /// What started the run; absent where the start record of a run that died is damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger: Option<Trigger>,
    /// What happened, in numbers.
    pub execution_summary: ExecutionSummaryV2,
    /// The prerequisites.
    pub prerequisite_execution: PrerequisiteExecutionV2,
    /// The checks.
    pub step_execution: StepExecutionV2,
    /// What was run at the end, always.
    pub cleanup_execution: CleanupExecutionV2,
    /// The verdict.
    pub validation_criteria_evaluation: ValidationCriteriaV2,
    /// Whether the task may be ticked off.
    pub completion_criteria_evaluation: CompletionV2,
    /// The debt of the run; absent where no debt file is written: no verdict (E17), or the specification wants none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub technical_debt_generated: Option<TechnicalDebtGeneratedV2>,
    /// Where the task goes next; absent where nothing was routed (R2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route: Option<RouteV2>,
    /// The task's TDD state; absent where the run does not touch it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tdd: Option<TddV2>,
    /// The tree that was tested; absent where the start record of a run that died is damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeV2>,
    /// How the run was kept apart; absent where the run's own process did not live to say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<IsolationV2>,
    /// What the commands ran in; absent likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<EnvironmentV2>,
    /// Configuration files that differ from the last sealed run of the task (S7).
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub configuration_changed: Vec<ConfigurationChangeV2>,
    /// The protected files, as they were approved and as they were tested; absent where none are protected (S7).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tests_modified: Option<TestsModifiedV2>,
    /// Who is able to write and sign this evidence (S8).
    pub custody: CustodyV2,
    /// The limit that ended an action of the run, if one did (C15).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<LimitKind>,
    /// The actions that waited for those of other runs, in the plan's order.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub contended: Vec<ContentionV2>,
    /// The checks whose results come from earlier runs on the same inputs, in the order of `stepExecution`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub reused: Vec<ReusedVerdictV2>,
    /// Why file events may have been missed before the run; the tree was then compared as a whole.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub lost_events: Vec<String>,
    /// What was changed by hand in the task list since the last sealed run of the project, and put back.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub violations: Vec<ViolationRecord>,
    /// What a person should know about the plan or the run.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub notes: Vec<PlanNote>,
    /// The other files of the run, by name, with their hashes. Never the manifest, the ledger or this file.
    pub evidence_files: Vec<EvidenceFile>,
    /// Where the report comes from.
    pub authenticity: AuthenticityV2,
}

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TestSpecificationV2 {
    /// The file the plan came from, relative to the project; absent for discovered plans and those of the command line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The version of the format; absent where the plan came from no test specification, as are the next but one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub schema_version: Option<String>,
    /// The task.
    pub task_id: TaskId,
    /// The task's title.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub task_title: Option<String>,
    /// The sprint the specification was made for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sprint_id: Option<String>,
    /// Where the plan came from (addition); absent where the start record of a run that died is damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<PlanOrigin>,
    /// The digest of the plan as it was carried out (addition); absent likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_digest: Option<Digest>,
}

/// One thing that is wrong with a specification, with the keys of seed 004 (`schemaValidation.errors`) and its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SpecificationErrorV2 {
    /// What it is: a row of the lint's table, `SCHEMA`, `SYNTAX`, `DUPLICATE_KEY`, `FORMAT_VERSION`.
    pub code: String,
    /// The file, relative to the project.
    pub file: String,
    /// The line, counted from 1; 0 where it is about the whole file.
    pub line: u64,
    /// The column in characters, counted from 1; 0 with line 0.
    pub column: u64,
    /// JSON pointer to the value it is about, from the top of the file.
    pub instance_path: String,
    /// Where the rule stands: in the schema of `proctor schema`, or `#/lint/CODE`.
    pub schema_path: String,
    /// The keyword of the schema, or `lint`.
    pub keyword: String,
    /// What the rule asks for, by keyword.
    pub params: serde_json::Value,
    /// What is wrong.
    pub message: String,
    /// The nearest thing that would have been right.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub nearest: Option<String>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hint: Option<String>,
}

impl SpecificationErrorV2 {
    /// Returns a problem of a specification as it is written down.
    pub fn of(problem: &Problem) -> Self {
        let position = problem.position.map_or((0, 0), |position| (position.line as u64, position.column as u64));
        let rule = problem.rule.clone().unwrap_or_default();
        Self {
            code: rule.code,
            file: problem.file.clone(),
            line: position.0,
            column: position.1,
            instance_path: problem.pointer.clone(),
            schema_path: rule.schema_path,
            keyword: rule.keyword,
            params: rule.params,
            message: problem.message.clone(),
            nearest: problem.nearest.clone(),
            hint: problem.hint.clone(),
        }
    }

    /// Returns the same error with its place counted from an action, as seed 004 has it in the entry of the action.
    pub fn within(self, pointer: &str) -> Self {
        let instance_path = self.instance_path.strip_prefix(pointer).unwrap_or(&self.instance_path).to_owned();
        Self { instance_path, ..self }
    }
}

/// What happened, in numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExecutionSummaryV2 {
    /// What happened (R5, E17).
    pub overall_status: OverallStatus,
    /// When the run began.
    pub start_time: Timestamp,
    /// When its last process had ended; absent for a run whose end nobody saw.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_time: Option<Timestamp>,
    /// How long it took; absent likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_duration: Option<DurationMs>,
    /// How many actions there were and what became of them (C60, C62); absent likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action_counts: Option<ActionCountsV2>,
    /// How the actions ended (C61); absent likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action_results: Option<ActionResultsV2>,
    /// The tests of all TEST actions; absent where no report of tests could be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_results: Option<TestTotalsV2>,
}

/// Counts of actions: `executed + reused + skipped + actionResults.SPECIFICATION_ERROR = total` and
/// `prerequisites + steps + cleanup = total` (C62).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ActionCountsV2 {
    /// All actions of the plan.
    pub total: u64,
    /// Those that were carried out, as far as they got.
    pub executed: u64,
    /// Those that were not run.
    pub skipped: u64,
    /// Those whose results come from earlier runs; absent when there are none.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub reused: u64,
    /// Prerequisites among all.
    pub prerequisites: u64,
    /// Checks among all.
    pub steps: u64,
    /// Cleanup actions among all.
    pub cleanup: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// How many actions ended as what: the sum is `executed`, `reused` and the invalid ones (C61).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE", deny_unknown_fields)]
pub struct ActionResultsV2 {
    /// Those that succeeded.
    pub success: u64,
    /// Those whose tests failed or did not run.
    pub test_failure: u64,
    /// Those that could not do their work.
    pub execution_error: u64,
    /// Those that found issues in the code.
    pub validation_failure: u64,
    /// Those that hit a limit.
    pub timeout: u64,
    /// Prerequisites that did not succeed.
    pub prerequisite_failure: u64,
    /// Those whose specification is wrong.
    pub specification_error: u64,
}

/// The tests of all TEST actions together.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TestTotalsV2 {
    /// Passed.
    pub passed: u64,
    /// Failures and errors.
    pub failed: u64,
    /// Skips and expected failures (addition).
    pub skipped: u64,
    /// All of them.
    pub total: u64,
    /// Passed of those that passed or failed, in per cent, half up to one decimal; null when there are none.
    pub pass_rate: Option<f64>,
}

/// The prerequisites.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PrerequisiteExecutionV2 {
    /// Whether each of them succeeded or was unchanged since it did; absent for a run whose end nobody saw.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all_met: Option<bool>,
    /// One entry each, in the plan's order.
    pub results: Vec<ActionResultV2>,
}

/// The checks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StepExecutionV2 {
    /// One entry each, in the plan's order.
    pub results: Vec<ActionResultV2>,
}

/// What was run at the end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CleanupExecutionV2 {
    /// Whether any cleanup action was carried out; absent for a run whose end nobody saw.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executed: Option<bool>,
    /// One entry each, in the plan's order.
    pub results: Vec<ActionResultV2>,
}

/// Where the report comes from. It claims nothing about what happened to the file since (E13): `proctor verify` answers that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AuthenticityV2 {
    /// The run.
    pub execution_id: RunId,
    /// What built the report: `proctor 0.1.0`.
    pub generator_version: String,
    /// The version of the engine that carried the run out; stands in for the seed's `nodeVersion` (E1).
    pub engine_version: String,
    /// The operating system: `linux`.
    pub platform: String,
    /// The process that carried the run out; absent where the start record of a run that died is damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process_id: Option<u32>,
    /// How the report is signed; absent as long as it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature_algorithm: Option<String>,
    /// The signature; absent likewise. Not covered by `reportHash`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// SHA-256 of the report's RFC 8785 form without this key and `signature` (E13); absent before sealing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report_hash: Option<Digest>,
}
