//! Finds the earlier result for a check, and verifies that its evidence is unchanged.

use crate::reuse::inputs::{RelevantTree, ReusableInputs};
use crate::reuse::{ReuseCriteria, entry_to_reuse, judgement_from_entry};
use proctor_evidence as evidence;
use proctor_evidence::Store;
use proctor_evidence::report::{ExecutionReportV2, ReusedAction, parse_with_hash};
use proctor_index::IndexedRun;
use proctor_model::{Action, Digest, EvidenceFile, TreeDigest};
use proctor_project::{Evidence, RunRequest, run_on_inputs};

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
