//! The top level of a specification: its metadata, its settings for all tasks, and the settings for debt.
//!
//! `executionEngine`: the types of actions a specification uses, and the settings of each type.

use std::collections::BTreeMap;

use proctor_wire::wire;
use serde_json::Value;

use crate::spec::specification::raw::parameters::{RawInterpreter, RawShell};
use crate::spec::specification::raw::policy::RawValidationPolicy;
use crate::spec::specification::raw::task::RawTask;
use proctor_model::{ActionType, DebtRouting, Severity};

/// A test specification, schema 2.0.0, with proctor's additions under the keys `proctor`.
#[wire(inexact, read, test_schema)]
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
#[wire(inexact, read, test_schema)]
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
#[wire(inexact, read, test_schema)]
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
#[wire(read, test_schema)]
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
#[wire(read, test_schema)]
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
#[wire(read, test_schema)]
pub struct RawCapacityThresholds {
    /// The most debt items of a sprint. The default is 6.
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub sprint_tasks_max_items: Option<u32>,
    /// The most CRITICAL debt items of a sprint. With more, the sprint is marked as over capacity. The default is 4.
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub sprint_tasks_max_critical: Option<u32>,
}

/// The types of actions that the tasks may use, and the settings for each type.
#[wire(read, test_schema)]
pub struct RawExecutionEngine {
    /// The types of actions that the tasks may use. The lint reports an action of another type.
    #[cfg_attr(test, schemars(schema_with = "crate::spec::specification::schema::action_types_schema"))]
    pub available_action_types: Vec<ActionType>,
    /// The settings for each type of action.
    #[serde(default)]
    pub executor_configurations: RawExecutorConfigurations,
}

/// The settings for each type of action; a missing type has the defaults.
#[wire(Default, screaming, read, test_schema)]
pub struct RawExecutorConfigurations {
    /// Settings for all commands.
    pub terminal_command: Option<RawTerminalCommandConfig>,
    /// Settings for actions of a browser.
    pub mcp_browser_command: Option<RawBrowserConfig>,
    /// Settings for commands of a container engine.
    pub docker_command: Option<RawDockerCommandConfig>,
    /// Settings for database queries.
    pub database_query: Option<RawDatabaseQueryConfig>,
    /// Settings for all HTTP requests.
    pub http_request: Option<RawHttpRequestConfig>,
    /// Settings for all scripts.
    pub custom_script: Option<RawCustomScriptConfig>,
    /// Settings for all file validations.
    pub file_validation: Option<RawFileValidationConfig>,
    /// A misspelt `TERMINAL_COMMAND` in generated specifications. Its settings have no effect, and the lint reports the key.
    #[serde(rename = "terminalCommand")]
    pub misplaced_terminal_command: Option<RawMisplacedExecutorConfig>,
    /// A misspelt `HTTP_REQUEST` in generated specifications. Its settings have no effect, and the lint reports the key.
    #[serde(rename = "httpRequest")]
    pub misplaced_http_request: Option<RawMisplacedExecutorConfig>,
    /// A misspelt `FILE_VALIDATION` in generated specifications. Its settings have no effect, and the lint reports the key.
    #[serde(rename = "fileValidation")]
    pub misplaced_file_validation: Option<RawMisplacedExecutorConfig>,
}

/// Settings under a misspelt key of `executorConfigurations`. They have no effect.
#[wire(read, test_schema)]
pub struct RawMisplacedExecutorConfig {
    /// The name of a shell, which has no effect here.
    pub shell: Option<String>,
    /// A time limit in milliseconds, which has no effect here.
    pub timeout: Option<u64>,
}

/// Settings for all actions of type TERMINAL_COMMAND.
#[wire(read, test_schema)]
pub struct RawTerminalCommandConfig {
    /// The shell for commands that name none. It has no effect: proctor runs such a command without a shell.
    pub default_shell: Option<RawShell>,
    /// The time limit in milliseconds of a command that sets no `timeout`. The default is 30000.
    pub default_timeout: Option<u64>,
}

/// Settings for actions of a browser. They have no effect: Chromium is opened without a window.
#[wire(read, test_schema)]
pub struct RawBrowserConfig {
    /// The command that starts the MCP server, which controls the browser.
    pub mcp_server_command: Option<String>,
    /// The kind of browser that is started.
    pub browser_type: Option<RawBrowserType>,
    /// Whether the browser runs without a window. The default is true.
    pub headless: Option<bool>,
}

/// A browser. proctor opens Chromium.
#[wire(Copy, lower, read)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
pub enum RawBrowserType {
    /// Chromium, the browser on which Chrome is based.
    Chromium,
    /// Firefox by Mozilla.
    Firefox,
    /// WebKit, the engine of Safari.
    Webkit,
}

/// Settings for commands of a container engine. They have no effect: the user's own configuration names the engine.
#[wire(read, test_schema)]
pub struct RawDockerCommandConfig {
    /// The address of the container engine, as in the variable `DOCKER_HOST`.
    pub docker_host: Option<String>,
    /// Credentials for registries of container images.
    pub registry_auth: Option<BTreeMap<String, String>>,
}

/// Settings for database queries.
#[wire(read, test_schema)]
pub struct RawDatabaseQueryConfig {
    /// The time limit in milliseconds for connecting to the database. The default is 5000.
    pub connection_timeout: Option<u64>,
    /// The time limit in milliseconds for a query, with the time to connect. Without it a query has 30000 after the time to connect.
    pub query_timeout: Option<u64>,
}

/// Settings for all actions of type HTTP_REQUEST.
#[wire(read, test_schema)]
pub struct RawHttpRequestConfig {
    /// The time limit in milliseconds of a request that sets no `timeout`. The default is 10000.
    pub default_timeout: Option<u64>,
    /// Whether proctor follows redirections to other URLs. The default is true.
    pub follow_redirects: Option<bool>,
    /// Whether the server's TLS certificate must be valid. The default is true.
    #[serde(rename = "validateSSL")]
    pub validate_ssl: Option<bool>,
}

/// Settings for all actions of type CUSTOM_SCRIPT.
#[wire(read, test_schema)]
pub struct RawCustomScriptConfig {
    /// The interpreters that scripts may use. By default all are allowed.
    pub allowed_interpreters: Option<Vec<RawInterpreter>>,
    /// The directory that must contain every script. By default scripts may be anywhere in the project.
    pub script_directory: Option<String>,
}

/// Settings for all actions of type FILE_VALIDATION.
#[wire(read, test_schema)]
pub struct RawFileValidationConfig {
    /// Directories. Each checked file must be in one of them. By default files may be anywhere in the project.
    pub allowed_directories: Option<Vec<String>>,
}
