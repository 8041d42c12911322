//! Tests each row of seed 004's "Classification Matrix" under its name, with the decision that amends it. Also tests
//! interpreted successes that other facts contradict (E3).

use crate::verdict::tests::{
    action, exited, findings, judge, judge_in, judge_with, plain, policy, stopped, tests, timed_out, with_policy,
};
use crate::verdict::{RedBeginning, RunFlow, TestHistory, judge_invalid, judge_run};
use proctor_model::{
    Action, ActionEnd, ActionJudgement, ActionKind, ActionPhase, Advice, BlockOn, Blocking, CategoryCode, CompletionStatus,
    DebtCategory, DiagnosticSummary, FileCheck, FileValidation, HttpRequest, Interpretation, OverallResult, OverallStatus, Phase,
    ResultType, RunId, SpawnFailure, Tool,
};

fn not_found() -> ActionEnd {
    ActionEnd::NotStarted(SpawnFailure::ProgramNotFound { program: "eslint".to_owned(), searched: Vec::new() })
}

fn lost() -> ActionEnd {
    ActionEnd::Lost { why: "the launcher died".to_owned() }
}

fn seen(outcome: &ActionJudgement) -> (ResultType, CategoryCode, Blocking, Option<DebtCategory>) {
    let told = &outcome.classification;
    (told.category, told.code, outcome.blocking, outcome.debt.category)
}

fn step(tool: Tool) -> Action {
    action(tool, ActionPhase::Step)
}

/// A row of the matrix: result type, policy, whether it blocks, and category of the debt.
struct Cells {
    result: ResultType,
    policy: Option<&'static str>,
    blocking: Blocking,
    debt: Option<DebtCategory>,
}

const NO_POLICY: Option<&str> = None;

/// Fails unless an outcome agrees with its row of the matrix.
#[track_caller]
fn assert_row(outcome: &ActionJudgement, expected: &Cells) {
    let told = &outcome.classification;
    assert_eq!((told.category, outcome.blocking), (expected.result, expected.blocking), "{}", told.reason);
    assert_eq!(told.policy_applied.as_ref().map(|applied| applied.strategy.as_str()), expected.policy, "{}", told.reason);
    assert_eq!(
        (outcome.debt.category, outcome.debt.should_generate),
        (expected.debt, expected.debt.is_some()),
        "{}",
        told.reason
    );
}

fn prerequisite(code: CategoryCode, kind: ActionKind) -> ActionJudgement {
    judge(&Action { kind, ..action(Tool::Generic, ActionPhase::Prerequisite) }, &exited(1), &plain(code))
}

/// R6: tests that are new since the RED phase began do not block and are no debt, as seed 004's row says.
#[test]
fn matrix_tdd_red_phase() {
    let failed = tests(CategoryCode::TestsFailed, 1, 1);
    let history = TestHistory { red: RedBeginning::NoneFailed, ..TestHistory::default() };
    let outcome = judge_with(&history, &step(Tool::Pytest), &exited(1), &failed, (Phase::Red, true));
    assert_eq!((outcome.blocking, outcome.debt.should_generate), (Blocking::Allowed, false));
    assert_eq!(outcome.agent_action.action, "CONTINUE");
    let verdict = judge_run(&[(ActionPhase::Step, Some(&outcome))], &RunFlow::Finished);
    assert_eq!((verdict.overall_result, verdict.overall_status), (Some(OverallResult::Failed), OverallStatus::Failed));
    assert_eq!((verdict.completion_status, verdict.blocking), (CompletionStatus::Incomplete, 0));
    assert_eq!(verdict.reason, "1 of 1 step fails as the RED phase demands: the implementation is still to come");
    let run = RunId::try_from("exec-20260304T093000.120Z-000042".to_owned()).expect("a run id");
    let before = RedBeginning::Failed { run, tests: vec!["test_a".to_owned()] };
    for (red, why) in [(before, "`test_a`"), (RedBeginning::Unknown("gone".to_owned()), "is not known: gone")] {
        let history = TestHistory { red, ..TestHistory::default() };
        let outcome = judge_with(&history, &step(Tool::Pytest), &exited(1), &failed, (Phase::Red, true));
        assert_eq!((outcome.blocking, outcome.debt.should_generate), (Blocking::Blocks, true));
        assert!(outcome.classification.reason.contains(why), "{}", outcome.classification.reason);
    }
    assert_eq!((outcome.classification.category, outcome.classification.is_tdd_red_phase), (ResultType::TestFailure, Some(true)));
    assert_eq!(outcome.classification.tests_ran, Some(true));
}

