//! What the store knows of the project's tests without a run: which files tools collected, and which tests passed on just this content.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proctor_app::Environment;
use proctor_app::known::{KnownOutcome, known_files};
use proctor_app::project::opening::open_archive;
use proctor_app::project::setup::LoadedProject;
use proctor_app::project::specification_files;
use proctor_evidence::report::{TestRecordV1, TestResultsRecordV1};
use proctor_model::{Action, ActionEnd, CommandExit, OverallResult, ResultType, TaskId, TestCase, TestOutcome, TreeDigest};

use crate::base::test_of_name;
use crate::touched::{TestLanguage, TouchedTest};
use crate::trial::EndOnContent;

/// How many of the newest runs are looked at for one that failed.
const LAST_RUNS: u32 = 20;
/// The most tests that failed and are tried although nobody touched them.
const MOST_FAILED: usize = 50;

/// How the checks ended in a sealed run on the content with the change: that run passed.
pub(crate) struct KnownAfter {
    pub(crate) tree: TreeDigest,
    /// Which run it is, in words.
    pub(crate) source: String,
    /// The end of each check with the tests that passed, by the check's name.
    pub(crate) ends: BTreeMap<String, EndOnContent>,
}

/// Returns how the checks ended in a run that proves the present content, by the present rules and in an equal environment. `None` if none is
/// known, or it cannot be read: then the tests are run.
pub(crate) fn known_after(environment: &Environment, root: &Path) -> Option<KnownAfter> {
    let loaded = specification_files::load(environment, root, None).ok()?;
    let KnownOutcome::Known(known) = known_files(environment, &loaded, &TaskId::default_task()).ok()? else { return None };
    let tree = known.report.tree.as_ref().filter(|_| known.exit == CommandExit::Proceed)?.before;
    let mut archive = open_archive(environment).ok()?;
    let others = archive.projects_with_content(root, tree).ok()?;
    let projects: Vec<_> = archive.find_project(root).ok()?.into_iter().chain(others).collect();
    let of_run = |project| Some((project, archive.find(project, Some(known.report.authenticity.execution_id.as_str())).ok()??));
    let (project, run) = projects.iter().find_map(of_run)?;
    let mut records = archive.test_records(project, &run, &known.report).ok()?;
    let checks = known.report.step_execution.results.iter().filter(|check| check.status == Some(ResultType::Success));
    let ends = checks.filter_map(|check| Some((check.name.clone(), passed(records.remove(&check.action_id)?))));
    Some(KnownAfter { tree, source: known.source, ends: ends.collect() })
}

/// Returns the end of a check with the tests that passed.
fn passed(record: TestResultsRecordV1) -> EndOnContent {
    let (end, reason, output) = (ActionEnd::Exited { code: 0 }, String::new(), String::new());
    let cases = cases(record, |status| status == TestOutcome::Passed).collect();
    EndOnContent { end, reason, cases, failures: Vec::new(), output }
}

/// Returns the tests of a record that ended in one of these ways.
fn cases(record: TestResultsRecordV1, is_wanted: fn(TestOutcome) -> bool) -> impl Iterator<Item = TestCase> {
    let file = record.test_file;
    let tests = record.results.test_results.into_iter().filter(move |test| is_wanted(test.status));
    tests.map(move |test: TestRecordV1| TestCase {
        test_file: test.test_file.or_else(|| file.clone()).or_else(|| Some(file_of(&test.full_name)?.to_owned())),
        title: test.title,
        ancestor_titles: test.ancestor_titles,
        full_name: test.full_name,
        report_name: test.report_name,
        status: test.status,
        expected_to_fail: false,
        duration_us: None,
        failure_messages: Vec::new(),
        body: None,
    })
}

/// Returns the tests that failed in the last of the newest runs in which checks failed: a change may mend them without touching them. Where
/// it is not known, or the tool names no files, there are none.
pub(crate) fn failed_tests(environment: &Environment, loaded: &LoadedProject) -> Vec<TouchedTest> {
    let records = || {
        let mut archive = open_archive(environment).ok()?;
        let project = archive.find_project(&loaded.root).ok()??;
        let runs = archive.runs(&project, LAST_RUNS).ok()?;
        let run = runs.into_iter().find(|run| run.result == Some(OverallResult::Failed))?;
        let (_, report) = archive.report(&project, &run).ok()?;
        archive.test_records(&project, &run, &report).ok()
    };
    let mut failed = BTreeMap::new();
    for (check, record) in records().unwrap_or_default() {
        let Some(check) = loaded.plan.steps.iter().find(|step| step.id == check) else { continue };
        let tests = cases(record, TestOutcome::is_failure).filter_map(|case| failed_test(check, &case));
        failed.extend(tests.map(|test| (test.id(), test)));
    }
    failed.into_values().take(MOST_FAILED).collect()
}

fn failed_test(check: &Action, case: &TestCase) -> Option<TouchedTest> {
    let file = case.test_file.as_deref()?;
    match TestLanguage::of(file)? {
        TestLanguage::Python => test_of_name(check, &case.full_name),
        TestLanguage::Script => {
            let above = case.ancestor_titles.iter().filter(|title| *title != file && !title.starts_with('['));
            let name = above.chain([&case.title]).map(String::as_str).collect::<Vec<_>>().join(" > ");
            Some(TouchedTest { file: file.to_owned(), name, is_added: false, is_sure: true, doubt: None })
        }
        TestLanguage::Rust | TestLanguage::Go => None,
    }
}

/// Returns the file that the name of a test begins with.
pub(crate) fn file_of(name: &str) -> Option<&str> {
    let (file, _) = name.split_once("::").or_else(|| name.split_once(" › "))?;
    crate::touched::is_code(file).then_some(file)
}

/// Returns the files, from the project's root, in which tools found tests in earlier runs.
pub(crate) fn collected_files(environment: &Environment, loaded: &LoadedProject) -> BTreeSet<String> {
    let known = || {
        let mut archive = open_archive(environment).ok()?;
        let project = archive.find_project(&loaded.root).ok()??;
        archive.catch_up_tests(&project).ok()?;
        archive.tests(&project).ok()
    };
    let directory = |name: &str| {
        let check = loaded.plan.steps.iter().find(|check| check.name == name);
        check.map_or(Path::new(""), |check| check.directory.as_path())
    };
    let tests = known().unwrap_or_default();
    let files = tests.iter().filter_map(|test| Some(directory(&test.check).join(file_of(&test.id)?)));
    files.map(|file| file.to_string_lossy().into_owned()).collect()
}
