//! Compares a run with earlier ones, for notes in its report: another verdict on the same tree, missing or skipped
//! tests, changed programs. These notes do not change the verdict, because each of the differences can have a good
//! reason.

use std::cell::{LazyCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::environment::TOOLCHAIN;
use crate::other_results::other_results;
use crate::test_history::{report_of, tests_of};
use proctor_evidence::LedgerLookup;
use proctor_evidence::report::{
    ActionResult, DispositionV2, ExecutionReportV2, RunFacts, TestCountsChangeV2, TestCountsV2, TestRecordV1,
};
use proctor_index::{IndexedRun, RunsJudgedBy};
use proctor_model::{
    CheckCoverage, CheckRecord, Digest, FewerTests, LISTED_TESTS, LedgerLine, OverallResult, PlanNote, PlanOrigin, ResultType,
    RunId, RunLine, Sequence, TestCase, TestOutcome,
};
use proctor_project::{EVERY_FILE, Evidence, LastRuns, RunRequest, commits_before, is_told_by};

/// At most this many earlier runs of the task are compared with the run.
const RUNS: u32 = 50;
/// At most this many reports are read to count the tests of an earlier run.
const READ: usize = 5;
/// The most names that a note lists. Further names are only counted.
const NAMED: usize = 5;

/// What a comparison with earlier runs of the task shows.
#[derive(Debug, Default)]
pub(crate) struct EarlierRuns {
    pub(crate) notes: Vec<PlanNote>,
    /// The counts of tests in the last green run and now; `None` if no check has tests in both runs.
    pub(crate) tests: Option<TestCountsChangeV2>,
    /// That this run has fewer tests than the last whole run of an ancestor of its tree; `None` if not.
    pub(crate) fewer: Option<FewerTests>,
}

/// Rows of the index about earlier runs, newest first, which are compared with the ledger before they are used.
pub(crate) struct CheckedRows<'a> {
    rows: &'a [IndexedRun],
    /// `None` if the ledger cannot be read.
    ledger: Option<&'a LedgerLookup>,
    /// The lines that were read so far; `None` for a line that cannot be read.
    lines: RefCell<BTreeMap<Sequence, Option<Rc<LedgerLine>>>>,
}

impl<'a> CheckedRows<'a> {
    fn new(rows: &'a [IndexedRun], ledger: Option<&'a LedgerLookup>) -> Self {
        Self { rows, ledger, lines: RefCell::default() }
    }

    /// Returns the runs that match, newest first. Rows that say something else than the ledger are left out.
    pub(crate) fn matching(&self, is_wanted: impl Fn(&IndexedRun) -> bool) -> impl Iterator<Item = &'a IndexedRun> {
        let is_in_ledger = |run: &&IndexedRun| self.line_of(run).is_some_and(|line| is_told_by(&line, run));
        self.rows.iter().filter(move |run| is_wanted(run)).filter(is_in_ledger)
    }

    /// Returns what the ledger says of each check of a run; nothing if it does not say it.
    pub(crate) fn checks_of(&self, run: &IndexedRun) -> Vec<CheckRecord> {
        match self.line_of(run).as_ref().and_then(|line| line.body.about_runs()) {
            Some(RunLine::Sealed(record)) => record.results.clone().unwrap_or_default(),
            Some(RunLine::Superseded(_) | RunLine::Pruned(_)) | None => Vec::new(),
        }
    }

    /// Returns where a run stands in the history; nothing of it if the ledger does not say it.
    fn standing(&self, run: &IndexedRun) -> Standing {
        let line = self.line_of(run);
        let Some(RunLine::Sealed(record)) = line.as_ref().and_then(|line| line.body.about_runs()) else {
            return Standing::default();
        };
        let Some(conditions) = &record.conditions else { return Standing::default() };
        Standing { head: conditions.head.clone(), fewer: conditions.fewer_tests.clone() }
    }

    /// Returns the ledger's line about a run. Each line is searched and checked once.
    fn line_of(&self, run: &IndexedRun) -> Option<Rc<LedgerLine>> {
        let read = || self.ledger?.find(run.sequence).ok()?.map(Rc::new);
        self.lines.borrow_mut().entry(run.sequence).or_insert_with(read).clone()
    }
}

