//! One row per tool: how its commands are recognised, how it is discovered in a project, how it is asked for a report,
//! and which function judges its result. Every other file uses these rows and names no tool.

use crate::discover::{Finder, WrittenFinder};
use crate::expectations::Expectations;
use crate::interpret::{Exited, Input, Stopped};
use crate::no_work::{self, NoWork};
use crate::prepare::{Preparation, ReportTask};
use crate::project_files::ProjectFiles;
use crate::shards::Sharding;
use crate::strictness::StrictnessReader;
use crate::{
    asked, cargo_test, compile, counting, eslint, generic, go_test, linter, node_test, node_tests, pytest, reports, triggers, tsc,
};
use proctor_model::{CategoryCode, CommandLine, Interpretation, StopStage, Tool, ToolReport};

/// The functions and facts for one tool.
pub(super) struct ToolRow {
    pub(super) tool: Tool,
    /// The names of the tool's programs. Another tool may share a program and differ by arguments.
    pub(super) programs: &'static [&'static str],
    /// Returns whether a program of the tool does the tool's checks with these arguments. `prettier --write` and `ruff
    /// clean`, for example, check nothing and print no findings. If they were judged by findings, they would always be
    /// a success.
    pub(super) checks: fn(&str, &[String]) -> bool,
    /// The options and subcommands with which the tool ends with exit code 0 and checks nothing.
    pub(super) no_work: NoWork,
    /// Whether the tool reads no arguments from the environment. Behind a wrapper that passes no arguments on, such a
    /// tool cannot be asked for its report.
    pub(super) is_asked_by_argument_only: bool,
    /// The options with which a command itself chooses how the tool reports. Such a tool is not asked for another report.
    pub(super) own_format: &'static [&'static str],
    /// The variable that disables colours in the output. A tool has only one, because node prints a warning if two are
    /// set.
    pub(super) no_colour: Option<(&'static str, &'static str)>,
    /// Adds arguments or variables to a command so that the tool writes a report that proctor can read.
    pub(super) ask: fn(&ReportTask<'_>, &mut Preparation),
    /// The signals that stop the tool, in order. SIGKILL follows after them.
    pub(super) stops: &'static [StopStage],
    /// How the tests are divided among several processes; `None` if they cannot be.
    pub(super) shards: Option<&'static Sharding>,
    /// Judges a run that ended by itself.
    pub(super) interpret: fn(&Exited<'_>, &Input<'_>) -> Interpretation,
    /// Describes the report that the tool wrote while it was being stopped. Most tools write their report only at the
    /// end.
    pub(super) before_the_stop: fn(&ToolReport) -> Option<String>,
    /// Says what had not ended when the tool was stopped because of a limit; `None` if the tool does not say it.
    pub(super) hung: fn(&Stopped<'_>) -> Option<String>,
    /// Searches a project for checks of the tool; `None` if the tool cannot be discovered.
    pub(super) find: Option<Finder>,
    /// Returns the patterns of the files that a command writes into its directory because of the tool's own configuration,
    /// such as coverage reports and the snapshot files of Jest.
    pub(super) written: WrittenFinder,
    /// Returns the limit on warnings that the tool's arguments set. `limit_of_script` reads the limit from the text of
    /// a script (C30).
    pub(super) limit_of_command: fn(&[String]) -> Option<u32>,
    pub(super) limit_of_script: fn(&str) -> Option<u32>,
    /// Returns a remark about a written command that checks less than it seems to. The text is the directory in which the command runs.
    pub(super) remark: fn(&dyn ProjectFiles, &str, &CommandLine) -> Option<String>,
    /// Reads how strictly the tool checks types; `None` if the tool is not a type checker.
    pub(super) strictness: Option<StrictnessReader>,
    /// Globs of the files whose change most likely changes the tool's result. `proctor init` proposes them as `paths`. Empty if
    /// any change may matter.
    pub(super) triggers: &'static [&'static str],
    /// How the tool's messages are read to tell a failed expectation of a test from another error; `None` if they are not.
    pub(super) expectations: Option<Expectations>,
}

const fn row(tool: Tool, programs: &'static [&'static str], interpret: fn(&Exited<'_>, &Input<'_>) -> Interpretation) -> ToolRow {
    ToolRow {
        tool,
        programs,
        checks: |_, _| true,
        no_work: no_work::NONE,
        is_asked_by_argument_only: false,
        own_format: &[],
        no_colour: None,
        ask: |_, _| {},
        stops: &[StopStage::Sigterm],
        shards: None,
        interpret,
        before_the_stop: |_| None,
        hung: |_| None,
        find: None,
        written: |_, _, _| Vec::new(),
        limit_of_command: |_| None,
        limit_of_script: |_| None,
        remark: |_, _, _| None,
        strictness: None,
        triggers: &[],
        expectations: None,
    }
}

