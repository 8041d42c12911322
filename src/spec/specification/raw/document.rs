//! The top level of a specification: its metadata, its settings for all tasks, and the settings for debt.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::model::{DebtRouting, Severity};
use crate::spec::specification::raw::engine::RawExecutionEngine;
use crate::spec::specification::raw::policy::RawValidationPolicy;
use crate::spec::specification::raw::task::RawTask;

/// A test specification, schema 2.0.0, with proctor's additions under the keys `proctor`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawSpecification {
    /// The address of a schema, for editors. It is not followed.
    #[serde(rename = "$schema")]
    pub schema: Option<String>,
    /// The version of the format.
    #[cfg_attr(test, schemars(extend("const" = "2.0.0")))]
    pub schema_version: String,
    /// What the specification is about and who wrote it.
    pub metadata: RawMetadata,
    /// What holds for every task.
    pub global_configuration: RawGlobalConfiguration,
    /// The types of actions that are used, and their settings.
    pub execution_engine: RawExecutionEngine,
    /// The tasks by their ids.
    #[cfg_attr(test, schemars(schema_with = "crate::spec::specification::schema::tasks_schema"))]
    pub tasks: BTreeMap<String, RawTask>,
    /// How debt is routed.
    pub technical_debt_configuration: Option<RawDebtConfiguration>,
}

/// What a specification is about and who wrote it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawMetadata {
    /// The project's name for people.
    pub project_name: String,
    /// The sprint's id, for example `SPRINT_012`.
    #[cfg_attr(test, schemars(regex(pattern = "^[A-Z0-9_-]+$")))]
    pub sprint_id: String,
    /// When the specification was made.
    #[cfg_attr(test, schemars(extend("format" = "date-time")))]
    pub generated_at: String,
    /// Who made it.
    pub generated_by: String,
    /// What it validates.
    pub description: Option<String>,
    /// The task it was made for.
    pub task_id: Option<String>,
    /// The title of that task.
    pub task_title: Option<String>,
    /// Documents it refers to. Kept for people.
    #[cfg_attr(test, schemars(extend("type" = ["array", "object"])))]
    pub references: Option<Value>,
    /// Why the validation policy is as it is.
    pub validation_policy_rationale: Option<String>,
    /// Who is responsible for it.
    pub author: Option<String>,
}

/// What holds for every task.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawGlobalConfiguration {
    /// The absolute path of the project's root when the specification was written.
    #[cfg_attr(test, schemars(length(min = 1)))]
    pub workspace_root: String,
    /// Where evidence is expected, relative to the root.
    pub evidence_directory: String,
    /// The development server the tests need.
    pub dev_server: Option<RawDevServer>,
    /// Variables of every action.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// The longest time of a whole run in milliseconds; 300000 unless said.
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub timeout: Option<u64>,
    /// Which findings block.
    pub validation_policy: Option<RawValidationPolicy>,
}

/// A development server.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawDevServer {
    /// The command that starts it and goes on.
    pub command: Option<String>,
    /// The absolute path it is started in.
    pub working_directory: Option<String>,
    /// The address that answers once it is ready.
    #[cfg_attr(test, schemars(extend("format" = "uri")))]
    pub health_check_url: Option<String>,
    /// The longest time of its start in milliseconds; 30000 unless said.
    pub startup_timeout: Option<u64>,
    /// The port it listens on.
    #[cfg_attr(test, schemars(range(min = 1024, max = 65535)))]
    pub port: Option<u16>,
}

/// How debt is routed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawDebtConfiguration {
    /// Whether failures become debt.
    pub enabled: bool,
    /// What decides between the sprint and the inventory.
    pub routing_strategy: DebtRouting,
    /// What a sprint holds.
    pub capacity_thresholds: Option<RawCapacityThresholds>,
    /// The severities that become debt.
    pub severity_levels: Option<Vec<Severity>>,
}

/// What a sprint holds.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawCapacityThresholds {
    /// The most tasks of a sprint; 6 unless said.
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub sprint_tasks_max_items: Option<u32>,
    /// The most CRITICAL ones of them; 4 unless said.
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub sprint_tasks_max_critical: Option<u32>,
}