/// Where an earlier run stands in the history.
#[derive(Debug, Default)]
struct Standing {
    /// The commit that was checked out.
    head: Option<String>,
    /// That the run had fewer tests than one before it.
    fewer: Option<FewerTests>,
}

/// Returns how many tests the run has less than it should have; `None` if it has as many, or nothing is comparable.
///
/// It is compared with the newest whole run of another tree on the commit that is checked out or on one before it. If checks of this run
/// did not run their tests to the end there, with the newest of the last few such runs in which the most of them did. A run on the same
/// commit can have lacked tests itself: what it lacked is added, so that tests which went away are said until they are back or something
/// is committed. Where no commit is checked out, every run is compared with, and nothing is added, because nothing would end it.
fn fewer_tests(
    evidence: &Evidence,
    request: &RunRequest<'_>,
    facts: &RunFacts,
    runs: &CheckedRows<'_>,
    head: Option<&str>,
) -> Option<FewerTests> {
    let of_action = |action: &ActionResult| Some(action.executed()?.interpretation.test_results.as_ref()?.total);
    let ran_to_end = facts.actions.iter().filter(|action| action.status().is_some_and(ran_tests));
    let now: TestTotals<'_> = ran_to_end.filter_map(|action| Some((action.action.name.as_str(), of_action(action)?))).collect();
    let is_whole = |run: &IndexedRun| {
        run.status.counts() && run.coverage != Some(CheckCoverage::Partial) && run.tree_digest != Some(facts.tree.before)
    };
    // The history is walked once, and only if a run on another commit is met.
    let before_head = LazyCell::new(|| {
        let others = runs.rows.iter().filter(|run| is_whole(run)).filter_map(|run| runs.standing(run).head).collect();
        head.map(|head| commits_before(&request.scope.root, &others, head)).unwrap_or_default()
    });
    let is_ancestor = |then: Option<&str>| match head {
        None => true,
        Some(head) => then.is_some_and(|then| then == head || before_head.contains(then)),
    };
    let standings = runs.matching(is_whole).map(|run| (run, runs.standing(run)));
    let mut nearest: Option<(usize, FewerTests)> = None;
    for (run, standing) in standings.filter(|(_, standing)| is_ancestor(standing.head.as_deref())).take(READ) {
        let Some(report) = report_of(evidence, request, run) else { continue };
        let is_on_head = head.is_some() && standing.head.as_deref() == head;
        let lacked = standing.fewer.as_ref().filter(|_| is_on_head);
        let compared = compare(&run.run_id, &totals(&report), lacked, &now);
        if compared.0 > nearest.as_ref().map_or(0, |(checks, _)| *checks) {
            nearest = Some(compared);
        }
        if nearest.as_ref().is_some_and(|(checks, _)| *checks == now.len()) {
            break;
        }
    }
    nearest.map(|(_, compared)| compared).filter(|compared| compared.now < compared.before)
}

/// How many tests each check has, by the name of the check.
type TestTotals<'a> = BTreeMap<&'a str, u64>;

/// Returns whether a check with this result ran its tests to the end.
fn ran_tests(status: ResultType) -> bool {
    matches!(status, ResultType::Success | ResultType::TestFailure)
}

/// Returns how many tests the checks had that an earlier run carried out itself and whose tests ran to the end.
fn totals(report: &ExecutionReportV2) -> TestTotals<'_> {
    let carried_out = report.step_execution.results.iter().filter(|result| result.disposition == DispositionV2::Executed);
    let to_end = carried_out.filter(|result| result.status.is_some_and(ran_tests));
    to_end.filter_map(|result| Some((result.name.as_str(), result.result.as_ref()?.test_results.as_ref()?.total))).collect()
}

