//! Tests declared failures (C06, R6): which failures count as declared, and the verdict of a run with one.

use crate::verdict::criteria::judge_failure;
use crate::verdict::tests::{action, exited, plain, tests, timed_out};
use crate::verdict::{
    ActionFacts, CyclePosition, PassedBefore, RunFlow, RunVerdict, SeenAction, TestHistory, classify, command_exit,
    judge_criteria, judge_run,
};
use proctor_model::{
    ActionEnd, ActionJudgement, ActionPhase, ActionType, Blocking, CategoryCode, CommandExit, CompletionStatus,
    CriteriaEvaluation, DurationMs, ExpectedFailure, Interpretation, OverallResult, OverallStatus, PartialReason, Phase,
    ResultType, RunId, TaskCondition, TaskCriteria, TaskStatus, TestCase, TestOutcome, Tool, ToolClass,
};

/// Declares failing tests by the names that [`tests`] gives to its failures.
fn declared(names: &[usize]) -> ExpectedFailure {
    ExpectedFailure { tests: names.iter().map(|number| format!("tests.test_quote.test_{number}")).collect() }
}

/// Judges a run of one step whose failing tests were declared.
fn run(
    expected: &ExpectedFailure,
    end: &ActionEnd,
    interpretation: &Interpretation,
) -> (ActionJudgement, RunVerdict, CriteriaEvaluation) {
    run_after(&TestHistory::default(), expected, end, interpretation)
}

/// Judges a run of one step, given what earlier runs show about its tests.
fn run_after(
    history: &TestHistory,
    expected: &ExpectedFailure,
    end: &ActionEnd,
    interpretation: &Interpretation,
) -> (ActionJudgement, RunVerdict, CriteriaEvaluation) {
    let action = action(Tool::Pytest, ActionPhase::Step);
    let outcome = classify(&ActionFacts {
        action: &action,
        end,
        duration: DurationMs(5),
        interpretation,
        phase: Phase::Red,
        cycle_started: true,
        run_timeout: None,
        expected_failure: Some(expected),
        history,
    });
    let result = (ActionPhase::Step, Some(&outcome));
    let mut verdict = judge_run(&[result], &RunFlow::Finished);
    let condition = |text: &str| TaskCondition { condition: text.to_owned(), description: "it holds".to_owned() };
    let criteria = TaskCriteria {
        success: vec![condition("STEP.1.exitCode === 0"), condition("STEP.1.testsTotal > 0")],
        failure: vec![condition("STEP.1.testsFailed > 0")],
        expected_output: None,
        all_steps_must_pass: true,
        minimum_pass_rate_basis_points: None,
        required_evidence: Vec::new(),
        task_status_lock: true,
        expected_failure: Some(expected.clone()),
    };
    let seen = SeenAction {
        id: &action.id,
        action_type: ActionType::TerminalCommand,
        phase: ActionPhase::Step,
        class: ToolClass::Test,
        status: Some(outcome.classification.category),
        reason: Some(&outcome.classification.reason),
        blocking: outcome.blocking,
        is_expected_failure: outcome.classification.is_expected_failure == Some(true),
        exit_code: end.exit_code(),
        duration: None,
        stdout: None,
        stderr: None,
        findings: None,
        tests: interpretation.test_results.as_ref(),
        file: None,
        answer: None,
        client: None,
    };
    let evaluation = judge_criteria(&mut verdict, &criteria, &[seen], &[]);
    (outcome, verdict, evaluation)
}

#[test]
fn c06_tests_that_fail_as_declared_are_a_red_without_debt() {
    let (outcome, verdict, evaluation) = run(&declared(&[0, 1]), &exited(1), &tests(CategoryCode::TestsFailed, 3, 2));
    assert_eq!((outcome.classification.category, outcome.blocking), (ResultType::TestFailure, Blocking::Allowed));
    assert_eq!(outcome.classification.is_expected_failure, Some(true));
    assert!(!outcome.debt.should_generate);
    assert_eq!(outcome.agent_action.action, "CONTINUE");
    let judged = evaluation.expected_failure.expect("one was declared");
    assert_eq!((judged.met, judged.failed.len(), judged.reason), (true, 2, None));
    assert_eq!((verdict.overall_status, verdict.overall_result), (OverallStatus::PartialSuccess, Some(OverallResult::Passed)));
    assert_eq!(verdict.partial_reason, Some(PartialReason::ExpectedRed));
    // The conditions on these tests do not count yet: they are shown, and they keep the task incomplete.
    assert_eq!(verdict.completion_status, CompletionStatus::Incomplete);
    assert!(!evaluation.success[0].decided && evaluation.success[1].decided && evaluation.failure[0].decided);
    assert_eq!(verdict.reason, "1 step ran and 1 failed as declared; 1 of 2 success conditions met");
    assert_eq!(command_exit(&verdict, None, CyclePosition::OutsideCycle), CommandExit::Proceed);
}

