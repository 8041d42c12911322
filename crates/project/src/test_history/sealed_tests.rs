//! Reads the tests of a sealed run from its evidence: from the report and from the records of tests beside it. Only what was sealed is
//! read, so that the index of tests says the same whenever it is made.

use std::collections::BTreeMap;

use nix::libc;

use crate::error::{ProjectError, system_error_behind};
use crate::store_reader::{RecordedRun, StoreReader};
use proctor_evidence::report::{ActionResultV2, EXECUTION_REPORT_FILE, ExecutionReportV2, TestRecordV1, TestResultsRecordV1};
use proctor_evidence::{EvidenceError, SealedFiles, Store};
use proctor_index::{ListedTest, ListedTests, PastRun, SealedCheck, SealedTests, TestIdentity};
use proctor_model::{ActionId, ProjectId, RunRecord, Sequence, TestCounts, TestFailure, TestResults};

/// The end of the file name of a record of tests.
const TEST_RECORD: &str = "-test-results.json";

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
    let report: ExecutionReportV2 = serde_json::from_slice(&bytes).map_err(Unread::Form)?;
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
                duration: Some(earlier.duration),
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
                let (counts, tests) = read_tests(&files, last_test_record(entry), &first_lines(results))?;
                (results.map(|results| results.counts).or(counts), tests)
            }
        };
        checks.push(SealedCheck {
            name: entry.name.clone(),
            attempt: entry.earlier_attempts.iter().map(|earlier| earlier.attempt).max().unwrap_or(0).saturating_add(1),
            status,
            blocks: entry.blocking == Some(true),
            category: entry.classification.as_ref().map(|classification| classification.code),
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
        counts: report.execution_summary.test_results.map(|totals| TestCounts {
            passed: totals.passed,
            failed: totals.failed,
            skipped: totals.skipped,
        }),
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

/// Returns the first line of each failure that the report names, by the test's name in the tool's report.
fn first_lines<'r>(results: Option<&'r TestResults>) -> BTreeMap<&'r str, &'r str> {
    let failures = results.map(|results| results.failures.as_slice()).unwrap_or_default();
    let named = |failure: &'r TestFailure| (failure.stable_name(), first_line(&failure.error));
    failures.iter().map(named).filter_map(|(name, line)| Some((name, line?))).collect()
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
    let record: TestResultsRecordV1 = serde_json::from_slice(&bytes).map_err(Unread::Form)?;
    let TestResultsRecordV1 { test_file, results: list, .. } = record;
    let counts = TestCounts { passed: list.num_passed_tests, failed: list.num_failed_tests, skipped: list.num_pending_tests };
    let is_complete = list.test_results.len() as u64 >= list.num_total_tests;
    let listed = |test: TestRecordV1| {
        let known = messages.get(test.report_name.as_deref().unwrap_or(&test.full_name)).copied();
        let message = known.or_else(|| test.failure_messages.iter().find_map(|message| first_line(message)));
        // Only tests whose text is known can be known again.
        let identity = test.body.map(|body| {
            let named = || test.full_name.split_once("::").map_or("", |(file, _)| file);
            let file = test.test_file.as_ref().or(test_file.as_ref()).map_or_else(named, String::as_str);
            TestIdentity { body: Some(body), file: file.to_owned(), title: test.title.clone() }
        });
        ListedTest {
            identity: identity.unwrap_or_default(),
            message: message.filter(|_| test.status.is_failure()).map(str::to_owned),
            id: test.full_name,
            report_name: test.report_name,
            outcome: test.status,
            duration_us: test.duration_us.or_else(|| test.duration.map(|duration| duration.saturating_mul(1000))),
        }
    };
    let tests = list.test_results.into_iter().map(listed).collect();
    Ok((Some(counts), Some(ListedTests { tests, is_complete })))
}
