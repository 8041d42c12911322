//! The report of a run that was refused: the task's specification has errors, so nothing was run (C10, C78).

use crate::model::{ActionPhase, OverallResult, OverallStatus, PlanOrigin, RunId, Timestamp};
use crate::report::build::{GENERATED_BY, REPORT_VERSION, build_issue, unsealed};
use crate::report::{
    ActionCountsV2, ActionImpactV2, ActionOutcomeV2, ActionResultV2, ActionResultsV2, CleanupExecutionV2, CompletionV2,
    CustodyV2, DispositionV2, ExecutionReportV2, ExecutionSummaryV2, ImpactV2, InvalidFacts, PrerequisiteExecutionV2, ProjectV2,
    RefusalFacts, RunStartDetailsV1, SchemaValidationV2, StepExecutionV2, TestSpecificationV2, TreeV2, ValidationCriteriaV2,
};

/// Returns what the start record of such a run says.
pub fn refused_start(facts: &RefusalFacts) -> RunStartDetailsV1 {
    RunStartDetailsV1 {
        generated_by: GENERATED_BY.to_owned(),
        project: project(facts),
        test_specification: test_specification(facts),
        tree_digest: facts.tree,
        trigger: facts.trigger.clone(),
        started: facts.started,
        process_id: facts.process_id,
    }
}

/// Returns the report of a run that carried nothing out, because the specification of its task is wrong.
///
/// Of its actions those have entries that errors stand in and whose type can be read; every error is in `specificationErrors`, with
/// its place, also those of the prerequisites and the cleanup (C78). The tree was looked at once, before: no
/// process ran that could have changed it.
pub fn refused_report(facts: &RefusalFacts, run_id: &RunId, ended: Timestamp) -> ExecutionReportV2 {
    let of = |phase| facts.invalid.iter().filter(|action| action.outline.phase == phase).map(build_invalid).collect();
    ExecutionReportV2 {
        report_version: REPORT_VERSION.to_owned(),
        generated_at: ended,
        generated_by: GENERATED_BY.to_owned(),
        project: project(facts),
        test_specification: test_specification(facts),
        specification_errors: facts.errors.clone(),
        violations: Vec::new(),
        trigger: Some(facts.trigger.clone()),
        execution_summary: ExecutionSummaryV2 {
            overall_status: OverallStatus::SpecificationError,
            start_time: facts.started,
            end_time: Some(ended),
            total_duration: Some(facts.duration),
            action_counts: Some(counts(&facts.invalid)),
            action_results: Some(ActionResultsV2 {
                specification_error: facts.invalid.len() as u64,
                ..ActionResultsV2::default()
            }),
            test_results: None,
        },
        prerequisite_execution: PrerequisiteExecutionV2 { all_met: None, results: of(ActionPhase::Prerequisite) },
        step_execution: StepExecutionV2 { results: of(ActionPhase::Step) },
        cleanup_execution: CleanupExecutionV2 { executed: Some(false), results: of(ActionPhase::Cleanup) },
        validation_criteria_evaluation: ValidationCriteriaV2 {
            success_conditions: None,
            failure_conditions: None,
            expected_output: None,
            expected_failure: None,
            overall_result: Some(OverallResult::Failed),
            reason: facts.reason.clone(),
        },
        completion_criteria_evaluation: CompletionV2 {
            all_steps_must_pass: None,
            minimum_pass_rate: None,
            actual_pass_rate: None,
            required_evidence: None,
            task_status_lock: None,
            completion_status: facts.completion.status,
            task_status: facts.completion.task_status,
            partial_reason: facts.completion.partial_reason,
            reason: facts.completion.reason.clone(),
        },
        technical_debt_generated: None,
        route: None,
        tdd: None,
        tree: Some(TreeV2 {
            before: facts.tree,
            after: None,
            moved: Vec::new(),
            moved_count: None,
            files: None,
            issues: facts.issues.iter().map(build_issue).collect(),
        }),
        isolation: None,
        environment: None,
        configuration_changed: Vec::new(),
        tests_modified: None,
        custody: CustodyV2::SameUser,
        limit: None,
        contended: Vec::new(),
        reused: Vec::new(),
        lost_events: Vec::new(),
        notes: Vec::new(),
        evidence_files: Vec::new(),
        authenticity: unsealed(run_id.clone(), Some(facts.process_id)),
    }
}

/// None of them was run, so none is among the executed ones (C62).
fn counts(invalid: &[InvalidFacts]) -> ActionCountsV2 {
    let in_phase = |phase| invalid.iter().filter(|action| action.outline.phase == phase).count() as u64;
    ActionCountsV2 {
        total: invalid.len() as u64,
        prerequisites: in_phase(ActionPhase::Prerequisite),
        steps: in_phase(ActionPhase::Step),
        cleanup: in_phase(ActionPhase::Cleanup),
        ..ActionCountsV2::default()
    }
}

/// The entry of an action that was not run, because its specification is wrong (seed 004, example 6).
fn build_invalid(facts: &InvalidFacts) -> ActionResultV2 {
    let (errors, outline) = (facts.errors.clone(), &facts.outline);
    ActionResultV2 {
        action_id: outline.id.clone(),
        name: outline.id.to_string(),
        action_type: outline.action_type,
        // No output was read.
        tool: String::new(),
        disposition: DispositionV2::Invalid,
        skip_reason: None,
        status: Some(facts.judgement.classification.category),
        blocking: Some(true),
        description: outline.description.clone(),
        command: outline.subject.clone(),
        duration: None,
        evidence: None,
        evidence_files: Vec::new(),
        reused: None,
        attempts: None,
        flaky: None,
        earlier_attempts: Vec::new(),
        result: Some(ActionOutcomeV2 {
            executed: Some(false),
            schema_validation: Some(SchemaValidationV2 { valid: false, errors }),
            ..ActionOutcomeV2::default()
        }),
        classification: Some(facts.judgement.classification.clone()),
        root_cause: None,
        impact: Some(ImpactV2::Action(ActionImpactV2 {
            action_skipped: true,
            reason: "Cannot execute invalid specification".to_owned(),
        })),
        debt_generation: Some(facts.judgement.debt.clone()),
        agent_action: Some(facts.judgement.agent_action.clone()),
    }
}

/// The project's name is the specification's to say.
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
