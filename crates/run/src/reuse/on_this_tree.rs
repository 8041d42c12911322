//! Results that checks already have on the tree of this run. A run that was asked for the missing checks uses them, so that
//! it carries out the other checks only, and its report is a verdict on all of them.

use std::collections::BTreeMap;

use crate::reuse::earlier::{intact_report, intact_verdict};
use crate::reuse::{PlaceOfCheck, ReuseCriteria};
use proctor_evidence::Store;
use proctor_evidence::report::{ExecutionReportV2, ReusedAction};
use proctor_index::{RunsJudgedBy, StoreIndex};
use proctor_model::{Action, ActionId, Digest, KnownCheck, Plan, RunId, TreeDigest};
use proctor_project::{ProjectError, RunRequest, Selection, run_of_ledger};

/// Where a check works now, and with which tools, on which tree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PresentConditions<'a> {
    pub(crate) place: PlaceOfCheck,
    pub(crate) environment: Digest,
    /// As in [`ReuseCriteria::toolchains`].
    pub(crate) toolchains: &'a BTreeMap<String, Digest>,
    pub(crate) tree: TreeDigest,
}

/// Returns, for each check that already has a result for this tree and plan, the run that carried the check out.
/// The result is empty unless the run was asked for the missing checks. It is also empty if a phase was requested,
/// if a command was typed, or if the task's cycle was started: a cycle counts attempts, so its runs carry out all
/// checks.
pub(crate) fn results_on_this_tree(
    index: &StoreIndex,
    request: &RunRequest<'_>,
    plan: Digest,
    tree: TreeDigest,
    is_cycle_started: bool,
) -> Result<BTreeMap<ActionId, RunId>, ProjectError> {
    if request.checks != Selection::Missing || is_cycle_started || request.phase.is_some() || request.is_typed() {
        return Ok(BTreeMap::new());
    }
    let checks =
        index.checks(&request.scope.project, &request.plan.task, RunsJudgedBy::ApprovedRules).map_err(ProjectError::Index)?;
    let fresh = |check: &KnownCheck| Some((check.id.clone(), check.fresh_result(plan, tree)?.run_id.clone()));
    Ok(checks.iter().filter_map(fresh).collect())
}

/// Returns the result of a check in an earlier run on the same tree; `None` if the check worked elsewhere or with other
/// tools there, or something about the result is doubtful.
pub(crate) fn result_on_this_tree(
    store: &Store,
    request: &RunRequest<'_>,
    action: &Action,
    run_id: &RunId,
    now: PresentConditions<'_>,
) -> Option<ReusedAction> {
    let PresentConditions { place: _, environment, toolchains, tree } = now;
    let wanted =
        ReuseCriteria { check: (action.id.as_str(), &action.name), environment, toolchains, tree: Some(tree), now: tree };
    let found = match run_of_ledger(store, &request.scope.project, run_id) {
        Ok(Some(run)) => intact_report(store, request, &run),
        Ok(None) => Err("the ledger does not have it".to_owned()),
        Err(error) => Err(error.to_string()),
    };
    let found = found.and_then(|(report, hash)| {
        if worked_at(&report, action, now.place) {
            intact_verdict(store, request, &report, hash, &wanted)
        } else {
            Err("the check worked at another place, or with other ignored files".to_owned())
        }
    });
    if let Err(why) = &found {
        tracing::info!("`{}` is carried out again; its result of {run_id} on this tree is not used: {why}", action.name);
    }
    found.ok()
}

/// Returns whether a check worked in an earlier run where it would work now. The result of a check on a snapshot depends on the
/// ignored files that were copied for it.
fn worked_at(report: &ExecutionReportV2, action: &Action, place: PlaceOfCheck) -> bool {
    let Some(snapshot) = report.tree.as_ref().and_then(|tree| tree.snapshot.as_ref()) else { return false };
    match place {
        PlaceOfCheck::Snapshot { inputs } => snapshot.inputs == Some(inputs),
        PlaceOfCheck::Project => action.in_place || snapshot.inputs.is_none(),
    }
}

/// Takes out the results of checks that must be carried out again because a check without a result comes after them: it may
/// need what they write.
pub(crate) fn without_needed_checks<R>(plan: &Plan, mut results: BTreeMap<ActionId, R>) -> BTreeMap<ActionId, R> {
    loop {
        let missing = plan.steps.iter().filter(|step| !results.contains_key(&step.id));
        let needed: Vec<ActionId> = missing.flat_map(|step| step.after.iter().cloned()).collect();
        let before = results.len();
        needed.iter().for_each(|id| drop(results.remove(id)));
        if results.len() == before {
            return results;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::ActionPhase;
    use proctor_model::testing;

    #[test]
    fn a_check_is_carried_out_again_for_a_later_check_that_may_need_what_it_writes() {
        let id = |number| ActionId::numbered("STEP", number);
        let step = |(number, after): (usize, &[usize])| Action {
            id: id(number),
            after: after.iter().map(|number| id(*number)).collect(),
            ..testing::generic_action(ActionPhase::Step)
        };
        let steps = [(1, &[][..]), (2, &[1]), (3, &[2]), (4, &[])].into_iter().map(step).collect();
        let plan = Plan { steps, ..testing::empty_plan() };
        let left = |numbers: &[usize]| -> Vec<usize> {
            let results = numbers.iter().map(|number| (id(*number), *number)).collect();
            without_needed_checks(&plan, results).into_values().collect()
        };
        assert_eq!(left(&[1, 2, 3, 4]), [1, 2, 3, 4]);
        assert_eq!(left(&[1, 2, 4]), [4], "the third needs the second, which needs the first");
        assert_eq!(left(&[1, 3, 4]), [3, 4]);
        assert_eq!(left(&[1, 2, 3]), [1, 2, 3]);
    }
}
