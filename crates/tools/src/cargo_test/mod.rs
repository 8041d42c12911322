//! Cargo's tests: `cargo test`, and `cargo nextest run`.
//!
//! `libtest` reads what the test harness of Rust prints on standard output, `nextest` what cargo-nextest prints on standard error. Both
//! need no option, so they are read behind a script too. A build that fails is told by the messages of the compiler. The common
//! rules in `test_run` judge.

mod discover;
mod libtest;
mod nextest;
mod panics;
mod shards;

use crate::expectations::{self, Expectations};
use crate::interpret::{Exited, signal_through_wrapper};
use crate::no_work::{self, NoWork};
use crate::option_spelling::subcommand;
use crate::test_run::{RunFacts, first_line, judge};
use crate::{compile, launch_failure, signals};
pub(super) use discover::find;
use proctor_model::{CategoryCode, Diagnostic, FindingLevel, Interpretation, TestFailure};
pub(super) use shards::SHARDING;

/// The options with which Cargo or a program of tests only prints something, or only builds.
pub(super) const NO_WORK: NoWork = NoWork {
    options: &["--no-run", "--help", "-h", "--version", "-V", "--list"],
    after_separator: &["--list", "--help", "-h"],
    names_the_tool: false,
    ..no_work::NONE
};

pub(super) const EXPECTATIONS: Expectations = Expectations {
    begins: &["assertion ", "test did not panic", "panic did not contain expected string", "Test failed: assertion "],
    code: &["assert", "debug_assert", "prop_assert", "panic!"],
    place: panics::raised_at,
    ..expectations::NONE
};

/// The beginnings of messages by which Cargo refuses its command line, or a manifest.
const REFUSALS: &[&str] = &[
    "error: could not find `Cargo.toml`",
    "error: no such command",
    "error: unexpected argument",
    "error: invalid value",
    "error: the argument",
    "error: unrecognized subcommand",
    "error: no test target",
    "error: no bin target",
    "error: no example target",
    "error: no library targets found",
    "error: package ID specification",
    "error: failed to parse manifest",
    "error: failed to load manifest",
    "error: manifest path",
    "error: failed to parse lock file",
    "error: cannot update the lock file",
    "error: the lock file",
    "error: none of the selected packages contains",
    "error: profile `",
];

/// What Cargo says if a part of the code does not compile.
const NOT_COMPILED: &str = "error: could not compile `";

/// Returns whether Cargo runs tests with these arguments.
pub(super) fn runs_tests(_: &str, arguments: &[String]) -> bool {
    match subcommand(arguments) {
        Some("test" | "t") => true,
        Some("nextest") => is_nextest(arguments),
        Some(_) | None => false,
    }
}

fn is_nextest(arguments: &[String]) -> bool {
    let mut words = arguments.iter().skip_while(|word| *word != "nextest").skip(1).filter(|word| !word.starts_with('-'));
    matches!(words.next().map(String::as_str), Some("run" | "r"))
}

/// Judges a run of `cargo test` or `cargo nextest run` that ended by itself.
pub(super) fn interpret(exited: &Exited<'_>) -> Interpretation {
    let of_nextest = nextest::read(exited);
    let mut facts = of_nextest.unwrap_or_else(|| libtest::read(exited));
    facts.code = exited.code;
    facts.accepts_retries = exited.action.retry_attempts > 0;
    if facts.run.total() == 0 {
        if let Some(failure) = launch_failure::find(exited) {
            return failure;
        }
        if let Some(signal) = signals::of_exit_code(exited.code) {
            return signal_through_wrapper(exited.code, signal);
        }
    }
    if exited.code != 0 {
        explain(exited, &mut facts);
    }
    if nextest::found_no_test(&facts, exited) {
        facts.outside = None;
    }
    // A result in the part that was not kept would be missed. A failure shows in the exit code, so only a success needs the whole.
    if exited.code == 0 && !(exited.stdout_is_complete && exited.stderr_is_complete) {
        let reason = "Exit code 0, but the output is too long to be kept whole; let the tests print less, or test in parts";
        facts.unread = Some((CategoryCode::OutputTooLarge, reason.to_owned()));
    }
    judge(facts)
}

