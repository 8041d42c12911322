//! The parameters of actions, for each type of action.

use std::collections::BTreeMap;

use proctor_wire::wire;
use serde::Deserialize;
use serde::de::Error as _;
use serde_json::{Map, Value};

use proctor_model::{ActionType, HttpMethod, ResponseChecks};

/// The parameters of an action: one variant for each type of action.
#[derive(Debug, Clone, PartialEq)]
pub enum RawParameters {
    /// Runs a command, for example `pytest -q`.
    TerminalCommand(RawTerminalCommandParameters),
    /// Checks one file: that it exists, or its content, hash or size.
    FileValidation(RawFileValidationParameters),
    /// Sends a request and checks the status and the body of the answer.
    HttpRequest(RawHttpRequestParameters),
    /// Runs a script of the project with a named interpreter.
    CustomScript(RawCustomScriptParameters),
    /// Runs a command of Docker. proctor refuses such an action.
    DockerCommand(RawDockerCommandParameters),
    /// Sends a query to a database. proctor refuses such an action.
    DatabaseQuery(RawDatabaseQueryParameters),
    /// Makes a browser do one thing, such as open a page. proctor refuses such an action.
    McpBrowserCommand(RawBrowserParameters),
}

/// The parameters of an action that runs a command.
#[wire(read, test_schema)]
pub struct RawTerminalCommandParameters {
    /// The command. It is split into words and run without a shell, unless `shell` names a shell.
    #[cfg_attr(test, schemars(length(min = 1)))]
    pub command: String,
    /// The absolute path of the directory in which the command runs.
    pub working_directory: String,
    /// Environment variables of this command, in addition to those for all actions.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// The exit codes that count as success. The default is 0 alone.
    pub expected_exit_codes: Option<Vec<i32>>,
    /// The shell that reads the command. By default there is none.
    pub shell: Option<RawShell>,
}

/// A shell that can read a command.
#[wire(Copy, lower, read)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
pub enum RawShell {
    /// PowerShell. The lint refuses it, because proctor runs on Linux only.
    Powershell,
    /// bash with `pipefail`: a pipe fails if any of its commands fails.
    Bash,
    /// The command interpreter of Windows. The lint refuses it, because proctor runs on Linux only.
    Cmd,
    /// bash in POSIX mode with `pipefail`, because not every `sh` has this option.
    Sh,
}

/// The parameters of an action that checks a file.
#[wire(inexact, read, test_schema)]
pub struct RawFileValidationParameters {
    /// The path of the file, which must be inside the project.
    #[cfg_attr(test, schemars(length(min = 1)))]
    pub file_path: String,
    /// What is checked about the file.
    pub validation_type: RawValidationType,
    /// A text that the file must contain. Only for CONTENT_MATCH.
    pub expected_content: Option<String>,
    /// A regular expression that the file's content must match. Only for CONTENT_MATCH.
    pub content_regex: Option<String>,
    /// The JSON Schema that the file's content must satisfy. Only for SCHEMA_VALID.
    pub schema: Option<Map<String, Value>>,
    /// The SHA-256 of the expected content, in hexadecimal digits. Only for HASH_MATCH.
    pub expected_hash: Option<String>,
    /// The smallest size that the file may have, in bytes. Only for SIZE_CHECK.
    pub min_size: Option<u64>,
    /// The largest size that the file may have, in bytes. Only for SIZE_CHECK.
    pub max_size: Option<u64>,
}

/// What is checked about a file.
#[wire(Copy, screaming, read)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
pub enum RawValidationType {
    /// The file exists.
    Exists,
    /// The file contains `expectedContent` and matches `contentRegex`, as far as these are given.
    ContentMatch,
    /// The file is a JSON document that satisfies `schema`.
    SchemaValid,
    /// The file has the SHA-256 in `expectedHash`.
    HashMatch,
    /// The file has at least `minSize` and at most `maxSize` bytes.
    SizeCheck,
}

/// The parameters of an action that sends an HTTP request.
#[wire(inexact, read, test_schema)]
pub struct RawHttpRequestParameters {
    /// The URL of the request. The lint accepts only `http` and `https`.
    #[cfg_attr(test, schemars(extend("format" = "uri")))]
    pub url: String,
    /// The HTTP method of the request.
    pub method: HttpMethod,
    /// The headers of the request, by name.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The body of the request. An object is sent as JSON, a string as it is.
    #[cfg_attr(test, schemars(extend("type" = ["object", "string"])))]
    pub body: Option<Value>,
    /// The HTTP status that the answer must have.
    #[cfg_attr(test, schemars(range(min = 100, max = 599)))]
    pub expected_status: Option<u16>,
    /// What the body of the answer must contain, match or satisfy.
    pub validate_response: Option<ResponseChecks>,
}

/// The parameters of an action that runs a script.
#[wire(read, test_schema)]
pub struct RawCustomScriptParameters {
    /// The absolute path of the script, which must be inside the project.
    #[cfg_attr(test, schemars(length(min = 1)))]
    pub script_path: String,
    /// The program that runs the script.
    pub interpreter: RawInterpreter,
    /// The arguments of the script.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Environment variables of this script, in addition to those for all actions.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
}

