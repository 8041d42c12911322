//! `validationPolicy`: which findings of which tools block.

use crate::model::BlockOn;
use serde::Deserialize;

/// Which findings block, by category.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawValidationPolicy {
    /// Of linters and formatters.
    pub linting: Option<RawLintingPolicy>,
    /// Of type checkers.
    pub type_checking: Option<RawTypeCheckingPolicy>,
    /// Of compilers.
    pub compilation: Option<RawCompilationPolicy>,
}

/// The policy of linters and formatters.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawLintingPolicy {
    /// What holds where a tool says nothing; BLOCK_ON_ERRORS_ONLY unless said.
    pub strategy: Option<RawLintingStrategy>,
    /// The policy of single tools.
    #[serde(default)]
    pub tools: RawLintTools,
}

/// The policies of single linters and formatters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawLintTools {
    /// ESLint.
    pub eslint: Option<RawLintToolPolicy>,
    /// Prettier.
    pub prettier: Option<RawLintToolPolicy>,
    /// Pylint.
    pub pylint: Option<RawLintToolPolicy>,
    /// Flake8.
    pub flake8: Option<RawLintToolPolicy>,
}

impl RawLintTools {
    /// Returns the policy of the tool that has this name in reports; `None` if the format has no key for the tool, or
    /// the specification does not use the key.
    pub(in crate::spec) fn of(&self, report_name: &str) -> Option<&RawLintToolPolicy> {
        let tools = [("eslint", &self.eslint), ("prettier", &self.prettier), ("pylint", &self.pylint), ("flake8", &self.flake8)];
        tools.into_iter().find(|(name, _)| *name == report_name)?.1.as_ref()
    }
}

/// The policy of type checkers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawTypeCheckingPolicy {
    /// What holds where a tool says nothing; BLOCK_ON_ERRORS_ALWAYS unless said.
    pub strategy: Option<RawTypeCheckingStrategy>,
    /// The policy of single tools.
    #[serde(default)]
    pub tools: RawTypeCheckTools,
}

/// The policies of single type checkers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawTypeCheckTools {
    /// The TypeScript compiler as a type checker.
    pub typescript: Option<RawTypeCheckToolPolicy>,
    /// mypy.
    pub mypy: Option<RawTypeCheckToolPolicy>,
}

impl RawTypeCheckTools {
    /// Returns each type checker's name in reports, with its policy.
    pub(in crate::spec) fn named(&self) -> [(&'static str, Option<&RawTypeCheckToolPolicy>); 2] {
        [("typescript", self.typescript.as_ref()), ("mypy", self.mypy.as_ref())]
    }

    /// Returns the policy of the type checker that has this name in reports; `None` if the specification sets none.
    pub(in crate::spec) fn of(&self, report_name: &str) -> Option<&RawTypeCheckToolPolicy> {
        self.named().into_iter().find(|(name, _)| *name == report_name)?.1
    }
}

/// The policy of compilers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawCompilationPolicy {
    /// What holds; BLOCK_ON_ERRORS_ALWAYS unless said.
    pub strategy: Option<RawCompilationStrategy>,
}

/// When findings of linters block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RawLintingStrategy {
    /// Any error blocks, with the severity CRITICAL; warnings do not block.
    BlockOnErrorsAlways,
    /// Errors block; warnings do not.
    BlockOnErrorsOnly,
    /// Errors block, and warnings too.
    BlockOnErrorsAndWarnings,
    /// No finding blocks, but all findings are reported.
    WarnOnly,
    /// Findings change nothing: an action with findings counts as a success.
    Never,
}

/// When findings of type checkers block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RawTypeCheckingStrategy {
    /// Any error blocks, with the severity CRITICAL; warnings do not block.
    BlockOnErrorsAlways,
    /// Errors block; warnings do not.
    BlockOnErrorsOnly,
    /// No finding blocks, but all findings are reported.
    WarnOnly,
    /// Findings change nothing: an action with findings counts as a success.
    Never,
}

/// When findings of compilers block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RawCompilationStrategy {
    /// Any error blocks, with the severity CRITICAL; warnings do not block.
    BlockOnErrorsAlways,
    /// Findings change nothing: an action with findings counts as a success.
    Never,
}

/// When the findings of one type checker block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RawTypeCheckBlockOn {
    /// Any error blocks, with the severity CRITICAL; warnings do not block.
    ErrorsAlways,
    /// Errors block; warnings do not.
    ErrorsOnly,
    /// No finding blocks, but all findings are reported.
    WarnOnly,
    /// Findings change nothing: an action with findings counts as a success.
    Never,
}

/// The policy of one linter or formatter.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawLintToolPolicy {
    /// Whether it is judged at all; true unless said.
    pub enabled: Option<bool>,
    /// When its findings block.
    pub block_on: Option<BlockOn>,
    /// Whether every warning counts as an error; false unless said.
    pub treat_warnings_as_errors: Option<bool>,
    /// More warnings than this block; null or absent: no limit.
    pub max_warnings: Option<u32>,
    /// Rules whose findings are dropped.
    pub ignored_rules: Option<Vec<String>>,
    /// Rules whose findings count as errors.
    pub error_on_rules: Option<Vec<String>>,
}

/// The policy of one type checker.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawTypeCheckToolPolicy {
    /// Whether it is judged at all; true unless said.
    pub enabled: Option<bool>,
    /// When its findings block.
    pub block_on: Option<RawTypeCheckBlockOn>,
    /// Whether the project is expected to be checked strictly; true unless said.
    pub strict_mode: Option<bool>,
    /// Whether the project may leave types implicit; false unless said.
    pub allow_implicit_any: Option<bool>,
}
