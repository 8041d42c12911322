//! The top level of the report: its sections, its sums, the result for the task, and its origin.

use proctor_wire::wire;

use proctor_model::{
    Digest, DurationMs, EvidenceFile, FewerTests, KnownFrom, LimitKind, OverallStatus, PlanNote, PlanOrigin, Problem, RunId,
    TaskId, Timestamp, Trigger, ViolationRecord,
};

use super::action::ActionResultV2;
use super::context::{
    ConfigurationChangeV2, ContentionV2, CustodyV2, EnvironmentV2, IsolationV2, ProjectV2, ReusedVerdictV2, RouteV2, TddV2,
    TreeV2,
};
use super::criteria::{CompletionV2, ValidationCriteriaV2};
use super::debt::TechnicalDebtGeneratedV2;
use super::tests_modified::TestsModifiedV2;

/// `execution-report.json`: all that proctor reports about one run. The design document seed 004 defines its first
/// keys, and decision E15 the added ones.
#[wire(inexact, schema, sparse)]
pub struct ExecutionReportV2 {
    /// Always `2.0.0`.
    pub report_version: String,
    pub generated_at: Timestamp,
    /// The program that built the report: `proctor 0.1.0`.
    pub generated_by: String,
    /// Where the report comes from, in what `proctor run --known --json` prints without a run. No stored report has it: without this key the
    /// document has the hash that it names.
    pub known_from: Option<KnownFrom>,
    /// The project that was tested (added to the original format).
    pub project: ProjectV2,
    /// The task that the run was for, and the plan that checks it.
    pub test_specification: TestSpecificationV2,
    /// All errors in the task's specification. A run with such errors runs nothing (added to the original format, C78).
    pub specification_errors: Vec<SpecificationErrorV2>,
    /// What started the run; absent if the run died and its start record is damaged.
    pub trigger: Option<Trigger>,
    /// How the run ended: status, times, and counts of actions and tests.
    pub execution_summary: ExecutionSummaryV2,
    pub prerequisite_execution: PrerequisiteExecutionV2,
    pub step_execution: StepExecutionV2,
    /// The actions that run at the end in every case.
    pub cleanup_execution: CleanupExecutionV2,
    pub validation_criteria_evaluation: ValidationCriteriaV2,
    /// Whether the task may be marked as done.
    pub completion_criteria_evaluation: CompletionV2,
    /// The debt of the run; absent if no debt file is written: the run has no verdict (E17), or debt is switched off.
    pub technical_debt_generated: Option<TechnicalDebtGeneratedV2>,
    /// Where the task goes next; absent if the run was not routed (R2).
    pub route: Option<RouteV2>,
    /// The phase and the attempts of the task's TDD cycle; absent if the run does not change them.
    pub tdd: Option<TddV2>,
    /// The tree that was tested; absent if the run died and its start record is damaged.
    pub tree: Option<TreeV2>,
    /// How the run was isolated; absent if the run's process died before this was recorded.
    pub isolation: Option<IsolationV2>,
    /// The environment of the commands; absent if the run's process died before this was recorded.
    pub environment: Option<EnvironmentV2>,
    /// Configuration files that changed since the last sealed run of the task (S7).
    pub configuration_changed: Vec<ConfigurationChangeV2>,
    /// Which rules of the run nobody had approved when it began, such as `pytest: command, timeout`: the run proves nothing until a
    /// person approves them (S7).
    pub rules_changed: Vec<String>,
    /// The project's own test command that no check of the plan runs, such as `"test" of package.json (mocha)`: the verdict holds for
    /// what was run, and the run proves no commit. Absent if a check runs it.
    pub tests_not_run: Option<String>,
    /// How many tests the run has less than the last whole run of an ancestor of its tree; absent if there are not fewer.
    pub fewer_tests: Option<FewerTests>,
    /// The protected files as approved and as tested; absent if no files are protected (S7).
    pub tests_modified: Option<TestsModifiedV2>,
    /// Who can write and sign this evidence (S8).
    pub custody: CustodyV2,
    /// The first limit that ended an action of the run, if any did (C15).
    pub limit: Option<LimitKind>,
    /// The actions that waited for actions of other runs, in the order of the plan.
    pub contended: Vec<ContentionV2>,
    /// The checks whose results are reused from earlier runs with the same inputs, in the order of `stepExecution`.
    pub reused: Vec<ReusedVerdictV2>,
    /// Why file events may have been missed before the run. After such a loss the whole tree is compared.
    pub lost_events: Vec<String>,
    /// Changes by hand inside the task list's marked blocks since the project's last sealed run. proctor has reverted them.
    pub violations: Vec<ViolationRecord>,
    /// Remarks about the plan or the run for people.
    pub notes: Vec<PlanNote>,
    /// The evidence files of the run by name, with their hashes. The manifest, the ledger and the report itself are
    /// never listed.
    #[kept]
    pub evidence_files: Vec<EvidenceFile>,
    /// Which run and program the report comes from, and its hash.
    pub authenticity: AuthenticityV2,
}

