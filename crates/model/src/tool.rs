//! The tools whose output proctor can interpret: one row for each, with the facts that several folders need to know.
//! `tools/` has a second table, with the code that reads each tool's output.

use proctor_wire::wire;

use crate::InstalledPackage::{Node, Python};
use crate::NameRule::{Begins, Ends, Is};
use crate::tool_row::{Row, finds, judged, row, tests};
use crate::{
    BlockOn, EvidenceNames, FindingFacts, FindingKind, JudgedBy, OneTest, PolicyCategory, PolicyOptions, ToolClass, WarningsExit,
};

/// A tool whose output proctor can interpret.
#[wire(Copy, Default, PartialOrd, Ord, Hash, lower, schema)]
pub enum Tool {
    Pytest,
    Jest,
    Vitest,
    /// Node's own test runner: `node --test`.
    #[serde(rename = "node-test")]
    NodeTest,
    /// Rust's tests: `cargo test`, and `cargo nextest run`.
    #[serde(rename = "cargo-test")]
    CargoTest,
    /// Go's tests: `go test`.
    #[serde(rename = "go-test")]
    GoTest,
    /// The TypeScript compiler, as a type checker.
    Tsc,
    Mypy,
    Eslint,
    /// Ruff: its linter, and the check of its formatter.
    Ruff,
    Flake8,
    Pylint,
    /// Prettier. proctor runs it only to check the formatting, so it changes no file.
    Prettier,
    /// ty, Astral's type checker: `ty check`.
    Ty,
    /// Pyrefly, Meta's type checker: `pyrefly check`.
    Pyrefly,
    /// Pyright and its fork basedpyright, which print the same JSON.
    Pyright,
    Oxlint,
    /// Biome: its linter, the check of its formatter, and both (`biome check`, `biome ci`).
    Biome,
    /// Rust's linter: `cargo clippy`.
    Clippy,
    /// pre-commit and prek, which run a project's hooks.
    #[serde(rename = "pre-commit")]
    PreCommit,
    /// Any compiler or build command (E18). Its exit code decides, and its output is shown.
    Compile,
    /// Any command that writes a report of tests, which the check's `report` names.
    #[serde(rename = "test-report")]
    TestReport,
    /// Any command that writes a report of findings, which the check's `report` names.
    #[serde(rename = "finding-report")]
    FindingReport,
    Mocha,
    Playwright,
    /// Bun's own test runner: `bun test`.
    #[serde(rename = "bun-test")]
    BunTest,
    /// Deno's own test runner: `deno test`.
    #[serde(rename = "deno-test")]
    DenoTest,
    Ava,
    /// A reviewer, whose free text is parsed by a grammar (design document seed 003).
    Review,
    /// A command of no known tool, which is judged by its exit code only.
    #[default]
    Generic,
}

/// The files of a project that tell npm, pnpm and Yarn how to start programs. They lie in the directory of a check or above it.
pub const NPM_SETTINGS_FILES: &[&str] = &[".npmrc", ".yarnrc", "pnpm-workspace.yaml"];

