//! The parameters of actions, for each type of action.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::Error as _;
use serde_json::{Map, Value};

use crate::model::{ActionType, HttpMethod, ResponseChecks};

/// The parameters of an action, by its type.
#[derive(Debug, Clone, PartialEq)]
pub enum RawParameters {
    /// `TERMINAL_COMMAND`.
    TerminalCommand(RawTerminalCommandParameters),
    /// `FILE_VALIDATION`.
    FileValidation(RawFileValidationParameters),
    /// `HTTP_REQUEST`.
    HttpRequest(RawHttpRequestParameters),
    /// `CUSTOM_SCRIPT`.
    CustomScript(RawCustomScriptParameters),
    /// `DOCKER_COMMAND`.
    DockerCommand(RawDockerCommandParameters),
    /// `DATABASE_QUERY`.
    DatabaseQuery(RawDatabaseQueryParameters),
    /// `MCP_BROWSER_COMMAND`.
    McpBrowserCommand(RawBrowserParameters),
}

/// Parameters of a command.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawTerminalCommandParameters {
    /// The command. It is split into words and run without a shell unless `shell` names one.
    #[cfg_attr(test, schemars(length(min = 1)))]
    pub command: String,
    /// The absolute path it runs in.
    pub working_directory: String,
    /// Variables of this command.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// The exit codes that count as success; 0 unless said.
    pub expected_exit_codes: Option<Vec<i32>>,
    /// The shell that reads the command.
    pub shell: Option<RawShell>,
}

/// A shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "lowercase")]
pub enum RawShell {
    /// PowerShell.
    Powershell,
    /// bash.
    Bash,
    /// The command interpreter of Windows.
    Cmd,
    /// The system's shell.
    Sh,
}

/// Parameters of a look at a file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawFileValidationParameters {
    /// The file's path.
    #[cfg_attr(test, schemars(length(min = 1)))]
    pub file_path: String,
    /// What is looked at.
    pub validation_type: RawValidationType,
    /// The content the file must have, of CONTENT_MATCH.
    pub expected_content: Option<String>,
    /// A regular expression the content must match, of CONTENT_MATCH.
    pub content_regex: Option<String>,
    /// The JSON Schema the content must satisfy, of SCHEMA_VALID.
    pub schema: Option<Map<String, Value>>,
    /// The SHA-256 the content must have, of HASH_MATCH.
    pub expected_hash: Option<String>,
    /// The least size in bytes, of SIZE_CHECK.
    pub min_size: Option<u64>,
    /// The greatest size in bytes, of SIZE_CHECK.
    pub max_size: Option<u64>,
}

/// What is looked at in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RawValidationType {
    /// That it is there.
    Exists,
    /// Its content.
    ContentMatch,
    /// Its content as JSON.
    SchemaValid,
    /// Its digest.
    HashMatch,
    /// Its size.
    SizeCheck,
}

/// Parameters of a request.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawHttpRequestParameters {
    /// Where it goes.
    #[cfg_attr(test, schemars(extend("format" = "uri")))]
    pub url: String,
    /// Its method.
    pub method: HttpMethod,
    /// Its headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Its body: an object is sent as JSON, a string as it is.
    #[cfg_attr(test, schemars(extend("type" = ["object", "string"])))]
    pub body: Option<Value>,
    /// The status the answer must have.
    #[cfg_attr(test, schemars(range(min = 100, max = 599)))]
    pub expected_status: Option<u16>,
    /// What the answer's body must be.
    pub validate_response: Option<ResponseChecks>,
}

/// Parameters of a script.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawCustomScriptParameters {
    /// The script's absolute path.
    #[cfg_attr(test, schemars(length(min = 1)))]
    pub script_path: String,
    /// The program that runs it.
    pub interpreter: RawInterpreter,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Variables of this script.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
}

/// A program that runs scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "lowercase")]
pub enum RawInterpreter {
    /// Node.js.
    Node,
    /// Python, as `python`.
    Python,
    /// Python, as `python3`.
    Python3,
    /// bash.
    Bash,
    /// The system's shell.
    Sh,
    /// PowerShell.
    Powershell,
    /// Ruby.
    Ruby,
    /// Perl.
    Perl,
}

/// Parameters of a container command; not carried out.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawDockerCommandParameters {
    /// The verb.
    pub docker_command: RawDockerVerb,
    /// The container or the image.
    pub container_or_image: Option<String>,
    /// Volumes, for example `/host:/container`.
    pub volumes: Option<Vec<String>>,
    /// Ports, for example `8080:80`.
    pub ports: Option<Vec<String>>,
    /// Variables of the container.
    pub environment: Option<BTreeMap<String, String>>,
    /// The command in the container.
    pub command: Option<String>,
    /// Whether it goes on in the background; false unless said.
    pub detached: Option<bool>,
}

/// A verb of a container command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "lowercase")]
pub enum RawDockerVerb {
    /// Starts a container.
    Run,
    /// Runs a command in one.
    Exec,
    /// Builds an image.
    Build,
    /// Starts several containers.
    Compose,
    /// Lists containers.
    Ps,
    /// Shows what one printed.
    Logs,
    /// Describes one.
    Inspect,
}

