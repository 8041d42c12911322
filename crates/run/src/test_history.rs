//! Reads earlier runs of the task when the result of an action's tests depends on them: for a declared failure, which
//! must be a new one (C06), and for tests that the tool does not find (C07).
//!
//! The runs are read one by one, the newest first, until the question is answered. A run that has no record of the
//! action's tests says nothing about them. For a run that reused the result, the run that carried out the tests is
//! read.
//!
//! The runs are read from checked lines of the ledger, because the index does not prove older runs: another program may have added
//! one, or taken one away.
//!
//! A record that cannot be read as it was sealed excuses nothing, because it may have contained anything. Pruned runs
//! and very old runs are ignored: the project's limits removed them for good, and otherwise a task with a pruned run
//! could never declare a failure again. The last green run of each task is never pruned.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::{fmt, iter};

use proctor_evidence::report::{ExecutionReportV2, TestRecordV1, TestResultsRecordV1, TestRunV1, parse_with_hash};
use proctor_evidence::{self as evidence, EvidenceError, LedgerLookup, Store};
use proctor_index::IndexedRun;
use proctor_model::{
    Action, CategoryCode, Digest, EndedAction, EvidenceFile, ExpectedFailure, Interpretation, OverallResult, OverallStatus,
    Phase, RunId, TestFailure, TestOutcome, ToolClass,
};
use proctor_plan::verdict::{PassedBefore, RedBeginning, TestHistory, VanishedTests};
use proctor_project::{Evidence, LedgerRuns, RunRequest};
use proctor_tools as tools;

/// The most runs with the action's tests that are read. A test that passed only in older runs counts as unknown.
const RUNS_WITH_TESTS: usize = 50;
/// The most reports that are read in total, including reports of runs without these tests.
const REPORTS: usize = 200;
/// The end of the file name of a record of tests.
const TEST_RECORD: &str = "-test-results.json";

/// The tests of an action in an earlier run, or the reason why they cannot be read.
type Seen = Result<(RunId, Vec<TestRecordV1>), Unread>;

/// Which part of the history could not be read. proctor's own log has the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unread {
    #[error("the ledger cannot be read")]
    Ledger,
    #[error("the report of {0} cannot be read as it was sealed")]
    Report(RunId),
    #[error("the tests of {0} cannot be read as they were sealed")]
    Tests(RunId),
    /// The run had so many tests that its record lists only some of them.
    #[error("the record of {0} does not list all of its tests")]
    Unlisted(RunId),
}

/// The records of an action's tests, one for each attempt, in the run that carried it out.
#[derive(Debug, PartialEq, Eq)]
struct TestRecords<'r> {
    run: &'r RunId,
    /// The files, with the last attempt first.
    files: Vec<&'r EvidenceFile>,
}

/// Returns what earlier runs show about an action's tests. If the action's result does not depend on earlier runs,
/// nothing is read and the returned history is empty. `is_red` says that the run is a step of a started RED phase.
pub(crate) fn test_history(
    store: &Store,
    request: &RunRequest<'_>,
    (expected, is_red): (Option<&ExpectedFailure>, bool),
    action: &Action,
    ended: &EndedAction,
    interpretation: &Interpretation,
) -> TestHistory {
    let mut history = TestHistory::default();
    if action.class != ToolClass::Test {
        return history;
    }
    let ledger = &LazyCell::new(|| LedgerLookup::open(store, &request.scope.project));
    let green = || look_back(store, request, ledger, &action.name, |run| run.result == Some(OverallResult::Passed));
    let said = interpretation.category;
    let declared = expected.is_some_and(|expected| !expected.tests.is_empty());
    if let (CategoryCode::TestsFailed, true, false) = (said, is_red, declared) {
        let results =
            interpretation.test_results.as_ref().filter(|results| results.counts.failed == results.failures.len() as u64);
        let by_settings = &request.settings.routing.expected_failing;
        let raised = interpretation.cases.iter().any(|case| case.status == TestOutcome::Error);
        if let Some(results) = results.filter(|results| !results.failures.is_empty() && !raised) {
            let open = results.failures.iter().filter(|failure| !by_settings.declares_with_files(failure)).collect();
            let before = look_back(store, request, ledger, &action.name, |run| {
                run.route.as_ref().is_none_or(|route| route.phase != Phase::Red)
            });
            history.red = red_beginning(open, before);
        }
    } else if let (CategoryCode::TestsFailed, Some(expected)) = (said, expected) {
        let failures = interpretation.test_results.iter().flat_map(|results| &results.failures);
        let declared = failures.filter(|failure| expected.declares(failure));
        history.passed_before = passed_before(declared.collect(), || look_back(store, request, ledger, &action.name, |_| true));
    } else if said == CategoryCode::UsageError {
        let named = tools::not_found(&ended.captured.stderr.text());
        let root = format!("{}/", request.scope.root.display());
        let is_gone = |test: &str| named.iter().any(|path| is_below(path.strip_prefix(&root).unwrap_or(path), test));
        history.vanished = if named.is_empty() { None } else { vanished(green(), is_gone) };
    } else if said == CategoryCode::NoTestsCollected {
        history.vanished = vanished(green(), |_| true);
    }
    history
}