/// A program that runs scripts.
#[wire(Copy, lower, read)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
pub enum RawInterpreter {
    /// The program `node`, which runs JavaScript.
    Node,
    /// The program `python`, in whatever version the search path has.
    Python,
    /// The program `python3`, a Python of version 3.
    Python3,
    /// The program `bash`.
    Bash,
    /// The program `sh`, the system's POSIX shell.
    Sh,
    /// The program `powershell`.
    Powershell,
    /// The program `ruby`.
    Ruby,
    /// The program `perl`.
    Perl,
}

/// The parameters of a command of a container engine.
#[wire(read, test_schema)]
pub struct RawDockerCommandParameters {
    /// Which Docker command is run.
    pub docker_command: RawDockerVerb,
    /// The name of the container or image that the command is about.
    pub container_or_image: Option<String>,
    /// Directories of the machine that the container sees, for example `/host:/container`.
    pub volumes: Option<Vec<String>>,
    /// Ports of the machine that lead to ports of the container, for example `8080:80`.
    pub ports: Option<Vec<String>>,
    /// Environment variables that the container gets.
    pub environment: Option<BTreeMap<String, String>>,
    /// The command that runs inside the container.
    pub command: Option<String>,
    /// Whether the container runs in the background. The default is false.
    pub detached: Option<bool>,
}

/// A command of Docker.
#[wire(Copy, lower, read)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
pub enum RawDockerVerb {
    /// `docker run`: creates and starts a container from an image.
    Run,
    /// `docker exec`: runs a command in a running container.
    Exec,
    /// `docker build`: builds an image.
    Build,
    /// `docker compose`: manages several containers that one file describes.
    Compose,
    /// `docker ps`: lists containers.
    Ps,
    /// `docker logs`: shows what a container has printed.
    Logs,
    /// `docker inspect`: describes a container or an image in JSON.
    Inspect,
}

/// The parameters of a database query.
#[wire(inexact, read, test_schema)]
pub struct RawDatabaseQueryParameters {
    /// The connection string: `sqlite:PATH`, or `postgresql://USER:${NAME}@HOST/DATABASE`, where `${NAME}` stands for the
    /// variable that holds the password.
    pub connection_string: String,
    /// The text of the query, in SQL.
    #[cfg_attr(test, schemars(length(min = 1)))]
    pub query: String,
    /// The kind of statement that the query is.
    pub query_type: Option<RawQueryType>,
    /// The number of rows that the query must return.
    pub expected_row_count: Option<u64>,
    /// What the returned rows must satisfy or contain.
    pub validate_results: Option<RawValidateResults>,
}

/// A kind of database statement.
#[wire(Copy, screaming, read)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
pub enum RawQueryType {
    /// SELECT: reads rows.
    Select,
    /// INSERT: adds rows.
    Insert,
    /// UPDATE: changes rows.
    Update,
    /// DELETE: removes rows.
    Delete,
    /// A statement such as CREATE TABLE, which changes the database's schema.
    Ddl,
    /// A call of a stored procedure.
    Procedure,
}

/// What the rows that a query returns must satisfy or contain.
#[wire(inexact, read, test_schema)]
pub struct RawValidateResults {
    /// The JSON Schema that every row must satisfy. There must be a row.
    pub row_schema: Option<Map<String, Value>>,
    /// Values by column. At least one row must have all of them.
    pub contains_values: Option<Map<String, Value>>,
}

/// The parameters of an action of a browser.
#[wire(read, test_schema)]
pub struct RawBrowserParameters {
    /// What the browser does, such as open a page.
    pub action: RawBrowserAction,
    /// The URL of the page to open.
    #[cfg_attr(test, schemars(extend("format" = "uri")))]
    pub url: Option<String>,
    /// The selector of the page's element that the browser clicks or waits for.
    pub selector: Option<String>,
    /// The JavaScript that the browser evaluates in the page.
    pub script: Option<String>,
    /// The values to enter into a form, by field.
    pub form_data: Option<BTreeMap<String, String>>,
    /// The most milliseconds that the browser waits. The default is 5000.
    #[cfg_attr(test, schemars(range(min = 1000, max = 30_000)))]
    pub wait_timeout: Option<u64>,
}

/// One thing that a browser does for an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "snake_case")]
pub enum RawBrowserAction {
    /// Opens the page at `url`.
    BrowserNavigate,
    /// Clicks the element that `selector` finds.
    BrowserClick,
    /// Enters the values of `formData` into a form.
    BrowserFillForm,
    /// Evaluates `script` in the page.
    BrowserEvaluate,
    /// Takes a picture of the page.
    BrowserScreenshot,
    /// Waits until the page has an element that `selector` finds.
    BrowserWaitForSelector,
    /// Returns the content of the page.
    BrowserGetContent,
}

impl RawParameters {
    /// Returns the parameters of a command, or `None` if the action has another type.
    pub(in crate::spec) fn command(&self) -> Option<&RawTerminalCommandParameters> {
        if let Self::TerminalCommand(parameters) = self { Some(parameters) } else { None }
    }

    /// Returns the parameters of a file validation, or `None` if the action has another type.
    pub(in crate::spec) fn file(&self) -> Option<&RawFileValidationParameters> {
        if let Self::FileValidation(parameters) = self { Some(parameters) } else { None }
    }

    /// Returns the parameters of a request, or `None` if the action has another type.
    pub(in crate::spec) fn request(&self) -> Option<&RawHttpRequestParameters> {
        if let Self::HttpRequest(parameters) = self { Some(parameters) } else { None }
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
