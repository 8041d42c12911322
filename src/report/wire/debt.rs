//! `technical-debt-data.json`: what is to be mended, one item per root cause (facts, 2.2; seed 004, "Debt Item Structure").
//!
//! Every key is always there: what is not known is null, never left out and never guessed (C50). Keys of the original item that
//! cannot be filled truthfully are listed in `tests/unfilled.rs`.

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
    /// `proctor-technical-debt-v1` (addition).
    pub schema: String,
    /// The task.
    pub task_id: TaskId,
    /// The run.
    pub test_execution_id: RunId,
    /// When it was built.
    pub generated_at: Timestamp,
    /// What built it: `proctor 0.1.0`.
    pub generated_by: String,
    /// The items: the worst first, then those that block, then by id.
    pub debt_items: Vec<DebtItemV1>,
    /// Where they go, in numbers.
    pub routing_summary: RoutingSummaryV1,
    /// Items of earlier runs that this run did not see, by id: they are mended, or what showed them was not carried out (addition).
    pub earlier_items: Vec<EarlierItemV1>,
    /// The number that the next new item gets: none is given twice (addition).
    pub next_number: u32,
    /// Where the file comes from.
    pub authenticity: DebtAuthenticityV1,
}

/// Something that is to be mended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DebtItemV1 {
    /// `DEBT-T030-001`: the same in every run that finds the same cause.
    pub debt_id: DebtId,
    /// What it is known by: SHA-256 of tool, category and cause, without numbers (addition, C48).
    pub fingerprint: Digest,
    /// The action it was found by, the first of them (addition).
    pub action_id: ActionId,
    /// The tool that found it, as the report names it (addition).
    pub tool: String,
    /// What it is, in a few words.
    pub title: String,
    /// Why it is debt.
    pub description: String,
    /// What kind of debt it is.
    pub classification: DebtClassificationV1,
    /// Where it goes.
    pub routing: DebtRouteV1,
    /// The test that fails; null where it is no test.
    pub test_failure: Option<DebtTestFailureV1>,
    /// The files that show it.
    pub evidence: DebtEvidenceV1,
    /// What was seen that helps to mend it.
    pub implementation_guidance: ImplementationGuidanceV1,
    /// What an agent copies.
    pub agent_instructions: AgentInstructionsV1,
    /// The error itself and what was around it.
    pub error_details: ErrorDetailsV1,
}

/// What kind of debt an item is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DebtClassificationV1 {
    /// What is wrong.
    pub category: DebtCategory,
    /// How bad it is.
    pub severity: Severity,
    /// 1 for CRITICAL to 4 for LOW.
    pub priority: u8,
    /// Whether something is missing or wrong (addition, C42); null where it is neither: refactoring, or not the code's.
    pub work_type: Option<WorkType>,
    /// Whether the code or its surroundings are to be mended (addition, C49); null where that was not seen.
    pub origin: Option<DebtOrigin>,
    /// Whether it decides the verdict (addition).
    pub blocking: bool,
}

/// Where an item goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DebtRouteV1 {
    /// The sprint, the inventory, or where a person says.
    pub destination: DebtDestination,
    /// Why.
    pub reason: String,
    /// What the inventory knows it by.
    pub inventory_correlation_id: String,
    /// What the inventory says of it (addition).
    pub status: InventoryStatus,
    /// Whether it goes to the sprint although that has no room (addition).
    pub over_capacity: bool,
}

/// A test that fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DebtTestFailureV1 {
    /// The file; null where the report names none.
    pub test_file: Option<String>,
    /// The test's full name.
    pub test_name: String,
    /// The first line of what went wrong.
    pub error_message: String,
    /// The traceback; null where the report has none.
    pub error_stack: Option<String>,
    /// What was expected; null where the tool does not say.
    pub expected_behavior: Option<String>,
    /// What was seen instead; null likewise.
    pub actual_behavior: Option<String>,
    /// How many further tests of the same actions fail (addition).
    pub further_failures: u64,
}

/// The files that show an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DebtEvidenceV1 {
    /// Files beside this one.
    pub files: Vec<String>,
    /// Where an earlier run's result stands for the action: that run and its files (addition).
    pub earlier_run: Option<ReusedV2>,
}

/// What was seen that helps to mend an item. Nothing here is invented (facts, 2.6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImplementationGuidanceV1 {
    /// The files that findings, tests and tracebacks name.
    pub files: Vec<String>,
    /// One line for each distinct finding, and what the specification calls likely.
    pub steps: Vec<String>,
    /// The tasks the specification says that this one depends on.
    pub dependencies: Vec<String>,
    /// What must be so for the item to be gone.
    pub acceptance_criteria: Vec<String>,
}

/// What an agent copies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentInstructionsV1 {
    /// The item as a line of a task list.
    pub markdown_format: String,
}

