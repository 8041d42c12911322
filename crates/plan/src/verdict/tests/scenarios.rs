//! Tests the four numbered scenarios of seed 004 and its "Detailed Error Structures".

use std::time::Duration;

use crate::verdict::tests::{action, exited, findings, judge, plain, policy, tests, timed_out, with_policy};
use crate::verdict::{ActionFacts, RunFlow, TestHistory, classify, judge_run};
use proctor_model::{
    ActionEnd, ActionJudgement, ActionPhase, BlockOn, Blocking, ByteSize, CategoryCode, Coverage, DebtCategory, Diagnostic,
    DurationMs, Interpretation, LimitKind, Phase, ResultType, Severity, StopStage, TaskStatus, Tool, ToolPolicy,
};

fn task_status(outcome: &ActionJudgement) -> TaskStatus {
    let results = [(ActionPhase::Step, Some(outcome))];
    judge_run(&results, &RunFlow::Finished).task_status.expect("a finished run has one")
}

fn assert_scenario(outcome: &ActionJudgement, blocking: Blocking, severity: Severity, status: TaskStatus, debt: Severity) {
    assert_eq!(outcome.classification.category, ResultType::ValidationFailure);
    assert_eq!(outcome.blocking, blocking);
    assert_eq!(outcome.classification.severity, Some(severity));
    assert_eq!(task_status(outcome), status);
    assert_eq!((outcome.debt.should_generate, outcome.debt.severity), (true, Some(debt)));
}

#[test]
fn scenario_1_eslint_errors_under_errors_only() {
    let outcome = judge(&with_policy(Tool::Eslint, policy(BlockOn::ErrorsOnly)), &exited(1), &findings(5, 12));
    assert_scenario(&outcome, Blocking::Blocks, Severity::High, TaskStatus::Failed, Severity::High);
    let applied = outcome.classification.policy_applied.expect("a policy was applied");
    assert_eq!(applied.reason, "5 eslint errors (BLOCK_ON_ERRORS_ONLY)");
}

#[test]
fn scenario_2_eslint_warnings_above_max_warnings() {
    let policy = ToolPolicy { max_warnings: Some(10), ..policy(BlockOn::ErrorsOnly) };
    let outcome = judge(&with_policy(Tool::Eslint, policy), &exited(0), &findings(0, 15));
    assert_scenario(&outcome, Blocking::Blocks, Severity::High, TaskStatus::Failed, Severity::Medium);
    let applied = outcome.classification.policy_applied.expect("a policy was applied");
    assert_eq!(applied.reason, "15 warnings exceeds maxWarnings (10)");
}

#[test]
fn scenario_3_eslint_under_warn_only() {
    let outcome = judge(&with_policy(Tool::Eslint, policy(BlockOn::WarnOnly)), &exited(1), &findings(3, 8));
    assert_scenario(&outcome, Blocking::Allowed, Severity::Low, TaskStatus::Partial, Severity::Low);
    let applied = outcome.classification.policy_applied.expect("a policy was applied");
    assert_eq!(applied.reason, "3 errors, 8 warnings (WARN_ONLY)");
}

#[test]
fn scenario_4_a_type_error_under_errors_always() {
    let outcome = judge(&with_policy(Tool::Tsc, policy(BlockOn::ErrorsAlways)), &exited(2), &findings(1, 0));
    assert_scenario(&outcome, Blocking::Blocks, Severity::Critical, TaskStatus::Failed, Severity::Critical);
    let applied = outcome.classification.policy_applied.expect("a policy was applied");
    assert_eq!(applied.reason, "1 typescript error (BLOCK_ON_ERRORS_ALWAYS)");
}

#[test]
fn a_type_error_is_told_as_in_example_3a() {
    let mut found = findings(1, 0);
    found.diagnostics = vec![Diagnostic {
        file: Some("src/services/quotes/QuoteService.ts".to_owned()),
        line: Some(45),
        column: Some(18),
        code: Some("TS2345".to_owned()),
        message: "Argument of type 'string' is not assignable to parameter of type 'number'".to_owned(),
        ..Diagnostic::default()
    }];
    let outcome = judge(&with_policy(Tool::Tsc, policy(BlockOn::ErrorsAlways)), &exited(2), &found);
    let told = &outcome.classification;
    assert_eq!(told.reason, "TypeScript type errors detected");
    assert_eq!((told.tool_succeeded, told.code_has_issues, told.blocks_compilation), (Some(true), Some(true), Some(true)));
    assert_eq!((told.issue_type.as_deref(), told.validation_tool.as_deref()), (Some("TYPE_ERROR"), Some("typescript")));
    assert_eq!(outcome.debt.category, Some(DebtCategory::ValidationMissing));
    assert_eq!(outcome.debt.title.as_deref(), Some("TypeScript Type Error in QuoteService.ts:45"));
    assert_eq!(outcome.debt.specific_file.as_deref(), Some("src/services/quotes/QuoteService.ts"));
    assert_eq!(outcome.debt.specific_line, Some(45));
    let fix = "Fix TS2345: Argument of type 'string' is not assignable to parameter of type 'number'";
    assert_eq!(outcome.debt.suggested_fix.as_deref(), Some(fix));
    assert_eq!(outcome.agent_action.action, "FIX_TYPES");
}