/// A clean-up or prerequisite that may fail (`continueOnFailure`) is shown and decides nothing: seed 004 judges steps and conditions.
#[test]
fn what_may_fail_before_and_after_the_steps_is_a_warning() {
    for (phase, result) in
        [(ActionPhase::Prerequisite, ResultType::PrerequisiteFailure), (ActionPhase::Cleanup, ResultType::ExecutionError)]
    {
        let may_fail = |may| Action { continue_on_failure: may, ..action(Tool::Generic, phase) };
        let failed = |may| judge(&may_fail(may), &not_found(), &plain(CategoryCode::ToolNotFound));
        let (warned, blocked) = (failed(true), failed(false));
        assert_eq!((warned.classification.category, blocked.classification.category), (result, result));
        assert_eq!((warned.blocking, warned.debt.should_generate), (Blocking::Allowed, false));
        assert_eq!(blocked.blocking, Blocking::Blocks);
        let passed = judge(&step(Tool::Pytest), &exited(0), &tests(CategoryCode::TestsPassed, 1, 0));
        let verdict = judge_run(&[(phase, Some(&warned)), (ActionPhase::Step, Some(&passed))], &RunFlow::Finished);
        assert_eq!(
            (verdict.overall_result, verdict.completion_status),
            (Some(OverallResult::Passed), CompletionStatus::Complete)
        );
    }
}

/// C42: the debt's category names the cause (BUSINESS_LOGIC_ERROR); the debt item's `workType` is FEATURE or BUG_FIX.
#[test]
fn matrix_actual_test_failure() {
    let outcome = judge(&step(Tool::Pytest), &exited(1), &tests(CategoryCode::TestsFailed, 1, 1));
    let debt = Some(DebtCategory::BusinessLogicError);
    assert_row(&outcome, &Cells { result: ResultType::TestFailure, policy: NO_POLICY, blocking: Blocking::Blocks, debt });
    assert_eq!(outcome.classification.is_expected_failure, Some(false));
}

/// C12: exit codes 1 and 2 of tsc are a VALIDATION_FAILURE if the output names an error in a file.
#[test]
fn matrix_typescript_errors() {
    for code in [1, 2] {
        let outcome = judge(&with_policy(Tool::Tsc, policy(BlockOn::ErrorsAlways)), &exited(code), &findings(1, 0));
        let (policy, debt) = (Some("BLOCK_ON_ERRORS_ALWAYS"), Some(DebtCategory::ValidationMissing));
        assert_row(&outcome, &Cells { result: ResultType::ValidationFailure, policy, blocking: Blocking::Blocks, debt });
    }
}

#[test]
fn matrix_eslint_errors() {
    let outcome = judge(&with_policy(Tool::Eslint, policy(BlockOn::ErrorsOnly)), &exited(1), &findings(1, 0));
    let (policy, debt) = (Some("BLOCK_ON_ERRORS_ONLY"), Some(DebtCategory::Refactor));
    assert_row(&outcome, &Cells { result: ResultType::ValidationFailure, policy, blocking: Blocking::Blocks, debt });
}

#[test]
fn matrix_eslint_warnings() {
    let outcome = judge(&with_policy(Tool::Eslint, policy(BlockOn::ErrorsOnly)), &exited(0), &findings(0, 1));
    let (policy, debt) = (Some("BLOCK_ON_ERRORS_ONLY"), Some(DebtCategory::Refactor));
    assert_row(&outcome, &Cells { result: ResultType::ValidationFailure, policy, blocking: Blocking::Allowed, debt });
}

#[test]
fn matrix_eslint_strict() {
    for (errors, warnings, code) in [(1, 0, 1), (0, 1, 1), (1, 1, 1), (0, 1, 0)] {
        let strict = with_policy(Tool::Eslint, policy(BlockOn::ErrorsAndWarnings));
        let outcome = judge(&strict, &exited(code), &findings(errors, warnings));
        let (policy, debt) = (Some("BLOCK_ON_ERRORS_AND_WARNINGS"), Some(DebtCategory::Refactor));
        assert_row(&outcome, &Cells { result: ResultType::ValidationFailure, policy, blocking: Blocking::Blocks, debt });
    }
}

