//! Builds the report of a refused run: the task's specification has errors, so nothing was run (C10, C78).

use crate::report::build::{GENERATED_BY, build_issue, unsealed};
use crate::report::build_action::untouched_entry;
use crate::report::unrun::{tree_before, unrun_report};
use crate::report::{
    ActionCountsV2, ActionImpactV2, ActionOutcomeV2, ActionResultV2, ActionResultsV2, CleanupExecutionV2, CompletionV2,
    DispositionV2, ExecutionReportV2, ExecutionSummaryV2, ImpactV2, InvalidFacts, PrerequisiteExecutionV2, ProjectV2,
    RefusalFacts, RefusedAction, RunStartDetailsV1, SchemaValidationV2, SkipReason, StepExecutionV2, TestSpecificationV2,
    ValidationCriteriaV2,
};
use proctor_model::{ActionOutline, ActionPhase, OverallResult, OverallStatus, PlanOrigin, RunId, Timestamp};

/// Returns the content of the start record of a refused run.
pub fn refused_start(facts: &RefusalFacts) -> RunStartDetailsV1 {
    RunStartDetailsV1 {
        generated_by: GENERATED_BY.to_owned(),
        project: project(facts),
        test_specification: test_specification(facts),
        tree_digest: facts.tree,
        tree_format: facts.tree_format,
        trigger: facts.trigger.clone(),
        started: facts.started,
        process_id: facts.process_id,
    }
}

/// Returns the report of a run that executed nothing, because the specification of its task is wrong.
///
/// The report has an entry for each action: INVALID if it contains errors, otherwise SKIPPED. `specificationErrors` has every error with its position, including
/// those of prerequisites and cleanup (C78). The tree was read only once, because no process could have changed it.
pub fn refused_report(facts: &RefusalFacts, run_id: &RunId, ended: Timestamp) -> ExecutionReportV2 {
    let of = |phase| facts.actions.iter().filter(|action| action.phase == phase).map(build_refused).collect();
    let invalid = facts.actions.iter().filter(|action| action.invalid.is_some()).count() as u64;
    let summary = ExecutionSummaryV2 {
        overall_status: OverallStatus::SpecificationError,
        start_time: facts.started,
        end_time: Some(ended),
        total_duration: Some(facts.duration),
        action_counts: Some(counts(&facts.actions)),
        action_results: Some(ActionResultsV2 { specification_error: invalid, ..ActionResultsV2::default() }),
        test_results: None,
    };
    let authenticity = unsealed(run_id.clone(), Some(facts.process_id));
    let plain = unrun_report(ended, project(facts), test_specification(facts), summary, &facts.reason, authenticity);
    ExecutionReportV2 {
        specification_errors: facts.errors.clone(),
        trigger: Some(facts.trigger.clone()),
        prerequisite_execution: PrerequisiteExecutionV2 { all_met: None, results: of(ActionPhase::Prerequisite) },
        step_execution: StepExecutionV2 { results: of(ActionPhase::Step) },
        cleanup_execution: CleanupExecutionV2 { executed: Some(false), results: of(ActionPhase::Cleanup) },
        validation_criteria_evaluation: ValidationCriteriaV2 {
            overall_result: Some(OverallResult::Failed),
            ..plain.validation_criteria_evaluation
        },
        completion_criteria_evaluation: CompletionV2 {
            completion_status: facts.completion.status,
            task_status: facts.completion.task_status,
            partial_reason: facts.completion.partial_reason,
            reason: facts.completion.reason.clone(),
            ..plain.completion_criteria_evaluation
        },
        tree: Some(tree_before(facts.tree, facts.tree_format, facts.issues.iter().map(build_issue).collect())),
        ..plain
    }
}

/// Returns the counts of actions. No action was run, so none counts as executed; those with errors are neither executed nor
/// skipped (C62).
fn counts(actions: &[RefusedAction]) -> ActionCountsV2 {
    let in_phase = |phase| actions.iter().filter(|action| action.phase == phase).count() as u64;
    ActionCountsV2 {
        total: actions.len() as u64,
        skipped: actions.iter().filter(|action| action.invalid.is_none()).count() as u64,
        prerequisites: in_phase(ActionPhase::Prerequisite),
        steps: in_phase(ActionPhase::Step),
        cleanup: in_phase(ActionPhase::Cleanup),
        ..ActionCountsV2::default()
    }
}

/// Returns the entry of an action.
fn build_refused(action: &RefusedAction) -> ActionResultV2 {
    match &action.invalid {
        Some(invalid) => build_invalid(&action.outline, invalid),
        None => build_skipped(&action.outline),
    }
}

/// Returns the entry of an action that was not run because its specification is wrong (example 6 of the design document
/// seed 004).
fn build_invalid(outline: &ActionOutline, facts: &InvalidFacts) -> ActionResultV2 {
    ActionResultV2 {
        disposition: DispositionV2::Invalid,
        skip_reason: None,
        status: Some(facts.judgement.classification.category),
        blocking: Some(true),
        result: Some(ActionOutcomeV2 {
            executed: Some(false),
            schema_validation: Some(SchemaValidationV2 { valid: false, errors: facts.errors.clone() }),
            ..ActionOutcomeV2::default()
        }),
        classification: Some(facts.judgement.classification.clone()),
        impact: Some(ImpactV2::Action(ActionImpactV2 {
            action_skipped: true,
            reason: "Cannot execute invalid specification".to_owned(),
        })),
        debt_generation: Some(facts.judgement.debt.clone()),
        agent_action: Some(facts.judgement.agent_action.clone()),
        ..build_skipped(outline)
    }
}

/// Returns the entry of an action without errors. It was not run because errors stand elsewhere in the specification.
fn build_skipped(outline: &ActionOutline) -> ActionResultV2 {
    ActionResultV2 {
        skip_reason: Some(SkipReason::SpecificationWrong),
        description: outline.description.clone(),
        command: outline.subject.clone(),
        ..untouched_entry(&outline.id, outline.action_type.clone())
    }
}

/// Returns the project without a name, because the name would come from the specification.
fn project(facts: &RefusalFacts) -> ProjectV2 {
    ProjectV2 { id: facts.project_id.clone(), name: None }
}

fn test_specification(facts: &RefusalFacts) -> TestSpecificationV2 {
    TestSpecificationV2 {
        file: Some(facts.file.clone()),
        schema_version: None,
        task_id: facts.task.clone(),
        task_title: None,
        sprint_id: None,
        origin: Some(PlanOrigin::Specification),
        plan_digest: None,
    }
}
