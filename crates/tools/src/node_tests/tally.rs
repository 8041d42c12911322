//! Counts a report's tests by outcome, and the test files that failed as a whole.

use std::collections::BTreeMap;
use std::io::Read;

use crate::ansi::strip;
use crate::node_tests::report::{self, FAILED, File, KEPT_TEXT, Snapshots};
use crate::places::Place;
use proctor_model::{LISTED_TESTS, TestCounts, TestOutcome};

/// Jest's status of a file in which only selected tests ran.
const FOCUSED: &str = "focused";

/// The tests and counts of a report.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Tally {
    /// The tests that are kept, in the report's order: the first ones, and the failed ones.
    pub(super) tests: Vec<Test>,
    /// The files that failed although none of their tests failed: the file could not be loaded, or a hook threw an
    /// error.
    pub(super) broken: Vec<BrokenFile>,
    /// The counts of tests. A broken file counts as one failure, just as pytest counts a module that cannot be
    /// collected.
    pub(super) counts: TestCounts,
    /// Whether the report's own counts of tests and of failures match its list of tests.
    pub(super) agrees: bool,
    /// Whether the tool considers the run a success. For Vitest, `true` proves nothing: it ignores errors outside the
    /// tests.
    pub(super) success: bool,
    /// Whether the report says that the run was interrupted.
    pub(super) interrupted: bool,
    /// How many of the skipped tests are only planned.
    pub(super) todo: u64,
    /// How many times a test was run again.
    pub(super) reruns: u64,
    /// How many tests passed only when they were run again.
    pub(super) retried: u64,
    /// The stored snapshots, with which tests compare values.
    pub(super) snapshots: Snapshots,
    focused: bool,
    /// How many tests have each outcome, whether they are kept or not.
    outcomes: BTreeMap<TestOutcome, u64>,
    /// The number of files that failed as a whole, whether they are kept or not.
    broken_files: u64,
    /// How many of the files that failed as a whole were loaded.
    loaded_broken_files: u64,
    kept_failed: usize,
    /// How many bytes of titles and messages are kept.
    text: usize,
}

/// One test of the report, with its status translated into an outcome.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Test {
    /// The file, relative to the project.
    pub(super) file: String,
    /// The titles of the enclosing `describe` blocks.
    pub(super) ancestors: Vec<String>,
    /// The test's own title.
    pub(super) title: String,
    pub(super) outcome: TestOutcome,
    /// Whether it passed only when it was run again.
    pub(super) is_retried: bool,
    /// The test's duration in microseconds; `None` if the report has none.
    pub(super) duration: Option<u64>,
    /// The messages of a failed test, without terminal control sequences.
    pub(super) messages: Vec<String>,
    /// The line of the test, if the report contains it.
    pub(super) line: Option<u64>,
    /// The column in that line.
    pub(super) column: Option<u64>,
}

/// A test file that failed as a whole.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BrokenFile {
    /// The file's path relative to the project.
    pub(super) file: String,
    /// The error message, without terminal control sequences.
    pub(super) message: String,
    /// Whether the report lists any test of the file. If it does, the file was loaded, and a hook threw an error.
    pub(super) was_loaded: bool,
}

impl Tally {
    /// Reads a report and counts its tests.
    pub(super) fn read(report: impl Read, place: Place<'_>) -> Result<Self, serde_json::Error> {
        let mut tally = Self::default();
        let totals = report::read_each(report, &mut |file| tally.add(file, place))?;
        tally.success = totals.success;
        tally.interrupted = totals.was_interrupted;
        tally.snapshots = totals.snapshots;
        let count = |outcome| tally.outcomes.get(&outcome).copied().unwrap_or_default();
        let failed = count(TestOutcome::Failed);
        tally.agrees = (tally.total(), failed) == (totals.num_total_tests, totals.num_failed_tests);
        tally.counts = TestCounts {
            passed: count(TestOutcome::Passed),
            failed: failed + tally.broken_files,
            skipped: count(TestOutcome::Skipped),
        };
        Ok(tally)
    }

    fn add(&mut self, file: File, place: Place<'_>) {
        let path = place.within_project(&file.name);
        self.focused |= file.status == FOCUSED;
        for (outcome, count) in &file.assertion_results.counts {
            *self.outcomes.entry(*outcome).or_default() += count;
        }
        self.todo += file.assertion_results.todo;
        self.reruns = self.reruns.saturating_add(file.assertion_results.reruns);
        self.retried += file.assertion_results.retried;
        if file.status == FAILED && !file.assertion_results.has_failed {
            let message = file.message.as_deref().unwrap_or_default();
            let was_loaded = !file.assertion_results.counts.is_empty();
            self.broken_files += 1;
            self.loaded_broken_files += u64::from(was_loaded);
            if self.broken.len() < LISTED_TESTS && self.text + message.len() <= KEPT_TEXT {
                self.text += message.len();
                self.broken.push(BrokenFile { file: path.clone(), message: strip(message), was_loaded });
            }
        }
        for test in file.assertion_results.kept {
            let outcome = test.outcome();
            let is_failed = outcome == TestOutcome::Failed;
            let has_room = if is_failed { self.kept_failed < LISTED_TESTS } else { self.tests.len() < LISTED_TESTS };
            let text = test.text_length();
            if !has_room || self.text + text > KEPT_TEXT {
                continue;
            }
            self.text += text;
            self.kept_failed += usize::from(is_failed);
            let duration = test.duration.filter(|duration| duration.is_finite() && (0.0..1e12).contains(duration));
            self.tests.push(Test {
                is_retried: test.is_retried(),
                file: path.clone(),
                ancestors: test.ancestor_titles.into_iter().filter(|title| !title.is_empty()).collect(),
                title: test.title,
                outcome,
                duration: duration.map(|milliseconds| (milliseconds * 1000.0).round() as u64),
                messages: test.failure_messages.unwrap_or_default().iter().map(|message| strip(message)).collect(),
                line: test.location.map(|location| location.line).filter(|line| *line > 0),
                column: test.location.and_then(|location| location.column).filter(|column| *column > 0),
            });
        }
    }

    /// Returns the number of tests that the report lists. A broken file adds none.
    pub(super) fn total(&self) -> u64 {
        self.outcomes.values().sum()
    }

    /// Returns the failed tests that are kept, without the files that failed as a whole.
    pub(super) fn failed(&self) -> impl Iterator<Item = &Test> {
        self.tests.iter().filter(|test| test.outcome == TestOutcome::Failed)
    }

    /// Returns the number of files that failed as a whole.
    pub(super) fn broken_files(&self) -> u64 {
        self.broken_files
    }

    /// Returns whether the only failures are files that could not be loaded.
    pub(super) fn has_only_unloaded_files(&self) -> bool {
        let failed = self.outcomes.get(&TestOutcome::Failed).copied().unwrap_or_default();
        self.broken_files > 0 && failed == 0 && self.loaded_broken_files == 0
    }

    /// Returns whether Jest says `focused` of a file: all tests passed that ran, and some did not run. Vitest's report never says so.
    pub(super) fn is_narrowed(&self) -> bool {
        self.focused && self.counts.skipped > 0
    }
}