#[test]
fn matrix_prettier_issues() {
    let outcome = judge(&with_policy(Tool::Prettier, policy(BlockOn::WarnOnly)), &exited(1), &findings(1, 0));
    let (policy, debt) = (Some("WARN_ONLY"), Some(DebtCategory::Refactor));
    assert_row(&outcome, &Cells { result: ResultType::ValidationFailure, policy, blocking: Blocking::Allowed, debt });
}

/// C13: a tool that was not found is an EXECUTION_ERROR, whether it was not started or the command ended with 127.
#[test]
fn matrix_tool_not_found() {
    for end in [not_found(), exited(127)] {
        let outcome = judge(&step(Tool::Eslint), &end, &plain(CategoryCode::ToolNotFound));
        let debt = Some(DebtCategory::IntegrationFailure);
        assert_row(&outcome, &Cells { result: ResultType::ExecutionError, policy: NO_POLICY, blocking: Blocking::Blocks, debt });
    }
}

/// C11, E4: SPECIFICATION_ERROR is no category of debt. A command line that the tool refuses leaves no debt, and an unexpected
/// exit leaves debt.
#[test]
fn matrix_invalid_command() {
    for (code, debt) in [(CategoryCode::UsageError, None), (CategoryCode::UnexpectedExit, Some(DebtCategory::IntegrationFailure))]
    {
        let outcome = judge(&step(Tool::Generic), &exited(1), &plain(code));
        assert_row(&outcome, &Cells { result: ResultType::ExecutionError, policy: NO_POLICY, blocking: Blocking::Blocks, debt });
    }
}

/// C09: a server that is down makes a prerequisite fail. `rows.rs` tests this for a step.
#[test]
fn matrix_server_down() {
    let outcome = prerequisite(CategoryCode::NoAnswer, ActionKind::HttpRequest(Box::new(HttpRequest::get("http://localhost/"))));
    let debt = Some(DebtCategory::IntegrationFailure);
    assert_row(&outcome, &Cells { result: ResultType::PrerequisiteFailure, policy: NO_POLICY, blocking: Blocking::Blocks, debt });
    assert_eq!(outcome.classification.prerequisite_type.as_deref(), Some("SERVICE_HEALTHY"));
}

#[test]
fn matrix_timeout() {
    let outcome = judge(&step(Tool::Generic), &timed_out(), &plain(CategoryCode::TimedOut));
    let debt = Some(DebtCategory::PerformanceIssue);
    assert_row(&outcome, &Cells { result: ResultType::Timeout, policy: NO_POLICY, blocking: Blocking::Blocks, debt });
    assert_eq!(outcome.agent_action.action, "OPTIMIZE_OR_RAISE_TIMEOUT");
    // Only a command that is a server gets an advice.
    let advice = Advice::to_do("Make it a service".to_owned());
    let server = judge(&step(Tool::Generic), &timed_out(), &Interpretation { advice, ..plain(CategoryCode::TimedOut) });
    assert_eq!(
        (server.agent_action.action.as_str(), server.agent_action.message.as_str()),
        ("FIX_SPECIFICATION", "Make it a service")
    );
}

/// C16: a missing file makes a prerequisite fail. `rows.rs` tests this for a step.
#[test]
fn matrix_missing_file() {
    let look = FileValidation { path: "QuoteService.ts".to_owned(), check: FileCheck::Exists };
    let outcome = prerequisite(CategoryCode::FileMissing, ActionKind::FileValidation(look));
    let debt = Some(DebtCategory::IntegrationFailure);
    assert_row(&outcome, &Cells { result: ResultType::PrerequisiteFailure, policy: NO_POLICY, blocking: Blocking::Blocks, debt });
    assert_eq!(outcome.classification.prerequisite_type.as_deref(), Some("FILE_EXISTS"));
}

