//! The shape of a row of the table of tools, and what the rows of one kind have in common.

use crate::{
    BlockOn, EvidenceNames, FindingFacts, FindingKind, InstalledPackage, JudgedBy, NameRule, OneTest, PolicyCategory,
    PolicyOptions, Tool, ToolClass, WarningsExit,
};

/// What proctor knows about a tool: a row of the table in `tool.rs`.
pub(super) struct Row {
    pub(super) tool: Tool,
    pub(super) word: &'static str,
    pub(super) report_name: &'static str,
    pub(super) class: ToolClass,
    pub(super) judged_by: JudgedBy,
    /// Whether a command that resembles this tool counts as this tool only if nothing else says what the command is: no
    /// other tool in the same script, no setting `tool`, no expected exit codes.
    pub(super) gives_way: bool,
    /// Whether a check with this tool may name a report of its own. The tool is judged by a report in a format that any command can write.
    pub(super) allows_report: bool,
    /// The words for what the tool does with the code; the description of an action begins with them.
    pub(super) does: &'static str,
    /// The category and the default strategy of the tool's policy (C20); `None` if no policy applies to the tool.
    pub(super) policy: Option<(PolicyCategory, BlockOn)>,
    /// The facts about the tool's findings; `None` for tools that no policy judges.
    pub(super) findings: Option<FindingFacts>,
    pub(super) evidence: EvidenceNames,
    /// The package that brings the tool; `None` if the tool is no package.
    pub(super) package: Option<InstalledPackage>,
    /// The names of the tool's programs in the `bin` directory of a Python installation. Such a program runs with the
    /// packages of that installation.
    pub(super) beside_python: &'static [&'static str],
    /// How the command line names one test; `None` if the tool runs no tests, or cannot name one.
    pub(super) one_test: Option<OneTest>,
    /// The words with which a command calls the tool, where they are more than the tool's own word.
    pub(super) calls: &'static [&'static [&'static str]],
    /// Whether the tool shows on standard output which tests have ended.
    pub(super) shows_progress_on_stdout: bool,
    /// The option without which the tool writes files beside its findings; `None` if it never does.
    pub(super) writes_without: Option<&'static str>,
    /// Patterns for the names of files that can change the tool's results without a change to the source (S7); `*`
    /// stands for any characters.
    pub(super) configuration: &'static [&'static str],
    /// The names of files that the tool creates in the project without being asked, such as caches, each with a
    /// description for people.
    pub(super) leftovers: &'static [(NameRule, &'static str)],
    /// Whether a check with this tool can demand that the tests cover at least a given percentage of the code.
    pub(super) measures_coverage: bool,
    /// Whether the tool loads the plugins of other installed packages without being told to. Such plugins can change
    /// its results.
    pub(super) loads_plugins: bool,
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
