//! An action in a specification. The type of the action decides the shape of its parameters.
//!
//! proctor's additions to the format. They are under keys `proctor` and have a version of their own.

use proctor_wire::wire;
use serde::Deserialize;
use serde::de::Error as _;
use serde_json::Value;

use crate::spec::specification::raw::parameters::RawParameters;
use proctor_model::{ActionType, Tool};

/// An action of a task, after its type has decided how its parameters were parsed.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "RawActionFields")]
pub struct RawAction {
    /// The action's id, for example `STEP.3`. No other action of the task has the same id.
    pub action_id: String,
    /// What the action does, for people.
    pub description: String,
    /// The command, file, request or script of the action. The variant is the action's type.
    pub parameters: RawParameters,
    /// Which excerpts the report shows for the action; `None` means the defaults.
    pub evidence_capture: Option<RawEvidenceCapture>,
    /// The action's time limit in milliseconds; `None` means the default of its type.
    pub timeout: Option<u64>,
    /// How often the action is repeated after a failure; `None` means 0.
    pub retry_attempts: Option<u32>,
    /// Whether later actions run although this action failed; `None` means that they do not.
    pub continue_on_failure: Option<bool>,
    /// The settings that only proctor has, under the key `proctor`.
    pub proctor: Option<RawActionExtension>,
}

/// An action as it stands in the file. The `type` decides how `parameters` are parsed.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawActionFields {
    /// The action's id, for example `STEP.3`. Every action of a task has a different id.
    #[cfg_attr(test, schemars(regex(pattern = "^[A-Z][A-Z0-9_]*\\.[0-9]+$")))]
    action_id: String,
    /// The action's type, which decides the shape of `parameters`.
    #[cfg_attr(test, schemars(schema_with = "crate::spec::specification::schema::action_type_schema"))]
    r#type: ActionType,
    /// What the action does, as a text for people. Reports show it.
    #[cfg_attr(test, schemars(length(min = 10)))]
    description: String,
    /// What the action does, for proctor: its command, file, request or script. The `type` decides the shape.
    #[cfg_attr(test, schemars(extend("type" = "object", "minProperties" = 1)))]
    parameters: Value,
    /// Which parts of the action's result the report shows.
    evidence_capture: Option<RawEvidenceCapture>,
    /// The action's time limit in milliseconds. By default the limit of its type applies.
    #[cfg_attr(test, schemars(range(min = 1000, max = 600_000)))]
    timeout: Option<u64>,
    /// How often the action is repeated at most if it fails. The default is 0.
    #[cfg_attr(test, schemars(range(min = 0, max = 5)))]
    retry_attempts: Option<u32>,
    /// Whether later actions run although this action failed. The default is false.
    continue_on_failure: Option<bool>,
    /// The settings that only proctor has for an action.
    proctor: Option<RawActionExtension>,
}

/// Which parts of an action's result the report shows. The files of evidence are complete in any case.
#[wire(read, test_schema)]
pub struct RawEvidenceCapture {
    /// Whether the report shows an excerpt of standard output. The default is true.
    pub stdout: Option<bool>,
    /// Whether the report shows an excerpt of standard error. The default is true.
    pub stderr: Option<bool>,
    /// Whether the report shows the exit code. The report always does; false has no effect, and the lint notes it.
    pub exit_code: Option<bool>,
    /// Whether the report shows how long the action took. The report always does; the lint notes a false.
    pub duration: Option<bool>,
    /// Whether an action of a browser leaves a picture of its page. The lint reports true for other actions. The default is false.
    pub screenshots: Option<bool>,
    /// Whether the structure of a browser's page is recorded. It never is, so the lint reports true.
    pub dom_snapshot: Option<bool>,
    /// Whether the report shows an excerpt of the answer to a request. The default is false.
    pub request_response: Option<bool>,
    /// Whether the report shows an excerpt of the file that the action checks. The default is false.
    pub file_contents: Option<bool>,
}

impl TryFrom<RawActionFields> for RawAction {
    type Error = serde_json::Error;

    fn try_from(fields: RawActionFields) -> Result<Self, serde_json::Error> {
        let of_type = |parameters| RawParameters::of_type(fields.r#type, parameters);
        Ok(Self {
            parameters: of_type(fields.parameters).map_err(serde_json::Error::custom)?,
            action_id: fields.action_id,
            description: fields.description,
            evidence_capture: fields.evidence_capture,
            timeout: fields.timeout,
            retry_attempts: fields.retry_attempts,
            continue_on_failure: fields.continue_on_failure,
            proctor: fields.proctor,
        })
    }
}

#[cfg(test)]
impl schemars::JsonSchema for RawAction {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "RawAction".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = RawActionFields::json_schema(generator);
        schema.insert("allOf".to_owned(), crate::spec::specification::schema::parameters_by_type(generator));
        schema
    }
}