/// Returns how long each test of an action took, in milliseconds, in the last run that has a record of them. A test's name is relative
/// to the action's directory.
pub(crate) fn last_test_times(store: &Store, request: &RunRequest<'_>, action: &Action) -> Vec<(String, u64)> {
    let ledger = LedgerLookup::open(store, &request.scope.project);
    let last = look_back(store, request, &ledger, &action.name, |_| true).find_map(Result::ok);
    let directory = format!("{}/", action.directory.display());
    let tests = last.into_iter().flat_map(|(_, tests)| tests);
    let named = |name: String| name.strip_prefix(&directory).map(str::to_owned).unwrap_or(name);
    tests.filter_map(|test| Some((named(test.full_name), test.duration?))).collect()
}

/// Iterates over those of the task's runs with a record of the action's tests that `is_wanted` names, newest first. The files of a run are
/// read only when the iteration reaches it.
fn look_back<'a>(
    store: &'a Store,
    request: &'a RunRequest<'_>,
    ledger: &'a Result<LedgerLookup, EvidenceError>,
    action: &'a str,
    is_wanted: impl Fn(&IndexedRun) -> bool + 'a,
) -> impl Iterator<Item = Seen> + 'a {
    let mut runs = ledger.as_ref().ok().map(LedgerRuns::newest);
    let mut unopened = ledger.as_ref().err().map(|error| Err(logged(Unread::Ledger, error)));
    let mut left = REPORTS;
    let seen = iter::from_fn(move || {
        let Some(runs) = &mut runs else { return unopened.take() };
        while left > 0 {
            let run = match runs.next()? {
                Ok(run) => run,
                Err(error) => return Some(Err(logged(Unread::Ledger, &error))),
            };
            if run.task != request.plan.task
                || run.by_changed_rules
                || !is_wanted(&run)
                || !is_judged(&run)
                || runs.pruned(&run.run_id).is_some()
            {
                continue;
            }
            left -= 1;
            match tests_in(store, request, &run, action, |run_id| runs.pruned(run_id).is_some()) {
                Ok(Some(tests)) => return Some(Ok((run.run_id, tests))),
                Ok(None) => {}
                Err(unread) => return Some(Err(unread)),
            }
        }
        None
    });
    seen.take(RUNS_WITH_TESTS)
}

/// Returns an action's tests in a run, from all attempts; `None` if the run has no record of them, or the run with
/// the record was pruned.
fn tests_in(
    store: &Store,
    request: &RunRequest<'_>,
    run: &IndexedRun,
    action: &str,
    is_pruned: impl Fn(&RunId) -> bool,
) -> Result<Option<Vec<TestRecordV1>>, Unread> {
    let report = sealed_report(store, request, run)?;
    let Some(records) = TestRecords::of(&report, action) else { return Ok(None) };
    let tests: Result<Vec<_>, _> = records.files.iter().map(|file| read_tests(store, request, records.run, file)).collect();
    match tests {
        Ok(tests) => Ok(Some(tests.concat())),
        Err(_) if *records.run != run.run_id && is_pruned(records.run) => Ok(None),
        Err(unread) => Err(unread),
    }
}

/// Returns a run's report as it was sealed; `None` if the report is missing, changed or unreadable. `run` is what a checked
/// line of the ledger says about the run. The report that this process had last is not read again.
pub(crate) fn report_of(evidence: &Evidence, request: &RunRequest<'_>, run: &IndexedRun) -> Option<Arc<ExecutionReportV2>> {
    let hash = run.sealed?.report;
    evidence.last_report.find(hash).or_else(|| {
        let report = Arc::new(sealed_report(&evidence.store, request, run).ok()?);
        evidence.last_report.keep(hash, report.clone());
        Some(report)
    })
}

