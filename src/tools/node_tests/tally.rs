//! Counts a report's tests by outcome, and the test files that failed as a whole.

use crate::model::{TestCounts, TestOutcome};
use crate::tools::ansi::strip;
use crate::tools::node_tests::report::{Document, File};
use crate::tools::places::Place;

const FAILED: &str = "failed";

/// The outcome for each test status. A status that is not listed counts as failed.
const OUTCOMES: &[(&str, TestOutcome)] = &[
    ("passed", TestOutcome::Passed),
    (FAILED, TestOutcome::Failed),
    ("pending", TestOutcome::Skipped),
    ("skipped", TestOutcome::Skipped),
    ("todo", TestOutcome::Skipped),
    ("disabled", TestOutcome::Skipped),
];

/// Jest's status of a file in which only selected tests ran.
const FOCUSED: &str = "focused";

/// The tests and counts of a report.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Tally {
    /// The tests of the report, in its order.
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
    focused: bool,
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
    /// The test's duration in milliseconds; `None` if the report has none.
    pub(super) duration: Option<u64>,
    /// The messages of a failed test, without terminal control sequences.
    pub(super) messages: Vec<String>,
    /// The line of the test, if the report contains it.
    pub(super) line: Option<u64>,
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
    /// Counts the tests of a report.
    pub(super) fn of(document: Document, place: Place<'_>) -> Self {
        let mut tally = Self { success: document.success, interrupted: document.was_interrupted, ..Self::default() };
        for file in document.test_results {
            tally.add(file, place);
        }
        let count = |outcome| tally.tests.iter().filter(|test| test.outcome == outcome).count() as u64;
        let failed = count(TestOutcome::Failed);
        tally.agrees = (tally.total(), failed) == (document.num_total_tests, document.num_failed_tests);
        tally.counts = TestCounts {
            passed: count(TestOutcome::Passed),
            failed: failed + tally.broken.len() as u64,
            skipped: count(TestOutcome::Skipped),
        };
        tally
    }

    fn add(&mut self, file: File, place: Place<'_>) {
        let path = place.within_project(&file.name);
        let any_failed = file.assertion_results.iter().any(|test| test.status == FAILED);
        self.focused |= file.status == FOCUSED;
        if file.status == FAILED && !any_failed {
            let message = strip(file.message.as_deref().unwrap_or_default());
            let was_loaded = !file.assertion_results.is_empty();
            self.broken.push(BrokenFile { file: path.clone(), message, was_loaded });
        }
        let tests = file.assertion_results.into_iter().map(|test| {
            let known = OUTCOMES.iter().find(|(status, _)| *status == test.status);
            let duration = test.duration.filter(|duration| duration.is_finite() && (0.0..1e15).contains(duration));
            Test {
                file: path.clone(),
                ancestors: test.ancestor_titles.into_iter().filter(|title| !title.is_empty()).collect(),
                title: test.title,
                outcome: known.map_or(TestOutcome::Failed, |(_, outcome)| *outcome),
                duration: duration.map(|duration| duration.round() as u64),
                messages: test.failure_messages.unwrap_or_default().iter().map(|message| strip(message)).collect(),
                line: test.location.map(|location| location.line).filter(|line| *line > 0),
            }
        });
        self.tests.extend(tests);
    }

    /// Returns the number of tests that the report lists. A broken file adds none.
    pub(super) fn total(&self) -> u64 {
        self.tests.len() as u64
    }

    /// Returns the failed tests, without the files that failed as a whole.
    pub(super) fn failed(&self) -> impl Iterator<Item = &Test> {
        self.tests.iter().filter(|test| test.outcome == TestOutcome::Failed)
    }

    /// Returns whether the only failures are files that could not be loaded.
    pub(super) fn has_only_unloaded_files(&self) -> bool {
        !self.broken.is_empty() && self.failed().next().is_none() && self.broken.iter().all(|file| !file.was_loaded)
    }

    /// Returns whether the report says that `.only` excluded some tests. Vitest's report never says so.
    pub(super) fn is_narrowed(&self) -> bool {
        self.focused && self.counts.skipped > 0
    }
}
