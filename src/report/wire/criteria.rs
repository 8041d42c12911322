//! The verdict and whether the task may be ticked off: conditions, expected output, completion.

use serde::{Deserialize, Serialize};

use crate::model::{
    CompletionStatus, ConditionValue, EvidenceKind, JudgedExpectation, JudgedFailure, OverallResult, PartialReason, TaskStatus,
};

/// The verdict. Checks of `proctor.toml` and of discovery have no conditions: nothing blocks, or something does (E7).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ValidationCriteriaV2 {
    /// What must be met; absent where the task has no criteria of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success_conditions: Option<MetCountsV2<SuccessConditionV2>>,
    /// What must not be triggered; absent likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_conditions: Option<FailureConditionsV2>,
    /// What the output must be (addition); absent where nothing was expected of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_output: Option<MetCountsV2<JudgedExpectation>>,
    /// What became of the tests that were declared to fail (addition, C06); absent where none were, or where they are to pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_failure: Option<JudgedFailure>,
    /// PASSED or FAILED; absent where there is no verdict (E17).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overall_result: Option<OverallResult>,
    /// Why.
    pub reason: String,
}

/// Whether the task may be ticked off (R5).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CompletionV2 {
    /// Whether every check must pass; absent where the task has no criteria of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all_steps_must_pass: Option<bool>,
    /// The least share of checks that must pass, in per cent, where not all must; absent where none is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum_pass_rate: Option<f64>,
    /// Checks that are SUCCESS, of all checks of the plan, in per cent, half up to one decimal; null without checks (C63).
    pub actual_pass_rate: Option<f64>,
    /// The evidence the task asks for; absent where the task has no criteria of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required_evidence: Option<RequiredEvidenceV2>,
    /// Whether only proctor may set the task's status; absent likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_status_lock: Option<bool>,
    /// COMPLETE or INCOMPLETE.
    pub completion_status: CompletionStatus,
    /// The task's status as its owner sees it (addition); absent where there is no verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_status: Option<TaskStatus>,
    /// Why it is PARTIAL (addition).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial_reason: Option<PartialReason>,
    /// Why.
    pub reason: String,
}

/// What had to be met: `met + failed = total`, all counted over `details` (C65).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MetCountsV2<D> {
    /// All of them.
    pub total: u64,
    /// Those that are met.
    pub met: u64,
    /// Those that are not, unknown ones among them.
    pub failed: u64,
    /// One entry each.
    pub details: Vec<D>,
}

/// A success condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SuccessConditionV2 {
    /// Its text.
    pub condition: String,
    /// What it stands for.
    pub description: String,
    /// Whether it is met; one that is unknown is not.
    pub met: bool,
    /// The value of its reference, where it has one reference and the value is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual_value: Option<ConditionValue>,
    /// The values of its references, where it has several (addition).
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub actual_values: Vec<ActualValueV2>,
    /// The references whose values are not known (addition).
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unknown: Vec<String>,
    /// Why it is not met.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The failure conditions: `total` and `triggered` are counted over `details` (C65).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FailureConditionsV2 {
    /// All of them.
    pub total: u64,
    /// Those that are triggered, unknown ones among them (C67).
    pub triggered: u64,
    /// One entry each.
    pub details: Vec<FailureConditionV2>,
}

/// A failure condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FailureConditionV2 {
    /// Its text.
    pub condition: String,
    /// What it stands for.
    pub description: String,
    /// Whether it is triggered; one that is unknown is (C67).
    pub triggered: bool,
    /// The value of its reference, where it has one reference and the value is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual_value: Option<ConditionValue>,
    /// The values of its references, where it has several (addition).
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub actual_values: Vec<ActualValueV2>,
    /// The references whose values are not known (addition).
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unknown: Vec<String>,
    /// Why it is triggered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A reference of a condition and its value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ActualValueV2 {
    /// The reference: `STEP.1.exitCode`.
    pub reference: String,
    /// Its value; absent where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<ConditionValue>,
}

/// The evidence a task asks for, by kind: each required kind is in one of the other lists (C68).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequiredEvidenceV2 {
    /// The kinds it asks for.
    pub required: Vec<EvidenceKind>,
    /// Those of which the run left a file.
    pub collected: Vec<EvidenceKind>,
    /// Those of which it left none.
    pub missing: Vec<EvidenceKind>,
}
