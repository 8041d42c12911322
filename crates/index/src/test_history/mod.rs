//! The index of tests: for each sealed run, how its checks and their tests ended and how long they took.
//!
//! # What it owns
//!
//! The tables whose names begin with `history_`. They are filled from sealed evidence, and not from ledger lines: a line does not
//! name the tests of its run. So a rebuilt index has them again only for runs whose evidence is still there. The rows of pruned
//! runs are kept, and readers are told that their evidence is gone.
//!
//! A project's rows take at most [`LARGEST`] bytes. When there are more, the oldest runs go.
//!
//! # What it may not do
//!
//! Decide anything: no seal covers these rows, so another program may have changed them. Verdicts, reuse and approvals never
//! read them.
//!
//! # Where to look
//!
//! * `codec`: the byte forms of lists of tests
//! * `write`: a run becomes rows
//! * `renames`: a test that was renamed keeps its number
//! * `read`: rows become values
//! * `limit`: the oldest rows go, and those of purged runs

mod codec;
mod limit;
mod read;
mod renames;
mod write;

#[cfg(test)]
mod tests;

use crate::tables::Tables;
use crate::{IndexError, StoreIndex};
use proctor_model::{
    CategoryCode, DurationMs, NamedTest, ProjectId, ProofState, ResultType, RunId, Sequence, TaskId, TestBody, TestCounts,
    TestOutcome, Timestamp, TreeDifference,
};

pub use codec::NotPassed;
pub(super) use limit::forget_before;
pub use read::{CheckRun, FormerName, IndexedCheck, NewestTests, PastRun, ProvedRun, Roster, RunChecks};

/// The most bytes that the rows of one project may take.
pub const LARGEST: u64 = 64 * 1024 * 1024;

/// The results of a sealed run, as they are added to the index of tests.
#[derive(Debug, Clone, PartialEq)]
pub struct SealedTests {
    pub run: PastRun,
    /// In which files the tree differs from the tree of the task's last run; `None` if that is not known.
    pub difference: Option<TreeDifference>,
    pub checks: Vec<SealedCheck>,
}

/// The result of one attempt of a check.
#[derive(Debug, Clone, PartialEq)]
pub struct SealedCheck {
    pub name: String,
    /// The number of the attempt; the first is 1.
    pub attempt: u32,
    pub status: ResultType,
    /// Whether the result makes the verdict FAILED.
    pub blocks: bool,
    /// The exact reason of the result; `None` for an earlier attempt, and for a reason that this version does not know.
    pub category: Option<CategoryCode>,
    pub duration: Option<DurationMs>,
    pub counts: Option<TestCounts>,
    /// The earlier run that carried the check out; `None` if this run did.
    pub reused: Option<RunId>,
    /// The tests of the check; `None` if it has no record of tests.
    pub tests: Option<ListedTests>,
}

/// The tests in a record.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedTests {
    pub tests: Vec<ListedTest>,
    /// Whether the record lists every test. A test that is not listed may have been there otherwise.
    pub is_complete: bool,
}

/// One test in a record.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedTest {
    /// The tool's own id of the test.
    pub id: String,
    /// The test's name in the tool's report, if it is not `id`. Tests of different runs are compared by it.
    pub report_name: Option<String>,
    pub outcome: TestOutcome,
    /// How long the test took, in microseconds.
    pub duration_us: Option<u64>,
    /// The first line of the failure.
    pub message: Option<String>,
    /// What says that a test with another name is the same one.
    pub identity: TestIdentity,
}

/// What stays the same when a test is renamed or moved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TestIdentity {
    /// The mark of the test's source text; `None` if it is not known.
    pub body: Option<TestBody>,
    /// The test's file; empty if it is not known.
    pub file: String,
    /// The test's own name, without what encloses it.
    pub title: String,
}

impl ListedTest {
    fn stable_name(&self) -> &str {
        self.report_name.as_deref().unwrap_or(&self.id)
    }
}

impl StoreIndex {
    /// Adds the results of a run to the index of tests. A run that was added before, or that comes before the last added one,
    /// changes nothing.
    ///
    /// # Errors
    /// When the index cannot be written.
    pub fn add_tests(&mut self, project: &ProjectId, run: &SealedTests) -> Result<(), IndexError> {
        self.update(|tables, _| tables.add_tests(project, run, LARGEST))
    }

    /// Notes that every run up to this line was added, or has no evidence.
    ///
    /// # Errors
    /// When the index cannot be written.
    pub fn pass_over_tests(&mut self, project: &ProjectId, sequence: Sequence) -> Result<(), IndexError> {
        self.update(|tables, _| tables.pass_over_tests(project, sequence))
    }

