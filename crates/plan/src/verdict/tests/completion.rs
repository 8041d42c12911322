//! Tests when a task is complete. They cover the pass rate, the required evidence, and all criteria together (C34, C63,
//! C68, J5).

use crate::verdict::tests::seen::{Seen, command, conditions, criteria, judged, judged_with, passed, tested};
use crate::verdict::{RunFlow, RunVerdict, judge_run};
use proctor_model::{
    Blocking, CompletionStatus, EvidenceKind, ExpectedOutput, OverallResult, PartialReason, ResultType, TaskCriteria, TaskStatus,
    TestCounts, TestResults,
};

/// Only steps count for the pass rate: successful prerequisites and clean-ups do not raise it. The rounding is tested
/// in `report/sums.rs`.
#[test]
fn c63_the_rate_is_of_steps_alone() {
    let half = [
        command("PREREQ.1", ResultType::Success, 0),
        command("STEP.1", ResultType::Success, 0),
        Seen { blocking: Blocking::Blocks, ..command("STEP.2", ResultType::ExecutionError, 1) },
        command("CLEANUP.1", ResultType::Success, 0),
    ];
    let at_least = |basis_points| TaskCriteria { minimum_pass_rate_basis_points: Some(basis_points), ..criteria() };
    assert_eq!(judged(&at_least(5_000), &half).0.completion_status, CompletionStatus::Complete);
    let (verdict, _) = judged(&at_least(5_001), &half);
    assert_eq!((verdict.completion_status, verdict.task_status), (CompletionStatus::Incomplete, Some(TaskStatus::Partial)));
    assert_eq!(verdict.partial_reason, Some(PartialReason::CriteriaUnmet));
    assert_eq!(verdict.completion_reason, "1 of 2 steps pass, and 50.01 % must");
    assert_eq!(verdict.overall_result, Some(OverallResult::Passed));
    let all = TaskCriteria { all_steps_must_pass: true, minimum_pass_rate_basis_points: Some(0), ..criteria() };
    assert_eq!(judged(&all, &half).0.completion_reason, "1 of 2 steps pass, and each must");
    let without_steps = TaskCriteria { success: conditions(&["CLEANUP.1.success"]), ..at_least(6_000) };
    assert_eq!(judged(&without_steps, &half[3..]).0.completion_reason, "0 of 0 steps pass, and 60 % must");
}

#[test]
fn c63_a_rate_is_reached_exactly_and_a_run_of_skipped_tests_alone_is_not_complete() {
    let at_least = |basis_points| TaskCriteria { minimum_pass_rate_basis_points: Some(basis_points), ..criteria() };
    let mut steps: Vec<Seen> = (1..=4).map(|number| command(&format!("STEP.{number}"), ResultType::Success, 0)).collect();
    steps[3] = Seen { blocking: Blocking::Blocks, ..command("STEP.4", ResultType::ExecutionError, 1) };
    assert_eq!(judged(&at_least(7_500), &steps).0.completion_status, CompletionStatus::Complete);
    assert_eq!(judged(&at_least(7_501), &steps).0.completion_reason, "3 of 4 steps pass, and 75.01 % must");
    let skipped = Seen {
        tests: Some(TestResults { counts: TestCounts { passed: 0, failed: 0, skipped: 3 }, total: 3, ..TestResults::default() }),
        ..tested("STEP.1", 1, 0)
    };
    assert_eq!(judged(&criteria(), &[skipped]).0.completion_reason, "No test was executed");
}

#[test]
fn c34_a_step_with_allowed_findings_passes() {
    let warned = Seen { blocking: Blocking::Allowed, ..command("STEP.1", ResultType::ValidationFailure, 0) };
    let all = TaskCriteria { all_steps_must_pass: true, ..criteria() };
    assert_eq!(judged(&all, &[warned]).0.completion_status, CompletionStatus::Complete);
}

