//! Collects the facts about a run's actions that the task's criteria refer to.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::run_context::RunContext;
use proctor_evidence::report::{ActionDisposition, ActionResult, ExecutedAction, SkipReason};
use proctor_model::{
    ActionEnd, ActionKind, Blocking, CategoryCode, CriteriaEvaluation, Digest, EvidenceKind, ExchangeOutcome, ExitCodeSource,
    FileCheck, FileState, FileValidation, IdentityWriter, Observation, ResultType, RunId, TaskCriteria, TestFailure, TestResults,
    Timestamp, ToolClass, TreeDigest, Trigger, TriggerKind,
};
use proctor_plan::routing::{RunCause, TestResult};
use proctor_plan::verdict::{RunVerdict, SeenAction, SeenAnswer, SeenFile, judge_criteria};
use proctor_tools::without_mark;

/// Applies the task's criteria to the verdict, if the task has criteria and the run has a verdict.
pub(crate) fn judge(
    verdict: &mut RunVerdict,
    context: &RunContext<'_>,
    performed: &[ActionResult],
) -> Option<CriteriaEvaluation> {
    let criteria = context.request.plan.criteria.as_ref().filter(|_| verdict.overall_result.is_some())?;
    let criteria = &TaskCriteria { expected_failure: context.expected_failure().cloned(), ..criteria.clone() };
    let actions: Vec<SeenAction<'_>> = performed.iter().map(seen).collect();
    let evidence: Vec<EvidenceKind> = performed.iter().flat_map(|one| one.files.iter().map(|file| file.kind)).collect();
    Some(judge_criteria(verdict, criteria, &actions, &evidence))
}

fn seen(one: &ActionResult) -> SeenAction<'_> {
    let action = &one.action;
    let unseen = SeenAction {
        id: &action.id,
        action_type: action.kind.action_type(),
        phase: action.phase,
        class: action.class,
        status: None,
        reason: None,
        blocking: Blocking::Blocks,
        is_expected_failure: false,
        exit_code: None,
        duration: None,
        stdout: None,
        stderr: None,
        findings: None,
        tests: None,
        file: None,
        answer: None,
        client: None,
    };
    match &one.disposition {
        ActionDisposition::Executed(executed) => seen_now(unseen, &action.kind, executed),
        ActionDisposition::Reused(reused) => {
            let result = reused.entry.result.as_ref();
            SeenAction {
                status: one.status(),
                reason: Some(&reused.judgement.classification.reason),
                blocking: reused.judgement.blocking,
                exit_code: result.and_then(|result| result.exit_code),
                tests: result.and_then(|result| result.test_results.as_ref()),
                ..unseen
            }
        }
        ActionDisposition::Skipped(SkipReason::Unchanged) => {
            SeenAction { status: Some(ResultType::Success), blocking: Blocking::Allowed, ..unseen }
        }
        ActionDisposition::Skipped(
            SkipReason::PrerequisiteFailed
            | SkipReason::Stopped
            | SkipReason::NotSelected
            | SkipReason::WaitsForRequest
            | SkipReason::AfterFailure
            | SkipReason::DependencyFailed
            | SkipReason::RunTimedOut
            | SkipReason::SpecificationWrong,
        ) => unseen,
    }
}

fn seen_now<'a>(unseen: SeenAction<'a>, kind: &ActionKind, executed: &'a ExecutedAction) -> SeenAction<'a> {
    let started = !matches!(executed.ended.end, ActionEnd::NotStarted(_) | ActionEnd::Lost { .. });
    let captured = (started && kind.starts_a_process()).then_some(&executed.ended.captured);
    let exit_code = executed.ended.end.exit_code();
    SeenAction {
        status: Some(executed.status()),
        reason: Some(&executed.judgement.classification.reason),
        blocking: executed.judgement.blocking,
        is_expected_failure: executed.judgement.classification.is_expected_failure == Some(true),
        exit_code,
        duration: started.then_some(executed.ended.duration),
        stdout: captured.map(|captured| &captured.stdout),
        stderr: captured.map(|captured| &captured.stderr),
        findings: executed.judgement.summary.as_ref(),
        tests: executed.interpretation.test_results.as_ref(),
        file: seen_file(kind, executed),
        answer: seen_answer(&executed.observed),
        client: executed.interpretation.client,
        ..unseen
    }
}

/// Returns the facts about a checked file; `None` if the action checks no file, or if the file could not be read, was
/// not read in time, or was not read because of a stop.
fn seen_file(kind: &ActionKind, executed: &ExecutedAction) -> Option<SeenFile> {
    let Observation::File(seen) = &executed.observed else { return None };
    let missing = SeenFile { exists: false, size: None, is_valid_json: None, pattern_matches: None };
    let found = match &seen.look {
        FileState::Found(found) => found,
        FileState::Missing | FileState::NotInTree { is_directory: false } => return Some(missing),
        FileState::NotInTree { is_directory: true }
        | FileState::Outside(_)
        | FileState::Refused(_)
        | FileState::OutOfTime
        | FileState::Stopped(_) => return None,
    };
    let asks_for_pattern =
        matches!(kind, ActionKind::FileValidation(FileValidation { check: FileCheck::ContentMatch { .. }, .. }));
    let is_json = |content: &Vec<u8>| serde_json::from_slice::<serde::de::IgnoredAny>(without_mark(content)).is_ok();
    Some(SeenFile {
        exists: true,
        size: Some(found.bytes),
        is_valid_json: found.content.as_ref().map(is_json),
        pattern_matches: (asks_for_pattern && found.content.is_some()).then(|| executed.status() == ResultType::Success),
    })
}

/// Returns a server's answer, with its body as JSON or otherwise as text; `None` if the action sends no request, or if
/// the server did not answer. A body that was not read completely is left out.
fn seen_answer(observed: &Observation) -> Option<SeenAnswer> {
    let Observation::Exchange(exchange) = observed else { return None };
    let ExchangeOutcome::Answered(answer) = &exchange.outcome else { return None };
    let text = || std::str::from_utf8(&answer.body).ok().map(|text| Value::String(text.to_owned()));
    let body = || serde_json::from_slice(&answer.body).ok().or_else(text);
    Some(SeenAnswer {
        status: answer.status,
        headers: answer.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone())).collect(),
        parsed_body: answer.is_complete.then(body).flatten(),
    })
}

// The facts about a TEST action that the router needs, whether it was carried out in this run or reused (R1, R2, R4).

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
