//! What proctor reads from a tool's output: test results, findings, and the one category code that sums them up.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};

use proctor_wire::wire;

use crate::{FurtherTestCounts, LargeReport, TestBody};

/// The exact reason of an action's result. The design decisions list the codes, for example those of pytest in table
/// E4. Policies depend on this code and never on the tool.
#[wire(Copy, PartialOrd, Ord, Hash, screaming, schema)]
pub enum CategoryCode {
    /// A TEST action passed: it exited with 0, and a fresh, complete report agrees and has at least one passed test
    /// (E3).
    TestsPassed,
    /// Tests ran and some failed or errored.
    TestsFailed,
    /// Tests could not be collected, for example because of a missing module or a syntax error.
    CollectionError,
    /// A `conftest.py` could not be imported.
    ConftestError,
    /// All tests passed, but coverage is below the target.
    CoverageBelowTarget,
    NoTestsCollected,
    /// Tests were collected, but none passed or failed: all were skipped or marked xfail.
    NoTestsExecuted,
    /// All tests passed, but there were more warnings than the command line allows (pytest's exit code 6).
    MaxWarnings,
    /// The test run was interrupted or ended early, before all tests had run.
    Interrupted,
    /// The tool itself failed with an internal error.
    InternalError,
    /// The tool refused its command line or configuration.
    UsageError,
    /// The program, its interpreter or its module was not found.
    ToolNotFound,
    /// The program exists but could not be started.
    NotStarted,
    /// A test runner exited with a code that a finished test run has, but left no test report that proves the code, or
    /// the coverage report that the check names was not written.
    ReportMissing,
    /// The report cannot be parsed.
    ReportUnreadable,
    /// The report itself says that the test run ended before all tests had run.
    ReportIncomplete,
    /// Report, counts and exit status contradict each other, so none of them is trusted.
    Inconsistent,
    /// The exit code is not zero although the report is complete and has no failure, for example because a hook of the
    /// test runner raised an error or the session timed out.
    FailedOutsideTests,
    /// The tool's documentation does not list this exit code.
    UnknownExit,
    /// A signal that proctor did not send ended the process.
    Signalled,
    /// The action exceeded a limit, for example its time limit.
    TimedOut,
    /// proctor stopped the action, because a newer save arrived or the run was interrupted.
    Stopped,
    /// The exit status is not known, because a helper process of proctor died. Such a run has no verdict.
    StatusLost,
    /// A validation tool found errors or warnings; the policy decides whether they make the verdict FAILED.
    Findings,
    /// A validation tool found nothing.
    Clean,
    /// A GENERIC command ended with an exit code that the action expects.
    ExpectedExit,
    /// A GENERIC command ended with an exit code that the action does not expect.
    UnexpectedExit,
    /// The machine-readable output is larger than the limit up to which proctor reads it, so some findings in it may be
    /// unknown.
    OutputTooLarge,
    /// Processes were left behind, and `on_survivors = "fail"` is set.
    SurvivorsLeft,
    /// A service was ready in time and ran until it was stopped.
    Served,
    /// A service ended before it was stopped.
    ServiceEnded,
    /// A service was not ready within its start-up time-out.
    ServiceNotReady,
    /// Another process listens on the port of a service.
    PortHeld,
    /// A checked file meets its requirement.
    FileValid,
    /// A checked file is missing.
    FileMissing,
    /// A checked file does not meet its requirement, or is of a kind that proctor does not read, such as a directory.
    FileInvalid,
    /// A link in the path of a checked file leads out of the project and its environment, so proctor did not look further.
    FileOutside,
    /// A server's answer meets the action's requirements.
    AnswerValid,
    /// A server's answer does not meet the action's requirements.
    AnswerInvalid,
    /// A server answered with status 404, which was not expected.
    EndpointMissing,
    /// A server answered with a status from 500 to 599, which was not expected.
    ServerError,
    /// A request got no answer.
    NoAnswer,
    /// A client (of a database, a container engine or a browser) did what it was asked for, with a result as it must be.
    ResultValid,
    /// A client program did what it was asked for, and the result is not as it must be.
    ResultInvalid,
    /// A client program could not do what it was asked for.
    ClientFailed,
    /// The verdict of a review is an explicit "Yes".
    ReviewApproved,
    /// The verdict of a review is an explicit "No" or "With fixes".
    ReviewRejected,
    /// The reviewer was asked twice, and neither answer has a verdict.
    NoVerdict,
    /// The command names tests that passed before and no longer exist.
    TestsMissing,
    /// The specification of the action is wrong; nothing was run.
    SpecificationInvalid,
    /// The tool ended well and said that it looked at nothing: no file, no test.
    NothingChecked,
    /// A linter or formatter ended well and changed files of its own copy of the project. So the project's files are not as the
    /// tool wants them.
    FilesChanged,
    /// A checked file is on disk, and not in the tree that is judged: it is ignored, or an empty directory.
    FileNotInTree,
}

