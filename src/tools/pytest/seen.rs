//! Collects the facts about a pytest run for the rules. Nothing is judged here.

use crate::model::{Coverage, TestCounts, TestOutcome, ToolReport};
use crate::tools::interpret::Exited;
use crate::tools::pytest::collected::selected;
use crate::tools::pytest::coverage::{MeasuredCoverage, below_target_line, measured};
use crate::tools::pytest::failures::exception_lines;
use crate::tools::pytest::junit::{self, Document, Element, JunitError, MarkKind};

/// The message of a module that could not be collected.
const COLLECTION_FAILURE: &str = "collection failure";

/// The class and the name under which pytest reports an internal error as a test.
const INTERNAL_ERROR: (&str, &str) = ("pytest", "internal");

/// What pytest prints if a `conftest.py` cannot be imported. pytest then writes no report.
const CONFTEST_LINE: &str = "ImportError while loading conftest";

/// The state of the report after the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReportState {
    /// There is no report file, or no report was requested.
    Missing,
    /// The file exists, but was not accepted as this run's report.
    Refused(String),
    /// The file was accepted, but its content cannot be parsed.
    Unreadable(JunitError),
    Read(Tally),
}

/// The content of a report. Elements that belong to one test are counted as one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Tally {
    /// The distinct tests, in order of appearance.
    pub(super) tests: Vec<Test>,
    /// The counts of the distinct tests by outcome.
    pub(super) counts: TestCounts,
    /// The sum of the `tests` attributes of the report's suites: how many tests pytest says that it ran.
    pub(super) claimed: u64,
    /// The number of tests that were running when the run was interrupted.
    pub(super) nameless: u64,
    /// The number of tests that were rerun. A rerun adds an element without `<failure>`, `<error>` or `<skipped>`, and
    /// the suites' `tests` attributes do not count it.
    pub(super) reruns: u64,
}

/// One test: all elements with the same class and name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Test {
    /// The test's elements, at least one.
    pub(super) elements: Vec<Element>,
    /// The test's outcome, from all of its elements together.
    pub(super) outcome: TestOutcome,
}

/// What was found out about one run of pytest, before the rules judge it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Seen {
    pub(super) code: i32,
    /// Whether another program started pytest. It may have changed the exit code; make, for example, turns every
    /// failure into 2.
    pub(super) behind_wrapper: bool,
    /// The report, or why no report could be read.
    pub(super) report: ReportState,
    /// The state of the coverage report that the check requires.
    pub(super) coverage: MeasuredCoverage,
    /// The coverage in pytest-cov's line on standard output. The line is searched for only after exit code 1 (E4).
    pub(super) coverage_line: Option<Coverage>,
    /// The number of tests that pytest printed that it would run. `None` if it printed no number or was started by
    /// another program.
    pub(super) selected: Option<u64>,
    /// pytest's message about a `conftest.py` that could not be imported.
    pub(super) conftest: Option<String>,
    /// The line of standard error that names the problem.
    pub(super) complaint: Option<String>,
}

impl Seen {
    /// Collects the facts of a run from its output and its report.
    pub(super) fn collect(
        exited: &Exited<'_>,
        report: &ToolReport,
        coverage: &ToolReport,
        channel: Option<&'static str>,
    ) -> Self {
        let report = match report {
            ToolReport::NotRequested | ToolReport::Missing => ReportState::Missing,
            ToolReport::Refused(why) => ReportState::Refused(why.clone()),
            ToolReport::Fresh(bytes) => match junit::read(bytes) {
                Ok(document) => ReportState::Read(Tally::of(document)),
                Err(error) => ReportState::Unreadable(error),
            },
        };
        let behind_wrapper = channel == Some("inherited");
        Self {
            code: exited.code,
            behind_wrapper,
            // A wrapper may start pytest several times, so the first output may belong to another run than the report.
            selected: (!behind_wrapper).then(|| selected(&exited.stdout)).flatten(),
            report,
            coverage: measured(exited.action.coverage.as_ref(), coverage),
            coverage_line: (exited.code == 1).then(|| below_target_line(&exited.stdout)).flatten(),
            conftest: conftest_error(&exited.stderr).or_else(|| conftest_error(&exited.stdout)),
            complaint: complaint(&exited.stderr),
        }
    }

    /// Returns the counted report, if it was read.
    pub(super) fn tally(&self) -> Option<&Tally> {
        match &self.report {
            ReportState::Read(tally) => Some(tally),
            ReportState::Missing | ReportState::Refused(_) | ReportState::Unreadable(_) => None,
        }
    }

    /// Returns how many of the selected tests, which pytest announced before it ran them, are missing from the report:
    /// neither listed nor counted in the suites' `tests` attributes. Reruns and duplicates can only make the number of
    /// reported tests higher, so they cannot make the result too high.
    pub(super) fn unreported(&self) -> u64 {
        let reported = self.tally().map_or(0, |tally| tally.total().max(tally.claimed));
        self.selected.map_or(0, |selected| selected.saturating_sub(reported))
    }

    /// Returns the coverage if the report or pytest-cov's line shows that it is below the required value.
    pub(super) fn coverage_shortfall(&self) -> Option<Coverage> {
        self.coverage.shortfall().or(self.coverage_line)
    }
}

