//! The policy that decides which findings of a validation tool block (seed 004; table R3 of the decisions on execution).

use serde::{Deserialize, Serialize};

/// When a validation tool's findings block the verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline, description = "When the findings of one linter block."))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum BlockOn {
    /// Any error blocks, as CRITICAL; warnings do not.
    ErrorsAlways,
    /// Errors block, as HIGH; warnings do not, up to `max_warnings`.
    ErrorsOnly,
    /// Errors and warnings block.
    ErrorsAndWarnings,
    /// Nothing blocks, everything is reported.
    WarnOnly,
    /// Findings are ignored.
    Never,
}

/// Where a policy was set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind", content = "place")]
pub enum PolicySource {
    /// The default of the tool's category (C20).
    Default,
    /// The place in the configuration or in a script of the project: `proctor.toml:12`, `package.json scripts.lint`.
    Configured(String),
    /// The place in the configuration where the tool is switched off, which has the same effect as NEVER (C22).
    Disabled(String),
}

/// The policy for an action of a validation tool. The options are applied in the order of C24.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolPolicy {
    /// The strategy: when findings block.
    pub block_on: BlockOn,
    /// Where `block_on` was set.
    pub source: PolicySource,
    /// Whether every warning counts as an error.
    pub treat_warnings_as_errors: bool,
    /// Under ERRORS_ONLY and ERRORS_ALWAYS, more warnings than this block (C25); `None` means no limit.
    pub max_warnings: Option<u32>,
    /// Findings of these rules are dropped before counting.
    pub ignored_rules: Vec<String>,
    /// Findings of these rules count as errors.
    pub error_on_rules: Vec<String>,
}

impl BlockOn {
    /// Returns the strategy's name in seed 004: `BLOCK_ON_ERRORS_ONLY`, `WARN_ONLY`, `NEVER`.
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
    /// Returns a policy with this strategy and no other options.
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
