//! Tests each row of seed 004's last table, "Error Handling Coverage": classification, debt and the agent's action.

use crate::verdict::tests::{action, exited, findings, judge, judge_in, plain, policy, tests, timed_out, with_policy};
use proctor_model::{ActionJudgement, ActionKind, ActionPhase, BlockOn, CategoryCode, HttpRequest, Phase, ResultType, Tool};

fn server_down() -> ActionJudgement {
    let mut request = action(Tool::Generic, ActionPhase::Prerequisite);
    request.kind = ActionKind::HttpRequest(Box::new(HttpRequest::get("http://localhost:3000/")));
    judge(&request, &exited(1), &plain(CategoryCode::NoAnswer))
}

#[test]
fn every_row_of_the_last_table_has_its_type_its_debt_and_its_action() {
    use ResultType as R;
    let step = |tool| action(tool, ActionPhase::Step);
    let failed = tests(CategoryCode::TestsFailed, 1, 1);
    for (row, outcome, result, debt, agent) in [
        // Without declared tests a RED is debt (R6). Seed 004's table gives the agent's action.
        ("TDD Red Phase", judge_in(&step(Tool::Pytest), &exited(1), &failed, Phase::Red, true), R::TestFailure, true, "CONTINUE"),
        ("Test Failure", judge(&step(Tool::Pytest), &exited(1), &failed), R::TestFailure, true, "IMPLEMENT_FIX"),
        (
            "Type Error",
            judge(&with_policy(Tool::Tsc, policy(BlockOn::ErrorsAlways)), &exited(2), &findings(1, 0)),
            R::ValidationFailure,
            true,
            "FIX_TYPES",
        ),
        (
            "Lint Error",
            judge(&with_policy(Tool::Eslint, policy(BlockOn::ErrorsOnly)), &exited(1), &findings(1, 0)),
            R::ValidationFailure,
            true,
            "FIX_CODE",
        ),
        (
            "Tool Not Found",
            judge(&step(Tool::Generic), &exited(127), &plain(CategoryCode::ToolNotFound)),
            R::ExecutionError,
            true,
            "INSTALL_TOOL",
        ),
        ("Server Down", server_down(), R::PrerequisiteFailure, true, "START_SERVER"),
        (
            "Timeout",
            judge(&step(Tool::Generic), &timed_out(), &plain(CategoryCode::TimedOut)),
            R::Timeout,
            true,
            "OPTIMIZE_OR_RAISE_TIMEOUT",
        ),
        // Specification errors that only the tool can notice (E4, C10). If the reader of the specification notices an
        // error, there is no run.
        (
            "Spec Error",
            judge(&step(Tool::Pytest), &exited(4), &plain(CategoryCode::UsageError)),
            R::ExecutionError,
            false,
            "FIX_SPECIFICATION",
        ),
    ] {
        let told = &outcome.classification;
        assert_eq!((told.category, outcome.debt.should_generate), (result, debt), "{row}");
        assert_eq!(outcome.agent_action.action, agent, "{row}");
        assert!(!told.reason.is_empty() && !outcome.agent_action.message.is_empty(), "{row}");
    }
}
