//! The facts about a TEST action that the router needs, whether it was carried out in this run or reused (R1, R2, R4).

use std::collections::BTreeSet;

use proctor_evidence::report::{ActionDisposition, ActionResult};
use proctor_model::{
    ActionEnd, CategoryCode, Digest, ExitCodeSource, IdentityWriter, RunId, TestFailure, TestResults, Timestamp, ToolClass,
    TreeDigest, Trigger, TriggerKind,
};
use proctor_plan::routing::{RunCause, TestResult};

/// Returns the facts about an action; `None` if it is no TEST action, or has no result.
pub(crate) fn test_result<'a>(one: &'a ActionResult, run_id: &RunId, tree: TreeDigest, now: Timestamp) -> Option<TestResult<'a>> {
    if one.action.class != ToolClass::Test {
        return None;
    }
    let code = one.judgement()?.classification.code;
    let of = |tests: Option<&TestResults>, (exit_code, source)| TestResult {
        category: Some(code),
        failing_set: failing_set(code, tests),
        ..TestResult::new(exit_code, source, tree.0, run_id.clone(), now)
    };
    match &one.disposition {
        ActionDisposition::Executed(executed) => Some(TestResult {
            missing_modules: &executed.interpretation.missing_modules,
            only_missing_modules: executed.interpretation.only_missing_modules,
            ..of(executed.interpretation.test_results.as_ref(), raw_code(&executed.ended.end))
        }),
        // Only an action that ended by itself is reused, so the exit code is the process's own.
        ActionDisposition::Reused(reused) => {
            let result = reused.entry.result.as_ref()?;
            Some(of(result.test_results.as_ref(), (result.exit_code, ExitCodeSource::Process)))
        }
        ActionDisposition::Skipped(_) => None,
    }
}

/// Returns what a run was made for. A trigger names its first paths only, which say enough: a save seldom has more.
pub(crate) fn run_cause(trigger: &Trigger) -> RunCause {
    match trigger.kind {
        TriggerKind::Request => RunCause::Asked,
        TriggerKind::Save if trigger.paths.iter().any(|path| is_test_path(path)) => RunCause::SavedTest,
        TriggerKind::Save | TriggerKind::Start | TriggerKind::Moved | TriggerKind::Wait => RunCause::Other,
    }
}

/// Returns whether a path has a word in it by which test runners know files of tests, such as `tests/`, `test_a.py`,
/// `a_test.go` or `a.spec.ts`.
fn is_test_path(path: &str) -> bool {
    path.split(['/', '.', '_', '-']).any(|word| ["test", "tests", "spec", "specs"].contains(&word))
}

/// Returns a digest that is equal for two attempts with the same failed tests and the same category (R4).
fn failing_set(code: CategoryCode, tests: Option<&TestResults>) -> Digest {
    let failures = tests.map(|tests| tests.failures.as_slice()).unwrap_or_default();
    let names: BTreeSet<_> = failures.iter().map(TestFailure::stable_name).collect();
    let category = serde_json::to_string(&code).expect("a unit variant is a word");
    let writer = IdentityWriter::new("proctor-failing-set-v2").part("category", category.as_bytes());
    writer.list("test", names.iter().map(|name| name.as_bytes())).digest()
}

fn raw_code(end: &ActionEnd) -> (Option<i32>, ExitCodeSource) {
    match end {
        ActionEnd::Exited { code } => (Some(*code), ExitCodeSource::Process),
        ActionEnd::Signalled { .. } | ActionEnd::Stopped { .. } => (None, ExitCodeSource::Signal),
        ActionEnd::TimedOut { .. } => (None, ExitCodeSource::Timeout),
        ActionEnd::NotStarted(_) => (None, ExitCodeSource::NotStarted),
        ActionEnd::Lost { .. } => (None, ExitCodeSource::Lost),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_identity_of_a_failing_set_is_the_one_that_earlier_versions_stored() {
        let failure = |name: &str| TestFailure { test_name: name.to_owned(), ..TestFailure::default() };
        let results = TestResults { failures: vec![failure("test_b"), failure("test_a")], ..TestResults::default() };
        assert_eq!(
            failing_set(CategoryCode::TestsFailed, Some(&results)).hex(),
            "228c81fc79707fb08e507ceed3369e9b9fdc82e20ffc68dd0425d3d8262143f8"
        );
        let renamed = |name: &str| TestFailure { report_name: Some(name.to_owned()), ..failure(&format!("a.py::{name}")) };
        let renamed = TestResults { failures: vec![renamed("test_a"), renamed("test_b")], ..TestResults::default() };
        assert_eq!(
            failing_set(CategoryCode::TestsFailed, Some(&renamed)),
            failing_set(CategoryCode::TestsFailed, Some(&results)),
            "the name that people see is no part of it"
        );
        assert_eq!(
            failing_set(CategoryCode::TimedOut, None).hex(),
            "234ab1e3c34c11adb3011d9dffe969af6b2886cebe1fc821904a6b9d27951c61"
        );
    }
}
