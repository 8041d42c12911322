//! What earlier runs of the task show about the tests of one action, where its result makes that matter: a declared failure, which must
//! be a new one (C06), and tests that the tool does not find (C07).

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::evidence;
use crate::model::{Action, CategoryCode, Ended, ExpectedFailure, Interpretation, OverallResult, RunId, TestOutcome, ToolClass};
use crate::report::{ExecutionReportV2, parse};
use crate::run::request::RunRequest;
use crate::run::workspace::Workspace;
use crate::store::IndexedRun;
use crate::tools;
use crate::verdict::{TestHistory, VanishedTests};

/// So many runs back are looked at: what passed before them is not known any more.
pub(crate) const RUNS: u32 = 50;

/// A test as an earlier run has it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EarlierTest {
    pub(crate) full_name: String,
    pub(crate) status: TestOutcome,
    /// Whether it failed and was expected to.
    #[serde(default)]
    pub(crate) expected_to_fail: bool,
}

/// What is read of a record of tests; what else is in it is none of our business here.
#[derive(Debug, Deserialize)]
struct TestsRead {
    results: ResultsRead,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResultsRead {
    test_results: Vec<EarlierTest>,
}

impl Workspace {
    /// Returns what earlier runs show about an action's tests; nothing where its result does not ask for it, and nothing is read then.
    pub(crate) fn test_history(
        &self,
        request: &RunRequest<'_>,
        expected: Option<&ExpectedFailure>,
        action: &Action,
        ended: &Ended,
        interpretation: &Interpretation,
    ) -> TestHistory {
        let mut history = TestHistory::default();
        if action.class != ToolClass::Test {
            return history;
        }
        let said = interpretation.category;
        if let (CategoryCode::TestsFailed, Some(expected)) = (said, expected) {
            history.passed_before = self.passed_before(request, action, expected, interpretation);
        } else if said == CategoryCode::UsageError {
            let named = tools::not_found(&ended.captured.stderr.text());
            let root = format!("{}/", request.scope.root.display());
            let is_gone = |test: &str| named.iter().any(|path| is_below(path.strip_prefix(&root).unwrap_or(path), test));
            history.vanished = self.vanished(request, action, is_gone);
        } else if said == CategoryCode::NoTestsCollected {
            history.vanished = self.vanished(request, action, |_| true);
        }
        history
    }

    /// Returns the declared tests that failed now and passed before, each with the newest such run.
    fn passed_before(
        &self,
        request: &RunRequest<'_>,
        action: &Action,
        expected: &ExpectedFailure,
        interpretation: &Interpretation,
    ) -> BTreeMap<String, RunId> {
        let failures = interpretation.test_results.iter().flat_map(|results| &results.failures);
        let declared = failures.map(|failure| failure.test_name.as_str()).filter(|name| expected.declares(name));
        let mut open: Vec<&str> = declared.collect();
        let mut passed = BTreeMap::new();
        for run in self.counted_runs(request) {
            if open.is_empty() {
                break;
            }
            let Some(report) = self.report_of(request, &run) else { continue };
            let tests = self.tests_of(request, &run, &report, &action.name).unwrap_or_default();
            let has_passed = |name: &str| tests.iter().any(|test| test.full_name == name && test.status == TestOutcome::Passed);
            let (found, left): (Vec<&str>, Vec<&str>) = open.into_iter().partition(|name| has_passed(name));
            passed.extend(found.into_iter().map(|name| (name.to_owned(), run.run_id.clone())));
            open = left;
        }
        passed
    }

    /// Returns the tests of an action that passed in the last green run and are among those that are gone.
    fn vanished(&self, request: &RunRequest<'_>, action: &Action, is_gone: impl Fn(&str) -> bool) -> Option<VanishedTests> {
        let green = self.counted_runs(request).find(|run| run.result == Some(OverallResult::Passed))?;
        let report = self.report_of(request, &green)?;
        let tests = self.tests_of(request, &green, &report, &action.name)?;
        let passed = tests.into_iter().filter(|test| test.status == TestOutcome::Passed).map(|test| test.full_name);
        let tests: Vec<String> = passed.filter(|name| is_gone(name)).collect();
        (!tests.is_empty()).then(|| VanishedTests { run: green.run_id.clone(), tests })
    }

    /// Returns the task's runs with a verdict, the newest first.
    fn counted_runs(&self, request: &RunRequest<'_>) -> impl Iterator<Item = IndexedRun> {
        let runs = self.index.runs(&request.scope.project, Some(&request.plan.task), RUNS).unwrap_or_default();
        runs.into_iter().filter(|run| run.status.counts())
    }

    /// Returns a run's report; none where it cannot be read.
    pub(crate) fn report_of(&self, request: &RunRequest<'_>, run: &IndexedRun) -> Option<ExecutionReportV2> {
        let bytes = evidence::read_report(&self.store, &request.scope.project, &request.plan.task, &run.run_id).ok()?;
        parse(&bytes).ok()
    }

    /// Returns the tests of an action in an earlier run; none where it has no record of them.
    pub(crate) fn tests_of(
        &self,
        request: &RunRequest<'_>,
        run: &IndexedRun,
        report: &ExecutionReportV2,
        action: &str,
    ) -> Option<Vec<EarlierTest>> {
        let result = report.step_execution.results.iter().find(|result| result.name == action)?;
        let record = result.evidence_files.iter().rfind(|name| name.ends_with("-test-results.json"))?;
        let (project, task) = (&request.scope.project, &request.plan.task);
        let bytes = evidence::read_file(&self.store, project, task, &run.run_id, record).ok()??;
        serde_json::from_slice::<TestsRead>(&bytes).ok().map(|read| read.results.test_results)
    }
}

/// Returns whether a test of a report (`tests.test_a.TestX::test_y[1]`) is at or below what pytest did not find: a directory, a file, or
/// a node id (`tests/test_a.py::TestX::test_y`).
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
mod tests {
    use super::*;

    #[test]
    fn a_test_is_below_the_directory_the_file_and_the_node_id_it_belongs_to() {
        for (path, test, expected) in [
            ("tests/test_a.py", "tests.test_a::test_x", true),
            ("./tests/test_a.py", "tests.test_a.TestX::test_y[1]", true),
            ("tests", "tests.test_a::test_x", true),
            ("tests/", "tests.deep.test_a::test_x", true),
            ("tests/test_a.py::test_x", "tests.test_a::test_x", true),
            ("tests/test_a.py::test_x", "tests.test_a::test_x[a::b]", true),
            ("tests/test_a.py::TestX", "tests.test_a.TestX::test_y", true),
            ("tests/test_a.py::TestX::test_y", "tests.test_a.TestX::test_y", true),
            ("tests/test_a.py", "tests.test_ab::test_x", false),
            ("tests/test_a.py::test_x", "tests.test_a::test_xy", false),
            ("tests/test_a.py::test_x", "tests.test_b::test_x", false),
            ("test", "tests.test_a::test_x", false),
            ("", "tests.test_a::test_x", false),
            ("--option", "tests.test_a::test_x", false),
        ] {
            assert_eq!(is_below(path, test), expected, "{path} {test}");
        }
    }
}