// Adds what standard error says about a failure.
fn explain(exited: &Exited<'_>, facts: &mut RunFacts) {
    let errors = || exited.stderr.lines().map(str::trim).filter(|line| line.starts_with("error"));
    if errors().any(|line| line.starts_with(NOT_COMPILED)) {
        facts.unloaded = compile_errors(exited);
    }
    facts.refusal = errors().find(|line| REFUSALS.iter().any(|words| line.starts_with(words))).map(str::to_owned);
    let signal = exited.stderr.lines().map(str::trim).find(|line| line.contains("(signal: ") && line.ends_with(')'));
    let overflow = exited.stderr.lines().map(str::trim).find(|line| line.contains("has overflowed its stack"));
    facts.signal = signal.map(|signal| overflow.map_or_else(|| signal.to_owned(), |overflow| format!("{overflow}; {signal}")));
    let outside = overflow.or_else(|| errors().next()).map(str::to_owned);
    facts.outside = facts.outside.take().or(outside);
}

// Returns the errors of the compiler. Where none of them has a place, such as a linker's, Cargo's own line counts.
fn compile_errors(exited: &Exited<'_>) -> Vec<TestFailure> {
    let found = compile::diagnostics(exited).into_iter().filter(|found| found.severity == FindingLevel::Error);
    let of_error = |found: Diagnostic| {
        let code = found.code.as_ref().map_or_else(String::new, |code| format!(" ({code})"));
        let line = found.line.map_or_else(String::new, |line| format!(":{line}"));
        TestFailure {
            test_name: format!("{}{line}", found.file.as_deref().unwrap_or("the code")),
            test_file: found.file,
            line: found.line,
            error: format!("{}{code}", first_line(&found.message)),
            ..TestFailure::default()
        }
    };
    let errors: Vec<TestFailure> = found.map(of_error).collect();
    if !errors.is_empty() {
        return errors;
    }
    let lines = || exited.stderr.lines().map(str::trim);
    let package = lines().find_map(|line| line.strip_prefix(NOT_COMPILED)?.split('`').next());
    let error = lines().find(|line| line.starts_with("error")).unwrap_or_default();
    vec![TestFailure { test_name: package.unwrap_or("the code").to_owned(), error: error.to_owned(), ..TestFailure::default() }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Returned;
    use proctor_model::Tool;

    const PASSED: &str = "\nrunning 1 test\ntest tests::adds ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; \
         0 filtered out; finished in 0.00s\n";

    fn category(command: &str, code: i32, stdout: &str, stderr: &str) -> CategoryCode {
        Returned::exited(Tool::CargoTest, command, code).saying(stdout, stderr).interpret().category
    }

    #[test]
    fn only_a_result_that_was_told_and_kept_is_a_success() {
        use CategoryCode::{
            Inconsistent, NoTestsCollected, OutputTooLarge, ReportIncomplete, Signalled, TestsPassed, ToolNotFound,
        };
        for (code, stdout, expected) in [
            (0, PASSED.to_owned(), TestsPassed),
            (0, String::new(), NoTestsCollected),
            (0, PASSED.replace("test result", "result"), ReportIncomplete),
            (0, PASSED.replace("1 passed", "2 passed"), ReportIncomplete),
            (0, PASSED.replace("1 passed; 0 failed", "0 passed; 1 failed"), Inconsistent),
            (0, format!("\nrunning 2 tests\n{PASSED}"), ReportIncomplete),
            (0, PASSED.replace("1 passed", "18446744073709551615 passed"), ReportIncomplete),
            (127, String::new(), ToolNotFound),
            (137, String::new(), Signalled),
        ] {
            assert_eq!(category("cargo test", code, &stdout, ""), expected, "{code} {stdout}");
        }
        let mut cut = Returned::exited(Tool::CargoTest, "cargo test", 0).saying(PASSED, "");
        cut.stdout.total += 1;
        assert_eq!(cut.interpret().category, OutputTooLarge);
    }

    #[test]
    fn a_summary_of_nextest_that_adds_up_to_something_else_is_no_success() {
        let stderr = |counts: &str| {
            format!("        PASS [   0.004s] (1/1) shop tests::adds\n     Summary [   0.006s] 1 test run: {counts}\n")
        };
        for (counts, expected) in [
            ("1 passed, 0 skipped", CategoryCode::TestsPassed),
            ("2 passed, 0 skipped", CategoryCode::Inconsistent),
            ("0 passed, 1 failed", CategoryCode::Inconsistent),
            ("nothing", CategoryCode::Inconsistent),
        ] {
            assert_eq!(category("cargo nextest run", 0, "", &stderr(counts)), expected, "{counts}");
        }
        assert_eq!(category("cargo nextest run", 0, "", ""), CategoryCode::ReportIncomplete);
    }
}