#[test]
fn lint_errors_are_told_as_in_example_3b() {
    let mut found = findings(5, 12);
    for (number, diagnostic) in found.diagnostics.iter_mut().enumerate() {
        diagnostic.fixable = Some(number < 3);
    }
    let outcome = judge(&with_policy(Tool::Eslint, policy(BlockOn::ErrorsOnly)), &exited(1), &found);
    let told = &outcome.classification;
    assert_eq!(told.reason, "ESLint errors detected");
    assert_eq!((told.issue_type.as_deref(), told.blocks_compilation), (Some("LINT_ERROR"), Some(false)));
    assert_eq!((told.fixable, told.is_expected_failure), (Some(true), Some(false)));
    assert_eq!(outcome.debt.category, Some(DebtCategory::Refactor));
    assert_eq!(outcome.debt.title.as_deref(), Some("ESLint Errors: 5 errors across 3 files"));
    assert_eq!(outcome.debt.suggested_fix.as_deref(), Some("Fix ESLint errors (3 auto-fixable with --fix)"));
    assert_eq!((outcome.agent_action.action.as_str(), outcome.agent_action.required), ("FIX_CODE", true));
}

#[test]
fn lint_warnings_are_told_as_in_example_3c() {
    let outcome = judge(&with_policy(Tool::Eslint, policy(BlockOn::ErrorsOnly)), &exited(0), &findings(0, 8));
    let told = &outcome.classification;
    assert_eq!(told.reason, "ESLint warnings detected (non-blocking)");
    assert_eq!((told.issue_type.as_deref(), told.severity), (Some("LINT_WARNING"), Some(Severity::Medium)));
    assert_eq!(outcome.debt.title.as_deref(), Some("ESLint Warnings: 8 warnings across 3 files (non-blocking)"));
    assert_eq!(outcome.debt.suggested_fix.as_deref(), Some("Address ESLint warnings when convenient"));
    assert_eq!((outcome.agent_action.action.as_str(), outcome.agent_action.required), ("CONTINUE", false));
}

#[test]
fn a_time_out_is_told_as_in_example_5_whatever_the_tool_left_behind() {
    let passed = tests(CategoryCode::TestsPassed, 3, 0);
    let outcome = judge(&action(Tool::Pytest, ActionPhase::Step), &timed_out(), &passed);
    let told = &outcome.classification;
    assert_eq!((told.category, told.code), (ResultType::Timeout, CategoryCode::TimedOut));
    assert_eq!((told.tool_succeeded, told.tool_failed, told.tests_ran), (None, None, Some(false)));
    assert_eq!(told.limit, Some(LimitKind::Wall));
    assert_eq!(told.timeout_value.map(|value| value.0), Some(10_000));
    assert_eq!(told.actual_duration.map(|value| value.0), Some(10_050));
    assert_eq!((outcome.debt.category, outcome.debt.severity), (Some(DebtCategory::PerformanceIssue), Some(Severity::Medium)));
    assert_eq!(outcome.debt.title.as_deref(), Some("Operation Timeout: Exceeded 10s limit"));
    assert_eq!(outcome.debt.suggested_fix.as_deref(), Some("Optimize operation or increase timeout value"));
    assert_eq!(outcome.agent_action.action, "OPTIMIZE_OR_RAISE_TIMEOUT");
}

#[test]
fn a_limit_of_output_is_told_with_its_own_value_and_its_own_way_out() {
    let mut action = action(Tool::Generic, ActionPhase::Step);
    action.idle_timeout = Some(Duration::from_secs(5));
    action.max_output = Some(ByteSize(4 << 30));
    for (limit, time, bytes, title, fix) in [
        (LimitKind::Idle, Some(5000), None, "Operation Timeout: No output for 5s", "idle_timeout"),
        (LimitKind::Output, None, Some(4 << 30), "Operation Timeout: Printed more than 4GiB", "max_output"),
    ] {
        let end = ActionEnd::TimedOut { limit, stage: StopStage::Sigterm, code: Some(0), signal: None };
        let outcome = judge(&action, &end, &Interpretation::plain(CategoryCode::TimedOut, "it hit its limit"));
        let told = &outcome.classification;
        assert_eq!((told.category, told.limit), (ResultType::Timeout, Some(limit)));
        assert_eq!((told.timeout_value.map(|value| value.0), told.output_limit.map(|size| size.0)), (time, bytes));
        assert_eq!(outcome.debt.title.as_deref(), Some(title));
        assert!(
            outcome.debt.suggested_fix.as_deref().is_some_and(|said| said.ends_with(fix)),
            "{:?}",
            outcome.debt.suggested_fix
        );
        assert!(outcome.agent_action.message.contains("output"), "{}", outcome.agent_action.message);
    }
}

