//! Tests the judgement of runs and the exit codes of commands.

use crate::verdict::tests::{action, exited, findings, judge, judge_in, plain, policy, tests, with_policy};
use crate::verdict::{CyclePosition, RunFlow, RunVerdict, command_exit, judge_invalid, judge_run};
use proctor_model::{
    ActionJudgement, ActionPhase, BlockOn, Blocking, CategoryCode, CommandExit, CompletionStatus, ExitCodeSource, HelperDeath,
    NextNode, OverallResult, OverallStatus, PartialReason, PauseRecord, Phase, ResultType, RouteDestination, RouteEntry,
    RouteKind, RunId, TaskStatus, TddState, Timestamp, Tool,
};

fn passed() -> ActionJudgement {
    judge(&action(Tool::Pytest, ActionPhase::Step), &exited(0), &tests(CategoryCode::TestsPassed, 3, 0))
}

fn failed() -> ActionJudgement {
    judge(&action(Tool::Pytest, ActionPhase::Step), &exited(1), &tests(CategoryCode::TestsFailed, 3, 1))
}

fn red() -> ActionJudgement {
    let step = action(Tool::Pytest, ActionPhase::Step);
    judge_in(&step, &exited(1), &tests(CategoryCode::TestsFailed, 3, 1), Phase::Red, true)
}

fn uncollected() -> ActionJudgement {
    judge_in(&action(Tool::Pytest, ActionPhase::Step), &exited(2), &plain(CategoryCode::CollectionError), Phase::Red, true)
}

fn warned() -> ActionJudgement {
    judge(&with_policy(Tool::Eslint, policy(BlockOn::ErrorsOnly)), &exited(0), &findings(0, 1))
}

fn broken_prerequisite() -> ActionJudgement {
    judge(&action(Tool::Generic, ActionPhase::Prerequisite), &exited(1), &plain(CategoryCode::UnexpectedExit))
}

fn steps(outcomes: &[ActionJudgement]) -> RunVerdict {
    let results: Vec<_> = outcomes.iter().map(|outcome| (ActionPhase::Step, Some(outcome))).collect();
    judge_run(&results, &RunFlow::Finished)
}

fn route(node: NextNode, kind: RouteKind) -> RouteEntry {
    let destination = RouteDestination {
        next_node: node,
        reason: "because".to_owned(),
        requires_human: node == NextNode::HumanReview,
        retry_allowed: false,
    };
    RouteEntry { phase: Phase::Red, exit_code: Some(1), exit_code_source: ExitCodeSource::Process, kind, destination }
}

#[test]
fn a_run_in_which_everything_succeeds_is_complete() {
    let verdict = steps(&[passed(), passed()]);
    assert_eq!(verdict.overall_status, OverallStatus::Success);
    assert_eq!(verdict.overall_result, Some(OverallResult::Passed));
    assert_eq!((verdict.task_status, verdict.partial_reason), (Some(TaskStatus::Complete), None));
    assert_eq!(verdict.completion_status, CompletionStatus::Complete);
    assert_eq!(verdict.pass_rate_tenths, Some(1000));
    assert_eq!(verdict.reason, "2 steps ran and none failed");
}

#[test]
fn allowed_findings_make_a_task_partial_and_completable() {
    let verdict = steps(&[passed(), warned()]);
    assert_eq!(verdict.overall_status, OverallStatus::PartialSuccess);
    assert_eq!(verdict.overall_result, Some(OverallResult::Passed));
    assert_eq!(
        (verdict.task_status, verdict.partial_reason),
        (Some(TaskStatus::Partial), Some(PartialReason::NonBlockingFindings))
    );
    assert_eq!(verdict.completion_status, CompletionStatus::Complete);
    assert_eq!(verdict.completion_reason, "2 steps ran and none failed; 1 of them with findings that the policy allows");
    assert_eq!(steps(&[warned()]).overall_status, OverallStatus::PartialSuccess);
}

