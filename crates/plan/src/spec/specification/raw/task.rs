//! A task: its actions, its criteria, and the order of its actions.
//!
//! The criteria of a task: conditions, completion, and expected debt.

use proctor_wire::wire;

use crate::spec::specification::raw::action::{RawAction, RawTaskExtension};
use proctor_model::{DebtCategory, EvidenceKind, Severity};

/// A task: what is tested, by which actions, and when the task is complete.
#[wire(inexact, read, test_schema)]
pub struct RawTask {
    /// The task's id. It must equal the task's key in `tasks`.
    #[cfg_attr(test, schemars(regex(pattern = "^T[0-9]{3,}$")))]
    pub task_id: String,
    /// What is tested, as one line for people.
    #[cfg_attr(test, schemars(length(min = 10, max = 200)))]
    pub title: String,
    /// What is validated and why, as a text for people.
    #[cfg_attr(test, schemars(length(min = 50)))]
    pub description: String,
    /// How urgent the task is, for people; proctor does not use it. The default is MEDIUM.
    pub priority: Option<Severity>,
    /// The ids of the tasks that must be complete before this task.
    #[serde(default)]
    #[cfg_attr(test, schemars(extend("uniqueItems" = true), inner(regex(pattern = "^T[0-9]{3,}$"))))]
    pub dependencies: Vec<String>,
    /// The actions of the task.
    pub test_execution: RawTestExecution,
    /// Actions in a browser beside the steps. They are not carried out: a step of type MCP_BROWSER_COMMAND is.
    pub mcp_validation: Option<RawMcpValidation>,
    /// The conditions and the output by which the task is judged after its actions have ended.
    pub validation_criteria: RawValidationCriteria,
    /// The debt items that are likely if the task's tests fail.
    pub technical_debt_expectations: Option<RawDebtExpectations>,
    /// What is needed so that the task counts as complete, beyond its conditions.
    pub completion_criteria: RawCompletionCriteria,
    /// The order of the task's actions, and what must hold before the first action.
    pub execution_workflow: Option<RawExecutionWorkflow>,
    /// The settings that only proctor has for a task.
    pub proctor: Option<RawTaskExtension>,
}

/// The actions of a task.
#[wire(inexact, read, test_schema)]
pub struct RawTestExecution {
    /// The actions that run before the steps. If one fails, no step runs.
    #[serde(default)]
    pub prerequisites: Vec<RawAction>,
    /// The steps, whose results decide the verdict.
    #[cfg_attr(test, schemars(length(min = 1)))]
    pub steps: Vec<RawAction>,
    /// The actions that run after the steps, whatever the steps' results are.
    #[serde(default)]
    pub cleanup: Vec<RawAction>,
}

/// Actions in a browser beside the steps. They are not carried out: a step of type MCP_BROWSER_COMMAND is.
#[wire(inexact, read, test_schema)]
pub struct RawMcpValidation {
    /// Whether these actions must run. They never do, so the lint refuses true: write them as steps. The default is false.
    pub enabled: Option<bool>,
    /// The actions in a browser, which never run.
    #[serde(default)]
    pub steps: Vec<RawAction>,
}

/// The order of a task's actions, and what must hold before the first action.
#[wire(read, test_schema)]
pub struct RawExecutionWorkflow {
    /// What must hold before the first action runs, each with a command that checks it.
    #[serde(default)]
    pub prerequisites: Vec<RawWorkflowPrerequisite>,
    /// The ids of all actions, in the order in which they run.
    #[cfg_attr(test, schemars(inner(regex(pattern = "^[A-Z][A-Z0-9_]*\\.[0-9]+$"))))]
    pub execution_order: Option<Vec<String>>,
    /// Whether steps that do not depend on each other may run at the same time. The default is false.
    pub parallel_execution: Option<bool>,
}

/// One thing that must hold before the first action runs.
#[wire(read, test_schema)]
pub struct RawWorkflowPrerequisite {
    /// The kind of thing that must hold, such as a running server.
    #[serde(rename = "type")]
    pub kind: RawWorkflowPrerequisiteType,
    /// What must hold, as a text for people.
    pub description: String,
    /// A command that exits with 0 if the prerequisite is met. Without a command the prerequisite is not checked.
    pub check_command: Option<String>,
}

/// The kind of thing that must hold before the first action.
#[wire(Copy, screaming, read)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
pub enum RawWorkflowPrerequisiteType {
    /// The development server runs.
    DevServerRunning,
    /// The database that the task needs accepts connections.
    DatabaseAvailable,
    /// A service that the task needs answers as it should.
    ServiceHealthy,
    /// A file that the task needs exists.
    FileExists,
}

/// The conditions and the output by which a task is judged after its actions have ended.
#[wire(read, test_schema)]
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
#[wire(read, test_schema)]
pub struct RawCondition {
    /// The condition, for example `STEP.1.exitCode === 0`.
    pub condition: String,
    /// What the condition means, as a text for people.
    pub description: String,
}

/// What the steps must print, and the exit code with which the last step that runs tests must end.
#[wire(read, test_schema)]
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
#[wire(inexact, read, test_schema)]
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

words_of! {
    /// A kind of evidence.
    #[serde(rename_all = "kebab-case")]
    RawEvidenceKind for EvidenceKind:
        /// The output and the report of a test run.
        TestExecutionLog TestExecutionLog,
        /// The output of a command.
        TerminalOutput TerminalOutput,
        /// Pictures of a page in a browser, of actions with `evidenceCapture.screenshots`.
        Screenshots Screenshots,
        /// The record of a request that a server answered, and the body of the answer.
        ApiResponses ApiResponses,
        /// The record of a request that got no answer.
        ErrorLogs ErrorLogs,
        /// Measured values, such as durations.
        PerformanceMetrics PerformanceMetrics,
}

/// The debt items that are likely if the task's tests fail.
#[wire(read, test_schema)]
pub struct RawDebtExpectations {
    /// The likely failures. Each suggested fix is added to the debt items of the same category and severity.
    #[serde(default)]
    pub likely_failures: Vec<RawLikelyFailure>,
}

/// A failure that the author of the specification thinks likely, and how to mend it.
#[wire(read, test_schema)]
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