const fn counted_row(tool: Tool, programs: &'static [&'static str]) -> ToolRow {
    ToolRow { ask: counting::ask, ..row(tool, programs, |exited, _| counting::interpret(exited)) }
}

// A test runner that `asked` asks for its report.
const fn asked_row(tool: Tool, programs: &'static [&'static str]) -> ToolRow {
    ToolRow {
        ask: asked::ask,
        is_asked_by_argument_only: true,
        triggers: triggers::SCRIPT_TESTS,
        ..row(tool, programs, asked::interpret)
    }
}

/// All tools, in the order of their rows in `model/tool.rs`.
pub(super) static ROWS: [ToolRow; Tool::ALL.len()] = [
    ToolRow {
        ask: pytest::ask,
        // pytest still writes its report after SIGINT. A test in a busy loop does not end by that, and after SIGABRT pytest prints
        // where it is. It needs no variable against colours: without a terminal it prints none, and a variable would also reach the
        // tested code.
        stops: &[StopStage::Sigint, StopStage::Sigabrt],
        before_the_stop: pytest::before_the_stop,
        shards: Some(&pytest::SHARDING),
        hung: pytest::hung,
        find: Some(pytest::find),
        written: pytest::written,
        triggers: triggers::PYTHON_TESTS,
        expectations: Some(pytest::EXPECTATIONS),
        ..row(Tool::Pytest, &["pytest", "py.test"], pytest::interpret)
    },
    ToolRow {
        ask: node_tests::ask,
        is_asked_by_argument_only: true,
        shards: Some(&node_tests::SHARDING),
        hung: node_tests::hung_in_jest,
        find: Some(node_tests::find_jest),
        written: node_tests::written_by_jest,
        triggers: triggers::SCRIPT_TESTS,
        expectations: Some(node_tests::EXPECTATIONS_OF_JEST),
        ..row(Tool::Jest, &["jest", "jest.js"], node_tests::interpret)
    },
    ToolRow {
        checks: node_tests::vitest_tests,
        ask: node_tests::ask,
        is_asked_by_argument_only: true,
        shards: Some(&node_tests::SHARDING),
        hung: node_tests::hung_in_vitest,
        find: Some(node_tests::find_vitest),
        written: node_tests::written_by_vitest,
        triggers: triggers::SCRIPT_TESTS,
        expectations: Some(node_tests::EXPECTATIONS_OF_VITEST),
        ..row(Tool::Vitest, &["vitest", "vitest.mjs"], node_tests::interpret)
    },
    ToolRow {
        checks: node_test::runs_tests,
        no_work: node_test::NO_WORK,
        ask: node_test::ask,
        find: Some(node_test::find),
        triggers: triggers::SCRIPT_TESTS,
        expectations: Some(node_test::EXPECTATIONS),
        ..row(Tool::NodeTest, &["node", "nodejs", "tsx"], node_test::interpret)
    },
    ToolRow {
        checks: cargo_test::runs_tests,
        no_work: cargo_test::NO_WORK,
        shards: Some(&cargo_test::SHARDING),
        find: Some(cargo_test::find),
        triggers: triggers::RUST_TESTS,
        expectations: Some(cargo_test::EXPECTATIONS),
        ..row(Tool::CargoTest, &["cargo", "cargo-nextest"], |exited, _| cargo_test::interpret(exited))
    },
    ToolRow {
        checks: go_test::runs_tests,
        no_work: go_test::NO_WORK,
        ask: go_test::ask,
        is_asked_by_argument_only: true,
        shards: Some(&go_test::SHARDING),
        find: Some(go_test::find),
        triggers: triggers::GO_TESTS,
        expectations: Some(go_test::EXPECTATIONS),
        ..row(Tool::GoTest, &["go"], |exited, _| go_test::interpret(exited))
    },
    ToolRow {
        no_work: tsc::NO_WORK,
        no_colour: Some(("NO_COLOR", "1")),
        ask: tsc::ask,
        find: Some(tsc::find),
        remark: tsc::remark,
        strictness: Some(StrictnessReader { read: tsc::strictness, typed_option: "noImplicitAny" }),
        triggers: triggers::SCRIPT_SOURCES,
        ..row(Tool::Tsc, &["tsc", "tsc.js"], tsc::interpret)
    },
    ToolRow {
        no_work: linter::NO_WORK_OF_MYPY,
        find: Some(linter::find_mypy),
        strictness: Some(StrictnessReader { read: linter::strictness, typed_option: linter::UNTYPED }),
        triggers: triggers::PYTHON_SOURCES,
        ..row(Tool::Mypy, &["mypy"], |exited, _| linter::interpret(exited))
    },
    ToolRow {
        no_work: eslint::NO_WORK,
        no_colour: Some(("FORCE_COLOR", "0")),
        ask: eslint::ask,
        find: Some(eslint::find),
        limit_of_command: eslint::max_warnings,
        limit_of_script: eslint::script_max_warnings,
        triggers: triggers::SCRIPT_SOURCES,
        ..row(Tool::Eslint, &["eslint", "eslint.js"], |exited, _| eslint::interpret(exited))
    },
    ToolRow {
        checks: linter::ruff_checks,
        no_work: linter::NO_WORK_OF_RUFF,
        ask: linter::ask_ruff,
        find: Some(linter::find_ruff),
        triggers: triggers::PYTHON_SOURCES,
        ..row(Tool::Ruff, &["ruff"], |exited, _| linter::interpret(exited))
    },
    ToolRow {
        no_work: linter::NO_WORK_OF_FLAKE8,
        ask: linter::ask_flake8,
        triggers: triggers::PYTHON_SOURCES,
        ..row(Tool::Flake8, &["flake8"], |exited, _| linter::interpret(exited))
    },
    ToolRow {
        no_work: linter::NO_WORK_OF_PYLINT,
        triggers: triggers::PYTHON_SOURCES,
        ..row(Tool::Pylint, &["pylint"], |exited, _| linter::interpret(exited))
    },
    ToolRow {
        checks: linter::prettier_checks,
        no_work: linter::NO_WORK_OF_PRETTIER,
        ..row(Tool::Prettier, &["prettier", "prettier.cjs"], |exited, _| linter::interpret(exited))
    },
    ToolRow {
        checks: counting::is_check_of_types,
        no_work: counting::NO_WORK_OF_TY,
        own_format: counting::FORMATS_OF_TY,
        find: Some(|files, package, findings| counting::find(Tool::Ty, files, package, findings)),
        triggers: triggers::PYTHON_SOURCES,
        ..counted_row(Tool::Ty, &["ty"])
    },
    ToolRow {
        checks: counting::is_check_of_types,
        no_work: counting::NO_WORK_OF_PYREFLY,
        own_format: counting::FORMATS_OF_PYREFLY,
        find: Some(|files, package, findings| counting::find(Tool::Pyrefly, files, package, findings)),
        triggers: triggers::PYTHON_SOURCES,
        ..counted_row(Tool::Pyrefly, &["pyrefly"])
    },
    ToolRow {
        no_work: counting::NO_WORK_OF_PYRIGHT,
        is_asked_by_argument_only: true,
        own_format: counting::FORMATS_OF_PYRIGHT,
        find: Some(|files, package, findings| counting::find(Tool::Pyright, files, package, findings)),
        triggers: triggers::PYTHON_SOURCES,
        ..counted_row(Tool::Pyright, &["pyright", "basedpyright"])
    },
    ToolRow {
        no_work: counting::NO_WORK_OF_OXLINT,
        is_asked_by_argument_only: true,
        own_format: counting::FORMATS_OF_OXLINT,
        find: Some(|files, package, findings| counting::find(Tool::Oxlint, files, package, findings)),
        triggers: triggers::SCRIPT_SOURCES,
        ..counted_row(Tool::Oxlint, &["oxlint"])
    },
    ToolRow {
        checks: counting::biome_checks,
        no_work: counting::NO_WORK_OF_BIOME,
        is_asked_by_argument_only: true,
        own_format: counting::FORMATS_OF_BIOME,
        find: Some(|files, package, findings| counting::find(Tool::Biome, files, package, findings)),
        triggers: triggers::SCRIPT_SOURCES,
        ..counted_row(Tool::Biome, &["biome"])
    },
    ToolRow {
        checks: counting::clippy_checks,
        no_work: counting::NO_WORK_OF_CLIPPY,
        is_asked_by_argument_only: true,
        own_format: counting::FORMATS_OF_CLIPPY,
        find: Some(counting::find_clippy),
        triggers: triggers::RUST_TESTS,
        ..counted_row(Tool::Clippy, &["cargo", "cargo-clippy"])
    },
    ToolRow {
        checks: counting::hooks_run,
        no_work: counting::NO_WORK_OF_PRE_COMMIT,
        own_format: counting::FORMATS_OF_PRE_COMMIT,
        ..counted_row(Tool::PreCommit, &["pre-commit", "pre_commit", "prek"])
    },
    ToolRow { checks: compile::builds, ..row(Tool::Compile, compile::PROGRAMS, |exited, _| compile::interpret(exited)) },
    ToolRow { ask: reports::ask, ..row(Tool::TestReport, &[], reports::interpret) },
    ToolRow { ask: reports::ask, ..row(Tool::FindingReport, &[], reports::interpret) },
    ToolRow {
        no_work: NoWork {
            options: &["--version", "-V", "--help", "-h", "--list-reporters", "--list-interfaces", "--dry-run"],
            subcommands: &["init"],
            ..no_work::NONE
        },
        find: Some(|files, package, findings| asked::find(Tool::Mocha, files, package, findings)),
        ..asked_row(Tool::Mocha, &["mocha", "_mocha", "mocha.js", "mocha.mjs"])
    },
    ToolRow {
        checks: asked::has_subcommand_test,
        no_work: NoWork { options: &["--help", "-h", "--list"], names_the_tool: false, ..no_work::NONE },
        is_asked_by_argument_only: false,
        find: Some(|files, package, findings| asked::find(Tool::Playwright, files, package, findings)),
        shards: Some(&asked::SHARDING),
        expectations: Some(asked::EXPECTATIONS_OF_PLAYWRIGHT),
        ..asked_row(Tool::Playwright, &["playwright"])
    },
    ToolRow {
        checks: asked::has_subcommand_test,
        no_work: NoWork { options: &["--help", "-h", "--version", "-v"], names_the_tool: false, ..no_work::NONE },
        no_colour: Some(("NO_COLOR", "1")),
        find: Some(|files, package, findings| asked::find(Tool::BunTest, files, package, findings)),
        ..asked_row(Tool::BunTest, &["bun"])
    },
    ToolRow {
        checks: asked::has_subcommand_test,
        no_work: NoWork { options: &["--help", "-h", "--version", "-V", "--no-run"], names_the_tool: false, ..no_work::NONE },
        no_colour: Some(("NO_COLOR", "1")),
        find: Some(|files, package, findings| asked::find(Tool::DenoTest, files, package, findings)),
        ..asked_row(Tool::DenoTest, &["deno"])
    },
    ToolRow {
        no_work: NoWork { options: &["--version", "--help"], subcommands: &["reset-cache", "debug"], ..no_work::NONE },
        find: Some(|files, package, findings| asked::find(Tool::Ava, files, package, findings)),
        ..asked_row(Tool::Ava, &["ava"])
    },
    // The answer of a review is read by the grammar in the folder `review/`. This function runs only if the grammar did
    // not read an answer.
    row(Tool::Review, &[], |_, _| Interpretation::plain(CategoryCode::NoVerdict, "The review was not read")),
    row(Tool::Generic, &[], |exited, _| generic::interpret(exited)),
];