#[test]
fn one_blocking_result_fails_the_verdict() {
    let verdict = steps(&[passed(), failed(), passed()]);
    assert_eq!(verdict.overall_status, OverallStatus::PartialSuccess);
    assert_eq!(verdict.overall_result, Some(OverallResult::Failed));
    assert_eq!((verdict.task_status, verdict.completion_status), (Some(TaskStatus::Failed), CompletionStatus::Incomplete));
    assert_eq!((verdict.blocking, verdict.pass_rate_tenths), (1, Some(667)));
    assert_eq!(verdict.reason, "1 of 3 results failed");
    assert_eq!(steps(&[failed(), failed()]).reason, "2 of 2 results failed");
    assert_eq!(steps(&[failed()]).overall_status, OverallStatus::Failed);
}

#[test]
fn a_failed_prerequisite_aborts_the_run() {
    let (broken, cleaned) = (
        broken_prerequisite(),
        judge(&action(Tool::Generic, ActionPhase::Cleanup), &exited(0), &plain(CategoryCode::ExpectedExit)),
    );
    let results = [
        (ActionPhase::Prerequisite, None),
        (ActionPhase::Prerequisite, Some(&broken)),
        (ActionPhase::Step, None),
        (ActionPhase::Step, None),
        (ActionPhase::Cleanup, Some(&cleaned)),
    ];
    let verdict = judge_run(&results, &RunFlow::Finished);
    assert_eq!((verdict.overall_status, verdict.overall_result), (OverallStatus::Failed, Some(OverallResult::Failed)));
    assert_eq!(verdict.reason, "A prerequisite failed, so 2 steps were skipped");
    let counts = &verdict.actions;
    assert_eq!((counts.total, counts.executed, counts.skipped), (5, 2, 3));
    assert_eq!(
        (counts.in_phase(ActionPhase::Prerequisite), counts.in_phase(ActionPhase::Step), counts.in_phase(ActionPhase::Cleanup)),
        (2, 2, 1)
    );
    assert_eq!((verdict.skipped_steps, verdict.pass_rate_tenths), (2, Some(0)));
    assert_eq!(verdict.results[&ResultType::PrerequisiteFailure], 1);
}

/// The steps ran although a prerequisite failed, and the run is FAILED nevertheless.
#[test]
fn a_failed_prerequisite_fails_a_run_whose_steps_went_on() {
    let (broken, passed) = (broken_prerequisite(), passed());
    let results = [(ActionPhase::Prerequisite, Some(&broken)), (ActionPhase::Step, Some(&passed))];
    let verdict = judge_run(&results, &RunFlow::Finished);
    assert_eq!((verdict.overall_status, verdict.overall_result), (OverallStatus::Failed, Some(OverallResult::Failed)));
    assert_eq!(verdict.reason, "1 of 2 results failed");
}

#[test]
fn a_run_without_a_step_that_ran_is_never_passed() {
    let nothing = judge_run(&[], &RunFlow::Finished);
    assert_eq!((nothing.overall_result, nothing.pass_rate_tenths), (Some(OverallResult::Failed), None));
    assert_eq!(nothing.reason, "No step was run, so nothing is shown");
    let passed = passed();
    let some = [(ActionPhase::Step, Some(&passed)), (ActionPhase::Step, None)];
    let verdict = judge_run(&some, &RunFlow::Finished);
    assert_eq!((verdict.overall_status, verdict.overall_result), (OverallStatus::PartialSuccess, Some(OverallResult::Failed)));
    assert_eq!(verdict.reason, "1 step was skipped");
}

