//! What a tool says it looked at, and what a check's control showed.

use serde::{Deserialize, Serialize};

/// What a tool looked at, as the tool itself said it. It is never guessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Examined {
    pub what: ExaminedUnit,
    /// How many files or tests the tool looked at; `None` (`null` in a report) if the tool does not say it.
    pub count: Option<u64>,
}

/// The kind of thing that a tool looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ExaminedUnit {
    Files,
    Tests,
}

impl ExaminedUnit {
    /// Returns the unit's name in the plural: `files` or `tests`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Tests => "tests",
        }
    }
}

/// The result of a check's control: the check's command ran tests that must fail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ControlObservation {
    /// Whether all tests of the control failed. If one passed, the runner's results for other tests prove nothing.
    pub held: bool,
    /// `false` if the control's tests had an error before they ran. Then the control says nothing about the runner. Absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applicable: Option<bool>,
    /// What the control's tests did, in words.
    pub reason: String,
}
