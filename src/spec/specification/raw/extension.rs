//! proctor's additions to the format. They are under keys `proctor` and have a version of their own.

use serde::Deserialize;

use crate::model::Tool;

/// What proctor adds to an action.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawActionExtension {
    /// The version of these additions.
    #[cfg_attr(test, schemars(extend("const" = "1.0.0")))]
    pub version: String,
    /// The tool whose output is read; recognised by the command unless said.
    #[serde(default)]
    #[cfg_attr(test, schemars(schema_with = "crate::spec::specification::schema::tool_schema"))]
    pub tool: Option<Tool>,
    /// The argument vector, of TERMINAL_COMMAND; it is run instead of `command`, which is then for people.
    #[cfg_attr(test, schemars(length(min = 1)))]
    pub argv: Option<Vec<String>>,
    /// The ids of actions of the same phase that must have succeeded before.
    #[serde(default)]
    #[cfg_attr(test, schemars(extend("uniqueItems" = true), inner(regex(pattern = "^[A-Z][A-Z0-9_]*\\.[0-9]+$"))))]
    pub after: Vec<String>,
    /// Makes a prerequisite go on while the steps run.
    pub service: Option<RawService>,
    /// Makes a step a REVIEW: its command asks a reviewer for a verdict, and nothing behind it starts without an approval.
    pub review: Option<RawReview>,
}

/// A review.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawReview {
    /// What the reviewer reads on its standard input: a file of the project; nothing unless said.
    #[cfg_attr(test, schemars(length(min = 1)))]
    pub prompt: Option<String>,
    /// Whether `**Ready to merge?** Yes`, emphasis around the label alone, approves; true unless said.
    pub accept_split_emphasis: Option<bool>,
}

/// A prerequisite that goes on while the steps run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawService {
    /// What says that it is ready.
    pub ready: RawReady,
}

/// What says that a service is ready: one of `url`, `port` and `command`. Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(extend("minProperties" = 1)))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawReady {
    /// An `http://` address of this machine that answers with a status from 200 to 399.
    pub url: Option<String>,
    /// A port of this machine that accepts a connection.
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub port: Option<u16>,
    /// A command that exits with 0.
    pub command: Option<Vec<String>>,
    /// How long it may take until it is ready; 30000 unless said.
    #[cfg_attr(test, schemars(range(min = 100, max = 3_600_000)))]
    pub timeout: Option<u64>,
    /// How long after a look that failed the next one is taken; 100 unless said.
    #[cfg_attr(test, schemars(range(min = 10, max = 60_000)))]
    pub interval: Option<u64>,
    /// How long one look may take; 5000 unless said.
    #[cfg_attr(test, schemars(range(min = 10, max = 600_000)))]
    pub attempt_timeout: Option<u64>,
}

/// What proctor adds to a task (C06).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawTaskExtension {
    /// The version of these additions.
    #[cfg_attr(test, schemars(extend("const" = "1.0.0")))]
    pub version: String,
    /// What the tests are expected to do; PASS unless said.
    pub expected_outcome: Option<RawExpectedOutcome>,
    /// The ids of the tests that are expected to fail, where the outcome is FAIL.
    #[serde(default)]
    #[cfg_attr(test, schemars(extend("uniqueItems" = true)))]
    pub expected_failing_tests: Vec<String>,
}

/// What tests are expected to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RawExpectedOutcome {
    /// All tests must pass.
    Pass,
    /// The tests must fail, as in the red phase of a test-driven cycle, where the code is not written yet.
    Fail,
}
