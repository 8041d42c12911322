//! Reads the JSON that Jest (`--json`) and Vitest (`--reporter=json`) write. Only the fields that are used are
//! declared.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;

use proctor_wire::wire;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use proctor_model::{LISTED_TESTS, TestOutcome};

/// The largest report that is read (64 MiB).
pub(super) const MAX_BYTES: usize = 64 * 1024 * 1024;
/// The limit for the titles and messages of all tests together that are kept, in bytes.
pub(super) const KEPT_TEXT: usize = 8 * 1024 * 1024;

pub(super) const FAILED: &str = "failed";
/// The status of a test that is only planned.
const PLANNED: &str = "todo";

/// The outcome for each test status. A status that is not listed counts as failed.
const OUTCOMES: &[(&str, TestOutcome)] = &[
    ("passed", TestOutcome::Passed),
    (FAILED, TestOutcome::Failed),
    ("pending", TestOutcome::Skipped),
    ("skipped", TestOutcome::Skipped),
    (PLANNED, TestOutcome::Skipped),
    ("disabled", TestOutcome::Skipped),
];

/// What a report says of the whole run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReportTotals {
    /// The number of tests according to the tool. It is only compared with the listed tests and never shown (E5).
    pub(super) num_total_tests: u64,
    /// The number of failed tests according to the tool, also only compared with the listed tests. The tool's other
    /// counts are not read, because Vitest 1 counts skipped tests as passed.
    pub(super) num_failed_tests: u64,
    /// Whether the tool considers the run a success. Vitest writes `true` even if an error outside the tests failed the
    /// run, so `true` proves nothing.
    pub(super) success: bool,
    /// Whether the run was interrupted; only Jest writes this.
    pub(super) was_interrupted: bool,
    /// The stored snapshots, with which tests compare values.
    pub(super) snapshots: Snapshots,
}

/// How the stored snapshots stand after the run.
#[wire(Copy, Default, open, read)]
pub(super) struct Snapshots {
    /// How many were stored by this run, so that nothing was compared with them.
    #[serde(default)]
    pub(super) added: u64,
    /// How many belong to no test that ran.
    #[serde(default)]
    pub(super) unchecked: u64,
}

/// One test file, with the results of its tests.
#[wire(inexact, open, read)]
pub(super) struct File {
    /// The file's absolute path.
    pub(super) name: String,
    /// The status of the file: `passed` or `failed`; Jest also writes `focused`, `skipped` and others.
    pub(super) status: String,
    /// All errors of the file as one text.
    #[serde(default)]
    pub(super) message: Option<String>,
    /// The file's tests. Empty if the file could not be loaded.
    pub(super) assertion_results: Assertions,
}

/// The tests of a file. All are counted by their status, and a bounded number is kept.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Assertions {
    /// The first tests of the file, and the first failed ones.
    pub(super) kept: Vec<Assertion>,
    /// How many tests have each outcome.
    pub(super) counts: BTreeMap<TestOutcome, u64>,
    /// Whether a test has the status `failed`.
    pub(super) has_failed: bool,
    /// How many tests are only planned.
    pub(super) todo: u64,
    /// How many times a test was run again, as Jest's `invocations` say it.
    pub(super) reruns: u64,
    /// How many tests passed only when they were run again.
    pub(super) retried: u64,
}

/// One test; the report calls a test an assertion.
#[wire(inexact, open, read)]
pub(super) struct Assertion {
    /// The titles of the enclosing `describe` blocks.
    pub(super) ancestor_titles: Vec<String>,
    /// The test's own title.
    pub(super) title: String,
    /// The status of the test: `passed`, `failed`, `pending`, `skipped`, `todo` or `disabled`.
    pub(super) status: String,
    /// The test's duration in milliseconds.
    #[serde(default)]
    pub(super) duration: Option<f64>,
    /// How often the test was run; only Jest writes this, also where a failed test was repeated.
    #[serde(default)]
    pub(super) invocations: Option<u64>,
    /// The messages of a failed test.
    #[serde(default)]
    pub(super) failure_messages: Option<Vec<String>>,
    /// Where the test stands in its file, if the tool was asked to include this.
    #[serde(default)]
    pub(super) location: Option<Location>,
}

/// A place in the test's file.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub(super) struct Location {
    /// The line, starting at 1.
    pub(super) line: u64,
    /// The column, starting at 1.
    #[serde(default)]
    pub(super) column: Option<u64>,
}

