//! Reads the tests of a sealed run from its evidence: from the report and from the records of tests beside it. Only what was sealed is
//! read, so that the index of tests says the same whenever it is made.

use std::borrow::Cow;
use std::collections::BTreeMap;

use nix::libc;
use serde::Deserialize;

use crate::error::{ProjectError, system_error_behind};
use crate::store_reader::{RecordedRun, StoreReader};
use proctor_evidence::report::{ActionResultV2, EXECUTION_REPORT_FILE, ExecutionReportV2, TestResultsRecordV1};
use proctor_evidence::{EvidenceError, SealedFiles, Store};
use proctor_index::{ListedTest, ListedTests, PastRun, SealedCheck, SealedTests, TestIdentity};
use proctor_model::{
    ActionId, CategoryCode, DurationMs, EvidenceFile, ProjectId, ResultType, RunId, RunRecord, Sequence, TestBody, TestCounts,
    TestOutcome, TreeDifference,
};

/// The end of the file name of a record of tests.
const TEST_RECORD: &str = "-test-results.json";

/// The parts of a report that are needed here. Reports of every version have them, or leave them out.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReportRead {
    #[serde(default)]
    tree: Option<TreeRead>,
    execution_summary: SummaryRead,
    step_execution: StepsRead,
    #[serde(default)]
    evidence_files: Vec<EvidenceFile>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TreeRead {
    #[serde(default)]
    since_last_run: Option<TreeDifference>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SummaryRead {
    #[serde(default)]
    total_duration: Option<DurationMs>,
    #[serde(default)]
    test_results: Option<TestCounts>,
}

#[derive(Debug, Deserialize)]
struct StepsRead {
    results: Vec<EntryRead>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct EntryRead {
    action_id: ActionId,
    name: String,
    status: Option<ResultType>,
    #[serde(default)]
    blocking: Option<bool>,
    #[serde(default)]
    classification: serde_json::Value,
    #[serde(default)]
    duration: Option<DurationMs>,
    #[serde(default)]
    reused: Option<ReusedRead>,
    #[serde(default)]
    earlier_attempts: Vec<AttemptRead>,
    #[serde(default)]
    result: Option<ResultRead>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReusedRead {
    run_id: RunId,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AttemptRead {
    attempt: u32,
    status: ResultType,
    #[serde(default)]
    duration: Option<DurationMs>,
    #[serde(default)]
    evidence_files: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResultRead {
    #[serde(default)]
    test_results: Option<TestResultsRead>,
}

#[derive(Debug, Deserialize)]
struct TestResultsRead {
    #[serde(flatten)]
    counts: TestCounts,
    #[serde(default)]
    failures: Vec<FailureRead>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct FailureRead {
    test_name: String,
    #[serde(default)]
    report_name: Option<String>,
    #[serde(default)]
    error: String,
}

/// The parts of a record of tests that are needed here.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecordRead<'a> {
    #[serde(borrow, default)]
    test_file: Option<Cow<'a, str>>,
    #[serde(borrow)]
    results: ListRead<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListRead<'a> {
    num_total_tests: u64,
    num_passed_tests: u64,
    num_failed_tests: u64,
    num_pending_tests: u64,
    #[serde(borrow)]
    test_results: Vec<TestRead<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TestRead<'a> {
    #[serde(borrow)]
    full_name: Cow<'a, str>,
    #[serde(borrow, default)]
    report_name: Option<Cow<'a, str>>,
    status: TestOutcome,
    /// In milliseconds.
    #[serde(default)]
    duration: Option<u64>,
    /// In microseconds, where that says more.
    #[serde(default)]
    duration_us: Option<u64>,
    #[serde(borrow, default)]
    failure_messages: Vec<Cow<'a, str>>,
    #[serde(borrow, default)]
    title: Cow<'a, str>,
    #[serde(default)]
    body: Option<TestBody>,
    #[serde(borrow, default)]
    test_file: Option<Cow<'a, str>>,
}

/// The errors of the system that are about this moment and not about the files: too many open files, and no memory.
const OF_THE_MOMENT: [i32; 3] = [libc::EMFILE, libc::ENFILE, libc::ENOMEM];

/// Reads the tests of a run. `None` if its evidence is not there, cannot be read, or is not as it was sealed; proctor's own log says
/// why. So one damaged run does not keep the later ones out of the index.
///
/// # Errors
/// When no evidence can be read at this moment, such as with too many open files.
pub(crate) fn read_sealed_tests(
    store: &Store,
    project: &ProjectId,
    sequence: Sequence,
    record: &RunRecord,
) -> Result<Option<SealedTests>, ProjectError> {
    match read(store, project, sequence, record) {
        Ok(tests) => Ok(Some(tests)),
        Err(Unread::Evidence(error)) if system_error_behind(&error).is_some_and(|error| OF_THE_MOMENT.contains(&error)) => {
            Err(ProjectError::Evidence(error))
        }
        Err(Unread::Evidence(error)) => {
            tracing::warn!("the tests of {} are not in the index: {error}", record.run_id);
            Ok(None)
        }
        Err(Unread::Form(error)) => {
            tracing::warn!("the tests of {} are not in the index: {error}", record.run_id);
            Ok(None)
        }
    }
}

/// Why the tests of a run could not be read.
#[derive(Debug)]
enum Unread {
    Evidence(EvidenceError),
    Form(serde_json::Error),
}

fn read(store: &Store, project: &ProjectId, sequence: Sequence, record: &RunRecord) -> Result<SealedTests, Unread> {
    let files = SealedFiles::open(store, project, &record.task, &record.run_id, record.manifest_hash);
    let files = files.map_err(Unread::Evidence)?;
    let bytes = files.read(EXECUTION_REPORT_FILE).map_err(Unread::Evidence)?;
    let report: ReportRead = serde_json::from_slice(&bytes).map_err(Unread::Form)?;
    let mut checks = Vec::new();
    for entry in &report.step_execution.results {
        let Some(status) = entry.status else { continue };
        for earlier in &entry.earlier_attempts {
            let name = earlier.evidence_files.iter().find(|name| name.ends_with(TEST_RECORD));
            let (counts, tests) = read_tests(&files, name.map(String::as_str), &BTreeMap::new())?;
            checks.push(SealedCheck {
                name: entry.name.clone(),
                attempt: earlier.attempt,
                status: earlier.status,
                blocks: false,
                category: None,
                duration: earlier.duration,
                counts,
                reused: None,
                tests,
            });
        }
        let results = entry.result.as_ref().and_then(|result| result.test_results.as_ref());
        let (counts, tests) = match &entry.reused {
            // The records are in the directory of the run that carried the check out, which has its own rows.
            Some(_) => (results.map(|results| results.counts), None),
            None => {
                let (counts, tests) = read_tests(&files, last_record(&report, entry), &first_lines(results))?;
                (results.map(|results| results.counts).or(counts), tests)
            }
        };
        checks.push(SealedCheck {
            name: entry.name.clone(),
            attempt: entry.earlier_attempts.iter().map(|earlier| earlier.attempt).max().unwrap_or(0).saturating_add(1),
            status,
            blocks: entry.blocking == Some(true),
            category: CategoryCode::deserialize(&entry.classification["code"]).ok(),
            duration: entry.duration,
            counts,
            reused: entry.reused.as_ref().map(|reused| reused.run_id.clone()),
            tests,
        });
    }
    let run = PastRun {
        sequence,
        run_id: record.run_id.clone(),
        task: record.task.clone(),
        started: record.started,
        duration: report.execution_summary.total_duration,
        status: record.overall_status,
        result: record.overall_result,
        tree: record.tree_digest,
        counts: report.execution_summary.test_results,
    };
    Ok(SealedTests { run, difference: report.tree.and_then(|tree| tree.since_last_run), checks: one_for_each_attempt(checks) })
}

impl StoreReader {
    /// Returns the records of tests of a run's checks, from their last attempts, by the check's id. For a reused result it is the record
    /// of the run that carried the check out; where that was pruned, there is none.
    ///
    /// # Errors
    /// When a record cannot be read, or is not the one that was sealed.
    pub fn test_records(
        &self,
        project: &ProjectId,
        run: &RecordedRun,
        report: &ExecutionReportV2,
    ) -> Result<BTreeMap<ActionId, TestResultsRecordV1>, ProjectError> {
        let mut records = BTreeMap::new();
        for check in &report.step_execution.results {
            let source = match &check.reused {
                Some(reused) => self.find(project, Some(reused.run_id.as_str()))?,
                None => Some(run.clone()),
            };
            let name = last_test_record(check);
            let (Some(source), Some(name)) = (source.filter(|source| source.pruned.is_none()), name) else { continue };
            let mut bytes = Vec::new();
            self.show_file(project, &source, name, &mut |piece| bytes.extend_from_slice(piece))?;
            let record = serde_json::from_slice(&bytes)
                .map_err(|error| ProjectError::Report { run_id: source.run_id.clone(), problem: error.to_string() })?;
            records.insert(check.action_id.clone(), record);
        }
        Ok(records)
    }
}

/// Returns the name of the record of tests of a check's last attempt. For a reused result, the file is in the directory of the run that
/// carried the check out.
pub fn last_test_record(check: &ActionResultV2) -> Option<&str> {
    let files = check.reused.as_ref().map_or(&check.evidence_files, |reused| &reused.evidence_files);
    let is_last = |name: &&String| !check.earlier_attempts.iter().any(|earlier| earlier.evidence_files.contains(name));
    files.iter().filter(|name| name.ends_with(TEST_RECORD)).find(is_last).map(String::as_str)
}

/// Leaves out a second result of the same check and attempt. Names of checks are unique in a plan, so there is none but in a report
/// that another version wrote.
fn one_for_each_attempt(checks: Vec<SealedCheck>) -> Vec<SealedCheck> {
    let mut kept: BTreeMap<(String, u32), usize> = BTreeMap::new();
    let mut unique: Vec<SealedCheck> = Vec::new();
    for check in checks {
        if kept.insert((check.name.clone(), check.attempt), unique.len()).is_none() {
            unique.push(check);
        }
    }
    unique
}

/// Returns the record of tests of a check's last attempt: no entry of an earlier attempt lists it.
fn last_record<'r>(report: &'r ReportRead, entry: &EntryRead) -> Option<&'r str> {
    let is_own = |file: &&EvidenceFile| file.action_id.as_deref() == Some(entry.action_id.as_str());
    let is_earlier =
        |file: &EvidenceFile| entry.earlier_attempts.iter().any(|earlier| earlier.evidence_files.contains(&file.name));
    let mut records = report.evidence_files.iter().filter(is_own).filter(|file| file.name.ends_with(TEST_RECORD));
    records.find(|file| !is_earlier(file)).map(|file| file.name.as_str())
}

/// Returns the first line of each failure that the report names, by the test's name in the tool's report.
fn first_lines(results: Option<&TestResultsRead>) -> BTreeMap<&str, &str> {
    let failures = results.map(|results| results.failures.as_slice()).unwrap_or_default();
    let named = |failure| (stable_name(failure), first_line(&failure.error));
    failures.iter().map(named).filter_map(|(name, line)| Some((name, line?))).collect()
}

fn stable_name(failure: &FailureRead) -> &str {
    failure.report_name.as_deref().unwrap_or(&failure.test_name)
}

fn first_line(text: &str) -> Option<&str> {
    text.lines().map(str::trim).find(|line| !line.is_empty())
}

/// Reads a record of tests. `messages` has the first line of a failure by the name of its test; for other failures it is taken from
/// the record.
fn read_tests(
    files: &SealedFiles,
    name: Option<&str>,
    messages: &BTreeMap<&str, &str>,
) -> Result<(Option<TestCounts>, Option<ListedTests>), Unread> {
    let Some(name) = name else { return Ok((None, None)) };
    let bytes = files.read(name).map_err(Unread::Evidence)?;
    let RecordRead { test_file, results: list } = serde_json::from_slice(&bytes).map_err(Unread::Form)?;
    let counts = TestCounts { passed: list.num_passed_tests, failed: list.num_failed_tests, skipped: list.num_pending_tests };
    let is_complete = list.test_results.len() as u64 >= list.num_total_tests;
    let listed = |test: TestRead<'_>| {
        let known = messages.get(test.report_name.as_deref().unwrap_or(&test.full_name)).copied();
        let message = known.or_else(|| test.failure_messages.iter().find_map(|message| first_line(message)));
        // Only tests whose text is known can be known again.
        let identity = test.body.map(|body| {
            let named = || test.full_name.split_once("::").map_or("", |(file, _)| file);
            let file = test.test_file.as_ref().or(test_file.as_ref()).map_or_else(named, AsRef::as_ref);
            TestIdentity { body: Some(body), file: file.to_owned(), title: test.title.clone().into_owned() }
        });
        ListedTest {
            identity: identity.unwrap_or_default(),
            message: message.filter(|_| test.status.is_failure()).map(str::to_owned),
            id: test.full_name.into_owned(),
            report_name: test.report_name.map(Cow::into_owned),
            outcome: test.status,
            duration_us: test.duration_us.or_else(|| test.duration.map(|duration| duration.saturating_mul(1000))),
        }
    };
    let tests = list.test_results.into_iter().map(listed).collect();
    Ok((Some(counts), Some(ListedTests { tests, is_complete })))
}