fn conftest_error(text: &str) -> Option<String> {
    let mut lines = text.lines().skip_while(|line| !line.starts_with(CONFTEST_LINE));
    let first = lines.next()?.trim_end_matches('.');
    let exception = exception_lines(lines).last();
    Some(exception.map_or_else(|| first.to_owned(), |exception| format!("{first}: {exception}")))
}

// Returns pytest's message about a wrong command line, or the last line, which names the exception in a traceback.
fn complaint(stderr: &str) -> Option<String> {
    let lines = || stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let refusal = lines().find_map(|line| line.split_once(": error: ").map(|(_, refusal)| refusal));
    let error = || lines().find_map(|line| line.strip_prefix("ERROR: "));
    refusal.or_else(error).or_else(|| lines().next_back()).map(str::to_owned)
}

/// Returns the paths and node ids that pytest says it did not find. They are returned as standard error prints them.
pub fn not_found(stderr: &str) -> Vec<String> {
    // pytest prints a missing node id with its absolute path.
    let said = |line: &str| Some(line.trim().strip_prefix("ERROR: ")?.split_once("not found: ")?.1.trim().to_owned());
    stderr.lines().filter_map(said).filter(|path| !path.is_empty()).collect()
}

impl Tally {
    /// Groups a report's elements into distinct tests and counts these by outcome.
    pub(super) fn of(document: Document) -> Self {
        let elements = document.elements.len() as u64;
        let mut places = std::collections::HashMap::<(String, String), usize>::new();
        let mut groups: Vec<Vec<Element>> = Vec::new();
        for element in document.elements {
            let place = *places.entry((element.class.clone(), element.name.clone())).or_insert(groups.len());
            match groups.get_mut(place) {
                Some(group) => group.push(element),
                None => groups.push(vec![element]),
            }
        }
        let tests: Vec<Test> = groups.into_iter().map(Test::of).collect();
        let count = |outcomes: &[TestOutcome]| tests.iter().filter(|test| outcomes.contains(&test.outcome)).count() as u64;
        let counts = TestCounts {
            passed: count(&[TestOutcome::Passed]),
            failed: count(&[TestOutcome::Failed, TestOutcome::Error]),
            skipped: count(&[TestOutcome::Skipped]),
        };
        // A rerun adds an element without `<failure>`, `<error>` or `<skipped>`, and the suites' `tests` attributes do
        // not count it. A failed tear-down also adds an element, but with `<error>` (pytest 9).
        let repeats = |test: &&Test| test.elements.len() > 1 && test.elements.iter().any(|element| element.marks.is_empty());
        let reruns = if elements > document.claimed { tests.iter().filter(repeats).count() as u64 } else { 0 };
        let tally = Self { counts, claimed: document.claimed, nameless: document.nameless, reruns, tests };
        // Tests that were only planned did not run. Their elements look like passed tests, so the counts are set to
        // zero.
        if tally.is_plan_only() { Self { counts: TestCounts::default(), ..tally } } else { tally }
    }

    /// Returns the number of distinct tests.
    pub(super) fn total(&self) -> u64 {
        self.tests.len() as u64
    }

    /// Returns whether the report lists tests but none of them ran, as with `--setup-plan` and `--setup-only`.
    pub(super) fn is_plan_only(&self) -> bool {
        self.claimed == 0 && self.nameless == 0 && self.total() > 0 && self.counts.failed == 0
    }

    /// Returns whether the run was interrupted: a test was still running, or the report lists more tests than the
    /// suites' `tests` attributes count as finished (E5).
    pub(super) fn is_cut_short(&self) -> bool {
        self.nameless > 0 || self.total() > self.claimed
    }

    /// Returns the modules that could not be collected, which pytest reports as tests.
    pub(super) fn collection_errors(&self) -> impl Iterator<Item = &Test> {
        self.tests.iter().filter(|test| test.is_collection_error())
    }

    pub(super) fn failed(&self) -> impl Iterator<Item = &Test> {
        self.tests.iter().filter(|test| matches!(test.outcome, TestOutcome::Failed | TestOutcome::Error))
    }

    /// Returns whether pytest reports an internal error.
    pub(super) fn has_internal_error(&self) -> bool {
        self.failed().any(|test| {
            let element = test.element();
            (element.class.as_str(), element.name.as_str()) == INTERNAL_ERROR
        })
    }
}

impl Test {
    fn of(elements: Vec<Element>) -> Self {
        let kinds = || elements.iter().flat_map(|element| &element.marks).map(|mark| mark.kind);
        let outcome = if kinds().any(|kind| kind == MarkKind::Failure) {
            TestOutcome::Failed
        } else if kinds().any(|kind| kind == MarkKind::Error) {
            TestOutcome::Error
        } else if elements.iter().any(|element| element.marks.is_empty()) {
            TestOutcome::Passed
        } else {
            TestOutcome::Skipped
        };
        Self { elements, outcome }
    }

    /// Returns the test's first element. All elements of a test have the same class and name.
    pub(super) fn element(&self) -> &Element {
        self.elements.first().expect("a group is made with its first element")
    }

    /// Returns whether this entry is a module that could not be collected.
    pub(super) fn is_collection_error(&self) -> bool {
        self.elements
            .iter()
            .flat_map(|element| &element.marks)
            .any(|mark| mark.kind == MarkKind::Error && mark.message == COLLECTION_FAILURE)
    }
}
