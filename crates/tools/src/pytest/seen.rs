//! Collects the facts about a pytest run for the rules. Nothing is judged here.

use crate::interpret::{Exited, Input};
use crate::launchers::locate;
use crate::printed_tests::names_a_text;
use crate::pytest::collected::selected;
use crate::pytest::coverage::{MeasuredCoverage, below_target_line, measured};
use crate::pytest::failures::exception_lines;
use crate::pytest::hung::ended_by_plugin;
use crate::pytest::prepare::PYTEST_ARGUMENTS;
use crate::pytest::sessions::{self, SessionProblem};
use crate::pytest::summary::{self, Printed, printed};
use crate::pytest::tally::Tally;
use crate::recognise::CommandForm;
use crate::xml::XmlError;
use proctor_model::{Coverage, ReportFileHistory, Timestamp, Tool, ToolReport};

/// What pytest prints if a `conftest.py` cannot be imported. pytest then writes no report.
const CONFTEST_LINE: &str = "ImportError while loading conftest";
/// What a worker of pytest-xdist prints before the exception if a `conftest.py` cannot be imported. pytest then writes a report without
/// tests.
const CONFTEST_IN_WORKER: &str = "_pytest.config.ConftestImportFailure: ";
/// The words around the name of a worker of pytest-xdist that ended too early: `worker 'gw0' crashed`.
const CRASHED_WORKER: (&str, &str) = ("worker ", " crashed");
/// The first line of a traceback, as Python prints it.
const TRACEBACK: &str = "Traceback (most recent call last):";
/// The beginning of the line by which pytest says why `pytest.exit` ended it.
const EXIT: &str = "Exit: ";

/// The state of the report after the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReportState {
    /// There is no report file, or no report was requested.
    Missing,
    /// The file exists, but was not accepted as this run's report.
    Refused(String),
    /// The file was accepted, but its content cannot be parsed.
    Unreadable(XmlError),
    Read(Tally),
}

/// What was found out about one run of pytest, before the rules judge it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Seen {
    pub(super) code: i32,
    /// Whether another program started pytest. That program may have changed the exit code; make, for example, turns
    /// every failure into 2.
    pub(super) behind_wrapper: bool,
    /// Whether the command only names a text of the project that starts pytest. Then only 0 and 1 are read as pytest's own codes.
    pub(super) behind_text: bool,
    /// How many sessions of pytest ended one after the other, if the command only names a text of the project.
    pub(super) sessions_of_text: usize,
    /// The report, or why no report could be read.
    pub(super) report: ReportState,
    /// The state of the coverage report that the check requires.
    pub(super) coverage: MeasuredCoverage,
    /// The coverage in pytest-cov's line on standard output. The line is searched for only after exit code 1 (E4).
    pub(super) coverage_line: Option<Coverage>,
    /// The number of tests that pytest printed that it would run. `None` if it printed no number or was started by
    /// another program.
    pub(super) selected: Option<u64>,
    /// The counts of pytest's last line. `None` if the output does not end with it, or another program started pytest.
    pub(super) printed: Option<Printed>,
    /// How the sessions that were printed contradict a report with tests that passed. `None` if a shell or another program started
    /// pytest: it may keep pytest's output, or start pytest several times.
    pub(super) sessions: Option<SessionProblem>,
    /// What is known of the report's file apart from its content.
    pub(super) report_file: ReportFileHistory,
    /// When the last byte of output was read.
    pub(super) last_output: Option<Timestamp>,
    /// pytest's message about a `conftest.py` that could not be imported.
    pub(super) conftest: Option<String>,
    /// Which worker of pytest-xdist crashed, with the last exception that was printed.
    pub(super) crashed_worker: Option<String>,
    /// The line of standard error that names the problem.
    pub(super) complaint: Option<String>,
    /// Which test pytest-timeout found to hang, if it printed that it ended pytest.
    pub(super) timed_out: Option<String>,
}

impl Seen {
    /// Collects the facts of a run from its output and its report.
    pub(super) fn collect(exited: &Exited<'_>, input: &Input<'_>, channel: Option<&'static str>) -> Self {
        let report = match input.report {
            ToolReport::NotRequested | ToolReport::Missing => ReportState::Missing,
            ToolReport::Refused(why) => ReportState::Refused(why.clone()),
            ToolReport::Fresh(_) | ToolReport::Large(_) => match input.report.reader().map(Tally::read) {
                Some(Ok(tally)) => ReportState::Read(tally),
                Some(Err(error)) => ReportState::Unreadable(error),
                None => ReportState::Missing,
            },
        };
        let behind_wrapper = channel == Some("inherited");
        let behind_text = behind_wrapper && names_a_text(&exited.action.command.argv);
        Self {
            code: exited.code,
            behind_wrapper,
            behind_text,
            sessions_of_text: if behind_text { summary::sessions(&exited.stdout).ended } else { 0 },
            // A wrapper may start pytest several times, so the first output may belong to another run than the report.
            selected: (!behind_wrapper).then(|| selected(&exited.stdout)).flatten(),
            printed: (!behind_wrapper).then(|| printed(&exited.stdout)).flatten(),
            report,
            sessions: session_problem(exited),
            report_file: input.report_file,
            last_output: input.last_output,
            coverage: measured(exited.action.coverage.as_ref(), input.coverage),
            coverage_line: (exited.code == 1).then(|| below_target_line(&exited.stdout)).flatten(),
            conftest: conftest_error(&exited.stderr).or_else(|| conftest_error(&exited.stdout)),
            crashed_worker: crashed_worker(&exited.stdout),
            complaint: find_error(&exited.stderr),
            timed_out: ended_by_plugin(&exited.stdout, &exited.stderr, exited.place),
        }
    }

