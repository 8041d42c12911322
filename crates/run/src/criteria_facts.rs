//! Collects the facts about a run's actions that the task's criteria refer to.

use serde_json::Value;

use crate::run_context::RunContext;
use proctor_evidence::report::{ActionDisposition, ActionResult, ExecutedAction, SkipReason};
use proctor_model::{
    ActionEnd, ActionKind, Blocking, CriteriaEvaluation, EvidenceKind, ExchangeOutcome, FileCheck, FileState, FileValidation,
    Observation, ResultType, TaskCriteria,
};
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
