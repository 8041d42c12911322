//! `technical-debt-data.json`: the debt items, one for each root cause (facts, 2.2; seed 004, "Debt Item Structure").
//!
//! Every key is always present. An unknown value is null; it is neither left out nor guessed (C50). Keys of the original item
//! that cannot be filled truthfully are listed in `tests/unfilled.rs`.

use serde::{Deserialize, Serialize};

use crate::model::{
    ActionId, DebtCategory, DebtDestination, DebtId, DebtOrigin, DebtRouting, Digest, InventoryStatus, ResultType, RunId,
    Severity, TaskId, Timestamp, WorkType,
};

use super::action::ReusedV2;

/// The debt of one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TechnicalDebtV1 {
    /// Always `proctor-technical-debt-v1` (addition).
    pub schema: String,
    pub task_id: TaskId,
    pub test_execution_id: RunId,
    /// The time when the file was built.
    pub generated_at: Timestamp,
    /// The program that built the file: `proctor 0.1.0`.
    pub generated_by: String,
    /// The items, worst severity first, then blocking ones, then by id.
    pub debt_items: Vec<DebtItemV1>,
    /// The number of items for each destination.
    pub routing_summary: RoutingSummaryV1,
    /// Items of earlier runs that this run did not find, by id. Either they are fixed, or their check was not carried out
    /// (addition).
    pub earlier_items: Vec<EarlierItemV1>,
    /// The number of the next new item. A number is never used twice (addition).
    pub next_number: u32,
    /// The origin of the file.
    pub authenticity: DebtAuthenticityV1,
}

/// An item of debt, something that has to be fixed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DebtItemV1 {
    /// The id, for example `DEBT-T030-001`. It is the same in every run that finds the same cause.
    pub debt_id: DebtId,
    /// SHA-256 of tool, category and cause without numbers. It recognises the item in later runs (addition, C48).
    pub fingerprint: Digest,
    /// The first action that shows the failure (addition).
    pub action_id: ActionId,
    /// The tool that found it, by its name in reports (addition).
    pub tool: String,
    pub title: String,
    /// Why it is debt.
    pub description: String,
    /// The category and severity of the debt.
    pub classification: DebtClassificationV1,
    /// Where the item goes.
    pub routing: DebtRouteV1,
    /// The failing test; null if the failure is not a test.
    pub test_failure: Option<DebtTestFailureV1>,
    /// The evidence files.
    pub evidence: DebtEvidenceV1,
    /// Guidance for fixing the item.
    pub implementation_guidance: ImplementationGuidanceV1,
    /// Text for an agent to copy.
    pub agent_instructions: AgentInstructionsV1,
    /// The error and its context.
    pub error_details: ErrorDetailsV1,
}

/// The category and severity of an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DebtClassificationV1 {
    /// The category of the defect.
    pub category: DebtCategory,
    pub severity: Severity,
    /// From 1 for CRITICAL to 4 for LOW.
    pub priority: u8,
    /// Whether something is missing or wrong (addition, C42); null means neither, as with refactoring and problems of the environment.
    pub work_type: Option<WorkType>,
    /// Whether the code or the environment has to be fixed (addition, C49); null if unknown.
    pub origin: Option<DebtOrigin>,
    /// Whether it decides the verdict (addition).
    pub blocking: bool,
}

/// Where a debt item goes, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DebtRouteV1 {
    /// The destination: the sprint, the inventory, or a person's decision.
    pub destination: DebtDestination,
    pub reason: String,
    /// The id of the item in the inventory.
    pub inventory_correlation_id: String,
    /// The status of the item in the inventory (addition).
    pub status: InventoryStatus,
    /// Whether it was added to the sprint although the sprint was full (addition).
    pub over_capacity: bool,
}

/// A failing test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DebtTestFailureV1 {
    /// The file; null if the report names none.
    pub test_file: Option<String>,
    /// The full name.
    pub test_name: String,
    /// The first line of the error.
    pub error_message: String,
    /// The traceback; null if the report has none.
    pub error_stack: Option<String>,
    /// The expected value; null if the tool does not say.
    pub expected_behavior: Option<String>,
    /// The actual value; null if the tool does not say.
    pub actual_behavior: Option<String>,
    /// How many other tests of the same actions fail (addition).
    pub further_failures: u64,
}

/// The evidence files of an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DebtEvidenceV1 {
    /// Files in the same directory as this file.
    pub files: Vec<String>,
    /// If the action's result is reused: the earlier run and its files (addition).
    pub earlier_run: Option<ReusedV2>,
}

/// Guidance for fixing an item. Nothing in it is invented (facts, 2.6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImplementationGuidanceV1 {
    /// The files mentioned in findings, tests and tracebacks.
    pub files: Vec<String>,
    /// One line for each distinct finding, and the likely failures from the specification.
    pub steps: Vec<String>,
    /// The tasks that this task depends on, according to the specification.
    pub dependencies: Vec<String>,
    /// What must hold before the item counts as fixed.
    pub acceptance_criteria: Vec<String>,
}