/// The outcome of one test case in a test report.
#[wire(Copy, PartialOrd, Ord, Hash, lower, named)]
pub enum TestOutcome {
    Passed,
    /// The test itself failed: an assertion in it failed, or it raised an exception.
    Failed,
    /// An exception was raised outside of the test itself: in set-up, tear-down or collection.
    Error,
    /// The test was skipped, or it failed and was expected to fail.
    Skipped,
}

/// One test in a report.
#[wire(open, sparse)]
pub struct TestCase {
    /// The test's name without its class or module.
    pub title: String,
    /// The test's module and class, as the report gives them; for a JavaScript test, its `describe` blocks.
    #[kept]
    pub ancestor_titles: Vec<String>,
    /// The full name of the test. [`TestFailure::test_name`] has the same name.
    pub full_name: String,
    /// The test's name in the tool's report, if it is not `full_name`. [`TestFailure::report_name`] has the same name.
    pub report_name: Option<String>,
    /// The test's file; `None` if the report does not name the file of every test.
    pub test_file: Option<String>,
    pub status: TestOutcome,
    /// Whether the test failed and was expected to fail. Such a test counts as skipped.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub expected_to_fail: bool,
    /// How long the test took, in microseconds. Many tools tell no more than milliseconds.
    pub duration_us: Option<u64>,
    /// The messages of the failure, or why the test was skipped; empty if it passed.
    pub failure_messages: Vec<String>,
    /// The mark of the test's source text; `None` if the text was not found.
    pub body: Option<TestBody>,
}

/// A test that failed or errored, with the keys of the execution report as the design document seed 004 defines it.
#[wire(Default, open, schema, sparse)]
pub struct TestFailure {
    /// The test's full name as the tool itself writes it for people, for example `tests/test_a.py::TestX::test_y[1]`. If that name
    /// cannot be found out, it is the name in the tool's report.
    pub test_name: String,
    /// The test's name in the tool's report, if it is not `test_name`: for pytest the JUnit name
    /// `tests.test_a.TestX::test_y[1]`.
    pub report_name: Option<String>,
    /// The test's file; `None` if neither the report nor the traceback names one.
    pub test_file: Option<String>,
    /// The first line of the error.
    pub error: String,
    /// The expected value; `None` unless the tool prints it in a form that can be read without guessing.
    pub expected: Option<String>,
    /// The actual value; `None` unless the tool prints it in a form that can be read without guessing.
    pub received: Option<String>,
    /// The full traceback or message text. Excerpts of output are shortened in the report, but this text is not (E11).
    pub stack: Option<String>,
    /// The line number in `test_file`.
    pub line: Option<u64>,
    /// The column in that line; `None` if the tool names none.
    pub column: Option<u64>,
}

impl TestCase {
    /// Returns the name by which tests of different runs are compared: the name in the tool's report. Runs of proctor 0.1.0 know
    /// no other name, and it stays the same where the other name cannot be found out.
    pub fn stable_name(&self) -> &str {
        self.report_name.as_deref().unwrap_or(&self.full_name)
    }
}

