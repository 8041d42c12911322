//! What a tool's interpreter found in what came back: tests, diagnostics, and the one category they amount to.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Why an action's outcome is what it is: one code per row of E4 and its siblings. Policies and tables look at this, never at a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum CategoryCode {
    /// A TEST action passed: exit 0, a fresh, complete, agreeing report with at least one passed test (E3).
    TestsPassed,
    /// Tests ran and some failed or errored.
    TestsFailed,
    /// Tests could not be collected: a missing module, a syntax error.
    CollectionError,
    /// A `conftest.py` could not be imported.
    ConftestError,
    /// All passed, coverage is below the target.
    CoverageBelowTarget,
    /// Nothing was collected.
    NoTestsCollected,
    /// Something was collected, nothing passed or failed: all skipped or xfailed.
    NoTestsExecuted,
    /// All passed, more warnings than the run allows (pytest's exit 6).
    MaxWarnings,
    /// The test run was interrupted or cut short.
    Interrupted,
    /// The tool failed inside itself.
    InternalError,
    /// The tool refused its command line or configuration.
    UsageError,
    /// The program, its interpreter or its module is not there.
    ToolNotFound,
    /// The program is there and could not be started.
    NotStarted,
    /// Exit 0, 1, 5 or 6 without the report that proves it.
    ReportMissing,
    /// The report does not parse.
    ReportUnreadable,
    /// The report says itself that the run was cut short.
    ReportIncomplete,
    /// Report, counts and exit status contradict each other.
    Inconsistent,
    /// Non-zero with a complete report in which nothing failed: a hook raised, a session time-out.
    FailedOutsideTests,
    /// An exit code the tool does not document.
    UnknownExit,
    /// A signal we did not send ended it.
    Signalled,
    /// A limit was hit.
    TimedOut,
    /// We stopped it: superseded, interrupted.
    Stopped,
    /// Its status could not be learnt.
    StatusLost,
    /// A validation tool found errors or warnings; the policy decides.
    Findings,
    /// A validation tool found nothing.
    Clean,
    /// A GENERIC command ended with an expected code.
    ExpectedExit,
    /// A GENERIC command ended with another code.
    UnexpectedExit,
    /// A machine-readable output is larger than what is interpreted.
    OutputTooLarge,
    /// Processes were left behind and `on_survivors = "fail"`.
    SurvivorsLeft,
    /// A service was ready in time and went on until it was stopped.
    Served,
    /// A service ended before it was stopped.
    ServiceEnded,
    /// A service was not ready within its start-up time-out.
    ServiceNotReady,
    /// Somebody else listens on the port of a service.
    PortHeld,
    /// A file is what it must be.
    FileValid,
    /// A file is not there, or is none that is looked into.
    FileMissing,
    /// A file is there and is not what it must be.
    FileInvalid,
    /// A request was answered as it must be.
    AnswerValid,
    /// A request was answered otherwise.
    AnswerInvalid,
    /// A request was answered with 404, which was not expected.
    EndpointMissing,
    /// A request was answered with 500 to 599, which was not expected.
    ServerError,
    /// A request was not answered.
    NoAnswer,
    /// A review says an explicit Yes.
    ReviewApproved,
    /// A review says an explicit No or With fixes.
    ReviewRejected,
    /// A review has no verdict, and its retry has none either.
    NoVerdict,
    /// The command names tests that passed before and are not there any more.
    TestsMissing,
    /// The specification of the action is wrong; nothing was run.
    SpecificationInvalid,
}

/// How one test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TestOutcome {
    /// It passed.
    Passed,
    /// An assertion failed.
    Failed,
    /// Set-up, tear-down or collection raised.
    Error,
    /// It was skipped or is an expected failure.
    Skipped,
}

/// One test of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TestCase {
    /// The test's name without its class or module.
    pub title: String,
    /// Module and class, as the report gives them; the `describe` blocks of a JavaScript test.
    pub ancestor_titles: Vec<String>,
    /// All of its name, as a failure of it is called.
    pub full_name: String,
    /// Its file, where the report names the files of all tests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_file: Option<String>,
    /// How it ended.
    pub status: TestOutcome,
    /// Whether it failed and was expected to; it counts as skipped.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub expected_to_fail: bool,
    /// How long it took, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<u64>,
    /// What it said when it did not pass.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub failure_messages: Vec<String>,
}

/// A test that failed or errored, as the report of seed 004 shows it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TestFailure {
    /// The test's full name, for example `tests.test_a.TestX::test_y[1]`.
    pub test_name: String,
    /// The file, where the report or the traceback names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_file: Option<String>,
    /// The first line of what went wrong.
    pub error: String,
    /// What was expected, where the tool says so in a form that can be read without guessing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// What was received, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received: Option<String>,
    /// The traceback or message text, never cut inside (E11 bounds excerpts, not parsed failures).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
    /// The line in `test_file`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// Counts of tests, from the report's `<testcase>` elements only (E5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Passed.
    pub passed: u64,
    /// Failures and errors.
    pub failed: u64,
    /// Skips and expected failures.
    pub skipped: u64,
}

/// What a TEST action's report says.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TestResults {
    /// The counts.
    #[serde(flatten)]
    pub counts: Counts,
    /// All distinct tests of the report.
    pub total: u64,
    /// Those that did not pass.
    pub failures: Vec<TestFailure>,
}

/// An error or warning of a validation tool: one shape for all of them (C69, E16).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostic {
    /// The file, relative to the project where it lies in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Column, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    /// Last line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u64>,
    /// Last column, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_column: Option<u64>,
    /// How many characters it covers, where the tool says so.
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
    /// The message.
    pub message: String,
    /// Whether the tool can mend it by itself; unknown: false is not claimed, the key is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixable: Option<bool>,
    /// The source line, where the tool printed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Further places the tool names.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub related_information: Vec<RelatedInformation>,
    /// The tool's own suggestion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<Fix>,
}

