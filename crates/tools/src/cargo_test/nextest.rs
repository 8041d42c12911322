//! Reads what cargo-nextest prints on standard error: a line `PASS [   0.004s] shop tests::adds` for each test, the output of the
//! failed ones, and `Summary [   0.251s] 5 tests run: 3 passed, 2 failed, 1 skipped`.
//!
//! nextest also writes JUnit, but only to a path that the project's own configuration names. What it prints needs no configuration.

use std::collections::BTreeSet;

use crate::cargo_test::panics;
use crate::interpret::Exited;
use crate::test_run::{ReadTest, RunFacts, count};
use proctor_model::{TestCounts, TestFailure, TestOutcome};

/// nextest, as people write it.
const NAME: &str = "cargo nextest";

/// nextest's exit code if no test was run.
const NO_TESTS: i32 = 4;

/// nextest's exit code if tests failed.
const TESTS_FAILED: i32 = 100;

/// nextest's exit codes for a wrong command line, configuration or filter.
const REFUSED: &[i32] = &[2, 92, 94, 95, 96, 102];

/// The options with which nextest hands on what the tests print, on standard output.
const NOT_CAPTURED: &[&str] = &["--no-capture", "--nocapture"];

/// The first line of a process with one test, and the beginning of its last one.
const BEGIN: &str = "running 1 test";
const RESULT: &str = "test result: ";

/// The counts of the last summary.
#[derive(Debug, Default, PartialEq, Eq)]
struct Summary {
    ran: u64,
    /// How many tests were to be run; more than `ran` if the run ended early.
    planned: u64,
    passed: u64,
    failed: u64,
    skipped: u64,
    flaky: u64,
}

/// Reads a run of nextest; `None` if the output is not nextest's.
pub(super) fn read(exited: &Exited<'_>) -> Option<RunFacts> {
    let is_nextest = exited.action.command.argv.iter().any(|word| word.ends_with("nextest"))
        || exited.stderr.lines().any(|line| line.trim_start().starts_with("Nextest run ID "));
    if !is_nextest {
        return None;
    }
    let mut facts = RunFacts {
        name: NAME,
        failing_code: if exited.code == NO_TESTS { NO_TESTS } else { TESTS_FAILED },
        advice: "check the filter and the targets of the command",
        ..RunFacts::default()
    };
    let mut summary = None;
    let mut known = BTreeSet::new();
    let mut current: Option<(TestOutcome, ReadTest)> = None;
    for line in exited.stderr.lines() {
        let ends = summary_line(line);
        let status = if ends.is_some() { None } else { status_line(line) };
        if ends.is_some() || status.is_some() || line.starts_with("────") {
            finish(current.take(), exited, &mut facts);
        }
        facts.further.reruns += u64::from(summary.is_none() && is_repeated(line));
        // `FLAKY 2/3 [   0.004s] (2/2) shop tests::sometimes`
        if let Some((_, name)) = line.split_once("] ").filter(|_| summary.is_some() && line.trim_start().starts_with("FLAKY ")) {
            let test_name = name.trim_start_matches(|character| "(/0123456789) ".contains(character)).to_owned();
            facts.run.retried.failures.push(TestFailure { test_name, ..TestFailure::default() });
        }
        summary = ends.or(summary);
        match status {
            Some((outcome, name, duration, word)) if known.insert(name.to_owned()) => {
                current = Some((outcome, of_name(name, duration, word)));
            }
            Some(_) => {}
            None => {
                if let Some((_, test)) = &mut current {
                    test.message.push_str(line.strip_prefix("    ").unwrap_or(line));
                    test.message.push('\n');
                }
            }
        }
    }
    finish(current, exited, &mut facts);
    if REFUSED.contains(&exited.code) {
        facts.refusal = exited.stderr.lines().map(str::trim).find(|line| line.starts_with("error")).map(str::to_owned);
    }
    match summary {
        Some(Summary { ran, planned, passed, failed, skipped, flaky }) => {
            // Tests that a filter left out count as skipped too. Where none ran, they are no tests of the run.
            let skipped = if ran == 0 { 0 } else { skipped };
            let listed = facts.run.counts.failed;
            facts.run.counts = TestCounts { passed, failed: failed.max(listed), skipped };
            if passed + failed != ran {
                facts.contradiction = Some(format!("its summary counts {ran} test(s), but {passed} passed and {failed} failed"));
            } else if listed > failed {
                facts.contradiction = Some(format!("its summary counts {failed} failed test(s), but {listed} are listed"));
            } else if ran < planned {
                let rest = planned - ran;
                facts.warnings.push(format!(
                    "{rest} test(s) were not run, because nextest ends at the first failures without `--no-fail-fast`"
                ));
            }
            facts.run.retried.number = flaky;
            if exited.code == TESTS_FAILED && ran < planned && failed == 0 {
                facts.unfinished = Some(format!("{ran} of {planned} tests ran"));
            }
        }
        None if exited.code == 0 => facts.unfinished = Some("nextest printed no summary".to_owned()),
        None => {}
    }
    if exited.code == 0 && exited.action.command.argv.iter().any(|word| NOT_CAPTURED.contains(&word.as_str())) {
        let lines = || exited.stdout.lines().map(str::trim);
        let begun = lines().filter(|line| *line == BEGIN).count();
        let ended = lines().filter(|line| line.starts_with(RESULT)).count();
        if begun > ended {
            let silent = begun - ended;
            facts.unfinished =
                Some(format!("{silent} process(es) of tests told no result; look for a call of `std::process::exit`"));
        }
    }
    Some(facts)
}