/// Returns in how many checks the tests of two runs can be compared, and how many tests they had. `lacked` says what the earlier run
/// lacked itself. It is added only if this run has all checks of the earlier one, because otherwise it may be about the others.
fn compare(run: &RunId, then: &TestTotals<'_>, lacked: Option<&FewerTests>, now: &TestTotals<'_>) -> (usize, FewerTests) {
    let both: Vec<(u64, u64)> = then.iter().filter_map(|(name, then)| Some((*then, *now.get(name)?))).collect();
    let lacked = lacked.filter(|_| both.len() == then.len());
    let more = lacked.map_or(0, |lacked| lacked.before.saturating_sub(lacked.now));
    let before = both.iter().map(|(then, _)| then).sum::<u64>().saturating_add(more);
    let since = lacked.map_or(run, |lacked| &lacked.since).clone();
    (both.len(), FewerTests { since, before, now: both.iter().map(|(_, now)| now).sum() })
}

/// Compares the run with earlier runs of the task. A run that cannot be read is ignored, because the verdict does
/// not depend on it. `head` is the commit that is checked out. The number of tests is not compared with runs of other branches, which have
/// other tests for a good reason. The names of tests are compared with the last green run, whatever was checked out in it.
pub(crate) fn earlier_runs(evidence: &Evidence, request: &RunRequest<'_>, facts: &RunFacts, head: Option<&str>) -> EarlierRuns {
    let (project, task) = (&request.scope.project, &request.plan.task);
    let rows = evidence.index.runs(project, Some(task), RunsJudgedBy::ApprovedRules, RUNS).unwrap_or_default();
    // The index does not prove older runs. Most rows decide nothing, so a row is compared with the ledger where it is used.
    let ledger = LedgerLookup::open(&evidence.store, project).ok();
    let runs = CheckedRows::new(&rows, ledger.as_ref());
    let mut notes: Vec<PlanNote> = other_results(evidence, request, facts, &runs).into_iter().collect();
    let read = |run: &&IndexedRun| Some(((*run).clone(), report_of(evidence, request, run)?));
    // The environment digest covers all programs and files. If it is the same as in the last run, nothing changed,
    // and the last run's report need not be read.
    let is_other = |run: &&&IndexedRun| run.environment_digest != Some(facts.environment.digest);
    let last = runs.matching(|run| run.status.counts()).next();
    let last = last.as_ref().filter(is_other).and_then(read);
    notes.extend(last.iter().flat_map(|(_, last)| other_programs(facts, last)));
    // A report can be large. If this run has no tests, the report of the last green run is not read.
    let of_both: Vec<&ActionResult> =
        facts.actions.iter().filter(|action| !cases(action).is_empty() && why_not_listed(action).is_none()).collect();
    notes.extend(facts.actions.iter().filter_map(|action| {
        let message = format!("{}: they are counted, and not compared with those of earlier runs", why_not_listed(action)?);
        Some(note(&action.action.name, message))
    }));
    let fewer = if of_both.is_empty() { None } else { fewer_tests(evidence, request, facts, &runs, head) };
    let is_passed = |run: &IndexedRun| run.status.counts() && run.result == Some(OverallResult::Passed);
    let green = if of_both.is_empty() { None } else { runs.matching(is_passed).next() };
    if let Some((run, green)) = green.as_ref().and_then(read) {
        let before = |action: &ActionResult| tests_of(&evidence.store, request, &green, &action.action.name);
        let both: Vec<_> = of_both.into_iter().filter_map(|action| Some((action, before(action)?))).collect();
        notes.extend(both.iter().flat_map(|(action, before)| missing_tests(action, before, &run.run_id)));
        return EarlierRuns { notes, tests: count_tests(&run.run_id, &both), fewer };
    }
    EarlierRuns { notes, tests: None, fewer }
}

