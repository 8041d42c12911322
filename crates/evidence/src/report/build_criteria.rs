//! Builds the two report sections about a task's criteria. All counts are computed from the lists (C65).

use crate::report::sums::compute_step_pass_rate;
use crate::report::{
    ActualValueV2, CompletionV2, FailureConditionV2, FailureConditionsV2, MetCountsV2, RequiredEvidenceV2, RunFacts,
    SuccessConditionV2, ValidationCriteriaV2,
};
use proctor_model::{ActualValue, ConditionValue, CriteriaEvaluation, EvidenceKind, JudgedCondition, JudgedExpectation};

/// Returns the section with the verdict, and with the conditions that led to it.
pub(super) fn build_validation(facts: &RunFacts) -> ValidationCriteriaV2 {
    let evaluation = facts.criteria.as_ref();
    ValidationCriteriaV2 {
        success_conditions: evaluation.map(|evaluation| build_success(&evaluation.success)),
        failure_conditions: evaluation.map(|evaluation| build_failure(&evaluation.failure)),
        expected_output: evaluation.and_then(|evaluation| build_expected(&evaluation.expected_output)),
        expected_failure: evaluation.and_then(|evaluation| evaluation.expected_failure.clone()),
        overall_result: facts.overall_result,
        reason: facts.overall_reason.clone(),
    }
}

/// Returns the section that says whether the task may be marked as done.
pub(super) fn build_completion(facts: &RunFacts) -> CompletionV2 {
    let evaluation = facts.criteria.as_ref();
    let criteria = evaluation.map(|evaluation| &evaluation.criteria);
    CompletionV2 {
        all_steps_must_pass: criteria.map(|criteria| criteria.all_steps_must_pass),
        minimum_pass_rate: criteria
            .and_then(|criteria| criteria.minimum_pass_rate_basis_points)
            .map(|basis_points| f64::from(basis_points) / 100.0),
        actual_pass_rate: compute_step_pass_rate(&facts.actions),
        required_evidence: evaluation.map(build_evidence),
        task_status_lock: criteria.map(|criteria| criteria.task_status_lock),
        completion_status: facts.completion.status,
        task_status: facts.completion.task_status,
        partial_reason: facts.completion.partial_reason,
        reason: facts.completion.reason.clone(),
    }
}

fn build_success(judged: &[JudgedCondition]) -> MetCountsV2<SuccessConditionV2> {
    let met = judged.iter().filter(|judged| judged.decided).count() as u64;
    let total = judged.len() as u64;
    MetCountsV2 { total, met, failed: total - met, details: judged.iter().map(build_success_condition).collect() }
}

fn build_success_condition(judged: &JudgedCondition) -> SuccessConditionV2 {
    let (actual_value, actual_values) = build_actual(&judged.actual);
    SuccessConditionV2 {
        condition: judged.condition.condition.clone(),
        description: judged.condition.description.clone(),
        met: judged.decided,
        actual_value,
        actual_values,
        unknown: judged.unknown.clone(),
        reason: judged.reason.clone(),
    }
}

fn build_failure(judged: &[JudgedCondition]) -> FailureConditionsV2 {
    FailureConditionsV2 {
        total: judged.len() as u64,
        triggered: judged.iter().filter(|judged| judged.decided).count() as u64,
        details: judged.iter().map(build_failure_condition).collect(),
    }
}

fn build_failure_condition(judged: &JudgedCondition) -> FailureConditionV2 {
    let (actual_value, actual_values) = build_actual(&judged.actual);
    FailureConditionV2 {
        condition: judged.condition.condition.clone(),
        description: judged.condition.description.clone(),
        triggered: judged.decided,
        actual_value,
        actual_values,
        unknown: judged.unknown.clone(),
        reason: judged.reason.clone(),
    }
}

/// Returns the value alone if the condition has one reference, or the values by name if it has several. The design
/// document seed 004 knows only the first form.
fn build_actual(actual: &[ActualValue]) -> (Option<ConditionValue>, Vec<ActualValueV2>) {
    match actual {
        [single] => (single.value.clone(), Vec::new()),
        several => {
            let build = |one: &ActualValue| ActualValueV2 { reference: one.reference.clone(), value: one.value.clone() };
            (None, several.iter().map(build).collect())
        }
    }
}

fn build_expected(judged: &[JudgedExpectation]) -> Option<MetCountsV2<JudgedExpectation>> {
    let met = judged.iter().filter(|judged| judged.met).count() as u64;
    let total = judged.len() as u64;
    (total > 0).then(|| MetCountsV2 { total, met, failed: total - met, details: judged.to_vec() })
}

fn build_evidence(evaluation: &CriteriaEvaluation) -> RequiredEvidenceV2 {
    let required = &evaluation.criteria.required_evidence;
    let missing = &evaluation.missing_evidence;
    let collected: Vec<EvidenceKind> = required.iter().copied().filter(|kind| !missing.contains(kind)).collect();
    RequiredEvidenceV2 { required: required.clone(), collected, missing: missing.clone() }
}