/// Text for an agent to copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentInstructionsV1 {
    /// The item as a line of a task list.
    pub markdown_format: String,
}

/// An error and its context (seed 004).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ErrorDetailsV1 {
    pub execution_result: ResultType,
    /// The first error that the action reported.
    pub original_error: OriginalErrorV1,
    /// The circumstances of the error.
    pub contextual_information: ContextV1,
    /// What was examined to explain the error.
    pub diagnostics: DebtDiagnosticsV1,
}

/// The first error, by file and position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OriginalErrorV1 {
    /// The exception, code or rule; null if it has none.
    #[serde(rename = "type")]
    pub error_type: Option<String>,
    pub message: String,
    /// The expected value; null if the tool does not say.
    pub expected: Option<String>,
    /// The actual value; null if the tool does not say.
    pub received: Option<String>,
    /// The file; null if no file is named.
    pub file: Option<String>,
    /// The line in the file; null if no line is named.
    pub line: Option<u64>,
}

/// The circumstances of an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ContextV1 {
    pub prerequisites_met: Option<bool>,
    /// Whether the server answered; null if no server was checked.
    pub server_running: Option<bool>,
    /// The steps that succeeded before it.
    pub previous_steps_succeeded: Vec<ActionId>,
    /// Other actions with the same cause.
    pub related_failures: Vec<ActionId>,
}

/// What was examined to explain an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DebtDiagnosticsV1 {
    /// The request and its answer; null if it was not a request.
    pub http_trace: Option<HttpTraceV1>,
    /// The files that were checked, as `path: NOT_FOUND` or `path: FOUND`.
    pub files_checked: Vec<String>,
}

/// A request and the answer to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpTraceV1 {
    /// Method and address.
    pub request: String,
    /// The status of the answer; null if there was none.
    pub response_status: Option<u16>,
    /// The beginning and the end of the body; null if it is not stored.
    pub response_body: Option<String>,
}

/// How many items go where: `routedToSprint + routedToInventory + unrouted = totalDebtItems`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RoutingSummaryV1 {
    /// The number of items.
    pub total_debt_items: u64,
    /// The number of items for the sprint.
    pub routed_to_sprint: u64,
    /// The number of items for the inventory.
    pub routed_to_inventory: u64,
    /// The number of items that a person has to route (addition).
    pub unrouted: u64,
    /// The number of causes without an item, because the specification's `severityLevels` does not include their severity
    /// (addition).
    pub left_out: u64,
    /// The routing strategy (addition).
    pub strategy: DebtRouting,
    /// Whether the sprint gets more items than it can hold (addition).
    pub over_capacity: bool,
    /// The capacity of the sprint for this task's items. Other items in the sprint are not known here.
    pub sprint_capacity: SprintCapacityV1,
}

/// The capacity of a sprint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SprintCapacityV1 {
    /// The items of this file that go to the sprint.
    pub current_tasks: u64,
    /// The most items that the sprint can hold.
    pub max_tasks: u64,
    /// The remaining capacity.
    pub available_slots: u64,
    /// The number of CRITICAL items (addition).
    pub critical_tasks: u64,
    /// The most CRITICAL items (addition; specification 2.0.0, `sprintTasksMaxCritical`).
    pub max_critical: u64,
}

/// An item of an earlier run that this run did not find.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EarlierItemV1 {
    /// The id. The item gets it again when it is found again.
    pub debt_id: DebtId,
    /// The fingerprint of the cause.
    pub fingerprint: Digest,
    pub title: String,
    /// The last run that found it.
    pub last_seen: RunId,
}

/// The origin of the file. It does not claim that the file is unchanged since (E13): `proctor verify` answers that. The report's
/// hash covers this file's hash through `evidenceFiles`, so this file cannot contain the report's hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DebtAuthenticityV1 {
    pub execution_id: RunId,
    /// SHA-256 of this file's RFC 8785 form without this key; null before it is set.
    pub sha256_hash: Option<Digest>,
}

/// The report's section about the debt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TechnicalDebtGeneratedV2 {
    /// The number of items in the debt file.
    pub items_created: u64,
    /// The debt file, as a file name in the report's directory.
    pub debt_data_file: String,
    pub summary: DebtSeveritiesV2,
    pub routing: DebtDestinationsV2,
}

/// The number of items of each severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", deny_unknown_fields)]
pub struct DebtSeveritiesV2 {
    pub critical: u64,
    pub high: u64,
    pub medium: u64,
    pub low: u64,
}

/// The number of items for each destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DebtDestinationsV2 {
    pub to_sprint: u64,
    pub to_inventory: u64,
    /// The number of items that a person has to route (addition); absent if there are none.
    #[serde(skip_serializing_if = "is_none_of_them", default)]
    pub unrouted: u64,
}

fn is_none_of_them(count: &u64) -> bool {
    *count == 0
}
