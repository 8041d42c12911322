//! The shape of a row of the table of tools, and what the rows of one kind have in common.
//!
//! Types of facts about tools. The table of tools in `model/tool.rs` has one row for each tool with these facts.

use proctor_wire::wire;

use crate::{BlockOn, NameRule, Tool};

/// Declares the row of a tool, and for each fact behind the semicolon the function of [`Tool`] that returns it.
macro_rules! facts {
    ($($(#[$own:meta])* $name:ident: $own_type:ty),*; $($(#[$doc:meta])* $fact:ident: $fact_type:ty,)*) => {
        /// The facts about one tool.
        pub(super) struct Row {
            $($(#[$own])* pub(super) $name: $own_type,)*
            $(pub(super) $fact: $fact_type,)*
        }

        impl Tool {
            $($(#[$doc])* pub const fn $fact(self) -> $fact_type {
                self.row().$fact
            })*
        }
    };
}

facts! {
    tool: Tool,
    /// The category and the default strategy of the tool's policy (C20); `None` if no policy applies to the tool.
    policy: Option<(PolicyCategory, BlockOn)>,
    /// The facts about the tool's findings; `None` for tools that no policy judges.
    findings: Option<FindingFacts>,
    evidence: EvidenceNames;
    /// Returns the word by which `proctor.toml` and messages name the tool.
    word: &'static str,
    /// Returns the tool's name in reports, which the design document seed 004 fixes: `typescript` for tsc.
    report_name: &'static str,
    /// Returns the kind of the tool, which decides how its result is judged.
    class: ToolClass,
    /// Returns which evidence decides the result of an action that runs the tool.
    judged_by: JudgedBy,
    /// Returns whether a command that resembles this tool counts as this tool only if nothing else says what the command is: no other
    /// tool in the same script, no setting `tool`, no expected exit codes.
    gives_way: bool,
    /// Returns whether a check with this tool may name a report of its own. The tool is judged by a report in a format that any command
    /// can write.
    allows_report: bool,
    /// Returns the words for what the tool does with the code, for example `runs the tests`. The description of an action begins with
    /// them.
    does: &'static str,
    /// Returns the package that brings the tool; `None` if the tool is no package.
    package: Option<InstalledPackage>,
    /// Returns the names of the tool's programs in the `bin` directory of a Python installation. Such a program runs
    /// with the packages of that installation.
    beside_python: &'static [&'static str],
    /// Returns how the tool's command line names one test; `None` if the tool runs no tests, or cannot name one.
    one_test: Option<OneTest>,
    /// Returns the words with which a command calls the tool, where they are more than the tool's own word.
    calls: &'static [&'static [&'static str]],
    /// Returns whether the tool shows on standard output which tests have ended.
    shows_progress_on_stdout: bool,
    /// Returns the option without which the tool writes files beside its findings; `None` if it never does.
    writes_without: Option<&'static str>,
    /// Returns patterns for the names of files that can change the tool's results without a change to the source (S7); `*` stands for any
    /// characters.
    configuration: &'static [&'static str],
    /// Returns the names of files that the tool creates in a project without being asked, such as caches, each with a description for
    /// people.
    leftovers: &'static [(NameRule, &'static str)],
    /// Returns whether a check with this tool can demand that the tests cover at least a given percentage of the code.
    measures_coverage: bool,
    /// Returns whether the tool loads the plugins of other installed packages without being told to. Such plugins can change its results.
    loads_plugins: bool,
}

pub(super) const fn row(tool: Tool, word: &'static str, class: ToolClass) -> Row {
    Row {
        tool,
        word,
        report_name: word,
        class,
        judged_by: JudgedBy::Output,
        gives_way: false,
        allows_report: false,
        does: "runs",
        policy: None,
        findings: None,
        evidence: EvidenceNames { log: word, findings: None, tool_report: None },
        package: None,
        beside_python: &[],
        one_test: None,
        calls: &[],
        shows_progress_on_stdout: false,
        writes_without: None,
        configuration: &[],
        leftovers: &[],
        measures_coverage: false,
        loads_plugins: false,
    }
}

pub(super) const fn tests(tool: Tool, word: &'static str, tool_report: &'static str) -> Row {
    let evidence = EvidenceNames { log: word, findings: Some("test-results.json"), tool_report: Some(tool_report) };
    Row { evidence, does: "runs the tests", ..row(tool, word, ToolClass::Test) }
}

pub(super) const fn judged(tool: Tool, word: &'static str, findings: FindingFacts, file: &'static str, block_on: BlockOn) -> Row {
    let (category, does) = match findings.kind {
        FindingKind::Types => (PolicyCategory::TypeChecking, "checks the types"),
        FindingKind::Lint => (PolicyCategory::Linting, "looks for lint"),
        FindingKind::Formatting => (PolicyCategory::Linting, "checks the formatting"),
        FindingKind::Compilation => (PolicyCategory::Compilation, "compiles"),
    };
    let evidence = EvidenceNames { log: word, findings: Some(file), tool_report: None };
    let policy = Some((category, block_on));
    Row { policy, findings: Some(findings), evidence, does, ..row(tool, word, ToolClass::Validation) }
}

pub(super) const fn finds(kind: FindingKind, display: &'static str) -> FindingFacts {
    FindingFacts {
        kind,
        display,
        blocks_compilation: false,
        fix_option: None,
        warnings_exit: WarningsExit::Refuses,
        options: PolicyOptions::WarningsAndRules,
        rules_have_numbers: false,
    }
}

/// The class of a tool. It decides what the tool's exit code and findings mean for the verdict (E2).
#[wire(Copy, Hash, screaming, schema)]
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

words! {
    /// Returns the category's key below `[policy]` in `proctor.toml`.
    pub fn PolicyCategory::key, ALL: Linting "linting", TypeChecking "type_checking", Compilation "compilation"
}
