//! Types of facts about tools. The table of tools in `model/tool.rs` has one row for each tool with these facts.

use serde::{Deserialize, Serialize};

/// The class of a tool. It decides what the tool's exit code and findings mean for the verdict (E2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ToolClass {
    /// The tool runs tests. Its exit code decides where the run sends the task.
    Test,
    /// The tool searches for errors in the code. A policy decides which of its findings make the verdict FAILED.
    Validation,
    /// A command of which proctor does not know whether it runs tests or searches for errors.
    Generic,
}

/// The categories of validation tools, from `validationPolicy` in the design document seed 004. A project can set one
/// strategy for all tools of a category (C23).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PolicyCategory {
    /// Linters and formatters, such as ESLint and Prettier.
    Linting,
    /// Type checkers, such as tsc and mypy.
    TypeChecking,
    /// Compilers and other build commands.
    Compilation,
}

/// Which evidence decides the result of an action that runs the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JudgedBy {
    /// The tool's output or report, together with its exit code.
    Output,
    /// The tool's exit code alone.
    ExitCode,
    /// The free text of a reviewer's answer, in which a grammar finds the verdict (design document seed 003).
    Grammar,
}

/// The names of an action's evidence files. On disk, the name of each file is the action's id followed by one of these
/// names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvidenceNames {
    /// The common name of the log, the frames file (which says when each part of the log arrived) and the action
    /// record, without the file endings.
    pub log: &'static str,
    /// The file with the tests or findings that proctor read from the tool's output; `None` if proctor reads neither
    /// from it.
    pub findings: Option<&'static str>,
    /// The file in which proctor keeps the tool's own report, such as `junit.xml`.
    pub tool_report: Option<&'static str>,
}

/// The options that a tool's `[policy]` table may have in addition to `enabled` and `block_on`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyOptions {
    /// Options that count warnings, and options that ignore or promote single rules by name.
    WarningsAndRules,
    /// No further option, because the tool reports only errors, never warnings, and its rules have no names.
    None,
}

/// What a validation tool finds, and the words that describe its findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FindingFacts {
    pub kind: FindingKind,
    /// The tool's name as people write it, such as `TypeScript`.
    pub display: &'static str,
    /// Whether the tool's errors mean that the code cannot be compiled.
    pub blocks_compilation: bool,
    /// The command-line option with which the tool corrects findings by itself, such as `--fix`.
    pub fix_option: Option<&'static str>,
    /// What the tool's failing exit code means when it found warnings but no errors.
    pub warnings_exit: WarningsExit,
    /// The options that the tool's `[policy]` table may have.
    pub options: PolicyOptions,
    /// Whether the tool's rules have numbers as well as names, as Pylint's `C0114` and `missing-module-docstring`.
    pub rules_have_numbers: bool,
}

/// What a validation tool finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindingKind {
    /// Errors in the types of expressions.
    Types,
    /// Violations of rules, about style or about likely mistakes.
    Lint,
    /// Files that are not formatted as the tool requires.
    Formatting,
    /// Errors that keep code from being built.
    Compilation,
}

/// What a tool's failing exit code means when it found warnings but no errors (C28).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarningsExit {
    /// The tool refuses the code, because there are more warnings than its command line allows.
    Refuses,
    /// The tool only tells that there are warnings: its exit code has one bit for each kind of message, as Pylint's
    /// has.
    Tells,
}

/// The package that brings a tool, with the name that the package has in its own registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstalledPackage {
    /// A Python package, which is run by `python -m`.
    Python(&'static str),
    /// A Node.js package, which is installed in `node_modules`.
    Node(&'static str),
}

/// How a test runner's command line names one test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OneTest {
    /// The command line contains a node id of pytest, such as `tests/test_a.py::test_x`.
    NodeId,
    /// The command line contains the test's file, and `-t` with a regular expression for the test's name. `subcommand`
    /// is the word that comes before both, if the tool needs such a word.
    FileAndPattern { subcommand: Option<&'static str> },
    /// The command line contains `--test-name-pattern` with a regular expression for the test's own name, and the test's file.
    NamePattern,
    /// The command line contains the test's file, and `option` with a regular expression for the test's name behind the names of its
    /// suites. `is_outermost` if the option takes only the outermost name, between two strokes.
    FileAndName { option: &'static str, is_outermost: bool },
    /// The whole command is followed by `-- --exact` and the test's name.
    ExactName,
    /// The command line contains `-run` with a regular expression for each part of the test's name, and the test's package.
    RunPattern,
}

impl PolicyCategory {
    pub const ALL: [Self; 3] = [Self::Linting, Self::TypeChecking, Self::Compilation];

    /// Returns the category's key below `[policy]` in `proctor.toml`.
    pub fn key(self) -> &'static str {
        match self {
            Self::Linting => "linting",
            Self::TypeChecking => "type_checking",
            Self::Compilation => "compilation",
        }
    }
}
