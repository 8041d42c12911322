//! Creates the records beside the report, with secrets redacted: the start of a run, an action, the findings.

use std::collections::BTreeMap;
use std::path::Path;

use crate::judge_and_seal::RunEnd;
use crate::run_context::RunContext;
use proctor_evidence::report::{
    ActionDisposition, ActionRecordFacts, ActionResult, ProgramV1, RunStartDetailsV1, RunStartFacts, SkipReason, action_record,
    diagnostics_record, redact_document, redact_to_bytes, run_start_details, test_results_record,
};
use proctor_model::{
    Action, ActionJudgement, ActionPhase, Blocking, CheckOutcome, CheckRecord, Digest, EndedAction, Interpretation, Plan,
    PlanOrigin, ResultType, RunId,
};
use proctor_plan::verdict::is_determined_by_inputs;
use proctor_project::Selection;
use proctor_sandbox::ChildEnvironment;

/// Returns the content of `run.json`.
pub(crate) fn start(context: &RunContext<'_>) -> RunStartDetailsV1 {
    let request = context.request;
    redact_document(run_start_details(RunStartFacts {
        project_id: request.scope.project.clone(),
        plan: request.plan,
        plan_digest: context.plan_digest,
        specification_file: specification_file(request.plan),
        tree_digest: context.before,
        tree_format: request.settings.tree_format(),
        trigger: request.trigger.clone(),
        started: context.started,
        process_id: std::process::id(),
    }))
}

pub(crate) fn action(
    run_id: &RunId,
    attempt: u32,
    action: &Action,
    ended: &EndedAction,
    directory: &Path,
    program: Option<ProgramV1>,
    environment: &ChildEnvironment,
) -> Vec<u8> {
    let variables = environment.for_evidence();
    redact_to_bytes(action_record(ActionRecordFacts {
        run_id,
        action,
        attempt,
        ended,
        working_directory: directory.display().to_string(),
        program,
        environment: &variables,
    }))
}

/// Returns the record of the tests or findings that a tool reported; `None` if it reported none.
pub(crate) fn findings(
    run_id: &RunId,
    action: &Action,
    ended: &EndedAction,
    interpretation: &Interpretation,
    outcome: &ActionJudgement,
) -> Option<Vec<u8>> {
    if let Some(record) = test_results_record(run_id, action, ended, interpretation) {
        return Some(redact_to_bytes(record));
    }
    let summary = outcome.summary?;
    let record = diagnostics_record(run_id, action, ended, &outcome.diagnostics, summary);
    Some(redact_to_bytes(record))
}

/// Returns the name of the file that a plan was read from; `None` if the plan has discovered checks or a command from
/// the command line.
pub(crate) fn specification_file(plan: &Plan) -> Option<String> {
    match plan.origin {
        PlanOrigin::Configured => Some("proctor.toml".to_owned()),
        PlanOrigin::Specification => plan.specification.as_ref().map(|specification| specification.file.clone()),
        PlanOrigin::Discovered | PlanOrigin::CommandLine => None,
    }
}

// Parts of what the ledger keeps of a run: its checks, the inputs of their results, and the prerequisites that are met.

/// Returns the inputs of the checks that this run carried out and whose results depend on these inputs alone. Later
/// runs may reuse such results.
pub(crate) fn inputs(run_end: &RunEnd<'_>, actions: &[ActionResult]) -> BTreeMap<String, Digest> {
    let is_determined_by_inputs = |one: &&ActionResult| {
        one.executed().is_some_and(|executed| is_determined_by_inputs(executed.judgement.classification.code))
    };
    let settled = actions.iter().filter(|one| one.action.phase == ActionPhase::Step).filter(is_determined_by_inputs);
    let known = |one: &ActionResult| Some((one.action.name.clone(), *run_end.after.inputs.get(&one.action.name)?));
    settled.filter_map(known).collect()
}

/// Returns the checks that were selected by name; an empty list means all checks of the task.
pub(crate) fn named_checks(context: &RunContext<'_>) -> Vec<String> {
    let request = context.request;
    match &request.checks {
        // A typed command is no check of the task. The names of its checks are returned, so that the run does not
        // count as a run of all checks.
        _ if request.is_typed() => request.plan.steps.iter().map(|step| step.name.clone()).collect(),
        Selection::Named(names) => names.clone(),
        Selection::Every | Selection::All | Selection::Missing | Selection::Triggered { .. } => Vec::new(),
    }
}

/// Returns the prerequisites that the next run may skip: those that succeeded or were unchanged in this run, and those
/// that this run did not reach but that succeeded before. What a run by rules that nobody approved has made is made again.
pub(crate) fn prerequisites_met(context: &RunContext<'_>, performed: &[ActionResult]) -> BTreeMap<String, Digest> {
    let mut met = context.met.clone();
    for one in performed.iter().filter(|one| one.action.phase == ActionPhase::Prerequisite) {
        let name = &one.action.name;
        match (one.status(), one.met) {
            (Some(ResultType::Success), Some(digest)) if context.changed_rules.is_none() || met.get(name) == Some(&digest) => {
                met.insert(name.clone(), digest);
            }
            (Some(_), _) => drop(met.remove(name)),
            (None, _) => {}
        }
    }
    met
}

// What a run's ledger line says about each check of the plan. Pure.

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
        ActionDisposition::Skipped(SkipReason::NotSelected | SkipReason::WaitsForRequest) => CheckOutcome::LeftOut,
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
