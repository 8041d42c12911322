//! What is known about tests over many runs: how each ended, which are flaky, which became slower, and how two runs differ.
//!
//! These are the answers of `proctor log`, `history`, `flaky`, `slow` and `diff`, and of the routes of the control socket with the
//! same names. They come from the index of tests, which no signature covers: what a run is held to is in its report.

use std::collections::BTreeMap;
use std::fmt;

use proctor_wire::wire;
use serde::{Deserialize, Serialize};

use crate::{
    CheckCounts, DifferingFile, DurationMs, OverallResult, OverallStatus, PersonAsked, RunId, TaskId, TestCounts, TestOutcome,
    Timestamp, TreeDigest,
};

/// A short name of a test that is the same in every run and in every index: 16 hexadecimal digits, made from the task, the check
/// and the test's own name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TestKey(u64);

/// The error for a text that is not 16 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a test's key: 16 hexadecimal digits")]
pub struct TestKeyError(pub String);

/// A test of a check, as it is named in every run.
#[wire(PartialOrd, Ord, Hash, open, sparse)]
pub struct NamedTest {
    pub key: TestKey,
    pub task: TaskId,
    /// The name of the check that runs the test.
    pub check: String,
    /// The tool's own id of the test, for example `tests/test_a.py::TestX::test_y[1]`.
    pub id: String,
    /// The test's name in the tool's report, if it is another one. Tests of different runs are the same test if this name is.
    pub report_name: Option<String>,
}

/// Whether the evidence of a run is there, so that a result can be proved.
#[wire(Copy, Hash)]
pub enum ProofState {
    /// The run's report and files are in the store.
    Kept,
    /// proctor removed them, as the limits of the project or a person asked. The ledger still has the verdict and the hashes.
    Pruned,
    /// The files are not where proctor put them: another program removed them.
    Missing,
}

/// A run as `proctor log` shows it.
#[wire(inexact, open)]
pub struct LoggedRun {
    pub run_id: RunId,
    pub task: TaskId,
    pub status: OverallStatus,
    /// The verdict; null if the run has none.
    pub result: Option<OverallResult>,
    pub started: Timestamp,
    /// How long the run took, in milliseconds; null if it is not known.
    pub duration: Option<DurationMs>,
    pub tree: Option<TreeDigest>,
    /// How many results make the verdict FAILED.
    pub blocking: u32,
    /// How many checks the plan has, and how many of them the run proved on its own tree; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<CheckCounts>,
    /// How many tests passed, failed and were skipped; null if the run has no test report, or is not in the index of tests.
    pub tests: Option<TestCounts>,
    /// The checks that make the verdict FAILED, by name.
    pub failed_checks: Vec<String>,
    /// The checks that did not succeed, which the policy allows, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warned_checks: Vec<String>,
    /// The first tests that failed, by the tool's own id: at most [`LoggedRun::SHOWN_TESTS`]. Those of checks whose failures the policy
    /// allows are not among them.
    pub failed_tests: Vec<String>,
    /// Whether every failure that made the run red is flaky: on an equal tree, the same test or check passed. Of a run that is not red:
    /// whether any failure of it is.
    pub flaky: bool,
    pub evidence: ProofState,
    /// What the task asks a person since this run. The key is absent for other runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<PersonAsked>,
}

/// The result of a test in one run.
#[wire(open)]
pub struct PastTestResult {
    pub run_id: RunId,
    pub started: Timestamp,
    pub tree: Option<TreeDigest>,
    /// The attempt of the check in this run; the first is 1.
    pub attempt: u32,
    pub outcome: TestOutcome,
    /// How long the test took, in microseconds; null if the tool does not say.
    pub duration_us: Option<u64>,
    /// The first line of the failure.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub message: Option<String>,
    pub evidence: ProofState,
}

/// The last time that a test ended in another way than the time before.
#[wire(open)]
pub struct OutcomeChange {
    /// The first run with the new outcome.
    pub run_id: RunId,
    pub started: Timestamp,
    pub tree: Option<TreeDigest>,
    pub from: TestOutcome,
    pub to: TestOutcome,
}

/// The past of one test.
#[wire(open)]
pub struct TestPast {
    pub test: NamedTest,
    /// How often the test passed, failed and was skipped in the runs that the index has.
    pub counts: TestCounts,
    /// On how many trees the test both passed and failed.
    pub flips_on_equal_trees: u64,
    /// Null if the test always ended in the same way.
    pub last_change: Option<OutcomeChange>,
    /// The newest run that had the test.
    pub last_seen: Option<RunId>,
    /// How many later runs of its check did not have the test: it is gone, or was left out.
    pub runs_without_it: u64,
    /// The middle one of the last durations, in microseconds; null if the tool does not say how long tests take.
    pub typical_duration_us: Option<u64>,
    /// The names that the test had before it was renamed or moved, oldest first.
    #[serde(default)]
    pub former_names: Vec<FormerTestName>,
    /// The newest results, newest first.
    pub results: Vec<PastTestResult>,
}