#[test]
fn c68_evidence_is_of_a_kind_or_it_is_not() {
    let required = [EvidenceKind::TerminalOutput, EvidenceKind::TestExecutionLog, EvidenceKind::ApiResponses];
    let criteria = TaskCriteria { required_evidence: required.to_vec(), ..criteria() };
    let seen = || [command("STEP.1", ResultType::Success, 0)];
    let missing = |found: &[EvidenceKind]| judged_with(passed(), &criteria, &seen(), found);
    let (verdict, evaluation) =
        missing(&[EvidenceKind::TerminalOutput, EvidenceKind::TestExecutionLog, EvidenceKind::ErrorLogs, EvidenceKind::Frames]);
    assert_eq!(evaluation.missing_evidence, [EvidenceKind::ApiResponses]);
    assert_eq!(verdict.completion_reason, "Evidence is missing: api-responses");
    assert_eq!((verdict.overall_result, verdict.completion_status), (Some(OverallResult::Passed), CompletionStatus::Incomplete));
    let (verdict, evaluation) = missing(&[EvidenceKind::TestExecutionLog, EvidenceKind::ApiResponses]);
    assert_eq!((evaluation.missing_evidence.as_slice(), verdict.completion_status), (&[][..], CompletionStatus::Complete));
    let (_, evaluation) = missing(&[EvidenceKind::TerminalOutput, EvidenceKind::ApiResponses]);
    assert_eq!(evaluation.missing_evidence, [EvidenceKind::TestExecutionLog], "a command's output is no test's");
}

/// Each unmet criterion keeps a task incomplete, even if all others are met.
#[test]
fn j5_a_task_is_complete_only_if_everything_holds() {
    let seen = || [tested("STEP.1", 3, 0)];
    let full = TaskCriteria {
        failure: conditions(&["STEP.1.failed"]),
        expected_output: Some(ExpectedOutput { exit_code: Some(0), ..ExpectedOutput::default() }),
        all_steps_must_pass: true,
        required_evidence: vec![EvidenceKind::TestExecutionLog],
        ..criteria()
    };
    let evidence = [EvidenceKind::TestExecutionLog];
    let status = |criteria: &TaskCriteria, seen: &[Seen], evidence: &[EvidenceKind]| {
        judged_with(passed(), criteria, seen, evidence).0.completion_status
    };
    let (verdict, _) = judged_with(passed(), &full, &seen(), &evidence);
    assert_eq!((verdict.completion_status, verdict.task_status), (CompletionStatus::Complete, Some(TaskStatus::Complete)));
    assert_eq!(verdict.completion_reason, "1 step ran and none failed; 1 success condition met");
    let unmet = TaskCriteria { success: conditions(&["STEP.1.testsTotal > 3"]), ..full.clone() };
    assert_eq!(status(&unmet, &seen(), &evidence), CompletionStatus::Incomplete);
    let triggered = TaskCriteria { failure: conditions(&["STEP.1.testsTotal < 4"]), ..full.clone() };
    assert_eq!(status(&triggered, &seen(), &evidence), CompletionStatus::Incomplete);
    let output = ExpectedOutput { exit_code: Some(3), ..ExpectedOutput::default() };
    let unexpected = TaskCriteria { expected_output: Some(output), ..full.clone() };
    assert_eq!(status(&unexpected, &seen(), &evidence), CompletionStatus::Incomplete);
    let blocked = [tested("STEP.1", 3, 0), command("STEP.2", ResultType::ExecutionError, 1)];
    assert_eq!(status(&full, &blocked, &evidence), CompletionStatus::Incomplete);
    assert_eq!(status(&full, &seen(), &[]), CompletionStatus::Incomplete);
    let untested = [Seen { tests: None, ..tested("STEP.1", 3, 0) }];
    let (verdict, _) = judged_with(passed(), &full, &untested, &evidence);
    assert_eq!(verdict.completion_reason, "No test was executed");
    assert_eq!((verdict.completion_status, verdict.overall_result), (CompletionStatus::Incomplete, Some(OverallResult::Passed)));
    let failed = judge_run(&[], &RunFlow::Finished);
    assert_eq!(judged_with(failed, &full, &seen(), &evidence).0.completion_status, CompletionStatus::Incomplete);
}

#[test]
fn j5_a_declared_red_stays_partial_for_that_reason() {
    let red = RunVerdict {
        task_status: Some(TaskStatus::Partial),
        partial_reason: Some(PartialReason::ExpectedRed),
        completion_status: CompletionStatus::Incomplete,
        completion_reason: "Tests fail as declared; the implementation is still to come".to_owned(),
        ..passed()
    };
    let missing = TaskCriteria { required_evidence: vec![EvidenceKind::ApiResponses], ..criteria() };
    let (verdict, _) = judged_with(red.clone(), &missing, &[command("STEP.1", ResultType::Success, 0)], &[]);
    assert_eq!(verdict.partial_reason, Some(PartialReason::ExpectedRed));
    assert_eq!(
        verdict.completion_reason,
        "Tests fail as declared; the implementation is still to come; evidence is missing: api-responses"
    );
    let (verdict, _) = judged_with(red.clone(), &criteria(), &[command("STEP.1", ResultType::Success, 0)], &[]);
    assert_eq!((verdict.completion_reason, verdict.completion_status), (red.completion_reason, CompletionStatus::Incomplete));
}