#[test]
fn c06_any_other_end_is_not_the_failure_that_was_declared() {
    let raised = TestCase {
        title: "test_0".to_owned(),
        ancestor_titles: vec!["tests.test_quote".to_owned()],
        status: TestOutcome::Error,
        expected_to_fail: false,
        duration_us: None,
        failure_messages: Vec::new(),
        body: None,
        full_name: "tests.test_quote.test_0".to_owned(),
        report_name: None,
        test_file: None,
    };
    let errored = Interpretation { cases: vec![raised], ..tests(CategoryCode::TestsFailed, 1, 1) };
    let mut unnamed = tests(CategoryCode::TestsFailed, 1, 2);
    unnamed.test_results.as_mut().expect("it has a report").failures.truncate(1);
    let rows = [
        (
            "another test fails too",
            exited(1),
            tests(CategoryCode::TestsFailed, 1, 2),
            "not declared as failing: `tests.test_quote.test_1`",
        ),
        ("more fail than have a name", exited(1), unnamed, "2 failed, and 1 are named"),
        ("a fixture raised", exited(1), errored, "what raised outside of a test was not declared: `test_0`"),
        ("a collection error", exited(2), plain(CategoryCode::CollectionError), "No test was executed, so none failed"),
        ("a crash", ActionEnd::Signalled { signal: 11 }, plain(CategoryCode::Signalled), "No test was executed, so none failed"),
        ("a time-out", timed_out(), plain(CategoryCode::TimedOut), "No test was executed, so none failed"),
        ("nothing collected", exited(5), plain(CategoryCode::NoTestsCollected), "No test was executed, so none failed"),
        ("they pass", exited(0), tests(CategoryCode::TestsPassed, 2, 0), "The tests were expected to fail, and none did"),
    ];
    for (what, end, interpretation, why) in rows {
        let (outcome, verdict, evaluation) = run(&declared(&[0]), &end, &interpretation);
        assert_ne!(outcome.classification.is_expected_failure, Some(true), "{what}");
        let judged = evaluation.expected_failure.expect("one was declared");
        assert!(!judged.met, "{what}");
        let said = format!("{} {}", judged.reason.expect("it is not met"), outcome.classification.reason);
        assert!(said.contains(why), "{what}: {said}");
        assert_eq!(verdict.overall_result, Some(OverallResult::Failed), "{what}");
        assert_eq!(command_exit(&verdict, None, CyclePosition::OutsideCycle), CommandExit::CodeNeedsWork, "{what}");
        assert_ne!(outcome.classification.is_tdd_red_phase, Some(true), "{what}: it is no valid RED, and none to go on from");
        let succeeded = outcome.classification.category == ResultType::Success;
        assert_eq!(outcome.agent_action.action == "CONTINUE", succeeded, "{what}");
        assert_eq!(outcome.debt.should_generate, !succeeded, "{what}: what is not as declared keeps its debt");
    }
}

#[test]
fn c06_a_test_that_passed_before_is_no_new_failure() {
    let passed_before = |names: &[usize]| {
        let run: RunId = RunId::try_from("exec-20260304T093000.120Z-000042".to_owned()).expect("a run id");
        let passed_before = PassedBefore::Known(declared(names).tests.into_iter().map(|name| (name, run.clone())).collect());
        TestHistory { passed_before, ..TestHistory::default() }
    };
    let both = declared(&[0, 1]);
    for (names, says) in [
        (&[0][..], "declared as failing, and passed before: `tests.test_quote.test_0` in exec-20260304T093000.120Z-000042"),
        (&[0, 1][..], "in exec-20260304T093000.120Z-000042, and 1 more did"),
    ] {
        let (outcome, verdict, evaluation) =
            run_after(&passed_before(names), &both, &exited(1), &tests(CategoryCode::TestsFailed, 3, 2));
        assert!(outcome.classification.reason.contains(says), "{}", outcome.classification.reason);
        assert_eq!(outcome.classification.is_expected_failure, Some(false));
        assert_eq!((outcome.blocking, outcome.debt.should_generate), (Blocking::Blocks, true));
        assert!(!evaluation.expected_failure.expect("one was declared").met);
        assert_eq!(verdict.overall_result, Some(OverallResult::Failed));
    }
}

