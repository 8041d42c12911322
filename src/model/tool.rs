//! The tools that proctor can interpret. Each is one row with everything that other folders need to know about it.

use serde::{Deserialize, Serialize};

use crate::model::BlockOn;

/// A tool whose output proctor can interpret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tool {
    Pytest,
    Jest,
    Vitest,
    /// The TypeScript compiler, as a type checker.
    Tsc,
    Mypy,
    Eslint,
    /// Ruff: its linter, and the check of its formatter.
    Ruff,
    Flake8,
    Pylint,
    /// Prettier in its checking mode.
    Prettier,
    /// Any compiler or build command (E18). Its exit code decides, and its output is shown.
    Compile,
    /// A reviewer, whose free text is parsed by a grammar (seed 003).
    Review,
    /// Any other command, judged by its exit code only.
    Generic,
}

/// The class of a tool, which decides what its outcome means (E2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ToolClass {
    /// It runs tests. Its exit code is routed.
    Test,
    /// It looks for errors in the code and is judged by a policy.
    Validation,
    /// proctor knows neither of a test run nor of a validation in it.
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

/// The properties of a tool.
struct Row {
    tool: Tool,
    /// The tool's word in `proctor.toml`.
    word: &'static str,
    /// The tool's name in reports.
    report_name: &'static str,
    class: ToolClass,
    /// The category and the default strategy (C20); none: no policy applies to the tool.
    policy: Option<(PolicyCategory, BlockOn)>,
}

const fn row(tool: Tool, word: &'static str, class: ToolClass) -> Row {
    Row { tool, word, report_name: word, class, policy: None }
}

const fn judged(tool: Tool, word: &'static str, category: PolicyCategory, block_on: BlockOn) -> Row {
    Row { policy: Some((category, block_on)), ..row(tool, word, ToolClass::Validation) }
}

const ROWS: [Row; 13] = [
    row(Tool::Pytest, "pytest", ToolClass::Test),
    row(Tool::Jest, "jest", ToolClass::Test),
    row(Tool::Vitest, "vitest", ToolClass::Test),
    Row { report_name: "typescript", ..judged(Tool::Tsc, "tsc", PolicyCategory::TypeChecking, BlockOn::ErrorsAlways) },
    judged(Tool::Mypy, "mypy", PolicyCategory::TypeChecking, BlockOn::ErrorsAlways),
    judged(Tool::Eslint, "eslint", PolicyCategory::Linting, BlockOn::ErrorsOnly),
    judged(Tool::Ruff, "ruff", PolicyCategory::Linting, BlockOn::ErrorsOnly),
    judged(Tool::Flake8, "flake8", PolicyCategory::Linting, BlockOn::ErrorsOnly),
    judged(Tool::Pylint, "pylint", PolicyCategory::Linting, BlockOn::ErrorsOnly),
    judged(Tool::Prettier, "prettier", PolicyCategory::Linting, BlockOn::WarnOnly),
    Row { report_name: "compilation", ..judged(Tool::Compile, "compile", PolicyCategory::Compilation, BlockOn::ErrorsAlways) },
    row(Tool::Review, "review", ToolClass::Generic),
    row(Tool::Generic, "generic", ToolClass::Generic),
];

/// Checks at compile time that the rows have the order of the enum, because [`Tool::row`] uses the variant as index.
const _: () = {
    assert!(ROWS.len() == Tool::Generic as usize + 1);
    let mut place = 0;
    while place < ROWS.len() {
        assert!(ROWS[place].tool as usize == place);
        place += 1;
    }
};

impl Tool {
    /// All tools, test runners first.
    pub const ALL: [Self; ROWS.len()] = {
        let mut all = [Self::Generic; ROWS.len()];
        let mut place = 0;
        while place < ROWS.len() {
            all[place] = ROWS[place].tool;
            place += 1;
        }
        all
    };

    const fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// Returns the tool's word in `proctor.toml` and in messages.
    pub const fn word(self) -> &'static str {
        self.row().word
    }

    /// Returns the tool's name in reports, as in seed 004 (`typescript` for tsc).
    pub fn report_name(self) -> &'static str {
        self.row().report_name
    }

    pub fn class(self) -> ToolClass {
        self.row().class
    }

    /// Returns the policy category of the tool; none: no policy applies to it.
    pub fn policy_category(self) -> Option<PolicyCategory> {
        self.row().policy.map(|(category, _)| category)
    }

    /// Returns the default strategy for the tool's findings (C20); none: no policy applies to it.
    pub fn default_strategy(self) -> Option<BlockOn> {
        self.row().policy.map(|(_, block_on)| block_on)
    }
}

impl PolicyCategory {
    /// Returns the category's key below `[policy]`.
    pub fn key(self) -> &'static str {
        match self {
            Self::Linting => "linting",
            Self::TypeChecking => "type_checking",
            Self::Compilation => "compilation",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_has_a_word_of_its_own_and_a_policy_exactly_where_it_validates() {
        let words: std::collections::BTreeSet<_> = Tool::ALL.iter().map(|tool| tool.word()).collect();
        let names: std::collections::BTreeSet<_> = Tool::ALL.iter().map(|tool| tool.report_name()).collect();
        assert_eq!((words.len(), names.len()), (Tool::ALL.len(), Tool::ALL.len()));
        for tool in Tool::ALL {
            let judged = tool.class() == ToolClass::Validation;
            assert_eq!((tool.policy_category().is_some(), tool.default_strategy().is_some()), (judged, judged), "{tool:?}");
            assert_eq!(serde_json::to_value(tool).unwrap(), tool.word(), "{tool:?}");
        }
    }

    #[test]
    fn c20_defaults_by_type_of_tool() {
        let of = |tool: Tool| tool.default_strategy().map(BlockOn::strategy);
        assert_eq!([of(Tool::Tsc), of(Tool::Mypy), of(Tool::Compile)], [Some("BLOCK_ON_ERRORS_ALWAYS"); 3]);
        assert_eq!([of(Tool::Eslint), of(Tool::Ruff), of(Tool::Flake8), of(Tool::Pylint)], [Some("BLOCK_ON_ERRORS_ONLY"); 4]);
        assert_eq!([of(Tool::Prettier), of(Tool::Pytest)], [Some("WARN_ONLY"), None]);
    }
}