/// Reads a report and passes its test files to `take`, in order. A truncated report is not valid JSON, so a report that
/// can be read is complete. If the report cannot be read, the files that were passed before the error prove nothing.
pub(super) fn read_each(report: impl Read, take: &mut dyn FnMut(File)) -> Result<ReportTotals, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_reader(report);
    let totals = DocumentReader { take }.deserialize(&mut reader)?;
    reader.end()?;
    Ok(totals)
}

/// Reads the outermost object of the report, which describes the whole run, and passes each test file to `take`.
struct DocumentReader<'t> {
    take: &'t mut dyn FnMut(File),
}

impl<'de> DeserializeSeed<'de> for DocumentReader<'_> {
    type Value = ReportTotals;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<ReportTotals, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for DocumentReader<'_> {
    type Value = ReportTotals;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the report of a run")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ReportTotals, A::Error> {
        let (mut total, mut failed, mut success, mut interrupted, mut has_files) = (None, None, None, None, false);
        let mut snapshots = None;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "numTotalTests" => once(&mut total, "numTotalTests", map.next_value()?)?,
                "numFailedTests" => once(&mut failed, "numFailedTests", map.next_value()?)?,
                "success" => once(&mut success, "success", map.next_value()?)?,
                "wasInterrupted" => once(&mut interrupted, "wasInterrupted", map.next_value()?)?,
                "snapshot" => once(&mut snapshots, "snapshot", map.next_value()?)?,
                "testResults" if has_files => return Err(A::Error::duplicate_field("testResults")),
                "testResults" => {
                    has_files = true;
                    map.next_value_seed(FilesReader { take: &mut *self.take })?;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        if !has_files {
            return Err(A::Error::missing_field("testResults"));
        }
        Ok(ReportTotals {
            num_total_tests: total.ok_or_else(|| A::Error::missing_field("numTotalTests"))?,
            num_failed_tests: failed.ok_or_else(|| A::Error::missing_field("numFailedTests"))?,
            success: success.ok_or_else(|| A::Error::missing_field("success"))?,
            was_interrupted: interrupted.unwrap_or_default(),
            snapshots: snapshots.unwrap_or_default(),
        })
    }
}

fn once<T, E: Error>(place: &mut Option<T>, name: &'static str, value: T) -> Result<(), E> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(E::duplicate_field(name)),
    }
}

/// Reads the list of test files and passes each file to `take`.
struct FilesReader<'t> {
    take: &'t mut dyn FnMut(File),
}

impl<'de> DeserializeSeed<'de> for FilesReader<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for FilesReader<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of files")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut files: A) -> Result<(), A::Error> {
        while let Some(file) = files.next_element()? {
            (self.take)(file);
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Assertions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(AssertionsReader)
    }
}

struct AssertionsReader;

impl<'de> Visitor<'de> for AssertionsReader {
    type Value = Assertions;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of tests")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut tests: A) -> Result<Assertions, A::Error> {
        let mut read = Assertions::default();
        let (mut failed, mut text) = (0, 0);
        while let Some(test) = tests.next_element::<Assertion>()? {
            let outcome = test.outcome();
            *read.counts.entry(outcome).or_default() += 1;
            read.has_failed |= test.status == FAILED;
            read.todo += u64::from(test.status == PLANNED);
            read.reruns += test.invocations.unwrap_or_default().saturating_sub(1).max(u64::from(test.is_retried()));
            read.retried += u64::from(test.is_retried());
            let is_failed = outcome == TestOutcome::Failed;
            let length = test.text_length();
            let has_room = if is_failed { failed < LISTED_TESTS } else { read.kept.len() < LISTED_TESTS };
            if has_room && text + length <= KEPT_TEXT {
                failed += usize::from(is_failed);
                text += length;
                read.kept.push(test);
            }
        }
        Ok(read)
    }
}

impl Assertion {
    /// Returns what the test's status means. An unknown status counts as failed.
    pub(super) fn outcome(&self) -> TestOutcome {
        OUTCOMES.iter().find(|(status, _)| *status == self.status).map_or(TestOutcome::Failed, |(_, outcome)| *outcome)
    }

    /// Returns whether the test passed only when it was run again. Vitest keeps the messages of the attempts that failed before.
    pub(super) fn is_retried(&self) -> bool {
        let has_messages = self.failure_messages.as_ref().is_some_and(|all| !all.is_empty());
        self.outcome() == TestOutcome::Passed && (has_messages || self.invocations.is_some_and(|times| times > 1))
    }

    pub(super) fn text_length(&self) -> usize {
        let messages = self.failure_messages.iter().flatten().map(String::len).sum::<usize>();
        self.title.len() + self.ancestor_titles.iter().map(String::len).sum::<usize>() + messages
    }
}
