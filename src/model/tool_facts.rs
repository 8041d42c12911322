//! The types of the facts in a tool's row in `model/tool.rs`.

use serde::{Deserialize, Serialize};

/// The class of a tool, which decides what its outcome means (E2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ToolClass {
    /// It runs tests. Its exit code is routed.
    Test,
    /// It searches for errors in the code and is judged by a policy.
    Validation,
    /// As far as proctor knows, it neither runs tests nor validates code.
    Generic,
}

/// The categories of seed 004's `validationPolicy`. A strategy can be set for all tools of a category (C23).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PolicyCategory {
    /// Linters and formatters, such as ESLint and Prettier.
    Linting,
    /// Type checkers, such as tsc and mypy.
    TypeChecking,
    /// Compilers and other build commands.
    Compilation,
}

/// What an action of a tool is judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JudgedBy {
    /// The tool's output or report, together with its exit code.
    Output,
    /// The tool's exit code alone.
    ExitCode,
    /// A grammar for free text: the answer of a reviewer (seed 003).
    Grammar,
}

/// The names of an action's evidence files, without the action's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvidenceNames {
    /// The name of the log, the frames file and the action record, without their endings.
    pub log: &'static str,
    /// The name of the file with the interpreter's findings.
    pub findings: Option<&'static str>,
    /// The name of the copy of the tool's own report.
    pub tool_report: Option<&'static str>,
}

/// The options that a tool's policy has in addition to `enabled` and `block_on`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyOptions {
    /// The options about warnings, and about single rules by name.
    WarningsAndRules,
    /// No further option, because the tool reports errors only and its rules have no names.
    None,
}

/// What a validation tool finds, and the words that describe its findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FindingFacts {
    /// What it finds.
    pub kind: FindingKind,
    /// The tool's name as people write it.
    pub display: &'static str,
    /// Whether its errors keep the code from being compiled.
    pub blocks_compilation: bool,
    /// The option with which the tool fixes findings by itself.
    pub fix_option: Option<&'static str>,
    /// The meaning of a failing exit code after a run that found warnings only.
    pub warnings_exit: WarningsExit,
    /// The options that its policy may have.
    pub options: PolicyOptions,
    /// Whether its rules have numbers as well as names.
    pub rules_have_numbers: bool,
}

/// What a validation tool finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindingKind {
    /// Type errors.
    Types,
    /// Violations of rules, about style or about likely mistakes.
    Lint,
    /// Files that are not formatted as the tool requires.
    Formatting,
    /// Errors that keep code from being built.
    Compilation,
}

/// The meaning of a tool's failing exit code when it found warnings only (C28).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarningsExit {
    /// There are more warnings than the tool was told to allow.
    Refuses,
    /// There are warnings, and nothing more: the exit code has a bit for each kind of message.
    Tells,
}

/// The package that a tool is installed as, with its name in that ecosystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstalledPackage {
    /// A Python package, which is run by `python -m`.
    Python(&'static str),
    /// A Node.js package, which is installed in `node_modules`.
    Node(&'static str),
}

impl PolicyCategory {
    /// All categories.
    pub const ALL: [Self; 3] = [Self::Linting, Self::TypeChecking, Self::Compilation];

    /// Returns the category's key below `[policy]`.
    pub fn key(self) -> &'static str {
        match self {
            Self::Linting => "linting",
            Self::TypeChecking => "type_checking",
            Self::Compilation => "compilation",
        }
    }
}
