//! `technical-debt-data.json`: the debt items, one for each root cause (facts, 2.2; "Debt Item Structure" in the design
//! document seed 004).
//!
//! Every key is always present. An unknown value is null; it is neither left out nor guessed (C50). Keys of the
//! original item that cannot be filled truthfully are listed in `tests/unfilled.rs`.

use proctor_wire::wire;

use proctor_model::{
    ActionId, DebtCategory, DebtDestination, DebtId, DebtOrigin, DebtRouting, Digest, InventoryStatus, ResultType, RunId,
    Severity, TaskId, Timestamp, WorkType,
};

use super::action::ReusedV2;

/// The debt file of one run: what has to be fixed, and where each item goes.
#[wire(schema)]
pub struct TechnicalDebtV1 {
    /// Always `proctor-technical-debt-v1` (added to the original format).
    pub schema: String,
    pub task_id: TaskId,
    pub test_execution_id: RunId,
    pub generated_at: Timestamp,
    /// The program that built the file: `proctor 0.1.0`.
    pub generated_by: String,
    /// The items, the worst severity first. Of one severity, blocking items come first; then the id decides.
    pub debt_items: Vec<DebtItemV1>,
    /// The number of items for each destination.
    pub routing_summary: RoutingSummaryV1,
    /// Items of earlier runs that this run did not find, by id. Either they are fixed, or their check was not carried
    /// out (added to the original format).
    pub earlier_items: Vec<EarlierItemV1>,
    /// The number for the next new item, so that no number is used twice (added to the original format).
    pub next_number: u32,
    /// Which run this file comes from, and the file's own hash.
    pub authenticity: DebtAuthenticityV1,
}

/// An item of debt, something that has to be fixed.
#[wire(schema)]
pub struct DebtItemV1 {
    /// The id, for example `DEBT-T030-001`. It is the same in every run that finds the same cause.
    pub debt_id: DebtId,
    /// SHA-256 of tool, category and cause without numbers. The same failure has the same fingerprint in later runs
    /// (added to the original format, C48).
    pub fingerprint: Digest,
    /// The first action that shows the failure (added to the original format).
    pub action_id: ActionId,
    /// The tool that found the failure, by its name in reports (added to the original format).
    pub tool: String,
    pub title: String,
    /// Why the failure is debt, in words for people.
    pub description: String,
    pub classification: DebtClassificationV1,
    /// Whether the item goes to the sprint or the inventory, and why.
    pub routing: DebtRouteV1,
    /// The failing test; null if the failure is not a test.
    pub test_failure: Option<DebtTestFailureV1>,
    /// The evidence files that show the failure.
    pub evidence: DebtEvidenceV1,
    /// What to do to fix the item, as far as the run shows it.
    pub implementation_guidance: ImplementationGuidanceV1,
    pub agent_instructions: AgentInstructionsV1,
    /// The original error, and the circumstances in which it occurred.
    pub error_details: ErrorDetailsV1,
}

/// How serious an item is, and what kind of work it needs.
#[wire(schema)]
pub struct DebtClassificationV1 {
    /// What kind of defect it is, for example a failing test.
    pub category: DebtCategory,
    pub severity: Severity,
    /// The severity as a number, from 1 for CRITICAL to 4 for LOW.
    pub priority: u8,
    /// Whether something is missing or wrong (added to the original format, C42); null means neither, as with
    /// refactoring and problems of the environment.
    pub work_type: Option<WorkType>,
    /// Whether the code or the environment has to be fixed (added to the original format, C49); null if unknown.
    pub origin: Option<DebtOrigin>,
    /// Whether the failure makes the verdict FAILED (added to the original format).
    pub blocking: bool,
}

/// Where a debt item goes, and why.
#[wire(schema)]
pub struct DebtRouteV1 {
    /// The destination: the sprint, the inventory, or a person's decision.
    pub destination: DebtDestination,
    pub reason: String,
    /// The item's id in the inventory: `DEBT-INV-` in place of `DEBT-`.
    pub inventory_correlation_id: String,
    /// Whether the item is in the sprint, in the inventory, or not routed yet (added to the original format).
    pub status: InventoryStatus,
    /// Whether the item was added to the sprint although the sprint was full (added to the original format).
    pub over_capacity: bool,
}

/// The first failing test of an item, as the tool reported it.
#[wire(schema)]
pub struct DebtTestFailureV1 {
    /// The file of the test; null if the tool's report does not name it.
    pub test_file: Option<String>,
    /// The full name of the test.
    pub test_name: String,
    /// The first line of the test's error.
    pub error_message: String,
    /// The traceback of the failure; null if the tool's report has no traceback.
    pub error_stack: Option<String>,
    /// The value that the test expected; null if the tool does not say.
    pub expected_behavior: Option<String>,
    /// The value that the test got; null if the tool does not say.
    pub actual_behavior: Option<String>,
    /// How many tests of the item's actions fail besides this one (added to the original format).
    pub further_failures: u64,
}

/// The evidence files of an item.
#[wire(schema)]
pub struct DebtEvidenceV1 {
    /// The names of the files, which are in the same directory as the debt file.
    pub files: Vec<String>,
    /// If the action's result is reused: the earlier run and its files (added to the original format).
    pub earlier_run: Option<ReusedV2>,
}

/// Guidance for fixing an item. It has only what the run saw or the specification says (facts, 2.6).
#[wire(schema)]
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

/// Text that an agent can copy into a task list.
#[wire(schema)]
pub struct AgentInstructionsV1 {
    /// The item as a line of a task list.
    pub markdown_format: String,
}

