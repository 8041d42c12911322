//! Decides whether exactly the tests that were declared to fail did fail (C06).

use std::collections::BTreeSet;

use crate::verdict::criteria::seen::SeenAction;
use crate::verdict::red::listed;
use proctor_model::{ActionPhase, Blocking, ExpectedFailure, JudgedFailure, TestFailure, ToolClass};

/// Evaluates a declared failure over all TEST steps of a run. A step that failed in another way than declared makes the
/// verdict FAILED already by its own result.
pub(in crate::verdict) fn judge_failure(expected: &ExpectedFailure, actions: &[SeenAction<'_>]) -> JudgedFailure {
    let steps = || actions.iter().filter(|action| action.phase == ActionPhase::Step && action.class == ToolClass::Test);
    let failures: Vec<&TestFailure> = steps().filter_map(|step| step.tests).flat_map(|tests| &tests.failures).collect();
    let failed: BTreeSet<String> = failures.iter().map(|failure| failure.test_name.clone()).collect();
    let failed: Vec<String> = failed.into_iter().collect();
    let missing = expected.missing_from(failures.iter().copied());
    let ran = steps().any(|step| step.tests.is_some_and(|tests| tests.counts.passed + tests.counts.failed > 0));
    let failed_otherwise = steps().find(|step| step.blocking == Blocking::Blocks);
    let reason = if !ran {
        Some("No test was executed, so none failed".to_owned())
    } else if failed.is_empty() {
        Some("The tests were expected to fail, and none did".to_owned())
    } else if expected.tests.is_empty() {
        // No tests were declared by name, so it is enough that some tests fail.
        None
    } else if let Some(step) = failed_otherwise {
        Some(format!("{} did not fail as declared: {}", step.id, step.reason.unwrap_or("nobody knows why")))
    } else if !missing.is_empty() {
        Some(format!("Declared as failing, and did not fail: {}", listed(&missing)))
    } else {
        None
    };
    JudgedFailure { declared: expected.tests.clone(), failed, met: reason.is_none(), reason }
}