/// C10, C62: nothing is run, the invalid action is counted separately, and the run is a SPECIFICATION_ERROR without
/// debt.
#[test]
fn matrix_invalid_parameters() {
    let verdict = judge_run(&[(ActionPhase::Step, Some(&judge_invalid(Vec::new())))], &RunFlow::Finished);
    assert_eq!(verdict.overall_status, OverallStatus::SpecificationError);
    assert_eq!((verdict.results[&ResultType::SpecificationError], verdict.actions.executed), (1, 0));
    assert_eq!(verdict.overall_result, Some(OverallResult::Failed), "it blocks");
}

/// E4: seed 004's matrix has no row for these categories, most of them from pytest. The decision gives each a result
/// type and a debt.
#[test]
fn what_the_matrix_leaves_open_is_decided() {
    use CategoryCode as C;
    use ResultType as R;
    let rows = [
        (step(Tool::Pytest), exited(2), plain(C::CollectionError), R::TestFailure, Some(DebtCategory::ValidationMissing)),
        (step(Tool::Pytest), exited(4), plain(C::ConftestError), R::ExecutionError, Some(DebtCategory::IntegrationFailure)),
        (step(Tool::Pytest), exited(5), plain(C::NoTestsCollected), R::TestFailure, Some(DebtCategory::ValidationMissing)),
        (step(Tool::Pytest), exited(0), plain(C::NoTestsExecuted), R::TestFailure, Some(DebtCategory::ValidationMissing)),
        (step(Tool::Pytest), exited(6), plain(C::MaxWarnings), R::TestFailure, Some(DebtCategory::Refactor)),
        (step(Tool::Pytest), exited(3), plain(C::InternalError), R::ExecutionError, Some(DebtCategory::IntegrationFailure)),
        (step(Tool::Generic), exited(3), plain(C::UnexpectedExit), R::ExecutionError, Some(DebtCategory::IntegrationFailure)),
    ];
    for (action, end, interpretation, result, debt) in rows {
        let outcome = judge(&action, &end, &interpretation);
        assert_eq!(seen(&outcome), (result, interpretation.category, Blocking::Blocks, debt));
    }
}

#[test]
fn what_succeeds_neither_blocks_nor_owes_anything() {
    for (action, interpretation) in [
        (step(Tool::Pytest), tests(CategoryCode::TestsPassed, 3, 0)),
        (with_policy(Tool::Tsc, policy(BlockOn::ErrorsAlways)), plain(CategoryCode::Clean)),
        (step(Tool::Generic), plain(CategoryCode::ExpectedExit)),
    ] {
        let outcome = judge(&action, &exited(0), &interpretation);
        assert_eq!(seen(&outcome), (ResultType::Success, interpretation.category, Blocking::Allowed, None));
        assert!(!outcome.debt.should_generate && !outcome.agent_action.required);
        assert_eq!(outcome.classification.reason, "what was seen");
    }
}

#[test]
fn a_claim_that_is_contradicted_is_not_believed() {
    use CategoryCode as C;
    let signalled = || ActionEnd::Signalled { signal: 9 };
    let no_counts = plain(C::TestsPassed);
    let named = Interpretation { category: C::Clean, ..findings(1, 0) };
    let rows = [
        (step(Tool::Pytest), exited(1), tests(C::TestsPassed, 3, 0), C::Inconsistent),
        (step(Tool::Pytest), exited(0), tests(C::TestsPassed, 3, 1), C::Inconsistent),
        (step(Tool::Pytest), exited(0), tests(C::TestsPassed, 0, 0), C::Inconsistent),
        (step(Tool::Pytest), exited(0), no_counts, C::Inconsistent),
        (step(Tool::Pytest), signalled(), tests(C::TestsPassed, 3, 0), C::Signalled),
        (step(Tool::Pytest), lost(), tests(C::TestsPassed, 3, 0), C::StatusLost),
        (step(Tool::Pytest), stopped(), tests(C::TestsPassed, 3, 0), C::Stopped),
        (step(Tool::Pytest), not_found(), tests(C::TestsPassed, 3, 0), C::NotStarted),
        (step(Tool::Eslint), exited(2), plain(C::Clean), C::Inconsistent),
        (step(Tool::Eslint), exited(1), plain(C::Findings), C::Inconsistent),
        (step(Tool::Eslint), exited(0), named, C::Findings),
        (step(Tool::Eslint), signalled(), findings(1, 0), C::Signalled),
        (step(Tool::Generic), exited(1), plain(C::ExpectedExit), C::UnexpectedExit),
        (step(Tool::Generic), signalled(), plain(C::ExpectedExit), C::Signalled),
    ];
    for (action, end, interpretation, code) in rows {
        let outcome = judge(&action, &end, &interpretation);
        assert_eq!(outcome.classification.code, code, "{end:?} {:?}", interpretation.category);
        assert_eq!(outcome.blocking, Blocking::Blocks);
        assert_ne!(outcome.classification.reason, "what was seen");
    }
}