    /// Returns the counted report, if it was read.
    pub(super) fn tally(&self) -> Option<&Tally> {
        match &self.report {
            ReportState::Read(tally) => Some(tally),
            ReportState::Missing | ReportState::Refused(_) | ReportState::Unreadable(_) => None,
        }
    }

    /// Returns the counted report, so that its tests can be named.
    pub(super) fn tally_mut(&mut self) -> Option<&mut Tally> {
        match &mut self.report {
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

    /// Returns pytest's printed counts if they are worse than those of the report: a failure that the report does not have, or fewer
    /// tests that passed. Two tests of one name are one test here, so the report may have fewer tests than were printed.
    pub(super) fn printed_worse(&self) -> Option<Printed> {
        let counts = self.tally()?.counts;
        self.printed.filter(|printed| (printed.failed > 0 && counts.failed == 0) || printed.passed < counts.passed)
    }

    /// Returns how the printed sessions contradict the report. A report without a passed test proves nothing anyway.
    pub(super) fn session_problem(&self) -> Option<SessionProblem> {
        self.sessions.filter(|_| self.tally().is_some_and(|tally| tally.counts.passed > 0))
    }

    /// Returns whether the exit code is that of a text of the project, and says nothing of pytest.
    pub(super) fn has_code_of_text(&self) -> bool {
        self.behind_text && !matches!(self.code, 0 | 1)
    }

    /// Returns how many times the report was written, if that is more than the one time at the end of a session.
    pub(super) fn repeated_writes(&self) -> Option<u32> {
        self.report_file.writes.filter(|writes| *writes > 1)
    }

    /// Returns for how many milliseconds pytest's last line had been read when the report was still changed. pytest prints that line
    /// after it wrote the report, and the line is read later than it is printed.
    pub(super) fn changed_after_summary(&self) -> Option<u64> {
        let late = self.report_file.changed?.as_millis() - self.printed.and(self.last_output)?.as_millis();
        u64::try_from(late).ok().filter(|late| *late > 0)
    }

    /// Returns the coverage if the report or pytest-cov's line shows that it is below the required value.
    pub(super) fn coverage_shortfall(&self) -> Option<Coverage> {
        self.coverage.shortfall().or(self.coverage_line)
    }
}

fn session_problem(exited: &Exited<'_>) -> Option<SessionProblem> {
    let recognition = locate(&exited.action.command.argv).recognition;
    if recognition.tool != Tool::Pytest || recognition.form != CommandForm::Direct {
        return None;
    }
    let options = exited.action.environment.get(PYTEST_ARGUMENTS).map(String::as_str);
    let words = exited.action.command.argv.iter().map(String::as_str).chain(options);
    sessions::find(&exited.stdout, exited.stdout_is_complete, words)
}

fn conftest_error(text: &str) -> Option<String> {
    if let Some(exception) = text.lines().find_map(|line| line.strip_prefix(CONFTEST_IN_WORKER)) {
        return Some(format!("a worker of pytest-xdist could not import its conftest: {exception}"));
    }
    let mut lines = text.lines().skip_while(|line| !line.starts_with(CONFTEST_LINE));
    let first = lines.next()?.trim_end_matches('.');
    let exception = exception_lines(lines).last();
    Some(exception.map_or_else(|| first.to_owned(), |exception| format!("{first}: {exception}")))
}

fn crashed_worker(stdout: &str) -> Option<String> {
    let (before, after) = CRASHED_WORKER;
    let name = |line: &str| Some(line.split_once(before)?.1.split_once(after)?.0.trim_matches('\'').to_owned());
    let name = stdout.lines().find_map(name).filter(|name| name.starts_with("gw"))?;
    Some(last_exception(stdout).map_or_else(|| name.clone(), |exception| format!("{name} ({exception})")))
}

/// Returns the exception of the last traceback: its first line that is not indented.
fn last_exception(text: &str) -> Option<&str> {
    let (_, traceback) = text.rsplit_once(TRACEBACK)?;
    traceback.lines().map(str::trim_end).find(|line| !line.is_empty() && !line.starts_with(char::is_whitespace))
}

// Returns pytest's message about a wrong command line, the exception of the last traceback, or the reason of `pytest.exit`. Other
// lines, such as warnings, may have nothing to do with the end.
fn find_error(stderr: &str) -> Option<String> {
    let lines = || stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let refusal = lines().find_map(|line| line.split_once(": error: ").map(|(_, refusal)| refusal));
    let error = || lines().find_map(|line| line.strip_prefix("ERROR: "));
    let exit = || lines().rfind(|line| line.starts_with(EXIT));
    refusal.or_else(error).or_else(|| last_exception(stderr)).or_else(exit).map(str::to_owned)
}

/// Returns the paths and node ids that pytest says it did not find. They are returned as standard error prints them.
pub fn not_found(stderr: &str) -> Vec<String> {
    // pytest prints a missing node id with its absolute path.
    let said = |line: &str| Some(line.trim().strip_prefix("ERROR: ")?.split_once("not found: ")?.1.trim().to_owned());
    stderr.lines().filter_map(said).filter(|path| !path.is_empty()).collect()
}
