//! What was read from a tool's output: tests, diagnostics, and the one category code that sums them up.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Why an action ended as it did: one code for each row of table E4 and of the tables like it. Policies depend on this code and
/// never on the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum CategoryCode {
    /// A TEST action passed: it exited with 0, and a fresh, complete report agrees and has at least one passed test (E3).
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
    /// All tests passed, with more warnings than the run allows (pytest's exit code 6).
    MaxWarnings,
    /// The test run was interrupted or cut short.
    Interrupted,
    /// The tool itself failed with an internal error.
    InternalError,
    /// The tool refused its command line or configuration.
    UsageError,
    /// The program, its interpreter or its module was not found.
    ToolNotFound,
    /// The program exists but could not be started.
    NotStarted,
    /// pytest exited with 0, 1, 5 or 6 but left no report that proves it.
    ReportMissing,
    /// The report cannot be parsed.
    ReportUnreadable,
    /// The report itself says that the test run was cut short.
    ReportIncomplete,
    /// Report, counts and exit status contradict each other.
    Inconsistent,
    /// The exit code is not zero although the report is complete and nothing in it failed: a hook raised, or the session timed
    /// out.
    FailedOutsideTests,
    /// The tool does not document its exit code.
    UnknownExit,
    /// A signal that proctor did not send ended it.
    Signalled,
    /// A limit was exceeded.
    TimedOut,
    /// proctor stopped it, because a newer save arrived or the run was interrupted.
    Stopped,
    /// The exit status could not be learnt.
    StatusLost,
    /// A validation tool found errors or warnings; the policy decides.
    Findings,
    /// A validation tool found nothing.
    Clean,
    /// A GENERIC command ended with an expected code.
    ExpectedExit,
    /// A GENERIC command ended with another code.
    UnexpectedExit,
    /// The machine-readable output is larger than the interpreter reads.
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
    /// A file meets the requirement.
    FileValid,
    /// A file is missing, or is of a kind that is not read.
    FileMissing,
    /// A file exists but does not meet the requirement.
    FileInvalid,
    /// The answer to a request meets the requirements.
    AnswerValid,
    /// The answer to a request does not meet the requirements.
    AnswerInvalid,
    /// The answer to a request is 404, which was not expected.
    EndpointMissing,
    /// The answer to a request is a status from 500 to 599, which was not expected.
    ServerError,
    /// No answer to a request came.
    NoAnswer,
    /// A review says an explicit Yes.
    ReviewApproved,
    /// A review says an explicit No or With fixes.
    ReviewRejected,
    /// The review has no verdict, and its retry has none either.
    NoVerdict,
    /// The command names tests that passed before and do not exist any more.
    TestsMissing,
    /// The specification of the action is wrong; nothing was run.
    SpecificationInvalid,
}

/// How one test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TestOutcome {
    Passed,
    /// An assertion failed.
    Failed,
    /// Set-up, tear-down or collection raised.
    Error,
    /// It was skipped or failed as expected.
    Skipped,
}

/// One test in a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TestCase {
    /// The test's name without its class or module.
    pub title: String,
    /// Module and class, as the report gives them; the `describe` blocks of a JavaScript test.
    pub ancestor_titles: Vec<String>,
    /// The full name of the test, as it is used for its failures.
    pub full_name: String,
    /// The test's file, when the report names the file of every test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_file: Option<String>,
    pub status: TestOutcome,
    /// Whether it failed and was expected to fail. Such a test counts as skipped.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub expected_to_fail: bool,
    /// The duration in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<u64>,
    /// The messages of the failure; empty when it passed.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub failure_messages: Vec<String>,
}

/// A test that failed or errored, in the form of seed 004's report.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TestFailure {
    /// The test's full name, for example `tests.test_a.TestX::test_y[1]`.
    pub test_name: String,
    /// The file, if the report or the traceback names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_file: Option<String>,
    /// The first line of the error.
    pub error: String,
    /// The expected value, when the tool prints it in a form that can be read without guessing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// The actual value, read under the same rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received: Option<String>,
    /// The traceback or message text, always whole (E11 shortens excerpts, but no parsed failures).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
    /// The line number in `test_file`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// Counts of tests, from the report's `<testcase>` elements only (E5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TestCounts {
    pub passed: u64,
    /// The number of failures and errors.
    pub failed: u64,
    /// The number of skips and expected failures.
    pub skipped: u64,
}

/// The results in a TEST action's report.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TestResults {
    #[serde(flatten)]
    pub counts: TestCounts,
    /// The number of distinct tests in the report.
    pub total: u64,
    /// The tests that did not pass.
    pub failures: Vec<TestFailure>,
}

/// An error or warning of a validation tool, in one shape for all tools (C69, E16).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostic {
    /// The file; relative to the project when it lies inside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The column, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    /// The last line, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u64>,
    /// The last column, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_column: Option<u64>,
    /// How many characters the finding covers, if the tool says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
    /// The tool's code, for example `TS2345`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The rule, for example `no-unused-vars`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule_id: Option<String>,
    /// `error` or `warning`, after the policy's promotions.
    pub severity: FindingLevel,
    pub message: String,
    /// Whether the tool can fix it automatically; `None` if the tool does not say; the report then leaves the key out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixable: Option<bool>,
    /// The line of source code, if the tool printed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Further places that the tool names for this finding.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub related_information: Vec<RelatedInformation>,
    /// The fix that the tool suggests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<Fix>,
}

/// A further place that a diagnostic points to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RelatedInformation {
    /// The file, if one is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The column, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    pub message: String,
}

/// A fix for a finding, as suggested by the tool.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fix {
    /// The suggestion in words.
    pub suggestion: String,
    /// Whether the tool can apply it automatically.
    pub automated: bool,
}