/// Returns the notes about the discovery of the checks and about inputs that both this plan and the last run of the task have. Where
/// this process has made no run of the task yet, the report of the last run is read; without a report all notes are
/// new.
pub(crate) fn told_notes(evidence: &Evidence, last_runs: &mut LastRuns, request: &RunRequest<'_>) -> Vec<PlanNote> {
    let is_discovered = request.plan.origin == PlanOrigin::Discovered;
    let of_plan = request
        .plan
        .notes
        .iter()
        .filter(|note| is_discovered || [PlanNote::TEST_COMMAND, PlanNote::NOT_CHECKED].contains(&note.subject.as_str()))
        .cloned();
    let notes: Vec<PlanNote> = of_plan.chain(request.settings.input_notes()).collect();
    if notes.is_empty() {
        return Vec::new();
    }
    let task = (request.scope.project.clone(), request.plan.task.clone());
    let last = last_runs.notes.remove(&task).or_else(|| {
        let runs = evidence.index.runs(&task.0, Some(&task.1), RunsJudgedBy::AnyRules, 1).ok()?;
        Some(report_of(evidence, request, runs.first()?)?.notes.clone())
    });
    last_runs.notes.insert(task, notes.clone());
    let last = last.unwrap_or_default();
    notes.into_iter().filter(|note| last.contains(note)).collect()
}

/// Returns a note about changed programs, lock files and plugins. Configuration files are left out, because the report
/// names their changes in another section.
fn other_programs(facts: &RunFacts, last: &ExecutionReportV2) -> Option<PlanNote> {
    let before = last.environment.as_ref()?.components.iter().map(|component| (component.name.as_str(), component.sha256));
    let before: BTreeMap<&str, Digest> = before.collect();
    let now = facts.environment.components.iter().map(|component| (component.name.as_str(), component.sha256));
    let now: BTreeMap<&str, Digest> = now.collect();
    let has_same_plan = last.test_specification.plan_digest == Some(facts.plan_digest);
    let configured = |name: &str| facts.configuration_changed.iter().any(|changed| name == changed.path);
    let names: BTreeSet<&str> = before.keys().chain(now.keys()).copied().collect();
    let differ = |name: &&str| match (before.get(name), now.get(name)) {
        (Some(before), Some(now)) => before != now,
        // A different plan starts different programs, so a program that only one of the runs has is not worth a note.
        // A toolchain that one of the runs does not name was not hashed yet, and not every run looks at every file.
        (Some(_), None) | (None, Some(_)) => has_same_plan && !name.starts_with(TOOLCHAIN) && !name.ends_with(EVERY_FILE),
        (None, None) => false,
    };
    let changed: Vec<String> =
        names.into_iter().filter(differ).filter(|name| !configured(name)).map(|name| format!("`{name}`")).collect();
    let run = &last.authenticity.execution_id;
    (!changed.is_empty()).then(|| note("environment", format!("not what it was in {run}: {}", named(&changed))))
}

/// Returns the single tests that a check reported in this run; empty if the check was not carried out.
fn cases(action: &ActionResult) -> &[TestCase] {
    action.executed().map(|executed| executed.interpretation.cases.as_slice()).unwrap_or_default()
}

/// Returns why not every test that a check reported is listed; `None` if all are, or none is.
fn why_not_listed(action: &ActionResult) -> Option<String> {
    let results = action.executed()?.interpretation.test_results.as_ref()?;
    why_counted(cases(action).len(), results.total)
}

fn why_counted(listed: usize, total: u64) -> Option<String> {
    match listed {
        0 => None,
        _ if listed as u64 >= total => None,
        LISTED_TESTS.. => Some(format!("it has more tests than the {LISTED_TESTS} that are listed one by one")),
        _ => Some(format!("its output names {listed} of its {total} tests")),
    }
}

/// Counts the tests of the checks that both runs carried out.
fn count_tests(since: &RunId, both: &[(&ActionResult, Vec<TestRecordV1>)]) -> Option<TestCountsChangeV2> {
    let count = |counts: &mut TestCountsV2, status: TestOutcome, expected_to_fail: bool| {
        counts.total += 1;
        counts.expected_failures += u64::from(expected_to_fail);
        counts.skipped += u64::from(status == TestOutcome::Skipped && !expected_to_fail);
    };
    let (mut before, mut now) = (TestCountsV2::default(), TestCountsV2::default());
    for (action, earlier) in both {
        earlier.iter().for_each(|test| count(&mut before, test.status, test.expected_to_fail));
        cases(action).iter().for_each(|test| count(&mut now, test.status, test.expected_to_fail));
    }
    (!both.is_empty()).then(|| TestCountsChangeV2 { since: since.clone(), before, now })
}