/// The error itself and what was around it (seed 004).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ErrorDetailsV1 {
    /// The result type of the action.
    pub execution_result: ResultType,
    /// The first error.
    pub original_error: OriginalErrorV1,
    /// What was around it.
    pub contextual_information: ContextV1,
    /// What was looked at.
    pub diagnostics: DebtDiagnosticsV1,
}

/// The first error, by file and place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OriginalErrorV1 {
    /// The exception, code or rule; null where it has none.
    #[serde(rename = "type")]
    pub error_type: Option<String>,
    /// What it says.
    pub message: String,
    /// What was expected; null where the tool does not say.
    pub expected: Option<String>,
    /// What was received; null likewise.
    pub received: Option<String>,
    /// The file; null where none is named.
    pub file: Option<String>,
    /// The line in it; null likewise.
    pub line: Option<u64>,
}

/// What was around an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ContextV1 {
    /// Whether every prerequisite was met.
    pub prerequisites_met: Option<bool>,
    /// Whether the server answered; null where none was looked at.
    pub server_running: Option<bool>,
    /// What had succeeded before it.
    pub previous_steps_succeeded: Vec<ActionId>,
    /// Further actions that found the same.
    pub related_failures: Vec<ActionId>,
}

/// What was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DebtDiagnosticsV1 {
    /// The request and its answer; null where it is no request.
    pub http_trace: Option<HttpTraceV1>,
    /// `path: NOT_FOUND` or `path: FOUND`, of files that were looked at.
    pub files_checked: Vec<String>,
}

/// A request and its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpTraceV1 {
    /// Method and address.
    pub request: String,
    /// The status of the answer; null where there was none.
    pub response_status: Option<u16>,
    /// The first and last of its body; null where it is not kept.
    pub response_body: Option<String>,
}

/// Where the items go, in numbers: `routedToSprint + routedToInventory + unrouted = totalDebtItems`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RoutingSummaryV1 {
    /// All items.
    pub total_debt_items: u64,
    /// Those for the sprint.
    pub routed_to_sprint: u64,
    /// Those for the inventory.
    pub routed_to_inventory: u64,
    /// Those for a person to route (addition).
    pub unrouted: u64,
    /// Causes that were left out because their severity is none of the specification's `severityLevels` (addition).
    pub left_out: u64,
    /// What decided (addition).
    pub strategy: DebtRouting,
    /// Whether more goes to the sprint than it holds (addition).
    pub over_capacity: bool,
    /// The room of a sprint, as far as this task's items take it: what else is in the sprint is not known here.
    pub sprint_capacity: SprintCapacityV1,
}

/// The room of a sprint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SprintCapacityV1 {
    /// The items of this file that go there.
    pub current_tasks: u64,
    /// The most it holds.
    pub max_tasks: u64,
    /// The room that is left.
    pub available_slots: u64,
    /// The CRITICAL ones among the items (addition).
    pub critical_tasks: u64,
    /// The most of them (addition; specification 2.0.0, `sprintTasksMaxCritical`).
    pub max_critical: u64,
}

/// An item of an earlier run that this run did not see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EarlierItemV1 {
    /// Its id, which it has again when it is seen again.
    pub debt_id: DebtId,
    /// What it is known by.
    pub fingerprint: Digest,
    /// What it was.
    pub title: String,
    /// The last run that saw it.
    pub last_seen: RunId,
}

/// Where the file comes from. It claims nothing about what happened to it since (E13): `proctor verify` answers that. The
/// report's hash covers this file's, by `evidenceFiles`, so this file cannot hold the report's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DebtAuthenticityV1 {
    /// The run.
    pub execution_id: RunId,
    /// SHA-256 of this file's RFC 8785 form without this key; null before it is set.
    pub sha256_hash: Option<Digest>,
}

/// What the master report says of the debt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TechnicalDebtGeneratedV2 {
    /// How many items the debt file has.
    pub items_created: u64,
    /// The debt file: a file name in the report's own directory, like every name in it.
    pub debt_data_file: String,
    /// The items by severity.
    pub summary: DebtSeveritiesV2,
    /// The items by destination.
    pub routing: DebtDestinationsV2,
}

/// Items by severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", deny_unknown_fields)]
pub struct DebtSeveritiesV2 {
    /// CRITICAL.
    pub critical: u64,
    /// HIGH.
    pub high: u64,
    /// MEDIUM.
    pub medium: u64,
    /// LOW.
    pub low: u64,
}

/// Items by destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DebtDestinationsV2 {
    /// To the sprint.
    pub to_sprint: u64,
    /// To the inventory.
    pub to_inventory: u64,
    /// For a person to route (addition); absent when there are none.
    #[serde(skip_serializing_if = "is_none_of_them", default)]
    pub unrouted: u64,
}

fn is_none_of_them(count: &u64) -> bool {
    *count == 0
}
