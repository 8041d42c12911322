//! A task: its actions, its criteria, and the order of its actions.

use serde::Deserialize;

use crate::model::Severity;
use crate::spec::specification::raw::action::RawAction;
use crate::spec::specification::raw::criteria::{RawCompletionCriteria, RawDebtExpectations, RawValidationCriteria};
use crate::spec::specification::raw::extension::RawTaskExtension;

/// A task.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawTask {
    /// The task's id, the same as its key.
    #[cfg_attr(test, schemars(regex(pattern = "^T[0-9]{3,}$")))]
    pub task_id: String,
    /// What is tested, in a line.
    #[cfg_attr(test, schemars(length(min = 10, max = 200)))]
    pub title: String,
    /// What is validated, and why.
    #[cfg_attr(test, schemars(length(min = 50)))]
    pub description: String,
    /// How urgent it is; MEDIUM unless said.
    pub priority: Option<Severity>,
    /// Tasks that must be complete before.
    #[serde(default)]
    #[cfg_attr(test, schemars(extend("uniqueItems" = true), inner(regex(pattern = "^T[0-9]{3,}$"))))]
    pub dependencies: Vec<String>,
    /// The actions.
    pub test_execution: RawTestExecution,
    /// Actions in a browser; not carried out.
    pub mcp_validation: Option<RawMcpValidation>,
    /// What must hold after the actions.
    pub validation_criteria: RawValidationCriteria,
    /// Debt that is likely if the tests fail.
    pub technical_debt_expectations: Option<RawDebtExpectations>,
    /// When the task is complete.
    pub completion_criteria: RawCompletionCriteria,
    /// How the actions are ordered.
    pub execution_workflow: Option<RawExecutionWorkflow>,
    /// What proctor adds to a task.
    pub proctor: Option<RawTaskExtension>,
}

/// The actions of a task.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawTestExecution {
    /// Before the steps.
    #[serde(default)]
    pub prerequisites: Vec<RawAction>,
    /// The steps.
    #[cfg_attr(test, schemars(length(min = 1)))]
    pub steps: Vec<RawAction>,
    /// After the steps, always.
    #[serde(default)]
    pub cleanup: Vec<RawAction>,
}

/// Actions in a browser.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawMcpValidation {
    /// Whether they are wanted; false unless said.
    pub enabled: Option<bool>,
    /// The actions.
    #[serde(default)]
    pub steps: Vec<RawAction>,
}

/// How the actions of a task are ordered.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawExecutionWorkflow {
    /// What must hold before the first action.
    #[serde(default)]
    pub prerequisites: Vec<RawWorkflowPrerequisite>,
    /// The ids of all actions in the order they run.
    #[cfg_attr(test, schemars(inner(regex(pattern = "^[A-Z][A-Z0-9_]*\\.[0-9]+$"))))]
    pub execution_order: Option<Vec<String>>,
    /// Whether actions that do not depend on each other may run at the same time; false unless said.
    pub parallel_execution: Option<bool>,
}

/// What must hold before the first action.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawWorkflowPrerequisite {
    /// What kind of thing it is.
    #[serde(rename = "type")]
    pub kind: RawWorkflowPrerequisiteType,
    /// What it is.
    pub description: String,
    /// A command that exits with 0 when it holds.
    pub check_command: Option<String>,
}

/// What kind of thing must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
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
