//! What the runners have in common whose tests are read from lines of text: the tests of a run, counted and listed, and the ordered
//! list of rules that judges the run (E3).
//!
//! A runner's folder reads its output into [`RunFacts`]. The first rule that applies decides, and success is the last rule, so a run
//! is a success only if no other rule applies.

use crate::retried::Retried;
use proctor_model::{
    CategoryCode, Examined, ExaminedUnit, FurtherTestCounts, Interpretation, LISTED_TESTS, TestCase, TestCounts, TestFailure,
    TestOutcome, TestResults,
};

/// A reason names at most this many failures one by one; further failures are only counted.
const NAMED_FAILURES: usize = 3;

/// More tests than any run has.
const MOST_TESTS: u64 = 1_000_000_000;

/// The most text of names and messages that is kept of one run, in bytes.
const KEPT_TEXT: usize = 16 * 1024 * 1024;

/// The most text that is kept of one failed test, in bytes.
const KEPT_TEXT_OF_TEST: usize = 64 * 1024;

/// One test that was read from a runner's output.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ReadTest {
    /// The names of what the test lies in, such as suites or a module; the outermost one first.
    pub(super) ancestors: Vec<String>,
    /// The test's own name.
    pub(super) title: String,
    /// The name by which the runner itself knows the test.
    pub(super) full_name: String,
    /// The file, relative to the project; `None` if the runner does not say it.
    pub(super) file: Option<String>,
    /// The line in `file` at which the test failed or is defined.
    pub(super) line: Option<u64>,
    /// How long the test took, in microseconds.
    pub(super) duration: Option<u64>,
    /// The whole text that the runner printed about the failure; empty if the test passed.
    pub(super) message: String,
    /// The line of the message that says most; empty to take the first line.
    pub(super) error: String,
    pub(super) expected: Option<String>,
    pub(super) received: Option<String>,
    /// Whether the test failed and was expected to fail.
    pub(super) expected_to_fail: bool,
    /// Whether the test passed only when it was tried again. `message` is about the attempt before.
    pub(super) is_retried: bool,
}

/// The tests of a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct TestRun {
    pub(super) counts: TestCounts,
    pub(super) failures: Vec<TestFailure>,
    /// The passed tests that passed only when they were tried again.
    pub(super) retried: Retried,
    cases: Vec<TestCase>,
    text: usize,
}

impl ReadTest {
    /// Returns how the test failed.
    pub(super) fn failure(&self) -> TestFailure {
        let message = shortened(self.message.trim_matches('\n'), KEPT_TEXT_OF_TEST);
        let error = match self.error.trim() {
            "" => first_line(message),
            error => error,
        };
        TestFailure {
            test_name: self.full_name.clone(),
            test_file: self.file.clone(),
            error: error.to_owned(),
            expected: self.expected.clone(),
            received: self.received.clone(),
            stack: (!message.is_empty()).then(|| message.to_owned()),
            line: self.line,
            column: None,
            report_name: None,
        }
    }
}

impl TestRun {
    /// Adds a test. It is always counted, and listed as long as the limits allow it.
    pub(super) fn add(&mut self, outcome: TestOutcome, test: ReadTest) {
        let (failed, count) = match outcome {
            TestOutcome::Passed => (false, &mut self.counts.passed),
            TestOutcome::Failed | TestOutcome::Error => (true, &mut self.counts.failed),
            TestOutcome::Skipped => (false, &mut self.counts.skipped),
        };
        *count += 1;
        self.retried.number += u64::from(test.is_retried);
        let message = shortened(test.message.trim_matches('\n'), KEPT_TEXT_OF_TEST);
        let text = test.full_name.len() * 2 + message.len();
        let listed = if failed { self.failures.len() } else { self.cases.len() };
        if listed >= LISTED_TESTS || self.text + text > KEPT_TEXT {
            return;
        }
        self.text += text;
        if failed {
            self.failures.push(test.failure());
        }
        if test.is_retried {
            self.retried.failures.push(test.failure());
        }
        self.cases.push(TestCase {
            title: test.title,
            ancestor_titles: test.ancestors,
            full_name: test.full_name,
            test_file: test.file,
            status: outcome,
            expected_to_fail: test.expected_to_fail,
            duration_us: test.duration,
            failure_messages: if outcome != TestOutcome::Passed && !message.is_empty() {
                vec![message.to_owned()]
            } else {
                Vec::new()
            },
            report_name: None,
            body: None,
        });
    }

    /// Returns the number of all tests.
    pub(super) fn total(&self) -> u64 {
        self.counts.passed + self.counts.failed + self.counts.skipped
    }
}

