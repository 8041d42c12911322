//! Cargo's tests: `cargo test`, and `cargo nextest run`.
//!
//! `libtest` reads what the test harness of Rust prints on standard output, `nextest` what cargo-nextest prints on standard error. Both
//! need no option, so they are read behind a script too. A build that fails is told by the messages of the compiler. The common
//! rules in `test_run` judge.

mod discover;
mod libtest;
mod nextest;
mod panics;

use crate::model::{FindingLevel, Interpretation};
use crate::tools::interpret::{Exited, signal_through_wrapper};
use crate::tools::no_work::{self, NoWork};
use crate::tools::subcommands::subcommand;
use crate::tools::test_run::{RunFacts, Unloaded, first_line, judge};
use crate::tools::{compile, launch_failure, signals};
pub(super) use discover::find;

/// The options with which Cargo or a program of tests only prints something, or only builds.
pub(super) const NO_WORK: NoWork = NoWork {
    options: &["--no-run", "--help", "-h", "--version", "-V", "--list"],
    after_separator: &["--list", "--help", "-h"],
    names_the_tool: false,
    ..no_work::NONE
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
fn compile_errors(exited: &Exited<'_>) -> Vec<Unloaded> {
    let found = compile::diagnostics(exited).into_iter().filter(|found| found.severity == FindingLevel::Error);
    let of_error = |found: crate::model::Diagnostic| {
        let code = found.code.as_ref().map_or_else(String::new, |code| format!(" ({code})"));
        let line = found.line.map_or_else(String::new, |line| format!(":{line}"));
        Unloaded {
            name: format!("{}{line}", found.file.as_deref().unwrap_or("the code")),
            file: found.file,
            line: found.line,
            error: format!("{}{code}", first_line(&found.message)),
            message: String::new(),
        }
    };
    let errors: Vec<Unloaded> = found.map(of_error).collect();
    if !errors.is_empty() {
        return errors;
    }
    let lines = || exited.stderr.lines().map(str::trim);
    let package = lines().find_map(|line| line.strip_prefix(NOT_COMPILED)?.split('`').next());
    let error = lines().find(|line| line.starts_with("error")).unwrap_or_default();
    vec![Unloaded {
        name: package.unwrap_or("the code").to_owned(),
        file: None,
        line: None,
        error: error.to_owned(),
        message: String::new(),
    }]
}
