//! The parts of a report that are the same for all runs in which no action was carried out.

use crate::report::build::{GENERATED_BY, REPORT_VERSION};
use crate::report::{
    AuthenticityV2, CleanupExecutionV2, CompletionV2, CustodyV2, ExecutionReportV2, ExecutionSummaryV2, PrerequisiteExecutionV2,
    ProjectV2, StepExecutionV2, TestSpecificationV2, TreeIssueV2, TreeV2, ValidationCriteriaV2,
};
use proctor_model::{CompletionStatus, Timestamp, TreeDigest, TreeFormat};

/// Returns a report without results and without a verdict: it says what the run was for, and `reason`.
pub(super) fn unrun_report(
    generated_at: Timestamp,
    project: ProjectV2,
    test_specification: TestSpecificationV2,
    execution_summary: ExecutionSummaryV2,
    reason: &str,
    authenticity: AuthenticityV2,
) -> ExecutionReportV2 {
    ExecutionReportV2 {
        report_version: REPORT_VERSION.to_owned(),
        generated_at,
        generated_by: GENERATED_BY.to_owned(),
        project,
        test_specification,
        specification_errors: Vec::new(),
        trigger: None,
        execution_summary,
        prerequisite_execution: PrerequisiteExecutionV2 { all_met: None, results: Vec::new() },
        step_execution: StepExecutionV2 { results: Vec::new() },
        cleanup_execution: CleanupExecutionV2 { executed: None, results: Vec::new() },
        validation_criteria_evaluation: ValidationCriteriaV2 {
            success_conditions: None,
            failure_conditions: None,
            expected_output: None,
            expected_failure: None,
            overall_result: None,
            reason: reason.to_owned(),
        },
        technical_debt_generated: None,
        completion_criteria_evaluation: CompletionV2 {
            all_steps_must_pass: None,
            minimum_pass_rate: None,
            actual_pass_rate: None,
            required_evidence: None,
            task_status_lock: None,
            completion_status: CompletionStatus::Incomplete,
            task_status: None,
            partial_reason: None,
            reason: reason.to_owned(),
        },
        route: None,
        tdd: None,
        tree: None,
        isolation: None,
        environment: None,
        configuration_changed: Vec::new(),
        rules_changed: Vec::new(),
        tests_not_run: None,
        fewer_tests: None,
        tests_modified: None,
        custody: CustodyV2::SameUser,
        limit: None,
        contended: Vec::new(),
        reused: Vec::new(),
        lost_events: Vec::new(),
        violations: Vec::new(),
        notes: Vec::new(),
        evidence_files: Vec::new(),
        authenticity,
    }
}

/// Returns the facts about a tree that was read once, before the run.
pub(super) fn tree_before(before: TreeDigest, format: TreeFormat, issues: Vec<TreeIssueV2>) -> TreeV2 {
    TreeV2 {
        format,
        before,
        after: None,
        moved: Vec::new(),
        moved_count: None,
        files: None,
        since_last_run: None,
        issues,
        snapshot: None,
    }
}
