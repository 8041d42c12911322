//! A task's own criteria. They decide the verdict and the completion of the task, but never the result of an action (C04; J5).
//!
//! This folder evaluates conditions, expected output, pass rate and required evidence. `condition/` parses the conditions.

mod conditions;
mod expected_output;
mod seen;

use crate::verdict::completion::RunVerdict;
use crate::verdict::criteria::conditions::{ConditionRole, judge_condition};
pub(in crate::verdict) use crate::verdict::criteria::expected_output::judge_failure;
use crate::verdict::criteria::expected_output::judge_output;
use crate::verdict::wording::counted;
use proctor_model::{
    ActionPhase, Blocking, CompletionStatus, CriteriaEvaluation, EvidenceKind, JudgedCondition, OverallResult, OverallStatus,
    PartialReason, TaskCriteria, TaskStatus, ToolClass,
};

pub use seen::{SeenAction, SeenAnswer, SeenFile};

/// Files that count as evidence of a second kind too. The log of a test run is also the terminal output of its command
/// (C68).
const ALSO: [(EvidenceKind, EvidenceKind); 1] = [(EvidenceKind::TestExecutionLog, EvidenceKind::TerminalOutput)];

/// Evaluates a task's criteria, and updates `verdict` if the run has one (E17).
///
/// The verdict stays PASSED only if nothing blocks, there are success conditions, every success condition is met, no failure
/// condition is triggered, the expected output was seen, and the tests that were declared to fail did fail. The task is complete
/// only if, in addition, the pass rate is reached and all required evidence exists. If there is a TEST step, at least one test
/// must have been executed. A step passes if it is SUCCESS or has only findings that the policy allows (C34).
pub fn judge_criteria(
    verdict: &mut RunVerdict,
    criteria: &TaskCriteria,
    actions: &[SeenAction<'_>],
    evidence: &[EvidenceKind],
) -> CriteriaEvaluation {
    let judge = |conditions: &[_], role| conditions.iter().map(|condition| judge_condition(condition, role, actions)).collect();
    let evaluation = CriteriaEvaluation {
        success: judge(&criteria.success, ConditionRole::Success),
        failure: judge(&criteria.failure, ConditionRole::Failure),
        expected_output: criteria.expected_output.as_ref().map(|expected| judge_output(expected, actions)).unwrap_or_default(),
        missing_evidence: missing_evidence(&criteria.required_evidence, evidence),
        expected_failure: criteria.expected_failure.as_ref().map(|expected| judge_failure(expected, actions)),
        criteria: criteria.clone(),
    };
    if let Some(result) = verdict.overall_result {
        decide_result(verdict, result, &evaluation, actions);
        decide_completion(verdict, &evaluation, actions);
    }
    evaluation
}

fn missing_evidence(required: &[EvidenceKind], found: &[EvidenceKind]) -> Vec<EvidenceKind> {
    let stands_for = |kind: &EvidenceKind, wanted: EvidenceKind| *kind == wanted || ALSO.contains(&(*kind, wanted));
    required.iter().copied().filter(|wanted| !found.iter().any(|kind| stands_for(kind, *wanted))).collect()
}

fn decide_result(verdict: &mut RunVerdict, result: OverallResult, evaluation: &CriteriaEvaluation, actions: &[SeenAction<'_>]) {
    let against = objections(evaluation, actions);
    if against.is_empty() {
        if result == OverallResult::Passed {
            let met = evaluation.success.iter().filter(|judged| judged.decided).count();
            let met = match met == evaluation.success.len() {
                true => counted(met as u64, "success condition"),
                false => share(met as u64, evaluation.success.len(), "success condition"),
            };
            verdict.reason = format!("{}; {met} met", verdict.reason);
            if verdict.completion_status == CompletionStatus::Complete {
                verdict.completion_reason.clone_from(&verdict.reason);
            }
        }
        return;
    }
    let own = (result == OverallResult::Failed).then(|| verdict.reason.clone());
    verdict.reason = own.into_iter().chain(against).collect::<Vec<_>>().join("; ");
    verdict.completion_reason.clone_from(&verdict.reason);
    verdict.overall_result = Some(OverallResult::Failed);
    // Every action succeeded, and the task is not done all the same. SUCCESS would say more than what happened.
    if verdict.overall_status == OverallStatus::Success {
        verdict.overall_status = OverallStatus::PartialSuccess;
    }
    verdict.task_status = Some(TaskStatus::Failed);
    verdict.partial_reason = None;
    verdict.completion_status = CompletionStatus::Incomplete;
}

/// Returns in words which criteria make the verdict FAILED. A step that failed as declared has no implementation yet.
/// So conditions on that step are shown and keep the task incomplete, but do not fail the verdict.
fn objections(evaluation: &CriteriaEvaluation, actions: &[SeenAction<'_>]) -> Vec<String> {
    let declared: Vec<_> = actions.iter().filter(|action| action.is_expected_failure).collect();
    let counts = |judged: &&JudgedCondition| !declared.iter().any(|action| speaks_of(judged, action));
    let mut against = Vec::new();
    let unmet = evaluation.success.iter().filter(|judged| !judged.decided).filter(counts).count() as u64;
    if evaluation.success.is_empty() {
        against.push("There is no success condition, so nothing shows that the task is done".to_owned());
    }
    if unmet > 0 {
        against.push(format!("{} not met", share(unmet, evaluation.success.len(), "success condition")));
    }
    let triggered = evaluation.failure.iter().filter(|judged| judged.decided).filter(counts).count() as u64;
    if triggered > 0 {
        against.push(format!("{} triggered", share(triggered, evaluation.failure.len(), "failure condition")));
    }
    let unseen = evaluation.expected_output.iter().filter(|judged| !judged.met).count() as u64;
    if unseen > 0 && declared.is_empty() {
        against.push(format!("{} not met", share(unseen, evaluation.expected_output.len(), "output expectation")));
    }
    let failure = evaluation.expected_failure.as_ref();
    against.extend(failure.and_then(|judged| judged.reason.clone()));
    against
}

/// Returns whether a condition refers to a value of an action.
fn speaks_of(judged: &JudgedCondition, action: &SeenAction<'_>) -> bool {
    let mut references = judged.actual.iter().map(|actual| &actual.reference).chain(&judged.unknown);
    references.any(|reference| reference.strip_prefix(action.id.as_str()).is_some_and(|rest| rest.starts_with(['.', '['])))
}

/// Returns a count in words, such as `4 of 6 success conditions`.
fn share(part: u64, whole: usize, noun: &str) -> String {
    format!("{part} of {}", counted(whole as u64, noun))
}

fn decide_completion(verdict: &mut RunVerdict, evaluation: &CriteriaEvaluation, actions: &[SeenAction<'_>]) {
    let mut against = Vec::new();
    against.extend(pass_rate_objection(&evaluation.criteria, actions));
    if !evaluation.missing_evidence.is_empty() {
        let kinds: Vec<&str> = evaluation.missing_evidence.iter().map(|kind| kind.word()).collect();
        against.push(format!("evidence is missing: {}", kinds.join(", ")));
    }
    let tests = || actions.iter().filter(|action| action.phase == ActionPhase::Step && action.class == ToolClass::Test);
    let ran = |action: &SeenAction<'_>| action.tests.is_some_and(|tests| tests.counts.passed + tests.counts.failed > 0);
    if tests().next().is_some() && !tests().any(ran) {
        against.push("no test was executed".to_owned());
    }
    if against.is_empty() {
        return;
    }
    // If the verdict already leaves the task incomplete, for example because tests fail as declared, its reason is named first.
    let own = (verdict.completion_status == CompletionStatus::Incomplete).then(|| verdict.completion_reason.clone());
    verdict.completion_reason = capitalised(&own.into_iter().chain(against).collect::<Vec<_>>().join("; "));
    verdict.completion_status = CompletionStatus::Incomplete;
    if verdict.overall_result == Some(OverallResult::Passed) {
        // As for conditions: SUCCESS beside INCOMPLETE would say more than what happened.
        if verdict.overall_status == OverallStatus::Success {
            verdict.overall_status = OverallStatus::PartialSuccess;
        }
        verdict.task_status = Some(TaskStatus::Partial);
        if verdict.partial_reason != Some(PartialReason::ExpectedRed) {
            verdict.partial_reason = Some(PartialReason::CriteriaUnmet);
        }
    }
}

/// Returns in words why too few steps pass; `None` if enough steps pass or no rate is required. If a run has no steps, the rate
/// is not reached.
fn pass_rate_objection(criteria: &TaskCriteria, actions: &[SeenAction<'_>]) -> Option<String> {
    let steps: Vec<_> = actions.iter().filter(|action| action.phase == ActionPhase::Step).collect();
    let passed = steps.iter().filter(|step| step.passes()).count() as u64;
    let all = steps.len() as u64;
    if criteria.all_steps_must_pass {
        return (passed < all || all == 0).then(|| format!("{passed} of {} pass, and each must", counted(all, "step")));
    }
    let least = u64::from(criteria.minimum_pass_rate_basis_points?);
    let too_few = passed * 10_000 < least * all || all == 0;
    too_few.then(|| format!("{passed} of {} pass, and {} % must", counted(all, "step"), spoken_per_cent(least)))
}

/// Returns hundredths of a per cent as per cent for people: `60`, `62.5`.
fn spoken_per_cent(basis_points: u64) -> String {
    let text = format!("{}.{:02}", basis_points / 100, basis_points % 100);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

impl SeenAction<'_> {
    /// Returns whether a step passes: it was carried out, it does not block, and it is not a declared failure.
    fn passes(&self) -> bool {
        self.status.is_some() && self.blocking == Blocking::Allowed && !self.is_expected_failure
    }
}