/// Parameters of a query; not carried out.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawDatabaseQueryParameters {
    /// Where the database is.
    pub connection_string: String,
    /// The query.
    #[cfg_attr(test, schemars(length(min = 1)))]
    pub query: String,
    /// What kind of query it is.
    pub query_type: Option<RawQueryType>,
    /// The number of rows it must return.
    pub expected_row_count: Option<u64>,
    /// What the rows must be.
    pub validate_results: Option<RawValidateResults>,
}

/// A kind of query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RawQueryType {
    /// SELECT.
    Select,
    /// INSERT.
    Insert,
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
    /// A change of the schema.
    Ddl,
    /// A stored procedure.
    Procedure,
}

/// What rows must be.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawValidateResults {
    /// The JSON Schema every row must satisfy.
    pub row_schema: Option<Map<String, Value>>,
    /// Values that must be among them.
    pub contains_values: Option<Map<String, Value>>,
}

/// Parameters of a browser command; not carried out.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawBrowserParameters {
    /// What the browser does.
    pub action: RawBrowserAction,
    /// Where it goes.
    #[cfg_attr(test, schemars(extend("format" = "uri")))]
    pub url: Option<String>,
    /// The element it is about.
    pub selector: Option<String>,
    /// The script it evaluates.
    pub script: Option<String>,
    /// What a form is filled with.
    pub form_data: Option<BTreeMap<String, String>>,
    /// The longest time it waits, in milliseconds; 5000 unless said.
    #[cfg_attr(test, schemars(range(min = 1000, max = 30_000)))]
    pub wait_timeout: Option<u64>,
}

/// What a browser does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "snake_case")]
pub enum RawBrowserAction {
    /// Goes to an address.
    BrowserNavigate,
    /// Clicks.
    BrowserClick,
    /// Fills a form.
    BrowserFillForm,
    /// Evaluates a script.
    BrowserEvaluate,
    /// Takes a picture.
    BrowserScreenshot,
    /// Waits for an element.
    BrowserWaitForSelector,
    /// Returns the content.
    BrowserGetContent,
}

impl RawParameters {
    /// Returns the parameters of a command, or `None` if the action has another type.
    pub(in crate::spec) fn command(&self) -> Option<&RawTerminalCommandParameters> {
        match self {
            Self::TerminalCommand(parameters) => Some(parameters),
            Self::FileValidation(_)
            | Self::HttpRequest(_)
            | Self::CustomScript(_)
            | Self::DockerCommand(_)
            | Self::DatabaseQuery(_)
            | Self::McpBrowserCommand(_) => None,
        }
    }

    /// Returns the parameters of a file validation, or `None` if the action has another type.
    pub(in crate::spec) fn file(&self) -> Option<&RawFileValidationParameters> {
        match self {
            Self::FileValidation(parameters) => Some(parameters),
            Self::TerminalCommand(_)
            | Self::HttpRequest(_)
            | Self::CustomScript(_)
            | Self::DockerCommand(_)
            | Self::DatabaseQuery(_)
            | Self::McpBrowserCommand(_) => None,
        }
    }

    /// Returns the parameters of a request, or `None` if the action has another type.
    pub(in crate::spec) fn request(&self) -> Option<&RawHttpRequestParameters> {
        match self {
            Self::HttpRequest(parameters) => Some(parameters),
            Self::TerminalCommand(_)
            | Self::FileValidation(_)
            | Self::CustomScript(_)
            | Self::DockerCommand(_)
            | Self::DatabaseQuery(_)
            | Self::McpBrowserCommand(_) => None,
        }
    }

    /// Parses the parameters of an action of the given type.
    pub(super) fn of_type(action_type: ActionType, parameters: Value) -> Result<Self, serde_json::Error> {
        match action_type {
            ActionType::TerminalCommand => serde_json::from_value(parameters).map(Self::TerminalCommand),
            ActionType::FileValidation => serde_json::from_value(parameters).map(Self::FileValidation),
            ActionType::HttpRequest => serde_json::from_value(parameters).map(Self::HttpRequest),
            ActionType::CustomScript => serde_json::from_value(parameters).map(Self::CustomScript),
            ActionType::DockerCommand => serde_json::from_value(parameters).map(Self::DockerCommand),
            ActionType::DatabaseQuery => serde_json::from_value(parameters).map(Self::DatabaseQuery),
            ActionType::McpBrowserCommand => serde_json::from_value(parameters).map(Self::McpBrowserCommand),
            ActionType::Review => Err(serde_json::Error::custom("REVIEW is not a type of specification 2.0.0")),
        }
    }

    /// Returns the type of action to which these parameters belong.
    pub fn action_type(&self) -> ActionType {
        match self {
            Self::TerminalCommand(_) => ActionType::TerminalCommand,
            Self::FileValidation(_) => ActionType::FileValidation,
            Self::HttpRequest(_) => ActionType::HttpRequest,
            Self::CustomScript(_) => ActionType::CustomScript,
            Self::DockerCommand(_) => ActionType::DockerCommand,
            Self::DatabaseQuery(_) => ActionType::DatabaseQuery,
            Self::McpBrowserCommand(_) => ActionType::McpBrowserCommand,
        }
    }
}
