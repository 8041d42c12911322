//! The report's sections about the verdict and the completion of the task: conditions, expected output, completion.

use serde::{Deserialize, Serialize};

use crate::model::{
    CompletionStatus, ConditionValue, EvidenceKind, JudgedExpectation, JudgedFailure, OverallResult, PartialReason, TaskStatus,
};

/// The verdict. Checks from `proctor.toml` or from discovery have no conditions: only blocking results count (E7).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ValidationCriteriaV2 {
    /// The conditions that must be met; absent if the task has no criteria of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success_conditions: Option<MetCountsV2<SuccessConditionV2>>,
    /// The conditions that must not be triggered; absent if the task has no criteria of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_conditions: Option<FailureConditionsV2>,
    /// The expectations on the output (addition); absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_output: Option<MetCountsV2<JudgedExpectation>>,
    /// The evaluation of the declared failure (addition, C06); absent if no test was declared to fail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_failure: Option<JudgedFailure>,
    /// PASSED or FAILED; absent if the run has no verdict (E17).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overall_result: Option<OverallResult>,
    pub reason: String,
}

/// Whether the task may be marked as done (R5).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CompletionV2 {
    /// Whether every check must pass; absent if the task has no criteria of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all_steps_must_pass: Option<bool>,
    /// The smallest share of checks that must pass, in per cent; absent if all must pass or no share is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum_pass_rate: Option<f64>,
    /// The share of SUCCESS among all checks of the plan, in per cent, rounded half up to one decimal; null without checks (C63).
    pub actual_pass_rate: Option<f64>,
    /// The evidence that the task requires; absent if the task has no criteria of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required_evidence: Option<RequiredEvidenceV2>,
    /// Whether only proctor may set the task's status; absent if the task has no criteria of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_status_lock: Option<bool>,
    pub completion_status: CompletionStatus,
    /// The task's status in the words of its owner (addition); absent if the run has no verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_status: Option<TaskStatus>,
    /// Why the status is PARTIAL (addition).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial_reason: Option<PartialReason>,
    pub reason: String,
}

/// The success conditions: `met + failed = total`, all counted over `details` (C65).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MetCountsV2<D> {
    /// The number of conditions.
    pub total: u64,
    /// The number of conditions that are met.
    pub met: u64,
    /// The number of conditions that are not met or unknown.
    pub failed: u64,
    /// One entry for each condition.
    pub details: Vec<D>,
}

/// A success condition and its evaluation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SuccessConditionV2 {
    /// The condition as written.
    pub condition: String,
    /// What the condition means, for people.
    pub description: String,
    /// Whether it is met; an unknown condition is not met.
    pub met: bool,
    /// The value of the reference, if the condition has a single reference and the value is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual_value: Option<ConditionValue>,
    /// The values of the references, if there are several (addition).
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub actual_values: Vec<ActualValueV2>,
    /// The references whose values are not known (addition).
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unknown: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The failure conditions: `total` and `triggered` are counted over `details` (C65).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FailureConditionsV2 {
    /// The number of conditions.
    pub total: u64,
    /// The number of conditions that are triggered or unknown (C67).
    pub triggered: u64,
    /// One entry for each condition.
    pub details: Vec<FailureConditionV2>,
}

/// A failure condition and its evaluation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FailureConditionV2 {
    /// The condition as written.
    pub condition: String,
    /// What the condition means, for people.
    pub description: String,
    /// Whether it is triggered; an unknown condition counts as triggered (C67).
    pub triggered: bool,
    /// The value of the reference, if the condition has a single reference and the value is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual_value: Option<ConditionValue>,
    /// The values of the references, if there are several (addition).
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub actual_values: Vec<ActualValueV2>,
    /// The references whose values are not known (addition).
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unknown: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A reference in a condition and its value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ActualValueV2 {
    /// The reference, for example `STEP.1.exitCode`.
    pub reference: String,
    /// The value; absent if it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<ConditionValue>,
}

/// The evidence a task asks for, by kind: each required kind is in one of the other lists (C68).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequiredEvidenceV2 {
    pub required: Vec<EvidenceKind>,
    /// The required kinds of which the run has a file.
    pub collected: Vec<EvidenceKind>,
    /// The required kinds of which the run has no file.
    pub missing: Vec<EvidenceKind>,
}
