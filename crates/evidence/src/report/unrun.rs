//! The parts of a report that are the same for all runs in which no action was carried out.

use crate::report::build::{GENERATED_BY, REPORT_VERSION, sorted_by_name, unsealed};
use crate::report::{
    AuthenticityV2, CleanupExecutionV2, CompletionV2, CustodyV2, ExecutionReportV2, ExecutionSummaryV2, PrerequisiteExecutionV2,
    ProjectV2, RecoveryFacts, StepExecutionV2, TestSpecificationV2, TreeIssueV2, TreeV2, ValidationCriteriaV2,
};
use proctor_model::{CompletionStatus, OverallStatus, PlanNote, RunId, Timestamp, TreeDigest, TreeFormat};

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
        known_from: None,
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

// Builds the report of a run whose process died, from its start record and the files it left.

const REASON: &str = "the run was cut short: the process that carried it out ended before the run did";

/// Returns the report of a run that died before it wrote a report (S2, E17): INTERRUPTED, without a verdict and without
/// counts.
///
/// The time of the run's end is not known, so end and duration are left out. `evidenceFiles` lists the files as they
/// were found. If the start record cannot be read, tree, trigger, plan and process are missing too, and the start time is taken
/// from the run's id, or else is the time when the run was found.
pub fn interrupted_report(recovery: &RecoveryFacts) -> ExecutionReportV2 {
    let details = recovery.start.as_ref().map(|start| &start.details);
    let mut notes = Vec::new();
    let start_time = details.map(|details| details.started).or_else(|| start_named_by(&recovery.run_id)).unwrap_or_else(|| {
        notes.push(note("the start record cannot be read and the run's id names no time; startTime is when the run was found"));
        recovery.recovered_at
    });
    let project = details.map(|details| details.project.clone());
    let project = project.unwrap_or_else(|| ProjectV2 { id: recovery.project_id.clone(), name: None });
    let specification = details.map(|details| details.test_specification.clone());
    let specification = specification.unwrap_or_else(|| TestSpecificationV2 {
        file: None,
        schema_version: None,
        task_id: recovery.task.clone(),
        task_title: None,
        sprint_id: None,
        origin: None,
        plan_digest: None,
    });
    let authenticity = unsealed(recovery.run_id.clone(), details.map(|details| details.process_id));
    let summary = summary_of_unknown(start_time);
    ExecutionReportV2 {
        trigger: details.map(|details| details.trigger.clone()),
        tree: details.map(|details| tree_before(details.tree_digest, details.tree_format, Vec::new())),
        notes,
        evidence_files: sorted_by_name(&recovery.evidence_files),
        ..unrun_report(recovery.recovered_at, project, specification, summary, REASON, authenticity)
    }
}

fn summary_of_unknown(start_time: Timestamp) -> ExecutionSummaryV2 {
    ExecutionSummaryV2 {
        overall_status: OverallStatus::Interrupted,
        start_time,
        end_time: None,
        total_duration: None,
        action_counts: None,
        action_results: None,
        test_results: None,
    }
}

fn note(message: &str) -> PlanNote {
    PlanNote { subject: "run".to_owned(), message: message.to_owned() }
}

/// Returns the time in a run's id: `exec-20260304T093000.120Z-000042` began at 2026-03-04T09:30:00.120Z.
fn start_named_by(run_id: &RunId) -> Option<Timestamp> {
    let stamp = run_id.as_str().strip_prefix("exec-")?.split('-').next()?;
    let (date, time) = stamp.split_once('T')?;
    let part = |text: &str, from: usize, to: usize| text.get(from..to).map(str::to_owned);
    let date = format!("{}-{}-{}", part(date, 0, 4)?, part(date, 4, 6)?, part(date, 6, 8)?);
    let time = format!("{}:{}:{}", part(time, 0, 2)?, part(time, 2, 4)?, time.get(4..)?);
    Timestamp::try_from(format!("{date}T{time}")).ok()
}

#[cfg(test)]
mod interrupted_tests {
    use super::start_named_by;
    use proctor_model::{RunId, Timestamp};

    #[test]
    fn a_runs_id_names_its_beginning() {
        let start = Timestamp::from_millis(1_772_616_600_120);
        assert_eq!(start_named_by(&RunId::new(start, 42)), Some(start));
        let no_time = RunId::try_from("exec-20269904T093000.120Z-000042").expect("digits are all that is checked");
        assert_eq!(start_named_by(&no_time), None);
    }
}