/// The run's own time limit is mentioned only if the action was stopped by a time limit.
#[test]
fn the_time_of_the_run_is_told_only_where_it_was_over() {
    let mut action = action(Tool::Generic, ActionPhase::Step);
    action.max_output = Some(ByteSize(4 << 30));
    let history = TestHistory::default();
    for (limit, title) in [
        (LimitKind::Wall, "Operation Timeout: Exceeded 3s limit"),
        (LimitKind::Output, "Operation Timeout: Printed more than 4GiB"),
    ] {
        let outcome = classify(&ActionFacts {
            action: &action,
            end: &ActionEnd::TimedOut { limit, stage: StopStage::Sigterm, code: Some(0), signal: None },
            duration: DurationMs(5),
            interpretation: &Interpretation::plain(CategoryCode::TimedOut, "it hit its limit"),
            phase: Phase::Green,
            cycle_started: false,
            run_timeout: Some(Duration::from_secs(3)),
            expected_failure: None,
            history: &history,
        });
        assert_eq!(outcome.debt.title.as_deref(), Some(title));
        assert_eq!(outcome.classification.timeout_value.is_some(), limit == LimitKind::Wall);
    }
}

#[test]
fn failing_tests_name_the_first_of_them() {
    let step = action(Tool::Pytest, ActionPhase::Step);
    let one = judge(&step, &exited(1), &tests(CategoryCode::TestsFailed, 3, 1)).debt;
    assert_eq!(one.title.as_deref(), Some("Test Failure: tests.test_quote.test_0"));
    assert_eq!(one.suggested_fix.as_deref(), Some("Make tests.test_quote.test_0 pass: assert 1 == 2"));
    assert_eq!((one.specific_file.as_deref(), one.specific_line), (Some("tests/test_quote.py"), Some(15)));
    let two = judge(&step, &exited(1), &tests(CategoryCode::TestsFailed, 3, 2)).debt;
    assert_eq!(two.title.as_deref(), Some("Test Failures: 2 of 5 tests failed"));
    assert_eq!(two.suggested_fix.as_deref(), Some("Make tests.test_quote.test_0 pass, and 1 test more: assert 1 == 2"));
}

#[test]
fn missing_coverage_is_told_in_per_cent_and_never_sent_to_the_implementation() {
    let coverage = Some(Coverage { percent: 71.5, required: 85.0 });
    let seen = Interpretation { coverage, ..tests(CategoryCode::CoverageBelowTarget, 3, 0) };
    let outcome = judge(&action(Tool::Pytest, ActionPhase::Step), &exited(1), &seen);
    assert_eq!(outcome.classification.category, ResultType::TestFailure);
    assert_eq!(outcome.debt.title.as_deref(), Some("Coverage Below Target: 71.5 % of 85 %"));
    assert_eq!(outcome.agent_action.action, "ADD_TESTS");
    let other = Interpretation { coverage, ..plain(CategoryCode::NoTestsCollected) };
    let outcome = judge(&action(Tool::Pytest, ActionPhase::Step), &exited(5), &other);
    assert_eq!(outcome.debt.title.as_deref(), Some("No Tests Collected: check"), "coverage is not what is wrong there");
}

#[test]
fn c08_a_failed_prerequisite_keeps_what_it_was_as_underlying() {
    let prerequisite = action(Tool::Generic, ActionPhase::Prerequisite);
    for (end, code, underlying) in [
        (exited(1), CategoryCode::UnexpectedExit, ResultType::ExecutionError),
        (timed_out(), CategoryCode::TimedOut, ResultType::Timeout),
    ] {
        let outcome = judge(&prerequisite, &end, &plain(code));
        assert_eq!(outcome.classification.category, ResultType::PrerequisiteFailure);
        assert_eq!(outcome.classification.underlying, Some(underlying));
        assert_eq!(outcome.classification.can_continue, Some(false));
        assert_eq!(
            (outcome.debt.category, outcome.debt.severity),
            (Some(DebtCategory::IntegrationFailure), Some(Severity::Critical))
        );
        assert!(outcome.debt.title.is_some_and(|title| title.starts_with("check Prerequisite Failed: ")));
    }
    let usage = judge(&prerequisite, &exited(4), &plain(CategoryCode::UsageError));
    assert_eq!(usage.classification.category, ResultType::PrerequisiteFailure);
    assert!(!usage.debt.should_generate);
    let fine = judge(&prerequisite, &exited(0), &plain(CategoryCode::ExpectedExit));
    assert_eq!((fine.classification.category, fine.classification.can_continue), (ResultType::Success, None));
}