/// Returns whether nextest says by its exit code that there was no test to run.
pub(super) fn found_no_test(facts: &RunFacts, exited: &Exited<'_>) -> bool {
    facts.name == NAME && exited.code == NO_TESTS
}

fn finish(test: Option<(TestOutcome, ReadTest)>, exited: &Exited<'_>, facts: &mut RunFacts) {
    let Some((outcome, mut test)) = test else { return };
    if outcome == TestOutcome::Failed {
        let panic = panics::read(&test.message, exited.place);
        (test.file, test.line) = (panic.file, panic.line);
        if test.error.is_empty() {
            test.error = panic.error;
        }
    } else {
        if ends_itself(&test.message) {
            facts.unfinished = Some(format!(
                "{} passed, but its process told no result; look for a call of `std::process::exit`",
                test.full_name
            ));
        }
        test.message = String::new();
    }
    facts.run.add(outcome, test);
}

fn of_name(name: &str, duration: Option<u64>, word: &str) -> ReadTest {
    let (program, path) = name.split_once(' ').unwrap_or(("", name));
    let mut ancestors: Vec<String> =
        std::iter::once(program).filter(|name| !name.is_empty()).chain(path.split("::")).map(str::to_owned).collect();
    let title = ancestors.pop().unwrap_or_default();
    let error = match word {
        "FAIL" | "PASS" => String::new(),
        "TIMEOUT" => "it did not end in time".to_owned(),
        word => format!("its process ended with {word}"),
    };
    ReadTest { ancestors, title, full_name: name.to_owned(), duration, error, ..ReadTest::default() }
}

/// Returns whether a line says that a test is tried again: `TRY 2 PASS [   0.004s] …`.
fn is_repeated(line: &str) -> bool {
    let number = line.trim_start().strip_prefix("TRY ").and_then(|rest| rest.split(' ').next()).and_then(count);
    number.is_some_and(|number| number > 1)
}

/// Returns whether a process with one test printed its beginning and no result. nextest takes the exit code 0 of such a process for a
/// pass. It prints what a passed test printed only on request (`--success-output`).
fn ends_itself(printed: &str) -> bool {
    let mut lines = printed.lines().map(str::trim).skip_while(|line| *line != BEGIN);
    lines.next().is_some() && !lines.any(|line| line.starts_with(RESULT))
}

/// Reads `PASS [   0.004s] (1/5) shop tests::adds`. Older versions print no numbers in brackets.
fn status_line(line: &str) -> Option<(TestOutcome, &str, Option<u64>, &str)> {
    let (word, rest) = line.split_once(" [")?;
    // The words stand to the right of a column, and what a test printed begins four spaces from the left.
    let word = word.trim();
    let (time, name) = rest.split_once("] ")?;
    let seconds: f64 = time.trim().strip_suffix('s')?.parse().ok()?;
    let name = match name.strip_prefix('(').and_then(|rest| rest.split_once(") ")) {
        Some((numbers, name)) if numbers.contains('/') => name.trim(),
        Some(_) | None => name.trim(),
    };
    let outcome = match word {
        "PASS" | "LEAK" => TestOutcome::Passed,
        "FAIL" | "ABORT" | "TIMEOUT" | "LEAK-FAIL" | "XFAIL" => TestOutcome::Failed,
        word if word.starts_with("SIG") => TestOutcome::Failed,
        _ => return None,
    };
    Some((outcome, name, Some((seconds * 1e6).round() as u64), word))
}

/// Reads `Summary [   0.251s] 3/5 tests run: 2 passed (1 slow, 1 flaky), 1 failed, 1 skipped`.
fn summary_line(line: &str) -> Option<Summary> {
    let (_, rest) = line.trim_start().strip_prefix("Summary [")?.split_once("] ")?;
    let (ran, counts) = rest.split_once(" run: ")?;
    let ran = ran.split(' ').next()?;
    let (ran, planned) = ran.split_once('/').unwrap_or((ran, ran));
    let mut summary = Summary { ran: count(ran)?, planned: count(planned)?, ..Summary::default() };
    for part in counts.split([',', '(', ')']).map(str::trim) {
        let Some((number, word)) = part.split_once(' ') else { continue };
        let Some(number) = count(number) else { continue };
        match word {
            "passed" => summary.passed += number,
            "failed" | "exec failed" | "timed out" => summary.failed += number,
            "skipped" => summary.skipped += number,
            "flaky" => summary.flaky += number,
            _ => {}
        }
    }
    Some(summary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_read_in_all_of_its_forms() {
        for (line, expected) in [
            ("     Summary [   0.006s] 1 test run: 1 passed, 5 skipped", (1, 1, 1, 0, 5, 0)),
            ("     Summary [   0.3s] 3/5 tests run: 2 passed (1 slow, 1 flaky), 1 failed, 1 skipped", (3, 5, 2, 1, 1, 1)),
            ("     Summary [   1.2s] 3 tests run: 1 passed, 1 timed out, 1 exec failed, 0 skipped", (3, 3, 1, 2, 0, 0)),
        ] {
            let Summary { ran, planned, passed, failed, skipped, flaky } = summary_line(line).expect(line);
            assert_eq!((ran, planned, passed, failed, skipped, flaky), expected, "{line}");
        }
        assert_eq!(status_line("        PASS [   0.004s] (1/5) shop tests::adds").map(|found| found.1), Some("shop tests::adds"));
        assert_eq!(
            status_line("     SIGABRT [   0.1s] shop tests::x").map(|found| (found.1, found.3)),
            Some(("shop tests::x", "SIGABRT"))
        );
        assert_eq!(status_line("        SLOW [> 60.000s] shop tests::x"), None);
    }
}