#[test]
fn an_expected_exit_code_is_the_actions_own() {
    let mut step = step(Tool::Generic);
    step.expected_exit_codes = vec![3];
    let code = |step: &_, code| judge(step, &exited(code), &plain(CategoryCode::ExpectedExit)).classification.code;
    assert_eq!(code(&step, 3), CategoryCode::ExpectedExit);
    assert_eq!(code(&step, 0), CategoryCode::UnexpectedExit);
    step.expected_exit_codes.clear();
    assert_eq!(code(&step, 0), CategoryCode::ExpectedExit);
}

#[test]
fn a_valid_red_whose_tests_are_not_known_is_marked_and_excuses_nothing() {
    let failed = tests(CategoryCode::TestsFailed, 1, 1);
    let step = step(Tool::Pytest);
    let red = judge_in(&step, &exited(1), &failed, Phase::Red, true);
    assert_eq!(red.classification.is_tdd_red_phase, Some(true));
    assert_eq!(red.classification.is_expected_failure, Some(false));
    assert_eq!(red.blocking, Blocking::Blocks);
    assert!(red.debt.should_generate);
    assert_eq!(red.agent_action.action, "CONTINUE");
    for (phase, started) in [(Phase::Red, false), (Phase::Green, true), (Phase::Refactor, true)] {
        let outcome = judge_in(&step, &exited(1), &failed, phase, started);
        assert_eq!(outcome.classification.is_tdd_red_phase, Some(false));
        assert_eq!(outcome.agent_action.action, "IMPLEMENT_FIX");
    }
    let uncollected = judge_in(&step, &exited(2), &plain(CategoryCode::CollectionError), Phase::Red, true);
    assert_eq!(uncollected.classification.is_tdd_red_phase, Some(false));
    let prerequisite = judge_in(&action(Tool::Pytest, ActionPhase::Prerequisite), &exited(1), &failed, Phase::Red, true);
    assert_eq!(prerequisite.classification.is_tdd_red_phase, Some(false));
}

#[test]
fn an_execution_error_says_what_may_have_led_to_it() {
    let outcome = judge(&step(Tool::Eslint), &not_found(), &plain(CategoryCode::ToolNotFound));
    let told = &outcome.classification;
    assert_eq!((told.tool_failed, told.tool_succeeded), (Some(true), None));
    assert_eq!(told.error_type.as_deref(), Some("TOOL_NOT_FOUND"));
    assert!(!told.possible_causes.is_empty() && told.recoverable_action.is_some());
    assert_eq!(told.validation_tool.as_deref(), Some("eslint"));
    assert_eq!(outcome.agent_action.action, "INSTALL_TOOL");
    assert_eq!(outcome.debt.suggested_fix.as_deref(), Some("Install what is missing or correct the command: what was seen"));
}

#[test]
fn a_clean_validation_names_its_policy() {
    let outcome = judge(&with_policy(Tool::Tsc, policy(BlockOn::ErrorsAlways)), &exited(0), &plain(CategoryCode::Clean));
    let applied = outcome.classification.policy_applied.expect("a policy was applied");
    assert_eq!((applied.strategy.as_str(), applied.blocking), ("BLOCK_ON_ERRORS_ALWAYS", false));
    assert_eq!(applied.reason, "No validation issues");
    assert_eq!(outcome.summary, Some(DiagnosticSummary::default()));
}

#[test]
fn a_validation_without_a_policy_is_judged_strictly() {
    let outcome = judge(&step(Tool::Eslint), &exited(0), &findings(0, 1));
    assert_eq!(outcome.blocking, Blocking::Blocks);
}
