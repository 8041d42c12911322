//! The criteria of a task: conditions, completion, and expected debt.

use serde::Deserialize;

use crate::model::{DebtCategory, Severity};

/// What must hold after the actions.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawValidationCriteria {
    /// Each of them must be met.
    #[cfg_attr(test, schemars(length(min = 1)))]
    pub success_conditions: Vec<RawCondition>,
    /// None of them may be met.
    #[serde(default)]
    pub failure_conditions: Vec<RawCondition>,
    /// What the steps must print.
    pub expected_output: Option<RawExpectedOutput>,
}

/// A condition over the results of actions.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawCondition {
    /// The condition, for example `STEP.1.exitCode === 0`.
    pub condition: String,
    /// What it says, for people.
    pub description: String,
}

/// What the steps must print.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawExpectedOutput {
    /// Texts that standard output of some step must contain.
    #[serde(default)]
    pub stdout_contains: Vec<String>,
    /// Whether standard error of all steps must be empty.
    pub stderr_empty: Option<bool>,
    /// The exit code every step must have.
    pub exit_code: Option<i32>,
}

/// When a task is complete.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawCompletionCriteria {
    /// Whether every step must pass.
    pub all_steps_must_pass: bool,
    /// The lowest percentage of steps that pass, where not every one must.
    #[cfg_attr(test, schemars(range(min = 0, max = 100)))]
    pub minimum_pass_rate: Option<f64>,
    /// The kinds of evidence there must be.
    #[serde(default)]
    pub required_evidence: Vec<RawEvidenceKind>,
    /// Whether only proctor sets the task's status; true unless said.
    pub task_status_lock: Option<bool>,
}

/// A kind of evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "kebab-case")]
pub enum RawEvidenceKind {
    /// The output and the report of a test run.
    TestExecutionLog,
    /// The output of a command.
    TerminalOutput,
    /// Pictures of a page in a browser. proctor runs no browser, so the lint reports this kind.
    Screenshots,
    /// The record of a request that a server answered, and the body of the answer.
    ApiResponses,
    /// The record of a request that got no answer.
    ErrorLogs,
    /// Measured values, such as durations.
    PerformanceMetrics,
}

/// Debt that is likely if the tests fail.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawDebtExpectations {
    /// The failures.
    #[serde(default)]
    pub likely_failures: Vec<RawLikelyFailure>,
}

/// A failure that is likely.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawLikelyFailure {
    /// What happens.
    pub scenario: String,
    /// The category its debt has.
    pub expected_debt_category: DebtCategory,
    /// The severity its debt has.
    pub expected_severity: Severity,
    /// What would mend it.
    pub suggested_fix: Option<String>,
}