/// How programs with subcommands say that there is no such one: the program, its exit code, and the beginning of the line with `%` for
/// the subcommand. Each row was seen on the program itself. With a subcommand that exists the command would be one of a known tool.
pub(super) const REFUSED_SUBCOMMANDS: &[(&str, i32, &str)] =
    &[("ruff", 2, "error: unrecognized subcommand '%'"), ("cargo", 101, "error: no such command: `%`")];

/// [`row_of`] uses the tool's position in the enum `Tool` as the index, so the rows must stand in the enum's order.
const _: () = {
    let mut place = 0;
    while place < ROWS.len() {
        assert!(ROWS[place].tool as usize == place);
        place += 1;
    }
};

/// Returns the tool's program that a name is probably a misspelling of: one letter added, missing or different, or two letters swapped.
/// `None` if a program has this very name, or if only a short program name is near, because many programs have a similar one.
pub(super) fn program_like(name: &str) -> Option<&'static str> {
    let is_slip = |known: &&str| {
        let (mut left, mut right) = (name.as_bytes(), known.as_bytes());
        while let (Some((first, rest)), Some((other, others))) = (left.split_first(), right.split_first())
            && first == other
        {
            (left, right) = (rest, others);
        }
        while let (Some((last, rest)), Some((other, others))) = (left.split_last(), right.split_last())
            && last == other
        {
            (left, right) = (rest, others);
        }
        left.len().max(right.len()) <= 1 || matches!((left, right), ([a, b], [c, d]) if (a, b) == (d, c))
    };
    let mut programs = ROWS.iter().flat_map(|row| row.programs.iter().copied());
    if programs.clone().any(|known| known == name) {
        return None;
    }
    programs.find(|known| known.len() > 3 && is_slip(known))
}

/// Returns the row of a tool, by the tool's position in its enum.
pub(super) fn row_of(tool: Tool) -> &'static ToolRow {
    &ROWS[tool as usize]
}
