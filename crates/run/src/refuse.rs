//! A refused run: the task's specification has errors. Nothing is carried out, and the refusal is sealed like any run
//! (C78).

use std::collections::BTreeSet;

use crate::judge_and_seal::seal_and_publish;
use proctor_evidence::report::{
    CompletionFacts, EXECUTION_REPORT_FILE, InvalidFacts, RefusalFacts, RefusedAction, SpecificationErrorV2, attested,
    refused_report, refused_start, seal_hash, to_bytes,
};
use proctor_evidence::{DurableStep, RunDirectory, SealInput};
use proctor_model::{CommandExit, OnDisk, OverallStatus, Problem, RunId, RunRecord, TaskId, Trigger};
use proctor_plan::config::Configuration;
use proctor_plan::spec::specification::OutlinedAction;
use proctor_plan::verdict::{RunFlow, judge_invalid, judge_run};
use proctor_project::{
    Progress, ProjectError, ProjectScope, ProjectSettings, SealedReport, SpecificationFaults, TaskError, Workspace,
};
use proctor_sandbox::process::clock;
use proctor_tree::TreeHints;

/// A requested run of a task whose specification has errors.
pub struct RefusedRequest<'a> {
    pub task: &'a TaskId,
    pub scope: &'a ProjectScope,
    pub settings: &'a ProjectSettings,
    /// The configuration that plans are made with.
    pub configuration: &'a Configuration,
    pub trigger: Trigger,
}

/// Seals the refusal of a run. Returns `None` and seals nothing unless the task's specification has errors in the
/// current tree.
///
/// # Errors
///
/// Only failures of proctor itself: the store, a tree that cannot be read.
pub fn refuse(
    workspace: &mut Workspace,
    refusal: &RefusedRequest<'_>,
    show: &mut dyn FnMut(Progress),
) -> Result<Option<SealedReport>, ProjectError> {
    let RefusedRequest { task, scope, settings, configuration, trigger } = refusal;
    let mut held = workspace.evidence.hold_ledger(scope, settings.lock_wait, &|| None, show)?;
    let (started, begun) = (clock::now(), clock::monotonic());
    let (tree, issues) = workspace.tree_digest(settings, scope, &TreeHints::Everything)?;
    // The specification is read again, so that the errors belong to the tree that the report names.
    let plan = workspace.plan_of_task((settings, configuration), scope, task, &TreeHints::Only(BTreeSet::new()))?;
    let faults = plan.err().and_then(TaskError::into_faults);
    let Some(SpecificationFaults { file, faults, actions }) = faults else { return Ok(None) };
    let verdict = judge_run(&[], &RunFlow::SpecificationWrong);
    let facts = RefusalFacts {
        project_id: scope.project.clone(),
        task: (*task).clone(),
        file,
        errors: faults.iter().map(SpecificationErrorV2::of).collect(),
        actions: actions.into_iter().map(|action| refused_action(action, &faults)).collect(),
        tree,
        tree_format: settings.tree_format(),
        issues,
        trigger: trigger.clone(),
        started,
        duration: clock::monotonic().since(begun).into(),
        process_id: std::process::id(),
        reason: verdict.reason,
        completion: CompletionFacts {
            status: verdict.completion_status,
            task_status: verdict.task_status,
            partial_reason: verdict.partial_reason,
            reason: verdict.completion_reason,
        },
    };
    let run_id = RunId::new(started, held.ledger.next_run_number()?);
    let mut directory = RunDirectory::create(&held.lock, task, &run_id)?;
    directory.start_record(&refused_start(&facts))?;
    workspace.evidence.observer()(DurableStep::RunRecordWritten);
    let ended = clock::now();
    let report = seal_hash(refused_report(&facts, &run_id, ended));
    let report_hash = report.authenticity.report_hash.expect("`seal_hash` set it");
    let status = OverallStatus::SpecificationError;
    let record = RunRecord {
        tree_digest: Some(tree),
        overall_result: verdict.overall_result,
        exit: Some(CommandExit::SpecificationWrong),
        // A refused run starts nothing.
        programs: Some(Vec::new()),
        ..RunRecord::without_verdict(run_id.clone(), (*task).clone(), report_hash, status, (started, ended))
    };
    workspace.runner.dismiss_launcher_after_last_run();
    let sealing = SealInput { report: to_bytes(&report), record, attested: attested(&report) };
    let report_path =
        seal_and_publish(&mut workspace.evidence, scope, directory, sealing, &mut held)?.join(EXECUTION_REPORT_FILE);
    workspace.evidence.observer()(DurableStep::Published);
    Ok(Some(SealedReport {
        run_id,
        report,
        report_path,
        tree,
        tree_after: tree,
        on_disk: OnDisk::AsTested,
        failed: Vec::new(),
        warned: Vec::new(),
        copied: None,
        told_notes: Vec::new(),
        moved: Vec::new(),
        person: None,
        exit: CommandExit::SpecificationWrong,
    }))
}

fn refused_action(action: OutlinedAction, faults: &[Problem]) -> RefusedAction {
    let errors = faults.iter().filter(|fault| action.has_fault(fault)).map(SpecificationErrorV2::of);
    let errors: Vec<SpecificationErrorV2> = errors.map(|error| error.within(&action.pointer)).collect();
    let invalid = action.is_invalid.then(|| {
        let judgement = judge_invalid(errors.iter().map(SpecificationErrorV2::sentence).collect());
        InvalidFacts { errors, judgement }
    });
    RefusedAction { phase: action.phase, outline: action.outline, invalid }
}
