//! The texts about a validation tool's findings in reports, as data that is found by the tool's name (seed 004).

use std::time::Duration;

use crate::model::DebtCategory;
use crate::verdict::agent::AgentWord;

/// The texts about one tool's findings.
#[derive(Debug)]
pub(in crate::verdict) struct Words {
    pub(in crate::verdict) report_name: &'static str,
    /// The tool's name for display.
    pub(in crate::verdict) display: &'static str,
    /// The word for one error in a title.
    pub(in crate::verdict) error: &'static str,
    /// The word for its errors in a sentence.
    pub(in crate::verdict) errors: &'static str,
    pub(in crate::verdict) error_issue: &'static str,
    pub(in crate::verdict) warning_issue: &'static str,
    /// Whether its errors keep the code from compiling.
    pub(in crate::verdict) blocks_compilation: bool,
    pub(in crate::verdict) debt: DebtCategory,
    pub(in crate::verdict) agent: AgentWord,
    /// The option that makes the tool fix findings automatically.
    pub(in crate::verdict) fix_option: Option<&'static str>,
    /// The meaning of a failing exit code when the tool found warnings only.
    pub(in crate::verdict) warnings_exit: WarningsExit,
}

/// The meaning of a tool's failing exit code when it found warnings only (C28).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::verdict) enum WarningsExit {
    /// There are more warnings than the tool was told to allow.
    Refuses,
    /// There are warnings, and nothing more: the exit code has a bit for each kind of message.
    Tells,
}

const TABLE: [Words; 8] = [
    Words {
        report_name: "typescript",
        display: "TypeScript",
        error: "Type Error",
        errors: "type errors",
        error_issue: "TYPE_ERROR",
        warning_issue: "TYPE_WARNING",
        blocks_compilation: true,
        debt: DebtCategory::ValidationMissing,
        agent: AgentWord::FixTypes,
        fix_option: None,
        warnings_exit: WarningsExit::Refuses,
    },
    Words {
        report_name: "eslint",
        display: "ESLint",
        error: "Error",
        errors: "errors",
        error_issue: "LINT_ERROR",
        warning_issue: "LINT_WARNING",
        blocks_compilation: false,
        debt: DebtCategory::Refactor,
        agent: AgentWord::FixCode,
        fix_option: Some("--fix"),
        warnings_exit: WarningsExit::Refuses,
    },
    Words { report_name: "mypy", display: "mypy", ..TYPES },
    Words { report_name: "ruff", display: "Ruff", fix_option: Some("--fix"), ..LINT },
    Words { report_name: "flake8", display: "Flake8", ..LINT },
    Words { report_name: "pylint", display: "Pylint", warnings_exit: WarningsExit::Tells, ..LINT },
    Words {
        report_name: "prettier",
        display: "Prettier",
        error: "Formatting Issue",
        errors: "formatting issues",
        error_issue: "FORMAT_ERROR",
        warning_issue: "FORMAT_WARNING",
        fix_option: Some("--write"),
        ..LINT
    },
    Words {
        report_name: "compilation",
        display: "Compilation",
        error: "Compilation Error",
        error_issue: "COMPILATION_ERROR",
        warning_issue: "COMPILATION_WARNING",
        blocks_compilation: true,
        ..ANY
    },
];

/// The common texts of type checkers. Their errors are found before the code runs, and do not keep it from compiling.
const TYPES: Words = Words {
    error: "Type Error",
    errors: "type errors",
    error_issue: "TYPE_ERROR",
    warning_issue: "TYPE_WARNING",
    agent: AgentWord::FixTypes,
    ..ANY
};

/// The common texts of linters (C40).
const LINT: Words = Words { error_issue: "LINT_ERROR", warning_issue: "LINT_WARNING", debt: DebtCategory::Refactor, ..ANY };

/// The texts for a validation tool without a row of its own.
const ANY: Words = Words {
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

pub(in crate::verdict) fn words_for(report_name: &str) -> &'static Words {
    TABLE.iter().find(|words| words.report_name == report_name).unwrap_or(&ANY)
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
