//! What a run's ledger line says about each check of the plan. Pure.

use proctor_evidence::report::{ActionDisposition, ActionResult, SkipReason};
use proctor_model::{ActionJudgement, ActionPhase, Blocking, CheckOutcome, CheckRecord, ResultType};

/// Returns the records of the checks among the actions of a run, in the plan's order.
pub(crate) fn check_records(actions: &[ActionResult]) -> Vec<CheckRecord> {
    let mut checks: Vec<&ActionResult> = actions.iter().filter(|one| one.action.phase == ActionPhase::Step).collect();
    // Ids have the number of the check in the plan. A check with a short id comes before one with a long id.
    checks.sort_by_key(|one| (one.action.id.as_str().len(), one.action.id.clone()));
    let record = |one: &ActionResult| CheckRecord {
        id: one.action.id.clone(),
        name: one.action.name.clone(),
        outcome: outcome(one),
        succeeded: judgement(one).map(|judgement| judgement.classification.category == ResultType::Success),
    };
    checks.into_iter().map(record).collect()
}

fn judgement(one: &ActionResult) -> Option<&ActionJudgement> {
    match &one.disposition {
        ActionDisposition::Executed(executed) => Some(&executed.judgement),
        ActionDisposition::Reused(reused) => Some(&reused.judgement),
        ActionDisposition::Skipped(_) => None,
    }
}

/// Returns whether a result keeps its check from being proved. Tests that fail as a started RED phase demands do not block the cycle,
/// and prove nothing to anybody else (R6).
fn proof_of(judgement: &ActionJudgement) -> Blocking {
    let classification = &judgement.classification;
    let is_new_red = classification.is_tdd_red_phase == Some(true) && classification.is_expected_failure != Some(true);
    if is_new_red { Blocking::Blocks } else { judgement.blocking }
}

fn outcome(one: &ActionResult) -> CheckOutcome {
    match &one.disposition {
        ActionDisposition::Executed(executed) => CheckOutcome::CarriedOut { blocking: proof_of(&executed.judgement) },
        ActionDisposition::Reused(reused) => CheckOutcome::Reused {
            blocking: proof_of(&reused.judgement),
            run_id: reused.run_id.clone(),
            other_tree: reused.other_tree,
        },
        ActionDisposition::Skipped(SkipReason::NotSelected) => CheckOutcome::LeftOut,
        ActionDisposition::Skipped(
            SkipReason::Unchanged
            | SkipReason::PrerequisiteFailed
            | SkipReason::Stopped
            | SkipReason::AfterFailure
            | SkipReason::DependencyFailed
            | SkipReason::RunTimedOut
            | SkipReason::SpecificationWrong,
        ) => CheckOutcome::Skipped,
    }
}
