//! Rows of seed 004's classification matrix, as the decisions amend them, and claims that are not believed (E3).

use crate::model::{
    Action, ActionEnd, ActionPhase, BlockOn, Blocking, CategoryCode, DebtCategory, DiagnosticSummary, Interpretation, Phase,
    ResultType, SpawnFailure, Tool,
};
use crate::verdict::Outcome;
use crate::verdict::tests::{action, exited, findings, judge, judge_in, plain, policy, stopped, tests, timed_out, with_policy};

fn not_found() -> ActionEnd {
    ActionEnd::NotStarted(SpawnFailure::ProgramNotFound { program: "eslint".to_owned(), searched: Vec::new() })
}

fn lost() -> ActionEnd {
    ActionEnd::Lost { why: "the launcher died".to_owned() }
}

fn seen(outcome: &Outcome) -> (ResultType, CategoryCode, Blocking, Option<DebtCategory>) {
    let told = &outcome.classification;
    (told.category, told.code, outcome.blocking, outcome.debt.category)
}

fn step(tool: Tool) -> Action {
    action(tool, ActionPhase::Step)
}

#[test]
fn the_matrix_of_the_seed_holds_as_amended() {
    use CategoryCode as C;
    use ResultType as R;
    let errors = findings(1, 0);
    let rows = [
        // "Actual Test Failure" (C42), "TypeScript Errors", "ESLint Errors", "ESLint Warnings", "ESLint (Strict)".
        (step(Tool::Pytest), exited(1), tests(C::TestsFailed, 1, 1), R::TestFailure, Some(DebtCategory::BusinessLogicError)),
        (
            with_policy(Tool::Tsc, policy(BlockOn::ErrorsAlways)),
            exited(2),
            errors.clone(),
            R::ValidationFailure,
            Some(DebtCategory::ValidationMissing),
        ),
        (
            with_policy(Tool::Eslint, policy(BlockOn::ErrorsOnly)),
            exited(1),
            errors,
            R::ValidationFailure,
            Some(DebtCategory::Refactor),
        ),
        (
            with_policy(Tool::Eslint, policy(BlockOn::ErrorsAndWarnings)),
            exited(1),
            findings(0, 1),
            R::ValidationFailure,
            Some(DebtCategory::Refactor),
        ),
        // "Tool Not Found" (C13), "Invalid Command" (C11 as E4 amends it), "Timeout".
        (step(Tool::Eslint), not_found(), plain(C::ToolNotFound), R::ExecutionError, Some(DebtCategory::IntegrationFailure)),
        (step(Tool::Pytest), exited(4), plain(C::UsageError), R::ExecutionError, None),
        (step(Tool::Generic), timed_out(), plain(C::TimedOut), R::Timeout, Some(DebtCategory::PerformanceIssue)),
        // E4's own rows.
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
fn a_valid_red_is_marked_and_excuses_nothing() {
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