/// A name that a test had. A test is known again under another name by its source text, and by its file or its title.
#[wire(open)]
pub struct FormerTestName {
    /// The tool's own id of the test at that time.
    pub id: String,
    /// The first run that had it under its next name; null if the index does not have that run any more.
    pub renamed_in: Option<RunId>,
}

/// A test that has another name in the later of two runs.
#[wire(open)]
pub struct RenamedTest {
    pub test: NamedTest,
    /// The tool's own id of the test in the earlier run.
    pub former_id: String,
}

/// A test that passed and failed on equal trees.
#[wire(open, sparse)]
pub struct FlakyTest {
    pub test: NamedTest,
    /// On how many trees the test both passed and failed.
    pub trees: u64,
    /// How often it passed on these trees.
    pub passed: u64,
    /// How often it failed on these trees.
    pub failed: u64,
    /// The newest run on one of these trees in which the test failed.
    pub last_failed: RunId,
    pub last_tree: TreeDigest,
    /// The first line of that failure.
    pub message: Option<String>,
}

/// A test that takes longer than it did, by more than its durations vary.
#[wire(open)]
pub struct SlowerTest {
    pub test: NamedTest,
    /// The middle one of its earlier durations, in microseconds.
    pub before_us: u64,
    /// The middle one of its last durations, in microseconds; in a comparison of two runs, the duration in the later one.
    pub now_us: u64,
    /// The newest run of those that the earlier durations are from.
    pub before_run: RunId,
}

/// A test and how long it takes.
#[wire(open)]
pub struct TimedTest {
    pub test: NamedTest,
    /// The middle one of its last durations, in microseconds.
    pub typical_duration_us: u64,
}

/// The tests that became slower, and those that take the longest.
#[wire(Default, open)]
pub struct SlowTests {
    /// The tests that became slower; those with the largest growth first.
    pub slower: Vec<SlowerTest>,
    /// The tests that take the longest, the slowest first.
    pub slowest: Vec<TimedTest>,
}

/// A test that ended in another way in the later one of two runs, or was only in one of them.
#[wire(open)]
pub struct ComparedTest {
    pub test: NamedTest,
    /// How the test ended in the earlier run; null if that run did not have it.
    pub from: Option<TestOutcome>,
    /// How the test ended in the later run; null if that run did not have it.
    pub to: Option<TestOutcome>,
    /// The first line of its failure in the later run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub message: Option<String>,
}

/// A check that did not end as it did in the earlier one of two runs, or was only in one of them.
#[wire(open)]
pub struct ComparedCheck {
    pub check: String,
    /// The result type in the earlier run; null if the check has no result there.
    pub before: Option<crate::ResultType>,
    /// The result type in the later run; null if the check has no result there.
    pub after: Option<crate::ResultType>,
}

/// How two runs of a project differ. A check that was left out of one of them says nothing about its tests.
#[wire(open)]
pub struct RunComparison {
    pub from: RunId,
    pub to: RunId,
    /// Whether both runs tested the same tree; null if one of the trees is not known.
    pub equal_trees: Option<bool>,
    /// The checks whose results differ.
    pub checks: Vec<ComparedCheck>,
    /// Tests that fail in the later run and did not fail in the earlier one, with new tests that fail.
    pub newly_failing: Vec<ComparedTest>,
    /// Tests that failed in the earlier run and pass in the later one.
    pub mended: Vec<ComparedTest>,
    /// Tests that ended in another way in the later run, and that are in neither of the two lists above: passed and then skipped, say.
    #[serde(default)]
    pub changed: Vec<ComparedTest>,
    /// Tests of the earlier run that the later run does not have.
    pub gone: Vec<ComparedTest>,
    /// Tests of the later run that the earlier run does not have.
    pub new: Vec<ComparedTest>,
    /// Tests that have another name in the later run. They are compared like any other, and are neither gone nor new.
    #[serde(default)]
    pub renamed: Vec<RenamedTest>,
    /// Tests that were slower by more than their durations vary.
    pub slower: Vec<SlowerTest>,
    /// Checks of which not every test was compared: one of the runs has no whole list of their tests.
    #[serde(default)]
    pub not_compared: Vec<String>,
    /// The files in which the trees of both runs differ, by their paths.
    pub changed_files: Vec<DifferingFile>,
    /// Whether these are all. They are not if a run between the two does not say in which files its tree differs from the one before.
    pub are_all_files_known: bool,
}

