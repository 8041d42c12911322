//! Reads JUnit XML of any writer. `junit` reads the structure; this file says what the elements mean.

use std::io::BufRead;

use crate::ansi::strip;
use crate::junit::{Element, MarkKind, read_each};
use crate::places::Place;
use crate::reports::Contents;
use crate::test_run::ReadTest;
use proctor_model::TestOutcome;

/// The words in `status` with which writers (CTest, GoogleTest) say that a test did not run.
const NOT_RUN: &[&str] = &["notrun", "disabled", "skipped", "ignored", "suppressed", "pending"];
/// The words in `status` of a test that passed, if no element says otherwise. A test with any other word has failed.
const PASSED: &[&str] = &["", "run", "passed", "pass", "ok", "success", "successful", "succeeded", "completed", "expected"];

/// Reads a report.
pub(super) fn read(reader: &mut dyn BufRead, place: Place<'_>, contents: &mut Contents) -> Result<(), String> {
    let (mut listed, mut failed) = (0_u64, 0_u64);
    let mut take = |element: Element| {
        listed += 1;
        let outcome = outcome(&element);
        failed += u64::from(matches!(outcome, TestOutcome::Failed | TestOutcome::Error));
        let is_retried = outcome == TestOutcome::Passed && element.marks.iter().any(|mark| mark.kind == MarkKind::Retried);
        let read = test(element, outcome, place);
        contents.facts.further.expected_failures += u64::from(read.expected_to_fail);
        contents.test(outcome, ReadTest { is_retried, ..read });
    };
    let totals = read_each(reader, &mut take).map_err(|error| error.to_string())?;
    let listed = listed + totals.nameless;
    if totals.nameless > 0 {
        contents.ends_early(format!("{} test(s) of the report have no name", totals.nameless));
    }
    if totals.misplaced > 0 {
        contents.contradicts(format!("{} test(s) or failure(s) of it lie outside of a test of a suite", totals.misplaced));
    }
    if totals.claimed_failures > 0 && failed == 0 {
        contents.contradicts(format!("its suites count {} failure(s), but list none", totals.claimed_failures));
    }
    if totals.silent > 0 && listed < totals.claimed_outside {
        contents.contradicts(format!("its suites count {} test(s), but list {listed}", totals.claimed_outside));
    }
    // Some writers count the tests of inner suites in the outer ones too.
    if totals.silent == 0 && listed != totals.claimed && listed != totals.claimed_outside {
        contents.contradicts(format!("its suites count {} test(s), but list {listed}", totals.claimed_outside));
    }
    Ok(())
}

fn outcome(element: &Element) -> TestOutcome {
    let status = element.status.as_deref().unwrap_or_default().to_ascii_lowercase();
    let has = |kind| element.marks.iter().any(|mark| mark.kind == kind);
    if has(MarkKind::Failure) {
        TestOutcome::Failed
    } else if has(MarkKind::Error) {
        TestOutcome::Error
    } else if has(MarkKind::Skipped) || NOT_RUN.contains(&status.as_str()) {
        TestOutcome::Skipped
    } else if PASSED.contains(&status.as_str()) {
        TestOutcome::Passed
    } else {
        TestOutcome::Failed
    }
}

fn test(element: Element, outcome: TestOutcome, place: Place<'_>) -> ReadTest {
    let mark = element.marks.into_iter().find(|mark| mark.kind != MarkKind::Skipped || outcome == TestOutcome::Skipped);
    let expected_to_fail = mark.as_ref().is_some_and(|mark| mark.is_expected && outcome == TestOutcome::Skipped);
    let (error, text) = mark.map_or_else(Default::default, |mark| (mark.message, mark.text));
    let (error, text) = (strip(&error), strip(&text));
    // PHPUnit writes no message, and the name of the test as the first line of the text.
    let own = format!("{}::{}", element.class, element.name);
    let lines = error.lines().chain(text.lines().filter(|line| !line.trim().is_empty() && line.trim() != own));
    let error = lines.map(str::trim).next().unwrap_or_default().to_owned();
    // Some writers give the file as the class, as Deno does.
    let is_file = element.class.starts_with("./");
    let (class, file) = match element.class {
        class if is_file => (String::new(), element.file.or(Some(class))),
        class => (class, element.file),
    };
    let line = file.as_deref().and_then(|file| line_in(&text, file.trim_start_matches("./"))).or(element.line);
    let file = file.map(|file| place.within_project(&file));
    let full_name = [class.as_str(), element.name.as_str()];
    let full_name = full_name.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" > ");
    let message = if text.trim().is_empty() { error.clone() } else { text };
    ReadTest {
        ancestors: Some(class).into_iter().filter(|class| !class.is_empty()).collect(),
        title: element.name,
        full_name,
        file,
        line,
        duration: element.duration,
        message,
        error,
        expected_to_fail,
        ..ReadTest::default()
    }
}

// Returns the line of a file that a failure's text names first: `at a.test.js:5:17`.
fn line_in(text: &str, file: &str) -> Option<u64> {
    let (_, rest) = text.split_once(&format!("{file}:"))?;
    rest.split(|character: char| !character.is_ascii_digit()).next()?.parse().ok()
}