/// The task that was requested, and the origin and digest of its plan.
#[wire(schema, sparse)]
pub struct TestSpecificationV2 {
    /// The file that the plan comes from, relative to the project; absent for discovered plans and plans from the
    /// command line.
    pub file: Option<String>,
    /// The version of the specification's format. This key, the title and the sprint are absent if the plan does not
    /// come from a test specification.
    pub schema_version: Option<String>,
    pub task_id: TaskId,
    pub task_title: Option<String>,
    /// The sprint that the specification belongs to.
    pub sprint_id: Option<String>,
    /// Where the plan comes from (added to the original format); absent if the run died and its start record is
    /// damaged.
    pub origin: Option<PlanOrigin>,
    /// The digest of the plan as carried out (added to the original format); absent if the run died and its start
    /// record is damaged.
    pub plan_digest: Option<Digest>,
}

/// An error in a specification, with its position. The keys are those of `schemaValidation.errors` in the design
/// document seed 004.
#[wire(schema, sparse)]
pub struct SpecificationErrorV2 {
    /// The code of a lint rule, or `SCHEMA`, `SYNTAX`, `DUPLICATE_KEY`, `FORMAT_VERSION`.
    pub code: String,
    /// The specification's path, relative to the project.
    pub file: String,
    /// The line, counted from 1; 0 if the error concerns the whole file.
    pub line: u64,
    /// The column in characters, counted from 1; 0 if the error concerns the whole file.
    pub column: u64,
    /// The JSON pointer to the wrong value in the specification.
    pub instance_path: String,
    /// Where the rule is defined: in the schema that `proctor generate schema` prints, or as `#/lint/CODE`.
    pub schema_path: String,
    /// The schema keyword that the value violates, or `lint` for a lint rule.
    pub keyword: String,
    /// The parameters of the rule, by keyword.
    pub params: serde_json::Value,
    /// What is wrong with the value, in words for people.
    pub message: String,
    /// The wrong value; absent if it is long, has parts, or may hold a secret.
    pub value: Option<serde_json::Value>,
    /// The correct value that is most similar to the wrong one.
    pub nearest: Option<String>,
    /// What the author of the specification can do about the error.
    pub hint: Option<String>,
}

impl SpecificationErrorV2 {
    /// Converts a problem of a specification to its wire form.
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
            value: rule.value,
            nearest: problem.nearest.clone(),
            hint: problem.hint.clone(),
        }
    }

    /// Returns the error as one sentence: the name of what is wrong, the wrong value, the allowed values and the nearest one.
    /// Errors of the kinds that example 6 of the design document seed 004 has are worded as there.
    pub fn sentence(&self) -> String {
        let name = self.instance_path.rsplit('/').next().unwrap_or_default();
        let text = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let nearest = self.nearest.as_ref().map(|nearest| format!("; did you mean '{nearest}'?")).unwrap_or_default();
        let allowed = self.params.get("allowedValues").and_then(serde_json::Value::as_array);
        match (&self.value, allowed, self.params.get("missingProperty")) {
            (Some(value), Some(allowed), _) => {
                let allowed = allowed.iter().map(text).collect::<Vec<_>>().join(", ");
                format!("Invalid {name}: '{}' (must be one of: {allowed}){nearest}", text(value))
            }
            (Some(value), None, _) => format!("Invalid {name}: '{}' ({}){nearest}", text(value), self.message),
            (None, _, Some(missing)) if name == "parameters" => format!("Missing required parameter: '{}'", text(missing)),
            (None, _, Some(missing)) => format!("Missing required property: '{}'", text(missing)),
            (None, _, None) => format!("{}{nearest}", self.message),
        }
    }

    /// Returns the error with its position relative to an action, the form for the action's entry in the report.
    pub fn within(self, pointer: &str) -> Self {
        let instance_path = self.instance_path.strip_prefix(pointer).unwrap_or(&self.instance_path).to_owned();
        Self { instance_path, ..self }
    }
}

