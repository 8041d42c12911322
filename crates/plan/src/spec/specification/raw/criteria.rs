//! The criteria of a task: conditions, completion, and expected debt.

use serde::Deserialize;

use proctor_model::{DebtCategory, Severity};

/// The conditions and the output by which a task is judged after its actions have ended.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawValidationCriteria {
    /// Conditions of which every one must be met.
    #[cfg_attr(test, schemars(length(min = 1)))]
    pub success_conditions: Vec<RawCondition>,
    /// Conditions of which none may be met.
    #[serde(default)]
    pub failure_conditions: Vec<RawCondition>,
    /// What the steps must print. By default nothing is demanded.
    pub expected_output: Option<RawExpectedOutput>,
}

/// A condition over the results of actions.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawCondition {
    /// The condition, for example `STEP.1.exitCode === 0`.
    pub condition: String,
    /// What the condition means, as a text for people.
    pub description: String,
}

/// What the steps must print, and the exit code with which the last step that runs tests must end.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawExpectedOutput {
    /// Texts. At least one step must print each of them on standard output; different steps may print different texts.
    #[serde(default)]
    pub stdout_contains: Vec<String>,
    /// Whether no step may print anything on standard error. The default is false.
    pub stderr_empty: Option<bool>,
    /// The exit code of the last step that runs tests, or of the last step if none runs tests. By default any code will do.
    pub exit_code: Option<i32>,
}

/// What is needed so that a task counts as complete, beyond its conditions.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawCompletionCriteria {
    /// Whether every step must end with the result SUCCESS.
    pub all_steps_must_pass: bool,
    /// The lowest percentage of steps that must pass. It is used if `allStepsMustPass` is false; the default is 100.
    #[cfg_attr(test, schemars(range(min = 0, max = 100)))]
    pub minimum_pass_rate: Option<f64>,
    /// The kinds of evidence that the run must produce, at least one file of each kind.
    #[serde(default)]
    pub required_evidence: Vec<RawEvidenceKind>,
    /// Whether only proctor may set the task's status. The default is true.
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
    /// Pictures of a page in a browser, of actions with `evidenceCapture.screenshots`.
    Screenshots,
    /// The record of a request that a server answered, and the body of the answer.
    ApiResponses,
    /// The record of a request that got no answer.
    ErrorLogs,
    /// Measured values, such as durations.
    PerformanceMetrics,
}

/// The debt items that are likely if the task's tests fail.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawDebtExpectations {
    /// The likely failures. Each suggested fix is added to the debt items of the same category and severity.
    #[serde(default)]
    pub likely_failures: Vec<RawLikelyFailure>,
}

/// A failure that the author of the specification thinks likely, and how to mend it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawLikelyFailure {
    /// What goes wrong, as a text for people.
    pub scenario: String,
    /// The category of the debt items to which the suggested fix is added.
    pub expected_debt_category: DebtCategory,
    /// The severity of the debt items to which the suggested fix is added.
    pub expected_severity: Severity,
    /// What would mend the failure, as a text for people.
    pub suggested_fix: Option<String>,
}
