//! Results that checks already have on the tree of this run. A run that was asked for the missing checks uses them, so that
//! it carries out the other checks only, and its report is a verdict on all of them.

use std::collections::BTreeMap;

use crate::reuse::inputs::{RelevantTree, ReusableInputs};
use crate::reuse::{PlaceOfCheck, ReuseCriteria, entry_to_reuse, judgement_from_entry};
use proctor_evidence as evidence;
use proctor_evidence::Store;
use proctor_evidence::report::{ExecutionReportV2, ReusedAction, parse_with_hash};
use proctor_index::{IndexedRun, RunsJudgedBy, StoreIndex};
use proctor_model::{Action, ActionId, Digest, EvidenceFile, KnownCheck, Plan, RunId, TreeDigest};
use proctor_project::{Evidence, ProjectError, RunRequest, Selection, run_of_ledger, run_on_inputs};

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
    let checks = index.checks(&request.scope.project, &request.plan.task, RunsJudgedBy::ApprovedRules)?;
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

// Finds the earlier result for a check, and verifies that its evidence is unchanged.

/// Returns the newest result of a check with these inputs; `None` if there is none, or something about it is doubtful.
pub(crate) fn earlier_verdict(
    evidence: &Evidence,
    request: &RunRequest<'_>,
    action: &Action,
    inputs: Digest,
    tree: RelevantTree,
    known: &ReusableInputs,
    now: TreeDigest,
) -> Option<ReusedAction> {
    let (project, task) = (&request.scope.project, &request.plan.task);
    let run = match run_on_inputs(&evidence.store, &evidence.index, project, task, &action.name, inputs) {
        Ok(run) => run?,
        Err(error) => {
            tracing::warn!("no verdict on `{}` is reused: {error}", action.name);
            return None;
        }
    };
    let tree = match tree {
        RelevantTree::Whole(tree) => Some(tree),
        RelevantTree::Files(_) => None,
    };
    let (environment, toolchains) = (known.surveyed.digest, &known.toolchains);
    let wanted = ReuseCriteria { check: (action.id.as_str(), &action.name), environment, toolchains, tree, now };
    let found = intact_report(&evidence.store, request, &run);
    let found = found.and_then(|(report, hash)| intact_verdict(&evidence.store, request, &report, hash, &wanted));
    if let Err(why) = &found {
        tracing::warn!("the verdict of {} on `{}` is not reused: {why}", run.run_id, action.name);
    }
    found.ok()
}

/// Returns the report of a run, and its hash. `run` is what a checked line of the ledger says about the run.
pub(super) fn intact_report(
    store: &Store,
    request: &RunRequest<'_>,
    run: &IndexedRun,
) -> Result<(ExecutionReportV2, Digest), String> {
    let (project, task) = (&request.scope.project, &request.plan.task);
    let bytes = evidence::read_report(store, project, task, &run.run_id).map_err(|error| error.to_string())?;
    let (report, report_hash) = parse_with_hash(&bytes).map_err(|error| error.to_string())?;
    if run.sealed.map(|hashes| hashes.report) != Some(report_hash) {
        return Err("its report is not the one the ledger knows".to_owned());
    }
    if report.authenticity.execution_id != run.run_id || report.test_specification.task_id != *task {
        return Err("its report is another run's".to_owned());
    }
    Ok((report, report_hash))
}

pub(super) fn intact_verdict(
    store: &Store,
    request: &RunRequest<'_>,
    report: &ExecutionReportV2,
    report_hash: Digest,
    wanted: &ReuseCriteria<'_>,
) -> Result<ReusedAction, String> {
    let (project, task, run_id) = (&request.scope.project, &request.plan.task, &report.authenticity.execution_id);
    let entry = entry_to_reuse(report, wanted).map_err(|refusal| refusal.to_string())?;
    let judgement = judgement_from_entry(entry).ok_or("its entry does not say what the check was judged to be")?;
    let own = |file: &&EvidenceFile| file.action_id.as_deref() == Some(entry.action_id.as_str());
    let files: Vec<_> = report.evidence_files.iter().filter(own).cloned().collect();
    let is_changed = |file: &&EvidenceFile| !evidence::is_intact(store, project, task, run_id, file);
    if let Some(changed) = files.iter().find(is_changed) {
        return Err(format!("`{}` is not what it was", changed.name));
    }
    let isolation_level = report.isolation.as_ref().map(|isolation| isolation.level);
    let tested = report.tree.as_ref().ok_or("its report does not name a tree")?.before;
    let other_tree = (tested != wanted.now).then_some(tested);
    Ok(ReusedAction { run_id: run_id.clone(), other_tree, report_hash, isolation_level, entry: entry.clone(), judgement, files })
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