impl TestFailure {
    /// Returns the name by which tests of different runs are compared, as [`TestCase::stable_name`] does.
    pub fn stable_name(&self) -> &str {
        self.report_name.as_deref().unwrap_or(&self.test_name)
    }
}

/// How many tests passed, failed and were skipped; the tests in the report are counted one by one, and the report's own
/// totals are not used (E5).
#[wire(Copy, Default, open, schema)]
pub struct TestCounts {
    pub passed: u64,
    /// The number of failures and errors.
    pub failed: u64,
    /// The number of skips and expected failures.
    pub skipped: u64,
}

/// What the report of a test runner says about its tests.
#[wire(Default, open, schema)]
pub struct TestResults {
    #[serde(flatten)]
    pub counts: TestCounts,
    #[serde(flatten)]
    pub further: FurtherTestCounts,
    /// The number of distinct tests in the report.
    pub total: u64,
    /// The tests that failed or errored.
    pub failures: Vec<TestFailure>,
}

/// An error or warning of a validation tool, in one shape for all tools (C69, E16).
#[wire(Default, open, schema, sparse)]
pub struct Diagnostic {
    /// The file's path, relative to the project if the file lies inside it.
    pub file: Option<String>,
    /// The line, counted from 1.
    pub line: Option<u64>,
    /// The column, counted from 1.
    pub column: Option<u64>,
    /// The line in which the finding ends, counted from 1; `None` if the tool does not say.
    pub end_line: Option<u64>,
    /// The column at which the finding ends, counted from 1; `None` if the tool does not say.
    pub end_column: Option<u64>,
    /// How many characters the finding covers; `None` if the tool does not say.
    pub length: Option<u64>,
    /// The tool's code for the finding, for example `TS2345`.
    pub code: Option<String>,
    /// The name of the rule that is violated, for example `no-unused-vars`.
    pub rule_id: Option<String>,
    /// The level of the finding, after the policy has promoted warnings to errors.
    pub severity: FindingLevel,
    pub message: String,
    /// Whether the tool can fix the finding automatically; `None` if the tool does not say. The report then leaves the
    /// key out.
    pub fixable: Option<bool>,
    /// The line of source code, as the tool printed it with the finding. For the first finding proctor reads it from the file if
    /// the tool does not print it.
    pub source: Option<String>,
    /// Further places in the code that the tool names for this finding.
    pub related_information: Vec<RelatedInformation>,
    /// The fix that the tool suggests.
    pub fix: Option<Fix>,
}

/// A further place in the code that a finding points to, such as a declaration that conflicts with a use.
#[wire(Default, open, schema, sparse)]
pub struct RelatedInformation {
    pub file: Option<String>,
    /// The line, counted from 1.
    pub line: Option<u64>,
    /// The column, counted from 1.
    pub column: Option<u64>,
    pub message: String,
}

/// A fix that the tool suggests for a finding.
#[wire(Default, open, schema)]
pub struct Fix {
    /// What to change in the code, in words for people.
    pub suggestion: String,
    /// Whether the tool can apply the fix automatically.
    pub automated: bool,
}

/// Whether a finding is an error or a warning.
#[wire(Copy, PartialOrd, Ord, Hash, Default, lower, schema)]
pub enum FindingLevel {
    #[default]
    Error,
    Warning,
}

/// Findings that are counted but not stored one by one, because there are too many.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UnlistedFindings {
    /// The number of findings that are not stored, by level and by rule or code.
    pub by_rule: BTreeMap<(FindingLevel, Option<String>), UnlistedCount>,
    /// How many files have only findings that are not stored.
    pub files: u64,
}

/// How many findings of one rule are not stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UnlistedCount {
    pub findings: u64,
    /// The number of these unlisted findings that the tool, as it says, can fix automatically.
    pub fixable: u64,
}

/// How many findings a tool reported.
#[wire(Copy, Default, open, schema, sparse)]
pub struct DiagnosticSummary {
    pub errors: u64,
    pub warnings: u64,
    /// How many findings the tool can fix automatically; `None` if the tool does not say.
    pub fixable: Option<u64>,
    /// The number of files with findings.
    pub total_files: u64,
}

