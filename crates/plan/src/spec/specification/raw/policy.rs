//! `validationPolicy`: which findings of which tools block.

use proctor_model::BlockOn;
use proctor_wire::wire;

/// Which findings of tools block, for each category of tools.
#[wire(Default, read, test_schema)]
pub struct RawValidationPolicy {
    /// The policy for linters and formatters.
    pub linting: Option<RawLintingPolicy>,
    /// The policy for type checkers.
    pub type_checking: Option<RawTypeCheckingPolicy>,
    /// The policy for compilers.
    pub compilation: Option<RawCompilationPolicy>,
}

/// The policy for linters and formatters: one for all of them, and exceptions for single tools.
#[wire(read, test_schema)]
pub struct RawLintingPolicy {
    /// When findings block, for tools without `blockOn`. By default `proctor.toml` decides, or else the tool's own default.
    pub strategy: Option<RawLintingStrategy>,
    /// The policies of single tools, which take precedence over `strategy`.
    #[serde(default)]
    pub tools: RawLintTools,
}

/// The policies of single linters and formatters.
#[wire(Default, read, test_schema)]
pub struct RawLintTools {
    /// The policy of ESLint, a linter for JavaScript and TypeScript.
    pub eslint: Option<RawLintToolPolicy>,
    /// The policy of Prettier, a formatter.
    pub prettier: Option<RawLintToolPolicy>,
    /// The policy of Pylint, a linter for Python.
    pub pylint: Option<RawLintToolPolicy>,
    /// The policy of Flake8, a linter for Python.
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

/// The policy for type checkers: one for all of them, and exceptions for single tools.
#[wire(read, test_schema)]
pub struct RawTypeCheckingPolicy {
    /// When findings block, for tools without `blockOn`. By default `proctor.toml` decides, or else the tool's own default.
    pub strategy: Option<RawTypeCheckingStrategy>,
    /// The policies of single tools, which take precedence over `strategy`.
    #[serde(default)]
    pub tools: RawTypeCheckTools,
}

/// The policies of single type checkers.
#[wire(Default, read, test_schema)]
pub struct RawTypeCheckTools {
    /// The policy of the TypeScript compiler when it checks types.
    pub typescript: Option<RawTypeCheckToolPolicy>,
    /// The policy of mypy, a type checker for Python.
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

/// The policy for compilers.
#[wire(read, test_schema)]
pub struct RawCompilationPolicy {
    /// When findings block. By default `proctor.toml` decides, or else the tool's own default.
    pub strategy: Option<RawCompilationStrategy>,
}

words_of! {
    /// When findings of linters block.
    #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
    RawLintingStrategy for BlockOn:
        /// Any error blocks, with the severity CRITICAL; warnings do not block.
        BlockOnErrorsAlways ErrorsAlways,
        /// Errors block; warnings do not.
        BlockOnErrorsOnly ErrorsOnly,
        /// Errors and warnings block.
        BlockOnErrorsAndWarnings ErrorsAndWarnings,
        /// No finding blocks, but all findings are reported.
        WarnOnly WarnOnly,
        /// Findings change nothing: an action with findings counts as a success.
        Never Never,
}

words_of! {
    /// When findings of type checkers block.
    #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
    RawTypeCheckingStrategy for BlockOn:
        /// Any error blocks, with the severity CRITICAL; warnings do not block.
        BlockOnErrorsAlways ErrorsAlways,
        /// Errors block; warnings do not.
        BlockOnErrorsOnly ErrorsOnly,
        /// No finding blocks, but all findings are reported.
        WarnOnly WarnOnly,
        /// Findings change nothing: an action with findings counts as a success.
        Never Never,
}

words_of! {
    /// When findings of compilers block.
    #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
    RawCompilationStrategy for BlockOn:
        /// Any error blocks, with the severity CRITICAL; warnings do not block.
        BlockOnErrorsAlways ErrorsAlways,
        /// Findings change nothing: an action with findings counts as a success.
        Never Never,
}

words_of! {
    /// When the findings of one type checker block.
    #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
    RawTypeCheckBlockOn for BlockOn:
        /// Any error blocks, with the severity CRITICAL; warnings do not block.
        ErrorsAlways ErrorsAlways,
        /// Errors block; warnings do not.
        ErrorsOnly ErrorsOnly,
        /// No finding blocks, but all findings are reported.
        WarnOnly WarnOnly,
        /// Findings change nothing: an action with findings counts as a success.
        Never Never,
}

/// The policy of one linter or formatter: whether it is judged, and which of its findings block.
#[wire(read, test_schema)]
pub struct RawLintToolPolicy {
    /// Whether the tool's findings can block; false has the effect of `blockOn` NEVER. The default is true.
    pub enabled: Option<bool>,
    /// When the tool's findings block. By default the category's `strategy` decides.
    pub block_on: Option<BlockOn>,
    /// Whether every warning of the tool counts as an error. By default `proctor.toml` decides; the last default is false.
    pub treat_warnings_as_errors: Option<bool>,
    /// The most warnings that do not block. Null means that `proctor.toml` decides, or else that there is no limit.
    pub max_warnings: Option<u32>,
    /// The names of the tool's rules whose findings are ignored.
    pub ignored_rules: Option<Vec<String>>,
    /// The names of the tool's rules whose findings count as errors, even if the tool reports warnings.
    pub error_on_rules: Option<Vec<String>>,
}

/// The policy of one type checker: whether it is judged, which of its findings block, and how strict it must be.
#[wire(read, test_schema)]
pub struct RawTypeCheckToolPolicy {
    /// Whether the tool's findings can block; false has the effect of `blockOn` NEVER. The default is true.
    pub enabled: Option<bool>,
    /// When the tool's findings block. By default the category's `strategy` decides.
    pub block_on: Option<RawTypeCheckBlockOn>,
    /// Whether the project must set its type checker to strict. Without this key, nothing is compared.
    pub strict_mode: Option<bool>,
    /// Whether the project may let its type checker accept missing types. Without this key, nothing is compared.
    pub allow_implicit_any: Option<bool>,
}