/// The first error behind a debt item, what else was known when it occurred, and what was examined to explain it.
#[wire(schema)]
pub struct ErrorDetailsV1 {
    pub execution_result: ResultType,
    /// The first error that the action reported.
    pub original_error: OriginalErrorV1,
    /// What else was known when the error occurred.
    pub contextual_information: ContextV1,
    /// What was examined to explain the error.
    pub diagnostics: DebtDiagnosticsV1,
}

/// The first error of an action, in the order of files and positions.
#[wire(schema)]
pub struct OriginalErrorV1 {
    /// The exception, error code or lint rule; null if the error names nothing of this kind.
    #[serde(rename = "type")]
    pub error_type: Option<String>,
    pub message: String,
    /// The value that the test expected; null if the tool does not say.
    pub expected: Option<String>,
    /// The value that the test got; null if the tool does not say.
    pub received: Option<String>,
    /// The file that the error names; null if the error names no file.
    pub file: Option<String>,
    /// The line that the error names; null if the error names no line.
    pub line: Option<u64>,
}

/// What else was known when an error occurred: the server, earlier steps, related failures.
#[wire(schema)]
pub struct ContextV1 {
    pub prerequisites_met: Option<bool>,
    /// Whether the server that the action needs answered; null if that is not known.
    pub server_running: Option<bool>,
    /// The actions that succeeded before the failed one.
    pub previous_steps_succeeded: Vec<ActionId>,
    /// Other actions that failed from the same cause.
    pub related_failures: Vec<ActionId>,
}

/// What was looked at in order to explain an error: the request and the files.
#[wire(schema)]
pub struct DebtDiagnosticsV1 {
    /// The request and its answer; null if the failed action was not a request.
    pub http_trace: Option<HttpTraceV1>,
    /// The files that were checked, as `path: NOT_FOUND` or `path: FOUND`.
    pub files_checked: Vec<String>,
}

/// The HTTP request of a failed action, and the answer that came.
#[wire(schema)]
pub struct HttpTraceV1 {
    /// The request's method and address.
    pub request: String,
    /// The HTTP status of the answer; null if no answer came.
    pub response_status: Option<u16>,
    /// The beginning and the end of the answer's body; null if it is not stored.
    pub response_body: Option<String>,
}

/// How many items go where: `routedToSprint + routedToInventory + unrouted = totalDebtItems`.
#[wire(schema)]
pub struct RoutingSummaryV1 {
    /// The number of items in the debt file.
    pub total_debt_items: u64,
    /// The number of items for the sprint.
    pub routed_to_sprint: u64,
    /// The number of items for the inventory.
    pub routed_to_inventory: u64,
    /// The number of items that a person has to route (added to the original format).
    pub unrouted: u64,
    /// The number of causes without an item, because the specification's `severityLevels` does not include their
    /// severity (added to the original format).
    pub left_out: u64,
    /// The rule by which items are routed, from the task's settings (added to the original format).
    pub strategy: DebtRouting,
    /// Whether the sprint gets more items than it can hold (added to the original format).
    pub over_capacity: bool,
    /// The capacity of the sprint for this task's items. Items of other tasks in the sprint are not known to proctor.
    pub sprint_capacity: SprintCapacityV1,
}

/// How many items the sprint can hold, and how many this file puts into it.
#[wire(schema)]
pub struct SprintCapacityV1 {
    /// How many items of this file go to the sprint.
    pub current_tasks: u64,
    /// The most items that the sprint can hold.
    pub max_tasks: u64,
    /// How many further items the sprint can hold; 0 if it is over capacity.
    pub available_slots: u64,
    /// How many CRITICAL items of this file go to the sprint (added to the original format).
    pub critical_tasks: u64,
    /// The limit for CRITICAL items. A sprint with more of them counts as over capacity, but keeps them (added to the
    /// original format; specification 2.0.0, `sprintTasksMaxCritical`).
    pub max_critical: u64,
}

/// An item of an earlier run that this run did not find.
#[wire(schema)]
pub struct EarlierItemV1 {
    /// The item's id. The item gets the same id when it is found again.
    pub debt_id: DebtId,
    /// The hash by which the item is recognised when it is found again.
    pub fingerprint: Digest,
    pub title: String,
    /// The last run that found the item.
    pub last_seen: RunId,
}

/// Which run the debt file comes from. This does not prove that the file is unchanged since (E13): `proctor verify`
/// answers that. The report's hash covers this file's hash through `evidenceFiles`, so this file cannot contain the
/// report's hash.
#[wire(schema)]
pub struct DebtAuthenticityV1 {
    pub execution_id: RunId,
    /// SHA-256 of this file's RFC 8785 form without this key; null before the hash is computed.
    pub sha256_hash: Option<Digest>,
}

/// The report's section about the debt.
#[wire(schema)]
pub struct TechnicalDebtGeneratedV2 {
    /// The number of items in the debt file.
    pub items_created: u64,
    /// The debt file, as a file name in the report's directory.
    pub debt_data_file: String,
    pub summary: DebtSeveritiesV2,
    pub routing: DebtDestinationsV2,
}

/// How many items of the debt file have each severity.
#[wire(Copy, Default, upper, schema)]
pub struct DebtSeveritiesV2 {
    pub critical: u64,
    pub high: u64,
    pub medium: u64,
    pub low: u64,
}

/// The number of items for each destination.
#[wire(Copy, Default, schema)]
pub struct DebtDestinationsV2 {
    pub to_sprint: u64,
    pub to_inventory: u64,
    /// The number of items that a person has to route (added to the original format); absent if no item waits for a
    /// person.
    #[serde(skip_serializing_if = "is_none_of_them", default)]
    pub unrouted: u64,
}

fn is_none_of_them(count: &u64) -> bool {
    *count == 0
}