    /// Deletes the rows of a project in the index of tests, so that they are made again from the evidence.
    ///
    /// # Errors
    /// When the index cannot be written.
    pub fn forget_tests(&mut self, project: &ProjectId) -> Result<(), IndexError> {
        self.update(|tables, _| tables.forget_tests(project))
    }
}

/// Defines a method for each query of [`Tables`]. With `query`, the method repairs a damaged index and repeats the query; with
/// `query_tests`, damage is an error, and who asked adds the tests again and asks the whole question once more.
macro_rules! past_questions {
    ($asked:ident: $($(#[$doc:meta])* $name:ident($($argument:ident: $kind:ty),*) -> $answer:ty;)*) => {
        impl StoreIndex {
            $(
                $(#[$doc])*
                ///
                /// # Errors
                /// When the index cannot be read.
                pub fn $name(&self, $($argument: $kind),*) -> Result<$answer, IndexError> {
                    self.$asked(|tables: &Tables| tables.$name($($argument),*))
                }
            )*
        }
    };
}

past_questions! { query:
    /// Returns the ledger lines of sealed runs that are not in the index of tests yet, oldest first, at most `limit`.
    runs_without_tests(project: &ProjectId, limit: u32) -> Vec<Sequence>;
    /// Returns whether the index of tests is about other runs than the ledger, as after a ledger was replaced by an older copy.
    tests_are_foreign(project: &ProjectId) -> bool;
    /// Returns how many bytes the rows of a project in the index of tests take.
    bytes_of_tests(project: &ProjectId) -> u64;
}

past_questions! { query_tests:
    /// Returns the runs in the index of tests, newest first, at most `limit`; with `failed`, those that did not pass or have no verdict.
    /// With `since`, those that began then or later.
    past_runs(project: &ProjectId, task: Option<&TaskId>, failed: bool, since: Option<Timestamp>, limit: u32) -> Vec<ProvedRun>;
    /// Returns the sealed runs that fit, newest first, at most `limit`, as for `past_runs`: each with its ledger line and whether it
    /// was pruned. Runs whose tests are not known are among them.
    fitting_runs(project: &ProjectId, task: Option<&TaskId>, failed: bool, since: Option<Timestamp>, limit: u32) -> Vec<(Sequence, RunId, ProofState)>;
    /// Returns a run in the index of tests by its id.
    past_run(project: &ProjectId, run_id: &RunId) -> Option<ProvedRun>;
    /// Returns the id of the run of a ledger line, if the index of tests has it.
    run_at(project: &ProjectId, sequence: Sequence) -> Option<RunId>;
    /// Returns the checks that have results in the index of tests, sorted by task and name.
    indexed_checks(project: &ProjectId) -> Vec<IndexedCheck>;
    /// Returns every known test of a project, with its number and the number of its check.
    known_tests(project: &ProjectId) -> Vec<(u32, u32, NamedTest)>;
    /// Returns the names that tests had before they were renamed, oldest first.
    former_names(project: &ProjectId) -> Vec<FormerName>;
    /// Returns the results of a check, oldest first: at most the newest `limit`. With `durations`, those of the tests too; with `reused`, results
    /// that were taken from an earlier run too.
    check_runs(project: &ProjectId, check: u32, wanted: NewestTests) -> Vec<CheckRun>;
    /// Returns these lists of tests, by number. A list that is not there is left out.
    rosters(project: &ProjectId, wanted: &std::collections::BTreeSet<u32>) -> std::collections::BTreeMap<u32, Roster>;
    /// Returns the place of a test in each list of a check that has it, by the number of the list.
    places(project: &ProjectId, check: u32, test: u32) -> std::collections::BTreeMap<u32, u32>;
    /// Returns the results of all checks in a run, of every attempt, with the durations of the tests.
    checks_of_run(project: &ProjectId, sequence: Sequence) -> RunChecks;
    /// Returns how many results of a check were not reused and came after a ledger line.
    results_after(project: &ProjectId, check: u32, sequence: Sequence) -> u32;
    /// Returns the durations of the results that were not reused, from this ledger line on: each with the number of its check.
    check_durations(project: &ProjectId, from: Sequence) -> Vec<(u32, DurationMs)>;
    /// Returns the reused results from this ledger line on: line, number of the check, and the run that carried the check out.
    reused_results(project: &ProjectId, from: Sequence) -> Vec<(Sequence, u32, RunId)>;
    /// Returns the first line of a failure by its number.
    failure_message(project: &ProjectId, number: u32) -> Option<String>;
    /// Returns the runs of a task with a verdict after one ledger line, up to another one, each with the files in which its tree differs
    /// from the one before, if they are known.
    tree_differences(project: &ProjectId, task: &TaskId, after: Sequence, to: Sequence) -> Vec<(RunId, Option<TreeDifference>)>;
}
