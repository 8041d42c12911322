//! What is asked of a sealed run: what failed in it, what an action wrote, and its report.

use std::path::{Path, PathBuf};

use proctor_wire::wire;
use serde::Serialize;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::history::{catch_up, not_one};
use crate::project::opening::open_registered;
use crate::project::setup;
use proctor_api::{
    AnswerTexts, FailureChoice, FailureSubject, FailuresV1, build_failures, chosen_failure_names, count_failures, is_place,
};
use proctor_evidence::report::{ActionOutcomeV2, ActionResultV2, ExecutionReportV2};
use proctor_model::{ActionId, CommandExit, ProjectId, RunId, TestOutcome};
use proctor_project::{ProjectError, RecordedRun, StoreReader, TestSearch};

/// A text of an answer is cut after this many characters.
const LONGEST_TEXT: usize = 8000;

/// What failed in a run, of everything or of what a word chose.
#[derive(Debug, Serialize)]
pub struct FoundFailures {
    #[serde(flatten)]
    pub failures: FailuresV1,
    /// What the answer is about, where it is not everything that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen: Option<ChosenFailures>,
}

/// What an answer about failures is about, where it is not everything that failed in the run.
#[wire(open, sparse)]
pub struct ChosenFailures {
    /// The test's id, or the name of the file or check.
    pub name: String,
    /// How many tests, findings and whole actions failed in the run.
    pub of_run: u64,
    /// How the test ended in the run; absent if that is not known, and for a file or a check.
    pub outcome: Option<TestOutcome>,
}

/// What an action of a run wrote, cut and without secrets.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ActionOutput {
    run_id: RunId,
    action: ActionId,
    check: String,
    status: serde_json::Value,
    reason: Option<String>,
    stdout: Option<String>,
    stderr: Option<String>,
}

/// A run, and where it was found.
struct FoundRun {
    root: PathBuf,
    archive: StoreReader,
    project: ProjectId,
    run: RecordedRun,
}

fn find(environment: &Environment, directory: &Path, wanted: Option<&str>) -> Result<FoundRun, CommandError> {
    let root = setup::project_root(environment, directory)?;
    let (archive, project) = open_registered(environment, &root)?;
    let found = archive.find(&project, wanted)?;
    let run = found.ok_or_else(|| {
        let text =
            wanted.map_or_else(|| "nothing was run yet".to_owned(), |wanted| format!("there is no finished run `{wanted}`"));
        CommandError::new(CommandExit::Usage, text).hint("`verdict` names the run of the last verdict")
    })?;
    Ok(FoundRun { root, archive, project, run })
}

/// Returns what failed in a run, of one test, file or check alone if a word names it. The newest sealed run is meant if none is named.
///
/// # Errors
/// When there is no such run, the word means nothing in it, or its report cannot be read.
pub fn failures(
    environment: &Environment,
    directory: &Path,
    (run, word): (Option<&str>, Option<&str>),
    excerpt_bytes: Option<usize>,
) -> Result<FoundFailures, CommandError> {
    let mut found = find(environment, directory, run)?;
    let Some(word) = word else {
        let choice = FailureChoice { about: FailureSubject::Run, excerpt_bytes };
        let (failures, _) = failures_of(found, choice)?;
        return Ok(FoundFailures { failures, chosen: None });
    };
    let chosen = choose(environment, &mut found, word)?;
    let about = match &chosen {
        Chosen::Test { check, names, .. } => FailureSubject::Test { check, names },
        Chosen::Place => FailureSubject::Place(word),
    };
    let (failures, of_run) = failures_of(found, FailureChoice { about, excerpt_bytes })?;
    let (name, outcome) = match chosen {
        Chosen::Test { id, outcome, .. } => (id, outcome),
        Chosen::Place => (word.to_owned(), None),
    };
    Ok(FoundFailures { failures, chosen: Some(ChosenFailures { name, of_run, outcome }) })
}

/// Returns the chosen failures of a run, and how many it has.
fn failures_of(found: FoundRun, choice: FailureChoice<'_>) -> Result<(FailuresV1, u64), CommandError> {
    let FoundRun { root, mut archive, project, run } = found;
    let names = |report: &ExecutionReportV2| chosen_failure_names(report, choice);
    let read: Result<_, ProjectError> = archive.failed_run(&project, &run.run_id, names);
    let (report, pasts) = read?;
    let root = root.to_string_lossy();
    let texts = AnswerTexts { root: &root };
    Ok((build_failures(&run.run_id, &report, &pasts, texts, choice), count_failures(&report)))
}