/// Returns the tests of an action in a report, from its last attempt; `None` if there is no record of them, or if
/// the record cannot be read.
pub(crate) fn tests_of(
    store: &Store,
    request: &RunRequest<'_>,
    report: &ExecutionReportV2,
    action: &str,
) -> Option<Vec<TestRecordV1>> {
    let records = TestRecords::of(report, action)?;
    read_tests(store, request, records.run, records.files.first()?).ok()
}

/// Reads a run's report and compares it with the hash that the run's ledger line has.
pub(crate) fn sealed_report(store: &Store, request: &RunRequest<'_>, run: &IndexedRun) -> Result<ExecutionReportV2, Unread> {
    let unread = || Unread::Report(run.run_id.clone());
    let bytes = evidence::read_report(store, &request.scope.project, &request.plan.task, &run.run_id);
    let bytes = bytes.map_err(|error| logged(unread(), &error))?;
    let (report, hash) = parse_with_hash(&bytes).map_err(|error| logged(unread(), &error))?;
    if run.sealed.map(|hashes| hashes.report) == Some(hash) {
        Ok(report)
    } else {
        Err(logged(unread(), &"it is not the one the ledger knows"))
    }
}

/// Reads a record of tests and verifies it against the report.
fn read_tests(store: &Store, request: &RunRequest<'_>, run: &RunId, file: &EvidenceFile) -> Result<Vec<TestRecordV1>, Unread> {
    let unread = || Unread::Tests(run.clone());
    let bytes = evidence::read_file(store, &request.scope.project, &request.plan.task, run, &file.name);
    let bytes = bytes.map_err(|error| logged(unread(), &error))?;
    let is_sealed = |bytes: &Vec<u8>| Digest::of(bytes) == file.sha256;
    let bytes = bytes.filter(is_sealed).ok_or_else(|| logged(unread(), &"it is not the one its report knows"))?;
    let read: TestResultsRecordV1 = serde_json::from_slice(&bytes).map_err(|error| logged(unread(), &error))?;
    let TestRunV1 { num_total_tests, test_results, .. } = read.results;
    // A test that is not listed may have passed, so nothing follows from a record that does not list all tests.
    let is_cut = !test_results.is_empty() && (test_results.len() as u64) < num_total_tests;
    if is_cut { Err(Unread::Unlisted(run.clone())) } else { Ok(test_results) }
}

/// Returns whether a run has a verdict on a plan. A run that was refused because its specification has errors had no plan (C78).
fn is_judged(run: &IndexedRun) -> bool {
    let is_refused = run.status == OverallStatus::SpecificationError && run.plan_digest.is_none();
    run.result.is_some() && !is_refused
}

impl<'r> TestRecords<'r> {
    /// Finds the records of an action in a report; `None` if the report does not have the action, or the action has no
    /// records.
    fn of(report: &'r ExecutionReportV2, action: &str) -> Option<Self> {
        let entry = report.step_execution.results.iter().find(|entry| entry.name == action)?;
        let reused = report.reused.iter().find(|reused| reused.action_id == entry.action_id);
        let (run, files) = match reused {
            Some(reused) => (&reused.run_id, &reused.evidence_files),
            None => (&report.authenticity.execution_id, &report.evidence_files),
        };
        let is_own = |file: &&EvidenceFile| file.action_id.as_deref() == Some(entry.action_id.as_str());
        let mut files: Vec<_> = files.iter().filter(is_own).filter(|file| file.name.ends_with(TEST_RECORD)).collect();
        // The last attempt's files come first: no entry of an earlier attempt lists them. Sorting by name would put
        // them elsewhere.
        files.sort_by_key(|file| entry.earlier_attempts.iter().any(|earlier| earlier.evidence_files.contains(&file.name)));
        (!files.is_empty()).then_some(Self { run, files })
    }
}

