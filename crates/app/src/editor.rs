//! What an editor shows of a project: how its last verdict stands, where its failures are, and how each test ended.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::environment::Environment;
use crate::error::CommandError;
use crate::places::{MarkedPlace, marked_places};
use crate::project::opening::open_registered;
use crate::project::specification_files::{self, FoundPlan};
use crate::run::{RunWish, ServiceRun};
use crate::status;
use proctor_api::StateV1;
use proctor_evidence::report::{ExecutionReportV2, FailureSource, reported_failures, rerun_command};
use proctor_model::{ActionId, RunId, TestOutcome, Timestamp};
use proctor_sandbox::process::clock;

/// How a project's last verdict stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerdictLook {
    pub state: StateV1,
    /// The run of the last verdict; `None` if there never was one.
    pub run_id: Option<RunId>,
    /// When it was asked. What was written to a file later is not known to it.
    pub asked: Timestamp,
}

/// What a sealed run says of files and tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditorRun {
    pub run_id: RunId,
    pub started: Timestamp,
    /// When its last process had ended; its start, where that is not known.
    pub ended: Timestamp,
    pub places: Vec<MarkedPlace>,
    pub tests: Vec<EditorTest>,
}

/// How one test ended in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditorTest {
    pub action_id: ActionId,
    /// The tool's own id of the test.
    pub id: String,
    /// Its own name, without what encloses it.
    pub title: String,
    /// Relative to the project.
    pub file: String,
    pub outcome: TestOutcome,
    /// The command that runs only this test, in the project's root; `None` where it is not known, and for a test that did not fail.
    pub rerun: Option<String>,
    /// How often it failed, and how often it was run, on trees on which it both passed and failed.
    pub flaky: Option<(u64, u64)>,
}

/// Returns how a project's last verdict stands. The service is asked where one watches the project; nothing is run.
///
/// # Errors
/// When the project or the store cannot be read.
pub fn look_at_verdict(environment: &Environment, root: &Path) -> Result<VerdictLook, CommandError> {
    let asked = clock::now();
    let standing = status::status(environment, Some(root.to_owned()), None)?;
    let task = standing.status.projects.into_iter().next().and_then(|project| project.tasks.into_iter().next());
    let (state, verdict) = task.map_or((StateV1::NoVerdict, None), |task| (task.state, task.verdict));
    Ok(VerdictLook { state, run_id: verdict.map(|verdict| verdict.run_id), asked })
}

/// Returns the newest sealed run of a project, which is read without looking at the project's files.
///
/// # Errors
/// When the project is not registered, or the store cannot be read.
pub fn newest_run(environment: &Environment, root: &Path) -> Result<Option<RunId>, CommandError> {
    let (archive, project) = open_registered(environment, root)?;
    let found = archive.find(&project, None)?;
    Ok(found.map(|run| run.run.run_id))
}

/// Returns what a sealed run says of files and tests; `None` if it is not there.
///
/// # Errors
/// When the project is not registered, or the run's evidence cannot be read.
pub fn editor_run(environment: &Environment, root: &Path, run_id: &RunId) -> Result<Option<EditorRun>, CommandError> {
    let (archive, project) = open_registered(environment, root)?;
    let found = archive.find(&project, Some(run_id.as_str()))?;
    let Some(run) = found else { return Ok(None) };
    let (_, report) = archive.report(&project, &run)?;
    let records = archive.test_records(&project, &run, &report)?;
    // What is not in the index of tests is no reason to show nothing.
    let flaky = archive.flaky_tests(&project).unwrap_or_default();
    let flaky: BTreeMap<String, (u64, u64)> =
        flaky.into_iter().map(|test| (test.test.id, (test.failed, test.passed + test.failed))).collect();
    let reruns = reruns(&report);
    let mut tests = Vec::new();
    for (record, test) in records.values().flat_map(|record| record.results.test_results.iter().map(move |test| (record, test))) {
        let named = || test.full_name.split_once("::").map(|(file, _)| file);
        let located = || test.location.as_ref().map(|location| location.file.as_str());
        let file = test.test_file.as_deref().or(record.test_file.as_deref()).or_else(named).or_else(located);
        let Some(file) = file else { continue };
        tests.push(EditorTest {
            action_id: record.action_id.clone(),
            id: test.full_name.clone(),
            title: test.title.clone(),
            file: file.to_owned(),
            outcome: test.status,
            rerun: reruns.get(&test.full_name).cloned(),
            flaky: flaky.get(&test.full_name).copied(),
        });
    }
    let (started, ended) = (report.execution_summary.start_time, report.execution_summary.end_time);
    let places = marked_places(&report, &root.to_string_lossy());
    Ok(Some(EditorRun { run_id: run_id.clone(), started, ended: ended.unwrap_or(started), places, tests }))
}

/// Returns the file with the log of an action; `None` where the run's evidence is packed, or has no such file.
///
/// # Errors
/// When the project is not registered, or the store cannot be read.
pub fn log_place(environment: &Environment, root: &Path, run_id: &RunId, action: &str) -> Result<Option<PathBuf>, CommandError> {
    let (archive, project) = open_registered(environment, root)?;
    let found = archive.find(&project, Some(run_id.as_str()))?;
    let Some(run) = found.filter(|run| run.pruned.is_none()) else { return Ok(None) };
    let names = archive.file_names(&project, &run)?;
    let start = format!("{action}-");
    let name = names.into_iter().find(|name| name.starts_with(&start) && name.ends_with(".log"));
    Ok(name.map(|name| archive.place(&project, &run).join(name)))
}

/// Returns the present time.
pub fn now() -> Timestamp {
    clock::now()
}

fn reruns(report: &ExecutionReportV2) -> BTreeMap<String, String> {
    let of_action = |result| {
        let failures = reported_failures(result).into_iter();
        failures.filter_map(move |failure| match failure.source {
            FailureSource::Test(test) => Some((test.test_name.clone(), rerun_command(result, test)?)),
            FailureSource::Finding(_) => None,
        })
    };
    report.step_execution.results.iter().flat_map(of_action).collect()
}

/// Has the service run the checks, and returns when the run has ended; `false` if no service can run them as the command line would.
///
/// # Errors
/// When the project's settings are wrong, or the service refuses the run.
pub fn run_in_service(environment: &Environment, root: &Path) -> Result<bool, CommandError> {
    let loaded = match specification_files::find(environment, root, None)? {
        FoundPlan::Planned(loaded) => loaded,
        FoundPlan::Wrong(wrong) => return Err(wrong.error),
    };
    let wish = RunWish::default();
    let Some(run) = ServiceRun::find(environment, &wish, false, &loaded)? else { return Ok(false) };
    run.make(environment).map(|answer| answer.is_some())
}
