//! Reads the Common Test Report Format (<https://ctrf.io>).

use std::io::BufRead;

use serde::Deserialize;

use crate::ansi::strip;
use crate::places::Place;
use crate::reports::{Contents, read_json};
use crate::test_run::ReadTest;
use proctor_model::TestOutcome;

#[derive(Deserialize)]
struct Document {
    results: Results,
}

#[derive(Deserialize)]
struct Results {
    summary: Summary,
    tests: Vec<Test>,
}

#[derive(Deserialize)]
struct Summary {
    tests: u64,
    passed: u64,
    failed: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Test {
    name: String,
    status: String,
    /// In milliseconds.
    duration: Option<f64>,
    message: Option<String>,
    trace: Option<String>,
    file_path: Option<String>,
    line: Option<u64>,
    /// How many times the test was tried again.
    retries: Option<u64>,
    /// Whether the test passed only when it was tried again.
    flaky: Option<bool>,
    suite: Option<Suite>,
}

// Older versions of the format have one text.
#[derive(Deserialize)]
#[serde(untagged)]
enum Suite {
    One(String),
    Several(Vec<String>),
}

/// Reads a CTRF report into `contents`.
pub(super) fn read(reader: &mut dyn BufRead, place: Place<'_>, contents: &mut Contents) -> Result<(), String> {
    let Results { summary, tests } = read_json::<Document>(reader)?.results;
    let (mut passed, mut failed) = (0, 0);
    let listed = tests.len() as u64;
    for test in tests {
        let outcome = match test.status.as_str() {
            "passed" => TestOutcome::Passed,
            "failed" => TestOutcome::Failed,
            "skipped" | "pending" => TestOutcome::Skipped,
            // The status `other` is a test that was interrupted, or whose end is not known.
            "other" => {
                contents.ends_early(format!("the test `{}` has the status `other`", test.name));
                TestOutcome::Skipped
            }
            unknown => return Err(format!("it has a test with the status `{unknown}`, which the format does not know")),
        };
        passed += u64::from(outcome == TestOutcome::Passed);
        failed += u64::from(outcome == TestOutcome::Failed);
        contents.facts.further.reruns += test.retries.unwrap_or_default();
        let is_retried = test.flaky == Some(true) && outcome == TestOutcome::Passed;
        contents.test(outcome, ReadTest { is_retried, ..read_test(test, place) });
    }
    if (summary.tests, summary.passed, summary.failed) != (listed, passed, failed) {
        contents.contradicts(format!(
            "its summary is {} test(s), {} passed, {} failed, but it lists {listed}, {passed} and {failed}",
            summary.tests, summary.passed, summary.failed
        ));
    }
    Ok(())
}

fn read_test(test: Test, place: Place<'_>) -> ReadTest {
    let ancestors = match test.suite {
        Some(Suite::One(suite)) => vec![suite],
        Some(Suite::Several(suites)) => suites,
        None => Vec::new(),
    };
    let full_name = ancestors.iter().chain([&test.name]).map(String::as_str).collect::<Vec<_>>().join(" > ");
    let in_microseconds = test.duration.map(|milliseconds| (milliseconds * 1000.0).round());
    let (message, trace) = (strip(&test.message.unwrap_or_default()), strip(&test.trace.unwrap_or_default()));
    ReadTest {
        ancestors,
        title: test.name,
        full_name,
        file: test.file_path.map(|file| place.within_project(&file)),
        line: test.line,
        duration: in_microseconds.filter(|time| (0.0..1e18).contains(time)).map(|time| time as u64),
        error: first_lines_of(&message),
        message: if trace.contains(message.trim()) { trace } else { format!("{message}\n{trace}").trim_end().to_owned() },
        ..ReadTest::default()
    }
}

// Returns the first line of a message, with the next one if it only announces that.
fn first_lines_of(message: &str) -> String {
    let mut lines = message.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    match lines.next().filter(|_| first.ends_with(':')) {
        Some(next) => format!("{first} {next}"),
        None => first.to_owned(),
    }
}