/// How a test ended in the last runs of its task.
#[wire(open)]
pub struct MatrixTest {
    pub test: NamedTest,
    /// On how many trees the test both passed and failed, within the last 1000 results of its check.
    pub flips_on_equal_trees: u64,
    /// When the first run of the unbroken row began in which it ends as it does now; null if it never ended in another way within these
    /// results.
    pub since: Option<Timestamp>,
    /// The newest of the runs that had the test.
    pub last_run: RunId,
    /// How many of the runs after that one have a whole list of the check's tests, without this test. If it is not 0, the test is gone.
    pub runs_without_it: u64,
    /// A letter for each run: `p` passed, `f` failed, `e` error, `s` skipped, `x` both passed and failed, `.` not in that run.
    pub cells: String,
}

/// A run, as far as its duration and the counts of its tests go.
#[wire(open)]
pub struct TimedRun {
    pub run_id: RunId,
    pub started: Timestamp,
    pub task: TaskId,
    pub result: Option<OverallResult>,
    /// In milliseconds; null if it is not known.
    pub duration_ms: Option<u64>,
    /// How many tests passed; null, as the next two, if the run has no test report.
    pub passed: Option<u64>,
    pub failed: Option<u64>,
    pub skipped: Option<u64>,
}

/// What a check cost in the last runs. Reused results cost nothing and do not count.
#[wire(open)]
pub struct CheckCost {
    pub task: TaskId,
    pub check: String,
    /// How often the check was carried out.
    pub runs: u64,
    pub p50_ms: u64,
    pub p95_ms: u64,
    pub total_ms: u64,
}

/// How long a task stayed red: from the end of the first run that failed to the end of the next that passed.
#[wire(open)]
pub struct TimeToGreen {
    pub task: TaskId,
    pub from: RunId,
    pub to: RunId,
    pub seconds: u64,
}

/// The durations of the last runs.
#[wire(open)]
pub struct RunTrends {
    /// Newest first.
    pub runs: Vec<TimedRun>,
    /// The most expensive first.
    pub checks: Vec<CheckCost>,
    /// Newest first.
    pub time_to_green: Vec<TimeToGreen>,
    /// The middle duration of the whole runs with a verdict, by task, in milliseconds.
    pub p50_ms: BTreeMap<TaskId, u64>,
    /// The duration that 95 of 100 of them did not exceed.
    pub p95_ms: BTreeMap<TaskId, u64>,
}

/// How a check ended in one run, for a row of small blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CheckEnd {
    Passed,
    Failed,
    /// The check did not succeed, and the policy allows that.
    Warned,
    /// The check failed, and passed on an equal tree.
    Flaky,
    /// The run was cut short or moved, or the check could not be carried out, so the result says nothing about a tree.
    Unclear,
}

/// The last runs of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckStreak {
    pub check: String,
    /// The ends of its last runs, oldest first.
    pub ends: Vec<CheckEnd>,
    /// If the check fails now: when the first run of the unbroken row of failures began, and how many runs that row has.
    pub failing: Option<(Timestamp, u64)>,
    /// Whether the row of failures may begin earlier: all results that were read are failures, and there are older ones.
    pub is_failing_longer: bool,
    /// How many of its last runs failed although it passed on an equal tree.
    pub flaky: u64,
}

impl TestKey {
    /// Returns the key with the bits of this number.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    pub fn bits(self) -> u64 {
        self.0
    }
}

impl NamedTest {
    /// Returns whether a word is the whole id of the test, its whole name in the tool's report, or its key.
    pub fn is_named(&self, word: &str) -> bool {
        self.id == word || self.report_name.as_deref() == Some(word) || self.key.to_string() == word
    }
}

impl LoggedRun {
    /// The most failed tests that are named.
    pub const SHOWN_TESTS: usize = 10;
}

impl fmt::Display for TestKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:016x}", self.0)
    }
}

impl From<TestKey> for String {
    fn from(key: TestKey) -> String {
        key.to_string()
    }
}

impl TryFrom<String> for TestKey {
    type Error = TestKeyError;
    fn try_from(text: String) -> Result<Self, TestKeyError> {
        let is_hexadecimal = text.len() == 16 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        match u64::from_str_radix(&text, 16) {
            Ok(bits) if is_hexadecimal => Ok(Self(bits)),
            Ok(_) | Err(_) => Err(TestKeyError(text)),
        }
    }
}

impl TestOutcome {
    /// Returns whether the test failed or could not be carried out.
    pub fn is_failure(self) -> bool {
        match self {
            Self::Failed | Self::Error => true,
            Self::Passed | Self::Skipped => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_written_with_all_its_digits_and_nothing_else_is_read() {
        let key = TestKey::from_bits(0xab);
        assert_eq!(key.to_string(), "00000000000000ab");
        assert_eq!(TestKey::try_from(key.to_string()), Ok(key));
        for wrong in ["", "ab", "00000000000000AB", "+0000000000000ab", "00000000000000abc"] {
            assert!(TestKey::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
    }
}
