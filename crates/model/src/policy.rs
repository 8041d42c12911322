//! The policy that decides which findings of a validation tool block (design document seed 004; table J3 of the
//! decisions on execution).

use serde::{Deserialize, Serialize};

/// When a validation tool's findings block the verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(
    any(test, feature = "testing"),
    derive(schemars::JsonSchema),
    schemars(inline, description = "When the findings of one linter block.")
)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum BlockOn {
    /// Any error blocks, as CRITICAL; warnings do not, up to `max_warnings`.
    ErrorsAlways,
    /// Errors block, as HIGH; warnings do not, up to `max_warnings`.
    ErrorsOnly,
    /// Errors and warnings block.
    ErrorsAndWarnings,
    /// Nothing blocks, everything is reported.
    WarnOnly,
    /// Findings change nothing: an action with findings counts as a success.
    Never,
}

/// Where a policy was set, for reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", tag = "kind", content = "place")]
pub enum PolicySource {
    /// No file sets the policy, so the default of the tool's category applies (C20).
    Default,
    /// The position in a configuration file or script of the project, such as `proctor.toml:12` or `package.json
    /// scripts.lint`.
    Configured(String),
    /// The position in the configuration where the tool is switched off, which has the same effect as the strategy
    /// NEVER (C22).
    Disabled(String),
}

/// Which findings of an action's validation tool make the verdict FAILED. The options are applied in the order that C24
/// gives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolPolicy {
    pub block_on: BlockOn,
    /// Where `block_on` was set.
    pub source: PolicySource,
    /// Whether every warning counts as an error.
    pub treat_warnings_as_errors: bool,
    /// The largest number of warnings that does not block under ERRORS_ONLY and ERRORS_ALWAYS (C25); `None` means that any
    /// number is allowed.
    pub max_warnings: Option<u32>,
    /// Rules whose findings are dropped before findings are counted.
    pub ignored_rules: Vec<String>,
    /// Rules whose findings count as errors, whatever level the tool gives them.
    pub error_on_rules: Vec<String>,
}

impl BlockOn {
    /// Returns the strategy's name in reports, for example `BLOCK_ON_ERRORS_ONLY`, `WARN_ONLY` or `NEVER`.
    pub fn strategy(self) -> &'static str {
        match self {
            Self::ErrorsAlways => "BLOCK_ON_ERRORS_ALWAYS",
            Self::ErrorsOnly => "BLOCK_ON_ERRORS_ONLY",
            Self::ErrorsAndWarnings => "BLOCK_ON_ERRORS_AND_WARNINGS",
            Self::WarnOnly => "WARN_ONLY",
            Self::Never => "NEVER",
        }
    }
}

impl ToolPolicy {
    /// Returns a policy with this strategy; every other option has its default value.
    pub fn plain(block_on: BlockOn, source: PolicySource) -> Self {
        Self {
            block_on,
            source,
            treat_warnings_as_errors: false,
            max_warnings: None,
            ignored_rules: Vec::new(),
            error_on_rules: Vec::new(),
        }
    }
}