#[test]
fn a_run_that_was_not_let_finish_has_no_verdict() {
    let death = HelperDeath { action: "unit".to_owned(), why: "the keeper was ended by signal 9".to_owned() };
    for (flow, status) in [
        (RunFlow::Interrupted, OverallStatus::Interrupted),
        (RunFlow::HelperDied(&death), OverallStatus::Interrupted),
        (RunFlow::Superseded, OverallStatus::Superseded),
        (RunFlow::Moved, OverallStatus::Moved),
    ] {
        let passed = passed();
        let verdict = judge_run(&[(ActionPhase::Step, Some(&passed))], &flow);
        assert_eq!((verdict.overall_status, verdict.overall_result, verdict.task_status), (status, None, None));
        assert_eq!(verdict.completion_status, CompletionStatus::Incomplete);
    }
    let reason = judge_run(&[], &RunFlow::HelperDied(&death)).reason;
    assert_eq!(reason, "proctor's own fault, so there is no verdict: while `unit` went on, the keeper was ended by signal 9");
}

#[test]
fn a_wrong_specification_is_its_own_status() {
    let nothing = judge_run(&[], &RunFlow::SpecificationWrong);
    assert_eq!(
        (nothing.overall_status, nothing.overall_result),
        (OverallStatus::SpecificationError, Some(OverallResult::Failed))
    );
    let invalid = judge_run(&[(ActionPhase::Step, Some(&judge_invalid(Vec::new())))], &RunFlow::Finished);
    assert_eq!((invalid.overall_status, invalid.actions.invalid), (OverallStatus::SpecificationError, 1));
    assert_eq!((invalid.results[&ResultType::SpecificationError], invalid.blocking), (1, 1));
    assert_eq!(command_exit(&invalid, None, CyclePosition::Paused), CommandExit::SpecificationWrong);
}

#[test]
fn a_declared_red_is_partial_and_incomplete() {
    let mut declared = red();
    declared.blocking = Blocking::Allowed;
    declared.classification.is_expected_failure = Some(true);
    let verdict = steps(&[declared]);
    assert_eq!((verdict.task_status, verdict.partial_reason), (Some(TaskStatus::Partial), Some(PartialReason::ExpectedRed)));
    assert_eq!(verdict.completion_status, CompletionStatus::Incomplete);
    assert_eq!(verdict.completion_reason, "Tests fail as declared; the implementation is still to come");
}

#[test]
fn outside_a_cycle_only_the_verdict_counts() {
    let human = route(NextNode::HumanReview, RouteKind::Routed);
    let advice = route(NextNode::N4, RouteKind::Routed);
    assert_eq!(command_exit(&steps(&[passed()]), Some(&human), CyclePosition::OutsideCycle), CommandExit::Proceed);
    assert_eq!(command_exit(&steps(&[failed()]), Some(&human), CyclePosition::OutsideCycle), CommandExit::CodeNeedsWork);
    assert_eq!(command_exit(&steps(&[red()]), Some(&advice), CyclePosition::OutsideCycle), CommandExit::CodeNeedsWork);
}

#[test]
fn inside_a_cycle_a_person_comes_before_the_code() {
    let human = route(NextNode::HumanReview, RouteKind::RetryLimit);
    assert_eq!(command_exit(&steps(&[failed()]), Some(&human), CyclePosition::InCycle), CommandExit::PersonNeeded);
    assert_eq!(command_exit(&steps(&[passed()]), None, CyclePosition::Paused), CommandExit::PersonNeeded);
    assert_eq!(command_exit(&steps(&[passed()]), None, CyclePosition::InCycle), CommandExit::Proceed);
    let back = route(NextNode::N3, RouteKind::Routed);
    assert_eq!(command_exit(&steps(&[failed()]), Some(&back), CyclePosition::InCycle), CommandExit::CodeNeedsWork);
}

