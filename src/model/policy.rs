//! Which findings block: the resolved policy of one validation tool (seed 004; table R3 of the decisions on execution).

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

/// Where a policy came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind", content = "place")]
pub enum PolicySource {
    /// The default of the tool's type (C20).
    Default,
    /// A line of the configuration or a script of the project: `proctor.toml:12`, `package.json scripts.lint`.
    Configured(String),
    /// The tool is switched off in the configuration, which equals NEVER (C22).
    Disabled(String),
}

/// The policy applied to one action of a validation tool. Options apply in the order of C24.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolPolicy {
    /// When findings block.
    pub block_on: BlockOn,
    /// Where `block_on` came from.
    pub source: PolicySource,
    /// Whether every warning counts as an error.
    pub treat_warnings_as_errors: bool,
    /// More warnings than this block under ERRORS_ONLY and ERRORS_ALWAYS (C25); none: no limit.
    pub max_warnings: Option<u32>,
    /// Findings of these rules are dropped before anything is counted.
    pub ignored_rules: Vec<String>,
    /// Findings of these rules count as errors.
    pub error_on_rules: Vec<String>,
}

impl BlockOn {
    /// Returns the strategy's name as seed 004 writes it: `BLOCK_ON_ERRORS_ONLY`, `WARN_ONLY`, `NEVER`.
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
    /// Returns the policy that blocks on `block_on` and sets nothing else.
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