/// Returns which of the declared tests, which all fail now, passed in an earlier run. If `open` names no test, no run
/// is read.
fn passed_before<Runs: Iterator<Item = Seen>>(mut open: Vec<&TestFailure>, runs: impl FnOnce() -> Runs) -> PassedBefore {
    let (mut passed, mut unread) = (BTreeMap::new(), None);
    let mut runs = iter::once_with(runs).flatten();
    while !open.is_empty()
        && let Some(seen) = runs.next()
    {
        let (run, tests) = match seen {
            Ok(seen) => seen,
            Err(why) => {
                unread.get_or_insert(why);
                continue;
            }
        };
        let names = tests.iter().filter(|test| test.status == TestOutcome::Passed).map(TestRecordV1::stable_name);
        let names: BTreeSet<&str> = names.collect();
        let (found, left): (Vec<_>, Vec<_>) = open.into_iter().partition(|test| names.contains(test.stable_name()));
        passed.extend(found.into_iter().map(|test| (test.test_name.clone(), run.clone())));
        open = left;
    }
    match unread.filter(|_| passed.is_empty()) {
        Some(why) => PassedBefore::Unknown(why.to_string()),
        None => PassedBefore::Known(passed),
    }
}

/// Returns which of the tests, which all fail now, failed before the RED phase: each in the newest run that has a result of it. A test that
/// no run has a result of is new.
fn red_beginning(mut open: Vec<&TestFailure>, mut before: impl Iterator<Item = Seen>) -> RedBeginning {
    let (mut newest, mut old, mut unread) = (None, Vec::new(), None);
    while !open.is_empty()
        && let Some(seen) = before.next()
    {
        let (run, tests) = match seen {
            Ok(seen) => seen,
            Err(why) => {
                unread.get_or_insert(why);
                continue;
            }
        };
        let failed: BTreeMap<&str, bool> = tests
            .iter()
            .map(|test| (test.stable_name(), matches!(test.status, TestOutcome::Failed | TestOutcome::Error)))
            .collect();
        let of_run = open.iter().filter(|test| failed.get(test.stable_name()) == Some(&true));
        let of_run: Vec<String> = of_run.map(|test| test.test_name.clone()).collect();
        if !of_run.is_empty() {
            newest.get_or_insert(run);
            old.extend(of_run);
        }
        open.retain(|test| !failed.contains_key(test.stable_name()));
    }
    match (newest, unread.filter(|_| !open.is_empty())) {
        (Some(run), _) => RedBeginning::Failed { run, tests: old },
        (None, Some(why)) => RedBeginning::Unknown(why.to_string()),
        (None, None) => RedBeginning::NoneFailed,
    }
}

/// Returns the missing tests that passed in the last green run. If that run cannot be read, the newest older green
/// run that can be read is used.
fn vanished(mut green: impl Iterator<Item = Seen>, is_gone: impl Fn(&str) -> bool) -> Option<VanishedTests> {
    let (run, tests) = green.find_map(Result::ok)?;
    let mut named = BTreeSet::new();
    let passed = tests.into_iter().filter(|test| test.status == TestOutcome::Passed);
    let gone = passed.filter(|test| is_gone(test.stable_name()) && named.insert(test.stable_name().to_owned()));
    let tests: Vec<String> = gone.map(|test| test.full_name).collect();
    (!tests.is_empty()).then_some(VanishedTests { run, tests })
}

/// Logs why a part of the history could not be read, and returns that part.
fn logged(unread: Unread, why: &dyn fmt::Display) -> Unread {
    tracing::warn!("{unread}: {why}");
    unread
}

/// Returns whether a test in a report (`tests.test_a.TestX::test_y[1]`) lies in what pytest did not find: a directory,
/// a file, or a node id (`tests/test_a.py::TestX::test_y`).
fn is_below(path: &str, test: &str) -> bool {
    let (file, rest) = path.split_once("::").map_or((path, None), |(file, rest)| (file, Some(rest)));
    let module = file.trim_start_matches("./").trim_end_matches('/').trim_end_matches(".py").replace('/', ".");
    let Some(below) = test.strip_prefix(module.as_str()).filter(|_| !module.is_empty()) else { return false };
    let Some(rest) = rest else { return below.starts_with(['.', ':']) };
    let inside = below.trim_start_matches(['.', ':']).replace("::", ".");
    let wanted = rest.replace("::", ".");
    inside.strip_prefix(wanted.as_str()).is_some_and(|after| after.is_empty() || after.starts_with(['.', '[']))
}

#[cfg(test)]
pub(crate) mod tests;