/// How a run ended: its status, its times, and counts of actions and tests.
#[wire(inexact, schema, sparse)]
pub struct ExecutionSummaryV2 {
    /// How the run ended. After some endings, such as MOVED, the run has no verdict (J5, E17).
    pub overall_status: OverallStatus,
    pub start_time: Timestamp,
    /// The time when the last process had ended; absent if the run died and its end is not known.
    pub end_time: Option<Timestamp>,
    /// The duration of the run; absent if the run died and its end is not known.
    pub total_duration: Option<DurationMs>,
    /// The number of actions by phase and disposition (C60, C62); absent if the run died.
    pub action_counts: Option<ActionCountsV2>,
    /// The number of actions by result (C61); absent if the run died.
    pub action_results: Option<ActionResultsV2>,
    /// The tests of all TEST actions; absent if no test report could be read.
    pub test_results: Option<TestTotalsV2>,
}

/// Counts of actions: `executed + reused + skipped + actionResults.SPECIFICATION_ERROR = total` and
/// `prerequisites + steps + cleanup = total` (C62).
#[wire(Copy, Default, schema)]
pub struct ActionCountsV2 {
    pub total: u64,
    /// The number of actions that were started, even if they were not finished.
    pub executed: u64,
    pub skipped: u64,
    /// The number of actions whose results are reused from earlier runs; absent if it is 0.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub reused: u64,
    /// The number of prerequisites in the plan.
    pub prerequisites: u64,
    /// The number of checks in the plan.
    pub steps: u64,
    /// The number of cleanup actions in the plan.
    pub cleanup: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The number of actions by result type. The sum is the number of executed, reused and invalid actions (C61).
#[wire(Copy, Default, screaming, schema)]
pub struct ActionResultsV2 {
    pub success: u64,
    /// Actions whose tests failed or did not run.
    pub test_failure: u64,
    /// Actions whose tool could not do its work.
    pub execution_error: u64,
    /// Actions that found errors in the code.
    pub validation_failure: u64,
    /// Actions that exceeded a limit.
    pub timeout: u64,
    /// Prerequisites that did not succeed.
    pub prerequisite_failure: u64,
    /// Actions whose specification is wrong.
    pub specification_error: u64,
}

/// The counts of tests over all TEST actions.
#[wire(Copy, Default, inexact, schema)]
pub struct TestTotalsV2 {
    pub passed: u64,
    /// The number of tests with a failure or an error.
    pub failed: u64,
    /// The number of tests that were skipped or failed as expected (added to the original format).
    pub skipped: u64,
    pub total: u64,
    /// The share of passed tests among passed and failed ones, in per cent, rounded half up to one decimal; null if no
    /// test passed or failed.
    pub pass_rate: Option<f64>,
}

/// What became of the prerequisites, which must succeed before the checks start.
#[wire(inexact, schema, sparse)]
pub struct PrerequisiteExecutionV2 {
    /// Whether each prerequisite succeeded, or was unchanged since it last succeeded; absent if the run died.
    pub all_met: Option<bool>,
    /// One entry for each prerequisite, in the order of the plan.
    #[kept]
    pub results: Vec<ActionResultV2>,
}

/// The results of the checks, which decide the verdict.
#[wire(inexact, schema)]
pub struct StepExecutionV2 {
    /// One entry for each check, in the order of the plan.
    pub results: Vec<ActionResultV2>,
}

/// The results of the cleanup actions, which run at the end in every case.
#[wire(inexact, schema, sparse)]
pub struct CleanupExecutionV2 {
    /// Whether any cleanup action was carried out; absent if the run died.
    pub executed: Option<bool>,
    /// One entry for each cleanup action, in the order of the plan.
    #[kept]
    pub results: Vec<ActionResultV2>,
}

/// Which run the report comes from. This does not prove that the file is unchanged since (E13): `proctor verify`
/// answers that.
#[wire(schema, sparse)]
pub struct AuthenticityV2 {
    pub execution_id: RunId,
    /// The program that built the report: `proctor 0.1.0`.
    pub generator_version: String,
    /// The version of proctor that carried out the run. The original report format has `nodeVersion` in place of this
    /// key (E1).
    pub engine_version: String,
    /// The operating system, always `linux`.
    pub platform: String,
    /// The id of the process that carried out the run; absent if the run died and its start record is damaged.
    pub process_id: Option<u32>,
    /// The signature algorithm; absent if the report is not signed.
    pub signature_algorithm: Option<String>,
    /// The signature; absent if the report is not signed. `reportHash` does not cover the signature.
    pub signature: Option<String>,
    /// SHA-256 of the report's RFC 8785 form without this key and `signature` (E13); absent before sealing.
    pub report_hash: Option<Digest>,
}