const ROWS: [Row; 30] = [
    Row {
        package: Some(Python("pytest")),
        beside_python: &["py.test", "pytest"],
        one_test: Some(OneTest::NodeId),
        shows_progress_on_stdout: true,
        configuration: &["pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "conftest.py"],
        leftovers: &[
            (Is(".pytest_cache"), "pytest's cache"),
            (Begins("pytest-cache-files-"), "pytest's cache before it gets its name"),
        ],
        measures_coverage: true,
        loads_plugins: true,
        ..tests(Tool::Pytest, "pytest", "junit.xml")
    },
    Row {
        package: Some(Node("jest")),
        one_test: Some(OneTest::FileAndPattern { subcommand: None }),
        configuration: &["jest.config.*"],
        ..tests(Tool::Jest, "jest", "jest-report.json")
    },
    Row {
        package: Some(Node("vitest")),
        // Without `run`, Vitest would go on to watch at a terminal.
        one_test: Some(OneTest::FileAndPattern { subcommand: Some("run") }),
        shows_progress_on_stdout: true,
        configuration: &["vitest.config.*", "vitest.workspace.*"],
        ..tests(Tool::Vitest, "vitest", "vitest-report.json")
    },
    Row {
        one_test: Some(OneTest::NamePattern),
        calls: &[&["node", "--test"]],
        ..tests(Tool::NodeTest, "node-test", "node-test-report.tap")
    },
    Row {
        one_test: Some(OneTest::ExactName),
        calls: &[&["cargo", "test"], &["cargo", "t"], &["cargo", "nextest", "run"]],
        configuration: &["nextest.toml", "rust-toolchain", "rust-toolchain.toml"],
        evidence: EvidenceNames { log: "cargo-test", findings: Some("test-results.json"), tool_report: None },
        ..tests(Tool::CargoTest, "cargo-test", "")
    },
    Row {
        one_test: Some(OneTest::RunPattern),
        calls: &[&["go", "test"]],
        evidence: EvidenceNames { log: "go-test", findings: Some("test-results.json"), tool_report: None },
        ..tests(Tool::GoTest, "go-test", "")
    },
    Row {
        report_name: "typescript",
        evidence: EvidenceNames {
            log: "typescript-compilation",
            findings: Some("typescript-diagnostics.json"),
            tool_report: None,
        },
        package: Some(Node("typescript")),
        writes_without: Some("--noEmit"),
        configuration: &["tsconfig*.json"],
        leftovers: &[(Ends(".tsbuildinfo"), "tsc's incremental state")],
        ..judged(
            Tool::Tsc,
            "tsc",
            FindingFacts { blocks_compilation: true, options: PolicyOptions::None, ..finds(FindingKind::Types, "TypeScript") },
            "typescript-diagnostics.json",
            BlockOn::ErrorsAlways,
        )
    },
    Row {
        package: Some(Python("mypy")),
        configuration: &["mypy.ini", ".mypy.ini"],
        leftovers: &[(Is(".mypy_cache"), "mypy's cache"), (Is(".dmypy.json"), "state of mypy's server")],
        ..judged(Tool::Mypy, "mypy", finds(FindingKind::Types, "mypy"), "mypy-diagnostics.json", BlockOn::ErrorsAlways)
    },
    Row {
        package: Some(Node("eslint")),
        configuration: &["eslint.config.*", ".eslintrc*", ".eslintignore"],
        leftovers: &[(Is(".eslintcache"), "eslint's cache")],
        ..judged(
            Tool::Eslint,
            "eslint",
            FindingFacts { fix_option: Some("--fix"), ..finds(FindingKind::Lint, "ESLint") },
            "eslint-report.json",
            BlockOn::ErrorsOnly,
        )
    },
    Row {
        package: Some(Python("ruff")),
        configuration: &["ruff.toml", ".ruff.toml"],
        leftovers: &[(Is(".ruff_cache"), "ruff's cache")],
        ..judged(
            Tool::Ruff,
            "ruff",
            FindingFacts { fix_option: Some("--fix"), ..finds(FindingKind::Lint, "Ruff") },
            "ruff-report.json",
            BlockOn::ErrorsOnly,
        )
    },
    Row {
        package: Some(Python("flake8")),
        configuration: &[".flake8"],
        ..judged(Tool::Flake8, "flake8", finds(FindingKind::Lint, "Flake8"), "flake8-report.json", BlockOn::ErrorsOnly)
    },
    Row {
        package: Some(Python("pylint")),
        configuration: &[".pylintrc", "pylintrc"],
        ..judged(
            Tool::Pylint,
            "pylint",
            FindingFacts { warnings_exit: WarningsExit::Tells, rules_have_numbers: true, ..finds(FindingKind::Lint, "Pylint") },
            "pylint-report.json",
            BlockOn::ErrorsOnly,
        )
    },
    Row {
        package: Some(Node("prettier")),
        configuration: &[".prettierrc*", ".prettierignore", "prettier.config.*"],
        ..judged(
            Tool::Prettier,
            "prettier",
            FindingFacts { fix_option: Some("--write"), ..finds(FindingKind::Formatting, "Prettier") },
            "prettier-report.json",
            BlockOn::WarnOnly,
        )
    },
    Row {
        allows_report: true,
        package: Some(Python("ty")),
        configuration: &["ty.toml"],
        ..judged(Tool::Ty, "ty", finds(FindingKind::Types, "ty"), "ty-diagnostics.json", BlockOn::ErrorsAlways)
    },
    Row {
        allows_report: true,
        package: Some(Python("pyrefly")),
        configuration: &["pyrefly.toml"],
        ..judged(
            Tool::Pyrefly,
            "pyrefly",
            finds(FindingKind::Types, "Pyrefly"),
            "pyrefly-diagnostics.json",
            BlockOn::ErrorsAlways,
        )
    },
    Row {
        allows_report: true,
        package: Some(Python("pyright")),
        configuration: &["pyrightconfig.json"],
        ..judged(
            Tool::Pyright,
            "pyright",
            finds(FindingKind::Types, "Pyright"),
            "pyright-diagnostics.json",
            BlockOn::ErrorsAlways,
        )
    },
    Row {
        allows_report: true,
        package: Some(Node("oxlint")),
        configuration: &[".oxlintrc.json*", "oxlint.config.*"],
        ..judged(
            Tool::Oxlint,
            "oxlint",
            FindingFacts { fix_option: Some("--fix"), ..finds(FindingKind::Lint, "oxlint") },
            "oxlint-report.json",
            BlockOn::ErrorsOnly,
        )
    },
    Row {
        allows_report: true,
        package: Some(Node("@biomejs/biome")),
        configuration: &["biome.json", "biome.jsonc"],
        ..judged(
            Tool::Biome,
            "biome",
            FindingFacts { fix_option: Some("--write"), ..finds(FindingKind::Lint, "Biome") },
            "biome-report.json",
            BlockOn::ErrorsOnly,
        )
    },
    Row {
        allows_report: true,
        calls: &[&["cargo", "clippy"]],
        configuration: &["clippy.toml", ".clippy.toml", "rust-toolchain", "rust-toolchain.toml"],
        ..judged(
            Tool::Clippy,
            "clippy",
            FindingFacts { fix_option: Some("--fix"), ..finds(FindingKind::Lint, "Clippy") },
            "clippy-report.json",
            BlockOn::ErrorsOnly,
        )
    },
    Row {
        allows_report: true,
        package: Some(Python("pre-commit")),
        configuration: &[".pre-commit-config.yaml", "prek.toml"],
        ..judged(
            Tool::PreCommit,
            "pre-commit",
            finds(FindingKind::Lint, "pre-commit"),
            "pre-commit-report.json",
            BlockOn::ErrorsOnly,
        )
    },
    Row {
        report_name: "compilation",
        gives_way: true,
        evidence: EvidenceNames { log: "compilation", findings: Some("compilation-diagnostics.json"), tool_report: None },
        ..judged(
            Tool::Compile,
            "compile",
            FindingFacts { blocks_compilation: true, ..finds(FindingKind::Compilation, "Compilation") },
            "compilation-diagnostics.json",
            BlockOn::ErrorsAlways,
        )
    },
    tests(Tool::TestReport, "test-report", "test-report.txt"),
    Row {
        evidence: EvidenceNames {
            log: "finding-report",
            findings: Some("reported-findings.json"),
            tool_report: Some("finding-report.txt"),
        },
        ..judged(
            Tool::FindingReport,
            "finding-report",
            finds(FindingKind::Lint, "Report"),
            "reported-findings.json",
            BlockOn::ErrorsOnly,
        )
    },
    Row {
        package: Some(Node("mocha")),
        one_test: Some(OneTest::FileAndName { option: "--grep", is_outermost: false }),
        configuration: &[".mocharc*"],
        allows_report: true,
        ..tests(Tool::Mocha, "mocha", "mocha-report.json")
    },
    Row {
        package: Some(Node("@playwright/test")),
        one_test: Some(OneTest::FileAndName { option: "--grep", is_outermost: false }),
        calls: &[&["playwright", "test"]],
        configuration: &["playwright.config.*"],
        allows_report: true,
        ..tests(Tool::Playwright, "playwright", "playwright-report.json")
    },
    Row {
        one_test: Some(OneTest::FileAndName { option: "--test-name-pattern", is_outermost: false }),
        calls: &[&["bun", "test"]],
        configuration: &["bunfig.toml"],
        allows_report: true,
        ..tests(Tool::BunTest, "bun-test", "bun-test-report.xml")
    },
    Row {
        one_test: Some(OneTest::FileAndName { option: "--filter", is_outermost: true }),
        calls: &[&["deno", "test"]],
        configuration: &["deno.json", "deno.jsonc", "deno.lock"],
        allows_report: true,
        ..tests(Tool::DenoTest, "deno-test", "deno-test-report.xml")
    },
    Row {
        package: Some(Node("ava")),
        configuration: &["ava.config.*"],
        evidence: EvidenceNames { log: "ava", findings: Some("test-results.json"), tool_report: None },
        allows_report: true,
        ..tests(Tool::Ava, "ava", "")
    },
    Row {
        judged_by: JudgedBy::Grammar,
        does: "asks for a review",
        evidence: EvidenceNames { log: "review", findings: Some("review-verdict.json"), tool_report: Some("review-prompt.txt") },
        ..row(Tool::Review, "review", ToolClass::Generic)
    },
    Row {
        judged_by: JudgedBy::ExitCode,
        gives_way: true,
        evidence: EvidenceNames { log: "terminal-output", findings: None, tool_report: None },
        ..row(Tool::Generic, "generic", ToolClass::Generic)
    },
];

/// Checks at compile time that the rows have the order of the enum, because `row` uses the variant as index.
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

    pub(super) const fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// Returns whether proctor knows the tool. Of any other command only the exit code is known.
    pub fn is_known(self) -> bool {
        self != Self::Generic
    }

    /// Returns whether the check's `report` makes the tool, so that `tool` in `proctor.toml` cannot name it.
    pub const fn is_of_report(self) -> bool {
        matches!(self, Self::TestReport | Self::FindingReport)
    }

    /// Returns the name of an action that runs the tool, for actions that the user did not name.
    pub fn action_name(self) -> &'static str {
        match self.row().judged_by {
            JudgedBy::ExitCode => "command",
            JudgedBy::Output | JudgedBy::Grammar => self.word(),
        }
    }

    /// Returns the facts about a validation tool's findings; `None` for other tools.
    pub fn findings(self) -> Option<&'static FindingFacts> {
        self.row().findings.as_ref()
    }

    /// Returns the names of the evidence files of actions that run the tool.
    pub fn evidence_names(self) -> EvidenceNames {
        self.row().evidence
    }

    /// Returns the policy category of the tool; `None` if no policy applies to the tool.
    pub fn policy_category(self) -> Option<PolicyCategory> {
        self.row().policy.map(|(category, _)| category)
    }

    /// Returns the default strategy for the tool's findings (C20); `None` if no policy applies to the tool.
    pub fn default_strategy(self) -> Option<BlockOn> {
        self.row().policy.map(|(_, block_on)| block_on)
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
            assert_eq!(tool.findings().is_some(), judged, "{tool:?}");
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