/// The settings that only proctor has for an action.
#[wire(read, test_schema)]
pub struct RawActionExtension {
    /// The version of proctor's additions to the format, always `1.0.0`.
    #[cfg_attr(test, schemars(extend("const" = "1.0.0")))]
    pub version: String,
    /// The tool whose output proctor reads. By default proctor recognises the tool by the command.
    #[serde(default)]
    #[cfg_attr(test, schemars(schema_with = "crate::spec::specification::schema::tool_schema"))]
    pub tool: Option<Tool>,
    /// The words of the command that is run instead of `command`, which people then see. Only for TERMINAL_COMMAND.
    #[cfg_attr(test, schemars(length(min = 1)))]
    pub argv: Option<Vec<String>>,
    /// The ids of the steps that must succeed before this step starts. Only a step can have the key.
    #[serde(default)]
    #[cfg_attr(test, schemars(extend("uniqueItems" = true), inner(regex(pattern = "^[A-Z][A-Z0-9_]*\\.[0-9]+$"))))]
    pub after: Vec<String>,
    /// The files that a step writes on its snapshot and that are copied to the project after the run, as globs relative to the
    /// project, such as `coverage/**`. Only a step that runs a command can have the key. By default nothing is copied.
    #[serde(default)]
    #[cfg_attr(test, schemars(length(min = 1), inner(length(min = 1)), extend("uniqueItems" = true)))]
    pub writes: Vec<String>,
    /// Makes a prerequisite a service, whose command keeps running while the steps run.
    pub service: Option<RawService>,
    /// Makes a step a REVIEW: its command asks a reviewer, and later steps start only if the reviewer approves.
    pub review: Option<RawReview>,
}

/// The settings of a review: what the reviewer gets to read, and how exact the form of the answer must be.
#[wire(Default, read, test_schema)]
pub struct RawReview {
    /// The path of a file of the project that the reviewer gets on standard input. By default the input is empty.
    #[cfg_attr(test, schemars(length(min = 1)))]
    pub prompt: Option<String>,
    /// Whether `**Ready to merge?** Yes`, with asterisks around the question alone, approves. The default is true.
    pub accept_split_emphasis: Option<bool>,
}

/// A service: a prerequisite whose command keeps running while the steps run.
#[wire(read, test_schema)]
pub struct RawService {
    /// How proctor finds out that the service is ready.
    pub ready: RawReady,
}

/// How proctor finds out that a service is ready: exactly one of `url`, `port` and `command`.
#[wire(read, test_schema)]
#[cfg_attr(test, schemars(extend("minProperties" = 1)))]
pub struct RawReady {
    /// An `http://` address of this machine. The service is ready when it answers with a status from 200 to 399.
    pub url: Option<String>,
    /// A port of this machine. The service is ready when the port accepts a connection.
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub port: Option<u16>,
    /// A command, as a list of words. The service is ready when the command exits with 0.
    pub command: Option<Vec<String>>,
    /// The time limit in milliseconds until the service is ready. The default is the action's `timeout`, or else 30000.
    #[cfg_attr(test, schemars(range(min = 100, max = 3_600_000)))]
    pub timeout: Option<u64>,
    /// The pause in milliseconds after a try that found the service not ready. The default is 100.
    #[cfg_attr(test, schemars(range(min = 10, max = 60_000)))]
    pub interval: Option<u64>,
    /// The time limit in milliseconds for one try to find out whether the service is ready. The default is 5000.
    #[cfg_attr(test, schemars(range(min = 10, max = 600_000)))]
    pub attempt_timeout: Option<u64>,
}

/// The settings that only proctor has for a task (C06).
#[wire(read, test_schema)]
pub struct RawTaskExtension {
    /// The version of proctor's additions to the format, always `1.0.0`.
    #[cfg_attr(test, schemars(extend("const" = "1.0.0")))]
    pub version: String,
    /// Whether the tests are expected to pass or to fail. The default is PASS.
    pub expected_outcome: Option<RawExpectedOutcome>,
    /// The names of the tests that must fail if `expectedOutcome` is FAIL. No other test may fail then.
    #[serde(default)]
    #[cfg_attr(test, schemars(extend("uniqueItems" = true)))]
    pub expected_failing_tests: Vec<String>,
}

/// Whether the tests of a task are expected to pass or to fail.
#[wire(Copy, screaming, read)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
pub enum RawExpectedOutcome {
    /// All tests must pass.
    Pass,
    /// The tests must fail, as in the red phase of a test-driven cycle, where the code is not written yet.
    Fail,
}
