//! Evaluates what a task expects of its output. Specifications do not say to which action an expectation refers, so
//! these rules apply:
//!
//! * each text of `stdoutContains` must occur in the standard output of at least one step that was carried out;
//! * `stderrEmpty` requires that at least one step was carried out and none of them wrote to standard error;
//! * `exitCode` is the exit code of the last TEST step, otherwise of the last step.
//!
//! An expectation is met only by observations, so a run without steps meets none.
//!
//! Decides whether exactly the tests that were declared to fail did fail (C06).

use std::collections::BTreeSet;

use crate::verdict::criteria::seen::{SeenAction, text_of};
use crate::verdict::red::listed;
use proctor_model::{
    ActionPhase, Blocking, ExpectedFailure, ExpectedOutput, JudgedExpectation, JudgedFailure, TestFailure, ToolClass, quoted_text,
};

/// Evaluates the expectations in the order of the list at the head of this file.
pub(super) fn judge_output(expected: &ExpectedOutput, actions: &[SeenAction<'_>]) -> Vec<JudgedExpectation> {
    let steps: Vec<_> = actions.iter().filter(|action| action.phase == ActionPhase::Step).collect();
    let mut judged: Vec<_> = expected.stdout_contains.iter().map(|text| judge_text(text, &steps)).collect();
    if expected.stderr_empty {
        judged.push(judge_stderr(&steps));
    }
    judged.extend(expected.exit_code.map(|code| judge_exit_code(code, &steps)));
    judged
}

fn judge(expectation: String, objection: Option<String>) -> JudgedExpectation {
    JudgedExpectation { expectation, met: objection.is_none(), reason: objection }
}

fn judge_text(text: &str, steps: &[&SeenAction<'_>]) -> JudgedExpectation {
    let outputs: Vec<_> = steps.iter().filter_map(|step| step.stdout).map(text_of).collect();
    let is_seen = !text.is_empty() && outputs.iter().any(|output| output.parts.iter().any(|part| part.contains(text)));
    let objection = if is_seen {
        None
    } else if text.is_empty() {
        Some("An empty text stands in everything and shows nothing".to_owned())
    } else if outputs.is_empty() {
        Some("No step printed anything".to_owned())
    } else if outputs.iter().any(|output| !output.complete) {
        Some("It does not stand in what was kept of the output; some of it is only in the log".to_owned())
    } else {
        Some("No step printed it".to_owned())
    };
    judge(format!("standard output contains {}", quoted_text(text)), objection)
}

fn judge_stderr(steps: &[&SeenAction<'_>]) -> JudgedExpectation {
    let mut streams = steps.iter().filter_map(|step| step.stderr.map(|stream| (step.id, stream.total))).peekable();
    let objection = if streams.peek().is_none() {
        Some("No step was carried out that could print anything".to_owned())
    } else {
        streams.find(|(_, total)| *total > 0).map(|(id, total)| format!("{id} printed {total} bytes on it"))
    };
    judge("standard error is empty".to_owned(), objection)
}

fn judge_exit_code(code: i32, steps: &[&SeenAction<'_>]) -> JudgedExpectation {
    let test = steps.iter().rev().find(|step| step.class == ToolClass::Test);
    let objection = match test.or(steps.last()) {
        None => Some("There is no step".to_owned()),
        Some(step) => match step.exit_code() {
            Some(found) if found == code => None,
            Some(found) => Some(format!("The exit code of {} is {found}", step.id)),
            None => Some(format!("The exit code of {} is not known", step.id)),
        },
    };
    judge(format!("the exit code is {code}"), objection)
}

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