/// Returns what an action of a run wrote.
///
/// # Errors
/// When there is no such run or action, or the report cannot be read.
pub fn output(environment: &Environment, directory: &Path, run: &str, action: &str) -> Result<ActionOutput, CommandError> {
    let FoundRun { root, archive, project, run } = find(environment, directory, Some(run))?;
    let (_, report) = archive.report(&project, &run)?;
    let wanted = ActionId::try_from(action).ok();
    let result = results(&report).find(|result| Some(&result.action_id) == wanted.as_ref());
    let result = result.ok_or_else(|| {
        let known: Vec<String> = results(&report).map(|result| result.action_id.to_string()).collect();
        CommandError::new(CommandExit::Usage, "the run has no such action").hint(format!("it has: {}", known.join(", ")))
    })?;
    let root = root.to_string_lossy();
    let texts = AnswerTexts { root: &root };
    let lines = |text: &String| text.lines().map(|line| texts.line(line, LONGEST_TEXT)).collect::<Vec<_>>().join("\n");
    let stream =
        |of: fn(&ActionOutcomeV2) -> &Option<String>| result.result.as_ref().and_then(|outcome| of(outcome).as_ref().map(lines));
    Ok(ActionOutput {
        run_id: run.run.run_id,
        action: result.action_id.clone(),
        check: result.name.clone(),
        status: serde_json::json!(result.status),
        reason: result.classification.as_ref().map(|one| texts.line(&one.reason, LONGEST_TEXT)),
        stdout: stream(|outcome| &outcome.stdout),
        stderr: stream(|outcome| &outcome.stderr),
    })
}

/// Returns the report of the newest sealed run, as it is stored.
///
/// # Errors
/// When nothing was run, or the report cannot be read.
pub fn last_report(environment: &Environment, directory: &Path) -> Result<Vec<u8>, CommandError> {
    let FoundRun { archive, project, run, .. } = find(environment, directory, None)?;
    archive.report(&project, &run).map(|(bytes, _)| bytes).map_err(CommandError::from)
}

/// Returns the results of all actions, phase by phase.
pub fn results(report: &ExecutionReportV2) -> impl Iterator<Item = &ActionResultV2> {
    let steps = report.prerequisite_execution.results.iter().chain(&report.step_execution.results);
    steps.chain(&report.cleanup_execution.results)
}
/// What a word in a call of `failures` means.
enum Chosen {
    Test {
        id: String,
        check: String,
        /// Every name that the test has or had.
        names: Vec<String>,
        /// How it ended in the run, if that is known.
        outcome: Option<TestOutcome>,
    },
    /// A file or a check.
    Place,
}

/// Finds what a word means among the tests of a run's task, as `proctor history` does, and among the checks and files of the run. The
/// whole name of a test goes before that of a check or file, and that before a part of a test's name.
fn choose(environment: &Environment, found: &mut FoundRun, word: &str) -> Result<Chosen, CommandError> {
    let FoundRun { archive, project, run, .. } = found;
    let (_, report) = archive.report(project, run)?;
    catch_up(environment, archive, project)?;
    let about = archive.about_tests(project, |archive| match archive.find_test(project, Some(&run.task), word)? {
        TestSearch::Found(test) => {
            let past = archive.test_past(project, &test, 1)?;
            let outcome = archive.test_outcome(project, &test, &run.run_id)?;
            Ok(Ok((past, outcome)))
        }
        search @ (TestSearch::Several(_) | TestSearch::Nothing) => Ok(Err(search)),
    });
    match about? {
        Ok((past, outcome)) if past.test.is_named(word) || !is_place(&report, word) => {
            let former = past.former_names.into_iter().map(|name| name.id);
            let names = [past.test.id.clone()].into_iter().chain(past.test.report_name).chain(former).collect();
            Ok(Chosen::Test { id: past.test.id, check: past.test.check, names, outcome })
        }
        Ok(_) => Ok(Chosen::Place),
        Err(_) if is_place(&report, word) => Ok(Chosen::Place),
        Err(search) => Err(not_one(word, &search)),
    }
}