/// Whether a finding is an error or a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingLevel {
    #[default]
    Error,
    Warning,
}

/// Findings that are counted but not stored, because there are too many.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UnlistedFindings {
    /// The number of findings, by level and by rule or code.
    pub by_rule: BTreeMap<(FindingLevel, Option<String>), UnlistedCount>,
    /// How many files have only findings that are not stored.
    pub files: u64,
}

/// How many findings of one rule are not stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UnlistedCount {
    pub findings: u64,
    /// How many of them the tool says it can fix automatically.
    pub fixable: u64,
}

/// Counts of a tool's diagnostics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiagnosticSummary {
    pub errors: u64,
    pub warnings: u64,
    /// How many the tool can fix automatically, if it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixable: Option<u64>,
    /// The number of files with findings.
    pub total_files: u64,
}

/// The coverage of a test run, read from the report that the check names or from pytest-cov's summary line (E4).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Coverage {
    /// The measured coverage, in per cent.
    pub percent: f64,
    /// The required coverage, in per cent.
    pub required: f64,
}

/// The report file of a tool, as handed to the interpreters: `run/` reads it, `tools/` interprets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolReport {
    /// The tool was not asked for a report.
    NotRequested,
    /// A report was asked for, but the file does not exist.
    Missing,
    /// The file exists but cannot be read safely: it is a link or another special file, too large, or unreadable. The text says
    /// why.
    Refused(String),
    /// The bytes of the file. It did not exist before the action started, so an old report cannot be mistaken for a new one.
    Fresh(Vec<u8>),
}

/// The interpretation of a tool's exit status, output and report. Every judgement is based on it.
#[derive(Debug, Clone, PartialEq)]
pub struct Interpretation {
    /// The one category code that sums it up.
    pub category: CategoryCode,
    /// The explanation for people: what was seen, with names and numbers.
    pub reason: String,
    /// The results of the test report, if one was read.
    pub test_results: Option<TestResults>,
    /// Every test in the report, for the test-results evidence.
    pub cases: Vec<TestCase>,
    /// Errors and warnings before the policy is applied.
    pub diagnostics: Vec<Diagnostic>,
    /// The findings beyond those in `diagnostics`: a tool may report more than are stored.
    pub unlisted: UnlistedFindings,
    /// Exact counts, when output was cut and `diagnostics` may be incomplete.
    pub counts_override: Option<DiagnosticSummary>,
    /// The coverage, if it was measured.
    pub coverage: Option<Coverage>,
    /// Warnings that do not change the result but must be shown: pytest's warning count, XPASS, reruns.
    pub warnings: Vec<String>,
    /// Modules that could not be imported at collection, as the report names them (R7).
    pub missing_modules: Vec<String>,
    /// Whether every collection error is a missing module (R7).
    pub only_missing_modules: bool,
    /// How the report was requested: `argument`, `own` (the command names its own), `inherited` (through the environment).
    pub report_channel: Option<&'static str>,
    /// A more exact name of the error than its category, if there is one: `ECONNREFUSED`.
    pub error_type: Option<String>,
    /// Possible causes, each based on something that was seen; empty if the defaults of the category's row apply.
    pub causes: Vec<String>,
    /// The result of the control (tests that must fail), if the check has one.
    pub control: Option<ControlObservation>,
}

/// The result of a check's control: tests that must fail, run by the same command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ControlObservation {
    /// Whether all of them failed. If not, the runner's other results prove nothing.
    pub held: bool,
    /// What was seen, in words.
    pub reason: String,
}

impl Interpretation {
    /// Returns an interpretation with only a category and a reason.
    pub fn plain(category: CategoryCode, reason: impl Into<String>) -> Self {
        Self {
            category,
            reason: reason.into(),
            test_results: None,
            cases: Vec::new(),
            diagnostics: Vec::new(),
            unlisted: UnlistedFindings::default(),
            counts_override: None,
            coverage: None,
            warnings: Vec::new(),
            missing_modules: Vec::new(),
            only_missing_modules: false,
            report_channel: None,
            error_type: None,
            causes: Vec::new(),
            control: None,
        }
    }
}

impl UnlistedFindings {
    /// The most rules that are counted separately; findings of any further rule are counted without a rule name.
    const MOST_RULES: usize = 10_000;

    pub fn add(&mut self, diagnostic: &Diagnostic) {
        let rule = diagnostic.rule_id.as_ref().or(diagnostic.code.as_ref()).cloned();
        let key = (diagnostic.severity, rule);
        let key = if self.by_rule.len() < Self::MOST_RULES || self.by_rule.contains_key(&key) { key } else { (key.0, None) };
        let count = self.by_rule.entry(key).or_default();
        count.findings += 1;
        count.fixable += u64::from(diagnostic.fixable == Some(true));
    }

    /// Returns the number of findings of a level.
    pub fn count(&self, level: FindingLevel) -> u64 {
        self.by_rule.iter().filter(|((of, _), _)| *of == level).map(|(_, count)| count.findings).sum()
    }
}

impl DiagnosticSummary {
    /// Returns these counts plus those of findings that are not stored.
    pub fn with(self, unlisted: &UnlistedFindings) -> Self {
        let fixable = unlisted.by_rule.values().map(|count| count.fixable).sum::<u64>();
        Self {
            errors: self.errors + unlisted.count(FindingLevel::Error),
            warnings: self.warnings + unlisted.count(FindingLevel::Warning),
            fixable: self.fixable.map(|listed| listed + fixable),
            total_files: self.total_files + unlisted.files,
        }
    }

    /// Counts the diagnostics by level.
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
