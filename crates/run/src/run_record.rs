//! Parts of what the ledger keeps of a run: its checks, the inputs of their results, and the prerequisites that are met.

use std::collections::BTreeMap;

use crate::judge_and_seal::RunEnd;
use crate::run_context::RunContext;
use proctor_evidence::report::ActionResult;
use proctor_model::{ActionPhase, Digest, ResultType};
use proctor_plan::verdict::is_determined_by_inputs;
use proctor_project::Selection;

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
        Selection::All | Selection::Missing | Selection::Triggered { .. } => Vec::new(),
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