/// The coverage of a test run, from the report that the check names or from pytest-cov's summary line (E4).
#[wire(Copy, inexact, open, schema)]
pub struct Coverage {
    /// The measured coverage, in per cent.
    pub percent: f64,
    /// The required coverage, in per cent.
    pub required: f64,
}

/// The report file of a tool, before it is parsed: `run/` reads the file, `tools/` interprets its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolReport {
    /// proctor did not ask the tool for a report.
    NotRequested,
    /// proctor asked the tool for a report, but the file does not exist.
    Missing,
    /// The file exists but cannot be read safely: it is a link or another special file, too large, or unreadable. The
    /// text says which.
    Refused(String),
    /// The bytes of the file. The file did not exist before the action started, so it is no report of an earlier run.
    Fresh(Vec<u8>),
    /// A file that, like `Fresh`, did not exist before the action started, and that is too large to be held in memory.
    Large(LargeReport),
}

/// The limit on the tests of one action that a run lists one by one. It applies to the failed tests and to all other
/// tests separately. All tests are counted, also those that are not listed.
pub const LISTED_TESTS: usize = 10_000;

impl ToolReport {
    /// Returns a reader of the report; `None` if no report was requested, or if its file is missing or was refused.
    pub fn reader(&self) -> Option<Box<dyn BufRead + '_>> {
        match self {
            Self::Fresh(bytes) => Some(Box::new(bytes.as_slice())),
            Self::Large(report) => Some(Box::new(BufReader::with_capacity(64 * 1024, report.reader()))),
            Self::NotRequested | Self::Missing | Self::Refused(_) => None,
        }
    }
}

impl UnlistedFindings {
    /// The limit for the number of rules that are counted separately; it bounds the memory. Findings of any further
    /// rule are counted without a rule name.
    const MOST_RULES: usize = 10_000;

    pub fn add(&mut self, diagnostic: &Diagnostic) {
        let rule = diagnostic.rule_id.as_ref().or(diagnostic.code.as_ref()).cloned();
        let key = (diagnostic.severity, rule);
        let key = if self.by_rule.len() < Self::MOST_RULES || self.by_rule.contains_key(&key) { key } else { (key.0, None) };
        let count = self.by_rule.entry(key).or_default();
        count.findings += 1;
        count.fixable += u64::from(diagnostic.fixable == Some(true));
    }

    /// Returns how many findings of one level are not stored.
    pub fn count(&self, level: FindingLevel) -> u64 {
        self.by_rule.iter().filter(|((of, _), _)| *of == level).map(|(_, count)| count.findings).sum()
    }
}

impl DiagnosticSummary {
    /// Returns the sum of these counts and of the counts in `unlisted`.
    pub fn with(self, unlisted: &UnlistedFindings) -> Self {
        let fixable = unlisted.by_rule.values().map(|count| count.fixable).sum::<u64>();
        Self {
            errors: self.errors + unlisted.count(FindingLevel::Error),
            warnings: self.warnings + unlisted.count(FindingLevel::Warning),
            fixable: self.fixable.map(|listed| listed + fixable),
            total_files: self.total_files + unlisted.files,
        }
    }

    /// Counts the findings in `diagnostics`, and the files in which there is at least one finding.
    pub fn of(diagnostics: &[Diagnostic]) -> Self {
        let count = |severity| diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).count() as u64;
        let files: std::collections::BTreeSet<_> =
            diagnostics.iter().filter_map(|diagnostic| diagnostic.file.as_deref()).collect();
        let knows_fixable = diagnostics.iter().any(|diagnostic| diagnostic.fixable.is_some());
        let fixable = diagnostics.iter().filter(|diagnostic| diagnostic.fixable == Some(true)).count() as u64;
        Self {
            errors: count(FindingLevel::Error),
            warnings: count(FindingLevel::Warning),
            fixable: knows_fixable.then_some(fixable),
            total_files: files.len() as u64,
        }
    }
}
