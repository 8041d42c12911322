//! `executionEngine`: the types of actions a specification uses, and the settings of each type.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::spec::specification::raw::parameters::{RawInterpreter, RawShell};
use proctor_model::ActionType;

/// The types of actions that the tasks may use, and the settings for each type.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawExecutionEngine {
    /// The types of actions that the tasks may use. The lint reports an action of another type.
    #[cfg_attr(test, schemars(schema_with = "crate::spec::specification::schema::action_types_schema"))]
    pub available_action_types: Vec<ActionType>,
    /// The settings for each type of action.
    #[serde(default)]
    pub executor_configurations: RawExecutorConfigurations,
}

/// The settings for each type of action; a missing type has the defaults.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE", deny_unknown_fields)]
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
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawMisplacedExecutorConfig {
    /// The name of a shell, which has no effect here.
    pub shell: Option<String>,
    /// A time limit in milliseconds, which has no effect here.
    pub timeout: Option<u64>,
}

/// Settings for all actions of type TERMINAL_COMMAND.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawTerminalCommandConfig {
    /// The shell for commands that name none. It has no effect: proctor runs such a command without a shell.
    pub default_shell: Option<RawShell>,
    /// The time limit in milliseconds of a command that sets no `timeout`. The default is 30000.
    pub default_timeout: Option<u64>,
}

/// Settings for actions of a browser. They have no effect: Chromium is opened without a window.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawBrowserConfig {
    /// The command that starts the MCP server, which controls the browser.
    pub mcp_server_command: Option<String>,
    /// The kind of browser that is started.
    pub browser_type: Option<RawBrowserType>,
    /// Whether the browser runs without a window. The default is true.
    pub headless: Option<bool>,
}

/// A browser. proctor opens Chromium.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "lowercase")]
pub enum RawBrowserType {
    /// Chromium, the browser on which Chrome is based.
    Chromium,
    /// Firefox by Mozilla.
    Firefox,
    /// WebKit, the engine of Safari.
    Webkit,
}

/// Settings for commands of a container engine. They have no effect: the user's own configuration names the engine.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawDockerCommandConfig {
    /// The address of the container engine, as in the variable `DOCKER_HOST`.
    pub docker_host: Option<String>,
    /// Credentials for registries of container images.
    pub registry_auth: Option<BTreeMap<String, String>>,
}

/// Settings for database queries.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawDatabaseQueryConfig {
    /// The time limit in milliseconds for connecting to the database. The default is 5000.
    pub connection_timeout: Option<u64>,
    /// The time limit in milliseconds for a query, with the time to connect. Without it a query has 30000 after the time to connect.
    pub query_timeout: Option<u64>,
}

/// Settings for all actions of type HTTP_REQUEST.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
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
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawCustomScriptConfig {
    /// The interpreters that scripts may use. By default all are allowed.
    pub allowed_interpreters: Option<Vec<RawInterpreter>>,
    /// The directory that must contain every script. By default scripts may be anywhere in the project.
    pub script_directory: Option<String>,
}

/// Settings for all actions of type FILE_VALIDATION.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawFileValidationConfig {
    /// Directories. Each checked file must be in one of them. By default files may be anywhere in the project.
    pub allowed_directories: Option<Vec<String>>,
}