/// A further place that belongs to a diagnostic.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RelatedInformation {
    /// The file, where one is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Column, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    /// The message.
    pub message: String,
}

/// A tool's own suggestion how to mend a finding.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fix {
    /// The suggestion in words.
    pub suggestion: String,
    /// Whether the tool can apply it by itself.
    pub automated: bool,
}

/// Whether a finding is an error or a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingLevel {
    /// An error.
    #[default]
    Error,
    /// A warning.
    Warning,
}

/// Findings that are counted and not kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unlisted {
    /// How many there are, by level and by the rule or code that names them.
    pub by_rule: BTreeMap<(FindingLevel, Option<String>), UnlistedCount>,
    /// How many files have only such findings.
    pub files: u64,
}

/// How many findings of one rule are not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UnlistedCount {
    /// All of them.
    pub findings: u64,
    /// Those the tool says it can mend by itself.
    pub fixable: u64,
}

/// Counts over a tool's diagnostics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiagnosticSummary {
    /// Errors.
    pub errors: u64,
    /// Warnings.
    pub warnings: u64,
    /// Those the tool can mend by itself, where it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixable: Option<u64>,
    /// Files with findings.
    pub total_files: u64,
}

/// Coverage of a test run, from the report the check names or pytest-cov's own line (E4).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Coverage {
    /// What was reached, in per cent.
    pub percent: f64,
    /// What is required, in per cent.
    pub required: f64,
}

/// A report file a tool left, as the interpreters receive it: read by `run/`, judged by `tools/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolReport {
    /// No report was asked for.
    NotRequested,
    /// It was asked for and is not there.
    Missing,
    /// It is there and could not be taken safely: not a regular file, a link, too large, unreadable.
    Refused(String),
    /// Its bytes. They did not exist before the action was started.
    Fresh(Vec<u8>),
}

/// What came of reading a tool's exit, output and report: the input of every judgement.
#[derive(Debug, Clone, PartialEq)]
pub struct Interpretation {
    /// The one code it amounts to.
    pub category: CategoryCode,
    /// The sentence for people: what was seen, with names and numbers.
    pub reason: String,
    /// What the test report says, where one was read.
    pub test_results: Option<TestResults>,
    /// Every test of the report, for the test-results evidence.
    pub cases: Vec<TestCase>,
    /// Errors and warnings, before the policy.
    pub diagnostics: Vec<Diagnostic>,
    /// What is known of findings beyond those: a tool may find more than anybody reads.
    pub unlisted: Unlisted,
    /// Whether `diagnostics` may be incomplete although counts are known (output cut).
    pub counts_override: Option<DiagnosticSummary>,
    /// Coverage, where it was read.
    pub coverage: Option<Coverage>,
    /// Warnings that change nothing and must be seen: pytest's warning count, XPASS, reruns.
    pub warnings: Vec<String>,
    /// Modules that could not be imported at collection, as the report names them (R7).
    pub missing_modules: Vec<String>,
    /// Whether every collection error is a missing module (R7).
    pub only_missing_modules: bool,
    /// How the report was asked for: `argument`, `own` (the command names its own), `inherited` (through the environment).
    pub report_channel: Option<&'static str>,
    /// The error's own name, where it has a better one than its category: `ECONNREFUSED`.
    pub error_type: Option<String>,
    /// What may have led to it, made only of what was seen; empty: what the category's row says.
    pub causes: Vec<String>,
    /// What the tests came to that must fail, where the check has such a control.
    pub control: Option<ControlSeen>,
}

/// What the control of a check came to: tests that must fail, run by the same command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ControlSeen {
    /// Whether all of them failed. Where not, what the runner says of other tests proves nothing.
    pub held: bool,
    /// What was seen.
    pub reason: String,
}

impl Interpretation {
    /// Returns an interpretation that is a category and a reason and nothing else.
    pub fn plain(category: CategoryCode, reason: impl Into<String>) -> Self {
        Self {
            category,
            reason: reason.into(),
            test_results: None,
            cases: Vec::new(),
            diagnostics: Vec::new(),
            unlisted: Unlisted::default(),
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

impl Unlisted {
    /// So many rules are told apart; the findings of further ones have none.
    const MOST_RULES: usize = 10_000;

    /// Counts a finding.
    pub fn add(&mut self, diagnostic: &Diagnostic) {
        let rule = diagnostic.rule_id.as_ref().or(diagnostic.code.as_ref()).cloned();
        let key = (diagnostic.severity, rule);
        let key = if self.by_rule.len() < Self::MOST_RULES || self.by_rule.contains_key(&key) { key } else { (key.0, None) };
        let count = self.by_rule.entry(key).or_default();
        count.findings += 1;
        count.fixable += u64::from(diagnostic.fixable == Some(true));
    }

    /// Returns how many there are of a level.
    pub fn count(&self, level: FindingLevel) -> u64 {
        self.by_rule.iter().filter(|((of, _), _)| *of == level).map(|(_, count)| count.findings).sum()
    }
}

impl DiagnosticSummary {
    /// Adds findings that are counted and not kept.
    pub fn with(self, unlisted: &Unlisted) -> Self {
        let fixable = unlisted.by_rule.values().map(|count| count.fixable).sum::<u64>();
        Self {
            errors: self.errors + unlisted.count(FindingLevel::Error),
            warnings: self.warnings + unlisted.count(FindingLevel::Warning),
            fixable: self.fixable.map(|listed| listed + fixable),
            total_files: self.total_files + unlisted.files,
        }
    }

    /// Counts a tool's diagnostics.
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