/// All that the rules look at: what a runner said about a run that ended by itself.
#[derive(Debug, Clone, Default)]
pub(super) struct RunFacts {
    /// The runner, as people write it.
    pub(super) name: &'static str,
    pub(super) code: i32,
    pub(super) run: TestRun,
    /// Counts for people, by which nothing is judged.
    pub(super) further: FurtherTestCounts,
    /// Whether the check has `retries`, by which the last attempt counts.
    pub(super) accepts_retries: bool,
    /// What of the tests could not be loaded or built, such as a file with a syntax error. Each counts as a failure.
    pub(super) unloaded: Vec<TestFailure>,
    /// Why nothing can be read from the run; `None` if its output or report was read.
    pub(super) unread: Option<(CategoryCode, String)>,
    /// The runner's complaint about its command line or its configuration.
    pub(super) refusal: Option<String>,
    /// How two things that the runner said contradict each other.
    pub(super) contradiction: Option<String>,
    /// Why the run ended before all of its tests had run.
    pub(super) unfinished: Option<String>,
    /// The exit code by which the runner says that tests failed; other failing exit codes are the runner's own trouble.
    pub(super) failing_code: i32,
    /// The runner's words about a failure that belongs to no test.
    pub(super) outside: Option<String>,
    /// The signal that ended a program of tests, with the runner's words about it.
    pub(super) signal: Option<String>,
    /// What a person may do if the runner found no test.
    pub(super) advice: &'static str,
    /// What ran although no test is known of it, such as a file whose exit code alone counted.
    pub(super) unproved: Option<String>,
    pub(super) warnings: Vec<String>,
}

/// A rule: the category, and what is said if the rule applies to the facts.
type Rule = (CategoryCode, fn(&RunFacts) -> Option<String>);

const RULES: &[Rule] = &[
    (CategoryCode::UsageError, |facts| {
        let ran_nothing = facts.code != 0 && facts.run.total() == 0 && facts.unloaded.is_empty();
        let words = facts.refusal.as_deref().filter(|_| ran_nothing)?.trim_end_matches('.');
        Some(format!("{} refused its command line or configuration: {words}; correct it", facts.name))
    }),
    (CategoryCode::Inconsistent, |facts| {
        Some(format!("{} contradicts itself: {}; see the log", facts.name, facts.contradiction.as_deref()?))
    }),
    (CategoryCode::Inconsistent, |facts| {
        let failed = facts.run.counts.failed > 0 || !facts.unloaded.is_empty() || facts.signal.is_some();
        (facts.code == 0 && failed).then(|| {
            let (name, counted) = (name_within(facts), counts_text(facts));
            format!("Exit code 0 and what {name} said contradict each other: {counted}; look for `|| true`")
        })
    }),
    (CategoryCode::CollectionError, |facts| {
        let ran = match facts.run.counts.passed {
            0 => String::new(),
            passed => format!("; {passed} other test(s) passed"),
        };
        let headlines = facts.unloaded.iter().map(unloaded_headline);
        (facts.run.counts.failed == 0 && !facts.unloaded.is_empty())
            .then(|| format!("The tests could not be loaded: {}{ran}", listed(headlines, facts.unloaded.len() as u64)))
    }),
    (CategoryCode::TestsFailed, |facts| {
        let failed = facts.run.counts.failed + facts.unloaded.len() as u64;
        let headlines = facts.run.failures.iter().map(headline).chain(facts.unloaded.iter().map(unloaded_headline));
        let executed = facts.run.counts.passed + failed;
        let signal = facts.signal.as_ref().map_or_else(String::new, |signal| format!("; {signal}"));
        (facts.run.counts.failed > 0)
            .then(|| format!("{failed} of {executed} tests failed: {}{signal}", listed(headlines, failed)))
    }),
    (CategoryCode::Signalled, |facts| {
        let (signal, counted) = (facts.signal.as_deref()?, counts_text(facts));
        Some(format!("A program of tests was ended by a signal: {signal}; {counted}; see the end of its log"))
    }),
    (CategoryCode::ReportIncomplete, |facts| {
        let (why, counted) = (facts.unfinished.as_deref()?, counts_text(facts));
        Some(format!("Exit code {}, but the tests did not run to their end: {why} ({counted})", facts.code))
    }),
    (CategoryCode::UnknownExit, |facts| {
        let (name, code, outside) = (&facts.name, facts.code, outside(facts));
        (code != 0 && code != facts.failing_code)
            .then(|| format!("{name} ended with exit code {code}, which says nothing of tests{outside}; see the end of its log"))
    }),
    (CategoryCode::NoTestsCollected, |facts| {
        let is_explained = facts.unproved.is_some() || (facts.code != 0 && facts.outside.is_some());
        (facts.run.total() == 0 && !is_explained).then(|| format!("{} found no test; {}", facts.name, facts.advice))
    }),
    (CategoryCode::NoTestsExecuted, |facts| {
        let skipped = || format!("{} skipped or still to be written", facts.run.counts.skipped);
        let unproved = facts.unproved.clone().unwrap_or_else(skipped);
        (facts.code == 0 && facts.run.counts.passed == 0)
            .then(|| format!("No test passed: {unproved}; a run that proves nothing is no success"))
    }),
    (CategoryCode::FailedOutsideTests, |facts| {
        let (code, counted, outside) = (facts.code, counts_text(facts), outside(facts));
        (code != 0).then(|| format!("Exit code {code}, but no test failed ({counted}){outside}; see the end of its log"))
    }),
    (CategoryCode::TestsPassed, |facts| (facts.code == 0 && facts.run.counts.passed > 0).then(|| counts_text(facts))),
];

