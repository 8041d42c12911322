//! The top level of a specification: its metadata, its settings for all tasks, and the settings for debt.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::spec::specification::raw::engine::RawExecutionEngine;
use crate::spec::specification::raw::policy::RawValidationPolicy;
use crate::spec::specification::raw::task::RawTask;
use proctor_model::{DebtRouting, Severity};

/// A test specification, schema 2.0.0, with proctor's additions under the keys `proctor`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawSpecification {
    /// The address of a JSON Schema, for editors. proctor ignores it.
    #[serde(rename = "$schema")]
    pub schema: Option<String>,
    /// The version of the file format, always `2.0.0`.
    #[cfg_attr(test, schemars(extend("const" = "2.0.0")))]
    pub schema_version: String,
    /// What the specification is about, and the person or program that wrote it.
    pub metadata: RawMetadata,
    /// The settings that apply to every task of the file.
    pub global_configuration: RawGlobalConfiguration,
    /// The types of actions that the tasks may use, and the settings for each type.
    pub execution_engine: RawExecutionEngine,
    /// The tasks by their ids.
    #[cfg_attr(test, schemars(schema_with = "crate::spec::specification::schema::tasks_schema"))]
    pub tasks: BTreeMap<String, RawTask>,
    /// Which failures become debt items, and whether an item goes to the sprint or to the inventory.
    pub technical_debt_configuration: Option<RawDebtConfiguration>,
}

/// What a specification is about, and the person or program that wrote it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawMetadata {
    /// The name of the project, as a text for people.
    pub project_name: String,
    /// The sprint's id, for example `SPRINT_012`.
    #[cfg_attr(test, schemars(regex(pattern = "^[A-Z0-9_-]+$")))]
    pub sprint_id: String,
    /// The date and time at which the specification was made.
    #[cfg_attr(test, schemars(extend("format" = "date-time")))]
    pub generated_at: String,
    /// The program or person that made the specification.
    pub generated_by: String,
    /// What the specification validates, as a text for people.
    pub description: Option<String>,
    /// The id of the task that the specification was made for.
    pub task_id: Option<String>,
    /// The title of the task that the specification was made for.
    pub task_title: Option<String>,
    /// Documents that the specification refers to. proctor does not use them.
    #[cfg_attr(test, schemars(extend("type" = ["array", "object"])))]
    pub references: Option<Value>,
    /// The reason for the values of `validationPolicy`, as a text for people.
    pub validation_policy_rationale: Option<String>,
    /// The person who is responsible for the specification.
    pub author: Option<String>,
}

/// The settings that apply to every task of a specification.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawGlobalConfiguration {
    /// The absolute path of the project's root when the specification was written.
    #[cfg_attr(test, schemars(length(min = 1)))]
    pub workspace_root: String,
    /// A directory relative to the root. Evidence is not kept there: proctor keeps it outside and makes the link `evidence`.
    pub evidence_directory: String,
    /// The development server that the tests need. proctor starts it before the first step.
    pub dev_server: Option<RawDevServer>,
    /// Environment variables of every command and script.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// The time limit in milliseconds for prerequisites and steps together. The default is 300000.
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub timeout: Option<u64>,
    /// Which findings of tools block.
    pub validation_policy: Option<RawValidationPolicy>,
}

/// A server that runs while the steps run, such as `npm run dev`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawDevServer {
    /// The command that starts the server. The command must not end before the steps do.
    pub command: Option<String>,
    /// The absolute path of the directory in which the server is started.
    pub working_directory: Option<String>,
    /// Environment variables of the server, in addition to those for all actions.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// The address that answers as soon as the server is ready.
    #[cfg_attr(test, schemars(extend("format" = "uri")))]
    pub health_check_url: Option<String>,
    /// The time limit in milliseconds until the server is ready. The default is 30000.
    pub startup_timeout: Option<u64>,
    /// The port on which the server listens. Without `healthCheckUrl`, the server is ready when it accepts connections.
    #[cfg_attr(test, schemars(range(min = 1024, max = 65535)))]
    pub port: Option<u16>,
}

/// Which failures become debt items, and whether an item goes to the sprint or to the inventory.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawDebtConfiguration {
    /// Whether failures become debt items.
    pub enabled: bool,
    /// How proctor decides whether a debt item goes to the sprint or to the inventory.
    pub routing_strategy: DebtRouting,
    /// How many debt items a sprint can take.
    pub capacity_thresholds: Option<RawCapacityThresholds>,
    /// The severities of failures that become debt items. By default failures of every severity do.
    pub severity_levels: Option<Vec<Severity>>,
}

/// How many debt items a sprint can take. Further items go to the inventory, as far as the routing strategy allows.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawCapacityThresholds {
    /// The most debt items of a sprint. The default is 6.
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub sprint_tasks_max_items: Option<u32>,
    /// The most CRITICAL debt items of a sprint. With more, the sprint is marked as over capacity. The default is 4.
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub sprint_tasks_max_critical: Option<u32>,
}