#[test]
fn c06_only_tests_that_ran_as_a_step_can_fail_as_declared() {
    let empty = tests(CategoryCode::NoTestsExecuted, 0, 0);
    let (_, _, evaluation) = run(&declared(&[0]), &exited(1), &empty);
    let judged = evaluation.expected_failure.expect("one was declared");
    assert_eq!(judged.reason.as_deref(), Some("No test was executed, so none failed"));
    let (action, failed) = (action(Tool::Pytest, ActionPhase::Prerequisite), tests(CategoryCode::TestsFailed, 1, 1));
    let seen = |phase, class| SeenAction {
        id: &action.id,
        action_type: ActionType::TerminalCommand,
        phase,
        class,
        status: Some(ResultType::TestFailure),
        reason: None,
        blocking: Blocking::Allowed,
        is_expected_failure: true,
        exit_code: Some(1),
        duration: None,
        stdout: None,
        stderr: None,
        findings: None,
        tests: failed.test_results.as_ref(),
        file: None,
        answer: None,
        client: None,
    };
    for (phase, class, met) in [
        (ActionPhase::Step, ToolClass::Test, true),
        (ActionPhase::Prerequisite, ToolClass::Test, false),
        (ActionPhase::Step, ToolClass::Generic, false),
    ] {
        assert_eq!(judge_failure(&declared(&[0]), &[seen(phase, class)]).met, met, "{phase:?} {class:?}");
    }
}

/// A prerequisite must succeed, whatever failure was declared. Its failure still keeps the steps from running and is
/// debt.
#[test]
fn c06_a_prerequisite_does_not_fail_as_declared() {
    let (expected, history) = (declared(&[0]), TestHistory::default());
    for (phase, category) in
        [(ActionPhase::Prerequisite, ResultType::PrerequisiteFailure), (ActionPhase::Cleanup, ResultType::TestFailure)]
    {
        let outcome = classify(&ActionFacts {
            action: &action(Tool::Pytest, phase),
            end: &exited(1),
            duration: DurationMs(5),
            interpretation: &tests(CategoryCode::TestsFailed, 1, 1),
            phase: Phase::Red,
            cycle_started: true,
            run_timeout: None,
            expected_failure: Some(&expected),
            history: &history,
        });
        let found = &outcome.classification;
        assert_eq!((found.category, found.is_expected_failure), (category, Some(false)), "{phase:?}");
        assert_eq!(found.is_tdd_red_phase, Some(false), "{phase:?}");
        assert!(outcome.debt.should_generate, "{phase:?}");
    }
}

#[test]
fn c06_each_declared_test_must_fail() {
    let (outcome, verdict, evaluation) = run(&declared(&[0, 7]), &exited(1), &tests(CategoryCode::TestsFailed, 1, 1));
    assert_eq!(outcome.classification.is_expected_failure, Some(true), "what failed was declared");
    let judged = evaluation.expected_failure.expect("one was declared");
    assert_eq!(judged.reason.as_deref(), Some("Declared as failing, and did not fail: `tests.test_quote.test_7`"));
    assert_eq!((verdict.overall_result, verdict.task_status), (Some(OverallResult::Failed), Some(TaskStatus::Failed)));
}

#[test]
fn r6_a_failure_that_names_no_test_gains_nothing() {
    let unnamed = declared(&[]);
    let (outcome, verdict, evaluation) = run(&unnamed, &exited(1), &tests(CategoryCode::TestsFailed, 1, 1));
    assert_eq!((outcome.classification.is_expected_failure, outcome.blocking), (Some(false), Blocking::Blocks));
    assert!(outcome.debt.should_generate);
    assert!(evaluation.expected_failure.is_some_and(|judged| judged.met), "a failure was expected and seen");
    assert_eq!((verdict.overall_result, verdict.completion_status), (Some(OverallResult::Failed), CompletionStatus::Incomplete));
    let (_, verdict, _) = run(&unnamed, &exited(0), &tests(CategoryCode::TestsPassed, 1, 0));
    assert_eq!(verdict.overall_result, Some(OverallResult::Failed), "tests that pass are no failure");
}
