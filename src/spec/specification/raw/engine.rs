//! `executionEngine`: the types of actions a specification uses, and the settings of each type.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::model::ActionType;
use crate::spec::specification::raw::parameters::{RawInterpreter, RawShell};

/// The types of actions that are used, and their settings.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawExecutionEngine {
    /// The types that actions may have.
    #[cfg_attr(test, schemars(schema_with = "crate::spec::specification::schema::action_types_schema"))]
    pub available_action_types: Vec<ActionType>,
    /// Settings by type.
    #[serde(default)]
    pub executor_configurations: RawExecutorConfigurations,
}

/// Settings by type of action.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE", deny_unknown_fields)]
pub struct RawExecutorConfigurations {
    /// Settings of commands.
    pub terminal_command: Option<RawTerminalCommandConfig>,
    /// Settings of a browser; never used, since no such action is carried out.
    pub mcp_browser_command: Option<RawBrowserConfig>,
    /// Settings of containers; never used, since no such action is carried out.
    pub docker_command: Option<RawDockerCommandConfig>,
    /// Settings of a database; never used, since no such action is carried out.
    pub database_query: Option<RawDatabaseQueryConfig>,
    /// Settings of requests.
    pub http_request: Option<RawHttpRequestConfig>,
    /// Settings of scripts.
    pub custom_script: Option<RawCustomScriptConfig>,
    /// Settings of looks at files.
    pub file_validation: Option<RawFileValidationConfig>,
    /// A wrong key that generated specifications have. Nothing below it is applied, and a lint note says so.
    #[serde(rename = "terminalCommand")]
    pub misplaced_terminal_command: Option<RawMisplacedExecutorConfig>,
    /// A wrong key that generated specifications have. Nothing below it is applied, and a lint note says so.
    #[serde(rename = "httpRequest")]
    pub misplaced_http_request: Option<RawMisplacedExecutorConfig>,
    /// A wrong key that generated specifications have. Nothing below it is applied, and a lint note says so.
    #[serde(rename = "fileValidation")]
    pub misplaced_file_validation: Option<RawMisplacedExecutorConfig>,
}

/// What stands under a wrong key of `executorConfigurations`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawMisplacedExecutorConfig {
    /// A shell.
    pub shell: Option<String>,
    /// A time in milliseconds.
    pub timeout: Option<u64>,
}

/// Settings of commands.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawTerminalCommandConfig {
    /// The shell of those who ask for none. proctor runs a command without a shell unless the action itself names one.
    pub default_shell: Option<RawShell>,
    /// The time of a command that names none, in milliseconds; 30000 unless said.
    pub default_timeout: Option<u64>,
}

/// Settings of a browser.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawBrowserConfig {
    /// The command of the server that drives the browser.
    pub mcp_server_command: Option<String>,
    /// The browser.
    pub browser_type: Option<RawBrowserType>,
    /// Whether it has no window; true unless said.
    pub headless: Option<bool>,
}

/// A browser.
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

/// Settings of containers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawDockerCommandConfig {
    /// Where the container engine listens.
    pub docker_host: Option<String>,
    /// Credentials of registries.
    pub registry_auth: Option<BTreeMap<String, String>>,
}

/// Settings of a database.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawDatabaseQueryConfig {
    /// The longest time of connecting in milliseconds; 5000 unless said.
    pub connection_timeout: Option<u64>,
    /// The longest time of a query in milliseconds; 30000 unless said.
    pub query_timeout: Option<u64>,
}

/// Settings of requests.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawHttpRequestConfig {
    /// The time of a request that names none, in milliseconds; 10000 unless said.
    pub default_timeout: Option<u64>,
    /// Whether redirections are followed; true unless said.
    pub follow_redirects: Option<bool>,
    /// Whether certificates are checked; true unless said.
    #[serde(rename = "validateSSL")]
    pub validate_ssl: Option<bool>,
}

/// Settings of scripts.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawCustomScriptConfig {
    /// The interpreters a script may name; all unless said.
    pub allowed_interpreters: Option<Vec<RawInterpreter>>,
    /// The directory scripts must lie in.
    pub script_directory: Option<String>,
}

/// Settings of looks at files.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawFileValidationConfig {
    /// The directories files must lie in.
    pub allowed_directories: Option<Vec<String>>,
}