/// Returns the runner's words about a failure that belongs to no test, as the end of a sentence.
fn outside(facts: &RunFacts) -> String {
    facts.outside.as_ref().map_or_else(String::new, |line| format!(": {line}"))
}

// Returns the runner's name inside of a sentence.
fn name_within(facts: &RunFacts) -> String {
    facts.name.strip_prefix("The ").map_or_else(|| facts.name.to_owned(), |rest| format!("the {rest}"))
}

/// Judges a run that ended by itself. A run to which no rule applies is not a success, so a gap in the list can never hide a failure.
pub(super) fn judge(mut facts: RunFacts) -> Interpretation {
    if let Some((category, reason)) = facts.unread {
        return Interpretation { warnings: facts.warnings, ..Interpretation::plain(category, reason) };
    }
    let found = RULES.iter().find_map(|(category, says)| Some((*category, says(&facts)?)));
    let (category, reason) = found.unwrap_or_else(|| {
        (CategoryCode::Inconsistent, format!("Exit code {} does not fit to what {} said", facts.code, name_within(&facts)))
    });
    let total = facts.run.total();
    let mut interpretation = Interpretation { warnings: facts.warnings, ..Interpretation::plain(category, reason) };
    interpretation.examined = Some(Examined { what: ExaminedUnit::Tests, count: Some(total) });
    if total == 0 && facts.unloaded.is_empty() && facts.refusal.is_some() {
        return interpretation;
    }
    facts.run.counts.failed += facts.unloaded.len() as u64;
    let mut failures = facts.run.failures;
    failures.extend(facts.unloaded);
    interpretation.cases = facts.run.cases;
    interpretation.test_results = Some(TestResults { counts: facts.run.counts, further: facts.further, total, failures });
    facts.run.retried.judge(facts.accepts_retries, interpretation)
}

fn counts_text(facts: &RunFacts) -> String {
    let counts = facts.run.counts;
    format!("{} passed, {} failed, {} skipped", counts.passed, counts.failed + facts.unloaded.len() as u64, counts.skipped)
}

/// Returns a failed test's name and the line that says most.
pub(super) fn headline(failure: &TestFailure) -> String {
    match &failure.test_file {
        Some(file) if !failure.test_name.starts_with(file.as_str()) => {
            format!("{file}: {}: {}", failure.test_name, failure.error)
        }
        Some(_) | None => format!("{}: {}", failure.test_name, failure.error),
    }
}

fn unloaded_headline(unloaded: &TestFailure) -> String {
    format!("{}: {}", unloaded.test_name, unloaded.error)
}

/// Joins the first headlines, and says how many of `all` are not among them.
pub(super) fn listed(headlines: impl Iterator<Item = String>, all: u64) -> String {
    let named: Vec<String> = headlines.take(NAMED_FAILURES).collect();
    let text = named.join("; ");
    match all.saturating_sub(named.len() as u64) {
        0 => text,
        more if text.is_empty() => format!("{more} without a name"),
        more => format!("{text}; and {more} more"),
    }
}

/// Reads a count that a runner printed. A number that no run can have is no count.
pub(super) fn count(text: &str) -> Option<u64> {
    text.trim().parse().ok().filter(|count| *count <= MOST_TESTS)
}

/// Returns the first line of a text that is not blank.
pub(super) fn first_line(text: &str) -> &str {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("it says nothing")
}

fn shortened(text: &str, longest: usize) -> &str {
    &text[..text.floor_char_boundary(longest)]
}