#[test]
fn a_valid_red_proceeds_when_nothing_else_blocks() {
    let valid = route(NextNode::N4, RouteKind::Routed);
    assert_eq!(command_exit(&steps(&[red()]), Some(&valid), CyclePosition::InCycle), CommandExit::Proceed);
    assert_eq!(command_exit(&steps(&[red(), warned()]), Some(&valid), CyclePosition::InCycle), CommandExit::Proceed);
    let new_red = ActionJudgement { blocking: Blocking::Allowed, ..red() };
    assert_eq!(command_exit(&steps(std::slice::from_ref(&new_red)), Some(&valid), CyclePosition::InCycle), CommandExit::Proceed);
    assert_eq!(
        command_exit(&steps(std::slice::from_ref(&new_red)), Some(&valid), CyclePosition::OutsideCycle),
        CommandExit::CodeNeedsWork
    );
    assert_eq!(command_exit(&steps(&[new_red, failed()]), Some(&valid), CyclePosition::InCycle), CommandExit::CodeNeedsWork);
    let not_red_yet = route(NextNode::N2, RouteKind::NotRedYet);
    assert_eq!(command_exit(&steps(&[passed()]), Some(&not_red_yet), CyclePosition::InCycle), CommandExit::CodeNeedsWork);
    let linter = judge(&with_policy(Tool::Eslint, policy(BlockOn::ErrorsOnly)), &exited(1), &findings(1, 0));
    assert_eq!(command_exit(&steps(&[red(), linter]), Some(&valid), CyclePosition::InCycle), CommandExit::CodeNeedsWork);
    assert_eq!(command_exit(&steps(&[failed()]), Some(&valid), CyclePosition::InCycle), CommandExit::CodeNeedsWork);
    assert_eq!(command_exit(&steps(&[red(), uncollected()]), Some(&valid), CyclePosition::InCycle), CommandExit::CodeNeedsWork);
    assert_eq!(
        command_exit(&judge_run(&[], &RunFlow::Finished), Some(&valid), CyclePosition::InCycle),
        CommandExit::CodeNeedsWork
    );
    let missing = route(NextNode::N4, RouteKind::CollectionErrorPolicy);
    assert_eq!(command_exit(&steps(&[uncollected()]), Some(&missing), CyclePosition::InCycle), CommandExit::Proceed);
    // The setting `routing.collection_error` concerns only tests that cannot be collected yet, and excuses no other
    // failure.
    for other in [failed(), broken_prerequisite()] {
        assert_eq!(command_exit(&steps(&[other]), Some(&missing), CyclePosition::InCycle), CommandExit::CodeNeedsWork);
    }
    let early = judge_in(
        &action(Tool::Pytest, ActionPhase::Prerequisite),
        &exited(2),
        &plain(CategoryCode::CollectionError),
        Phase::Red,
        true,
    );
    let (early, passed) = (early, passed());
    let results = [(ActionPhase::Prerequisite, Some(&early)), (ActionPhase::Step, Some(&passed))];
    let verdict = judge_run(&results, &RunFlow::Finished);
    assert_eq!(command_exit(&verdict, Some(&missing), CyclePosition::InCycle), CommandExit::CodeNeedsWork);
}

#[test]
fn a_run_without_a_verdict_has_its_own_exit_codes() {
    let exit = |flow| command_exit(&judge_run(&[], &flow), None, CyclePosition::InCycle);
    assert_eq!(exit(RunFlow::Moved), CommandExit::NoFreshVerdict);
    assert_eq!(exit(RunFlow::Superseded), CommandExit::NoFreshVerdict);
    assert_eq!(exit(RunFlow::Interrupted), CommandExit::Interrupted);
}

#[test]
fn the_standing_is_that_of_the_cycle_the_run_began_in() {
    let ended = TddState::default();
    assert_eq!(CyclePosition::of(true, &ended), CyclePosition::InCycle);
    assert_eq!(CyclePosition::of(false, &ended), CyclePosition::OutsideCycle);
    let pause = PauseRecord {
        reason: "limit".to_owned(),
        since: Timestamp::from_millis(0),
        run_id: RunId::new(Timestamp::from_millis(0), 1),
    };
    let paused = TddState { started: true, paused: Some(pause), ..TddState::default() };
    assert_eq!(CyclePosition::of(true, &paused), CyclePosition::Paused);
}
