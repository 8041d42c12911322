//! proctor's additions to the format. They are under keys `proctor` and have a version of their own.

use serde::Deserialize;

use proctor_model::Tool;

/// The settings that only proctor has for an action.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
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
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawReview {
    /// The path of a file of the project that the reviewer gets on standard input. By default the input is empty.
    #[cfg_attr(test, schemars(length(min = 1)))]
    pub prompt: Option<String>,
    /// Whether `**Ready to merge?** Yes`, with asterisks around the question alone, approves. The default is true.
    pub accept_split_emphasis: Option<bool>,
}

/// A service: a prerequisite whose command keeps running while the steps run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawService {
    /// How proctor finds out that the service is ready.
    pub ready: RawReady,
}

/// How proctor finds out that a service is ready: exactly one of `url`, `port` and `command`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(extend("minProperties" = 1)))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
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
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RawExpectedOutcome {
    /// All tests must pass.
    Pass,
    /// The tests must fail, as in the red phase of a test-driven cycle, where the code is not written yet.
    Fail,
}