/// Returns notes about tests that passed in the last green run and that are missing or skipped now.
fn missing_tests(facts: &ActionResult, before: &[TestRecordV1], run: &RunId) -> Vec<PlanNote> {
    let now: BTreeMap<&str, TestOutcome> = cases(facts).iter().map(|case| (case.stable_name(), case.status)).collect();
    let passed = before.iter().filter(|test| test.status == TestOutcome::Passed);
    let (mut gone, mut skipped) = (Vec::new(), Vec::new());
    for test in passed {
        match now.get(test.stable_name()) {
            None => gone.push(format!("`{}`", test.full_name)),
            Some(TestOutcome::Skipped) => skipped.push(format!("`{}`", test.full_name)),
            Some(TestOutcome::Passed | TestOutcome::Failed | TestOutcome::Error) => {}
        }
    }
    let rows = [(gone, "not there any more"), (skipped, "skipped or expected to fail now")];
    let said = rows.into_iter().filter(|(names, _)| !names.is_empty());
    said.map(|(names, what)| {
        note(&facts.action.name, format!("{} test(s) that passed in {run} are {what}: {}", names.len(), named(&names)))
    })
    .collect()
}

fn named(names: &[String]) -> String {
    let listed = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => listed,
        more => format!("{listed} and {more} more"),
    }
}

fn note(subject: &str, message: String) -> PlanNote {
    PlanNote { subject: subject.to_owned(), message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::Timestamp;

    #[test]
    fn a_note_names_some_and_counts_the_rest() {
        let names: Vec<String> = (0..7).map(|number| number.to_string()).collect();
        assert_eq!(named(&names), "0, 1, 2, 3, 4 and 2 more");
        assert_eq!(named(&names[..5]), "0, 1, 2, 3, 4");
    }

    /// nextest names no test that a filter left out, but counts it.
    #[test]
    fn tests_that_are_counted_only_have_their_reason() {
        assert_eq!([(0, 5), (5, 5)].map(|(listed, total)| why_counted(listed, total)), [None, None]);
        assert_eq!(why_counted(4, 5).as_deref(), Some("its output names 4 of its 5 tests"));
        assert!(why_counted(LISTED_TESTS, 10_001).is_some_and(|why| why.contains("more tests than the 10000")));
    }

    fn run(number: u64) -> RunId {
        RunId::new(Timestamp::from_millis(0), number)
    }

    fn compared(then: &[(&str, u64)], lacked: Option<&FewerTests>, now: &[(&str, u64)]) -> (usize, RunId, u64, u64) {
        let (then, now) = (then.iter().copied().collect(), now.iter().copied().collect());
        let (checks, FewerTests { since, before, now }) = compare(&run(1), &then, lacked, &now);
        (checks, since, before, now)
    }

    #[test]
    fn what_the_earlier_run_of_the_same_commit_lacked_is_added() {
        let lacked = FewerTests { since: run(0), before: 9, now: 5 };
        assert_eq!(compared(&[("unit", 5)], None, &[("unit", 5)]), (1, run(1), 5, 5));
        assert_eq!(compared(&[("unit", 5)], Some(&lacked), &[("unit", 5)]), (1, run(0), 9, 5));
        assert_eq!(compared(&[("unit", 5)], Some(&lacked), &[("unit", 3), ("new", 7)]), (1, run(0), 9, 3));
        assert_eq!(compared(&[("unit", 5)], Some(&lacked), &[("unit", 9)]), (1, run(0), 9, 9));
        assert_eq!(compared(&[("unit", 5), ("web", 8)], Some(&lacked), &[("unit", 5), ("web", 6)]), (2, run(0), 17, 11));
        // The tests that are gone can be those of the check that this run has not.
        assert_eq!(compared(&[("unit", 5), ("web", 8)], Some(&lacked), &[("web", 8)]), (1, run(1), 8, 8));
    }
}
