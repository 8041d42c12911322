//! The report's sections about the verdict and the completion of the task: conditions, expected output, completion.

use proctor_wire::wire;

use proctor_model::{
    CompletionStatus, ConditionValue, EvidenceKind, JudgedExpectation, JudgedFailure, OverallResult, PartialReason, TaskStatus,
};

/// The verdict and the conditions behind it. Checks from `proctor.toml` or from discovery have no conditions: only
/// blocking results count (E7).
#[wire(inexact, schema, sparse)]
pub struct ValidationCriteriaV2 {
    /// The conditions that must be met; absent if the task has no criteria of its own.
    pub success_conditions: Option<MetCountsV2<SuccessConditionV2>>,
    /// The conditions that must not be triggered; absent if the task has no criteria of its own.
    pub failure_conditions: Option<FailureConditionsV2>,
    /// The expectations on the output (added to the original format); absent if the task has no such expectations.
    pub expected_output: Option<MetCountsV2<JudgedExpectation>>,
    /// The evaluation of the declared failure (added to the original format, C06); absent if no test was declared to
    /// fail.
    pub expected_failure: Option<JudgedFailure>,
    /// PASSED or FAILED; absent if the run has no verdict (E17).
    pub overall_result: Option<OverallResult>,
    pub reason: String,
}

/// Whether the task may be marked as done (J5).
#[wire(inexact, schema, sparse)]
pub struct CompletionV2 {
    /// Whether every check must pass; absent if the task has no criteria of its own.
    pub all_steps_must_pass: Option<bool>,
    /// The smallest share of checks that must pass, in per cent; absent if all must pass or no share is set.
    pub minimum_pass_rate: Option<f64>,
    /// The share of SUCCESS among all checks of the plan, in per cent, rounded half up to one decimal; null without
    /// checks (C63).
    #[kept]
    pub actual_pass_rate: Option<f64>,
    /// The evidence that the task requires; absent if the task has no criteria of its own.
    pub required_evidence: Option<RequiredEvidenceV2>,
    /// Whether only proctor may set the task's status; absent if the task has no criteria of its own.
    pub task_status_lock: Option<bool>,
    pub completion_status: CompletionStatus,
    /// The task's status: COMPLETE, PARTIAL or FAILED (added to the original format); absent if the run has no verdict.
    pub task_status: Option<TaskStatus>,
    /// Why the task's status is PARTIAL (added to the original format); absent for any other status.
    pub partial_reason: Option<PartialReason>,
    pub reason: String,
}

/// The entries of `details` (conditions or expectations) with their counts: `met + failed = total` (C65).
#[wire(schema)]
pub struct MetCountsV2<D> {
    /// The number of entries in `details`.
    pub total: u64,
    /// The number of entries that are met.
    pub met: u64,
    /// The number of entries that are not met; an entry with an unknown value counts as not met.
    pub failed: u64,
    /// One entry for each condition.
    pub details: Vec<D>,
}

/// A condition that must be true for a verdict of PASSED, with the result of its evaluation.
#[wire(inexact, schema, sparse)]
pub struct SuccessConditionV2 {
    /// The condition as the specification writes it.
    pub condition: String,
    /// What the condition means, as the specification describes it for people.
    pub description: String,
    /// Whether the condition is met; an unknown condition is not met.
    pub met: bool,
    /// The value of the condition's reference; absent if there are several references or the value is unknown.
    pub actual_value: Option<ConditionValue>,
    /// The value of each reference, if the condition has several (added to the original format).
    pub actual_values: Vec<ActualValueV2>,
    /// The references in the condition whose values are not known (added to the original format).
    pub unknown: Vec<String>,
    pub reason: Option<String>,
}

/// The failure conditions: `total` and `triggered` are counted over `details` (C65).
#[wire(inexact, schema)]
pub struct FailureConditionsV2 {
    /// The number of entries in `details`.
    pub total: u64,
    /// The number of conditions that are triggered or unknown (C67).
    pub triggered: u64,
    /// One entry for each condition.
    pub details: Vec<FailureConditionV2>,
}

/// A condition that makes the verdict FAILED if it is true, with the result of its evaluation.
#[wire(inexact, schema, sparse)]
pub struct FailureConditionV2 {
    /// The condition as the specification writes it.
    pub condition: String,
    /// What the condition means, as the specification describes it for people.
    pub description: String,
    /// Whether the condition is triggered; an unknown condition counts as triggered (C67).
    pub triggered: bool,
    /// The value of the condition's reference; absent if there are several references or the value is unknown.
    pub actual_value: Option<ConditionValue>,
    /// The value of each reference, if the condition has several (added to the original format).
    pub actual_values: Vec<ActualValueV2>,
    /// The references in the condition whose values are not known (added to the original format).
    pub unknown: Vec<String>,
    pub reason: Option<String>,
}

/// A reference in a condition, and the value it had in this run.
#[wire(inexact, schema, sparse)]
pub struct ActualValueV2 {
    /// The reference, for example `STEP.1.exitCode`.
    pub reference: String,
    /// The value of the reference; absent if it is unknown.
    pub value: Option<ConditionValue>,
}

/// The evidence that a task requires, by kind. Each kind in the first list is also in `collected` or in `missing`
/// (C68).
#[wire(schema)]
pub struct RequiredEvidenceV2 {
    pub required: Vec<EvidenceKind>,
    /// The required kinds of which the run has a file.
    pub collected: Vec<EvidenceKind>,
    /// The required kinds of which the run has no file.
    pub missing: Vec<EvidenceKind>,
}
