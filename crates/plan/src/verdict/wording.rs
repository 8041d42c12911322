//! The texts about a validation tool's findings in reports. They depend on the kind of the tool and on its row in
//! `model/tool.rs` (seed 004).
//!
//! The fixed words that tell an agent, in a report, what to do about a result (the last table of seed 004).

use std::time::Duration;

use proctor_model::{AgentAction, DebtCategory, FindingKind, Tool, WarningsExit, words};

/// The texts about one tool's findings.
#[derive(Debug)]
pub(in crate::verdict) struct FindingWords {
    pub(in crate::verdict) report_name: &'static str,
    /// The tool's name as titles and reasons show it.
    pub(in crate::verdict) display: &'static str,
    /// The word for one error in a title.
    pub(in crate::verdict) error: &'static str,
    /// The word for the tool's errors in a sentence.
    pub(in crate::verdict) errors: &'static str,
    pub(in crate::verdict) error_issue: &'static str,
    pub(in crate::verdict) warning_issue: &'static str,
    /// Whether the tool's errors keep the code from compiling.
    pub(in crate::verdict) blocks_compilation: bool,
    pub(in crate::verdict) debt: DebtCategory,
    pub(in crate::verdict) agent: AgentWord,
    /// The option that makes the tool fix findings automatically.
    pub(in crate::verdict) fix_option: Option<&'static str>,
    /// What a failing exit code means when the tool found only warnings.
    pub(in crate::verdict) warnings_exit: WarningsExit,
}

/// The common texts of type checkers. Their errors are found before the code runs.
const TYPES: FindingWords = FindingWords {
    error: "Type Error",
    errors: "type errors",
    error_issue: "TYPE_ERROR",
    warning_issue: "TYPE_WARNING",
    agent: AgentWord::FixTypes,
    ..ANY
};

/// The common texts of linters (J4).
const LINT: FindingWords =
    FindingWords { error_issue: "LINT_ERROR", warning_issue: "LINT_WARNING", debt: DebtCategory::Refactor, ..ANY };

/// The texts for a validation tool without a row of its own.
const ANY: FindingWords = FindingWords {
    report_name: "",
    display: "Validation",
    error: "Error",
    errors: "errors",
    error_issue: "VALIDATION_ERROR",
    warning_issue: "VALIDATION_WARNING",
    blocks_compilation: false,
    debt: DebtCategory::ValidationMissing,
    agent: AgentWord::FixCode,
    fix_option: None,
    warnings_exit: WarningsExit::Refuses,
};

/// The common texts of formatters.
const FORMATTING: FindingWords = FindingWords {
    error: "Formatting Issue",
    errors: "formatting issues",
    error_issue: "FORMAT_ERROR",
    warning_issue: "FORMAT_WARNING",
    ..LINT
};

/// The common texts of compilers and builds.
const COMPILATION: FindingWords =
    FindingWords { error: "Compilation Error", error_issue: "COMPILATION_ERROR", warning_issue: "COMPILATION_WARNING", ..ANY };

pub(in crate::verdict) fn words_for(report_name: &str) -> FindingWords {
    let tool = Tool::ALL.into_iter().find(|tool| tool.report_name() == report_name);
    let Some((tool, facts)) = tool.and_then(|tool| Some((tool, tool.findings()?))) else { return ANY };
    let words = match facts.kind {
        FindingKind::Types => TYPES,
        FindingKind::Lint => LINT,
        FindingKind::Formatting => FORMATTING,
        FindingKind::Compilation => COMPILATION,
    };
    FindingWords {
        report_name: tool.report_name(),
        display: facts.display,
        blocks_compilation: facts.blocks_compilation,
        fix_option: facts.fix_option,
        warnings_exit: facts.warnings_exit,
        ..words
    }
}

/// Returns a count with its noun, for example `1 error`, `5 errors`.
pub(in crate::verdict) fn counted(count: u64, noun: &str) -> String {
    format!("{count} {}", plural(count, noun))
}

/// Returns a noun in the singular or plural form for a count.
pub(in crate::verdict) fn plural(count: u64, noun: &str) -> String {
    if count == 1 { noun.to_owned() } else { format!("{noun}s") }
}

/// Returns a duration in the form for a limit: `10s`, `1.5s`, `250ms`.
pub(in crate::verdict) fn spoken_limit(limit: Duration) -> String {
    let millis = limit.as_millis();
    if millis < 1000 { format!("{millis}ms") } else { format!("{}s", limit.as_secs_f64()) }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::verdict) enum AgentWord {
    /// Nothing has to be done.
    Continue,
    FixCode,
    FixTypes,
    FixSpecification,
    /// Install the missing tool or package.
    InstallTool,
    /// Start the server that does not answer.
    StartServer,
    /// Implement what the tests require.
    ImplementFix,
    /// Add tests, or enable existing ones.
    AddTests,
    /// The action was ended at its time limit: make it faster, or raise the limit.
    OptimizeOrRaiseTimeout,
    /// Ask a person, who must find or remove the cause.
    AskHuman,
}

impl AgentWord {
    /// Returns the action for an agent, with its message. Every word except `Continue` requires the agent to act.
    pub(in crate::verdict) fn action(self, message: impl Into<String>) -> AgentAction {
        AgentAction { required: self != Self::Continue, action: self.label().to_owned(), message: message.into() }
    }
}

words! {
    /// Returns the word as it is written in reports.
    pub(in crate::verdict) fn AgentWord::label: Continue "CONTINUE", FixCode "FIX_CODE", FixTypes "FIX_TYPES",
        FixSpecification "FIX_SPECIFICATION", InstallTool "INSTALL_TOOL", StartServer "START_SERVER",
        ImplementFix "IMPLEMENT_FIX", AddTests "ADD_TESTS", OptimizeOrRaiseTimeout "OPTIMIZE_OR_RAISE_TIMEOUT",
        AskHuman "ASK_HUMAN"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_said_in_the_largest_unit_that_fits() {
        let said = |millis| spoken_limit(Duration::from_millis(millis));
        assert_eq!([said(999), said(1000), said(1500), said(600_000)], ["999ms", "1s", "1.5s", "600s"]);
    }

    #[test]
    fn nouns_follow_their_counts() {
        assert_eq!([counted(0, "file"), counted(1, "file"), counted(2, "file")], ["0 files", "1 file", "2 files"]);
    }
}
