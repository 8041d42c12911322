//! Tests decisions on seed 004 about a single judgement: C02, C05, C09, C15, C16, C25–C27, C31, C44 and C64.

use crate::verdict::tests::{action, exited, findings, judge, judge_in, plain, policy, tests, with_policy};
use proctor_model::{
    ActionEnd, ActionJudgement, ActionKind, ActionPhase, BlockOn, Blocking, CategoryCode, CompletionStatus, DebtCategory,
    FileCheck, FileValidation, HttpRequest, Interpretation, LimitKind, OverallResult, OverallStatus, Phase, ResultType, Severity,
    StopStage, TaskStatus, Tool, ToolPolicy,
};

/// Judges a FILE_VALIDATION whose interpretation has this category code.
fn of_file(phase: ActionPhase, code: CategoryCode) -> ActionJudgement {
    let mut look = action(Tool::Generic, phase);
    look.kind = ActionKind::FileValidation(FileValidation { path: "a.txt".to_owned(), check: FileCheck::Exists });
    judge(&look, &exited(i32::from(code != CategoryCode::FileValid)), &plain(code))
}

/// Judges an HTTP_REQUEST whose interpretation has this category code.
fn of_request(phase: ActionPhase, code: CategoryCode) -> ActionJudgement {
    let mut request = action(Tool::Generic, phase);
    request.kind = ActionKind::HttpRequest(Box::new(HttpRequest::get("http://localhost:3000/")));
    judge(&request, &exited(i32::from(code != CategoryCode::AnswerValid)), &plain(code))
}

/// Findings in a generic command's output do not change the meaning of its exit code.
#[test]
fn c02_what_a_generic_command_prints_changes_nothing() {
    let words = Interpretation { category: CategoryCode::ExpectedExit, ..findings(3, 5) };
    let outcome = judge(&action(Tool::Generic, ActionPhase::Step), &exited(0), &words);
    assert_eq!(outcome.classification.category, ResultType::Success);
    assert!(!outcome.debt.should_generate);
    let failed = judge(&action(Tool::Generic, ActionPhase::Step), &exited(1), &words);
    assert_eq!(failed.classification.category, ResultType::ExecutionError);
}

#[test]
fn c05_a_test_failure_is_one_type_and_its_flags_are_two() {
    let failed = tests(CategoryCode::TestsFailed, 1, 1);
    let step = action(Tool::Pytest, ActionPhase::Step);
    for (phase, started, is_red) in [(Phase::Red, true, true), (Phase::Green, true, false), (Phase::Red, false, false)] {
        let told = judge_in(&step, &exited(1), &failed, phase, started).classification;
        assert_eq!(told.category, ResultType::TestFailure, "{phase:?}");
        assert_eq!((told.is_tdd_red_phase, told.is_expected_failure), (Some(is_red), Some(false)), "{phase:?}");
    }
}

#[test]
fn c09_a_server_that_is_down_is_what_its_phase_makes_of_it() {
    let before = of_request(ActionPhase::Prerequisite, CategoryCode::NoAnswer);
    assert_eq!(before.classification.category, ResultType::PrerequisiteFailure);
    assert_eq!(before.classification.underlying, Some(ResultType::ExecutionError));
    let during = of_request(ActionPhase::Step, CategoryCode::NoAnswer);
    assert_eq!((during.classification.category, during.classification.underlying), (ResultType::ExecutionError, None));
    for (outcome, severity) in [(before, Severity::Critical), (during, Severity::High)] {
        assert_eq!((outcome.debt.category, outcome.debt.severity), (Some(DebtCategory::IntegrationFailure), Some(severity)));
    }
}

#[test]
fn c15_a_time_out_names_its_limit_in_one_of_five_words() {
    for (limit, word) in [
        (LimitKind::Wall, "wall"),
        (LimitKind::Idle, "idle"),
        (LimitKind::Memory, "memory"),
        (LimitKind::Output, "output"),
        (LimitKind::Pids, "pids"),
        (LimitKind::Written, "written"),
    ] {
        let end = ActionEnd::TimedOut { limit, stage: StopStage::Sigkill, code: None, signal: Some(9) };
        let outcome = judge(&action(Tool::Generic, ActionPhase::Step), &end, &plain(CategoryCode::TimedOut));
        let told = serde_json::to_value(&outcome.classification).expect("text keys");
        assert_eq!((&told["category"], &told["limit"]), (&"TIMEOUT".into(), &word.into()));
        assert_eq!(outcome.debt.category, Some(DebtCategory::PerformanceIssue), "{word}");
    }
}

#[test]
fn c16_a_step_that_looks_or_asks_fails_closed() {
    use CategoryCode as C;
    for code in [C::FileMissing, C::FileInvalid] {
        let outcome = of_file(ActionPhase::Step, code);
        let told = &outcome.classification;
        assert_eq!((told.category, outcome.blocking), (ResultType::ValidationFailure, Blocking::Blocks), "{code:?}");
        assert_eq!(told.validation_tool.as_deref(), Some("file"), "{code:?}");
    }
    for code in [C::AnswerInvalid, C::EndpointMissing, C::ServerError] {
        let outcome = of_request(ActionPhase::Step, code);
        assert_eq!((outcome.classification.category, outcome.blocking), (ResultType::TestFailure, Blocking::Blocks), "{code:?}");
    }
    let silent = of_request(ActionPhase::Step, C::NoAnswer);
    assert_eq!((silent.classification.category, silent.blocking), (ResultType::ExecutionError, Blocking::Blocks));
    for (valid, invalid) in [
        (of_file(ActionPhase::Step, C::FileValid), of_file(ActionPhase::Prerequisite, C::FileMissing)),
        (of_request(ActionPhase::Step, C::AnswerValid), of_request(ActionPhase::Prerequisite, C::AnswerInvalid)),
    ] {
        assert_eq!(valid.classification.category, ResultType::Success);
        assert_eq!(invalid.classification.category, ResultType::PrerequisiteFailure);
    }
}

#[test]
fn c25_a_limit_on_warnings_holds_where_errors_block_and_nowhere_else() {
    let over = |block_on, max_warnings| {
        let policy = ToolPolicy { max_warnings, ..policy(block_on) };
        judge(&with_policy(Tool::Eslint, policy), &exited(0), &findings(0, 3)).blocking
    };
    for block_on in [BlockOn::ErrorsOnly, BlockOn::ErrorsAlways] {
        assert_eq!(over(block_on, Some(2)), Blocking::Blocks, "{block_on:?}");
        assert_eq!(over(block_on, Some(3)), Blocking::Allowed, "{block_on:?}: as many as may be");
        assert_eq!(over(block_on, None), Blocking::Allowed, "{block_on:?}: no limit is no limit of 0");
    }
    for block_on in [BlockOn::WarnOnly, BlockOn::Never] {
        assert_eq!(over(block_on, Some(0)), Blocking::Allowed, "{block_on:?}");
    }
}

#[test]
fn c26_warn_only_is_low_and_so_is_its_debt() {
    for (errors, warnings) in [(3, 8), (0, 8), (3, 0)] {
        let outcome = judge(&with_policy(Tool::Eslint, policy(BlockOn::WarnOnly)), &exited(1), &findings(errors, warnings));
        assert_eq!((outcome.classification.severity, outcome.debt.severity), (Some(Severity::Low), Some(Severity::Low)));
    }
}

#[test]
fn c27_too_many_warnings_are_high_and_their_debt_is_medium() {
    let policy = ToolPolicy { max_warnings: Some(10), ..policy(BlockOn::ErrorsOnly) };
    let outcome = judge(&with_policy(Tool::Eslint, policy), &exited(0), &findings(0, 15));
    assert_eq!((outcome.classification.severity, outcome.debt.severity), (Some(Severity::High), Some(Severity::Medium)));
    assert_eq!(outcome.blocking, Blocking::Blocks, "what blocks is for the sprint, whatever its debt's severity");
}

#[test]
fn c31_no_severity_is_no_word_and_the_schema_has_four() {
    let ignored = judge(&with_policy(Tool::Eslint, policy(BlockOn::Never)), &exited(1), &findings(3, 0));
    assert_eq!((ignored.classification.category, ignored.classification.severity), (ResultType::Success, None));
    assert!(serde_json::to_value(&ignored.classification).expect("text keys").get("severity").is_none());
    assert_eq!(serde_json::to_value(Severity::ALL).expect("words"), serde_json::json!(["CRITICAL", "HIGH", "MEDIUM", "LOW"]));
    assert!(serde_json::from_str::<Severity>("\"NONE\"").is_err());
}

/// A status code is read only from the answer to a request. A failed test whose message mentions a status code counts
/// as a failed test, and not as a missing endpoint or a server error.
#[test]
fn c44_a_status_code_is_never_read_out_of_words() {
    let mut spoken = tests(CategoryCode::TestsFailed, 3, 1);
    let results = spoken.test_results.as_mut().expect("it has some");
    results.failures[0].test_name = "test_404_is_answered_with_a_page".to_owned();
    results.failures[0].error = "Expected status 200, received 500".to_owned();
    let outcome = judge(&action(Tool::Pytest, ActionPhase::Step), &exited(1), &spoken);
    assert_eq!((outcome.debt.category, outcome.debt.severity), (Some(DebtCategory::BusinessLogicError), Some(Severity::High)));
    for (code, category) in [
        (CategoryCode::EndpointMissing, DebtCategory::ApiEndpointMissing),
        (CategoryCode::ServerError, DebtCategory::BusinessLogicError),
    ] {
        let answered = of_request(ActionPhase::Step, code);
        assert_eq!((answered.debt.category, answered.debt.severity), (Some(category), Some(Severity::Critical)));
    }
}

#[test]
fn c64_what_happened_what_was_asked_the_task_and_its_box_have_words_of_their_own() {
    let happened =
        [OverallStatus::Success, OverallStatus::PartialSuccess, OverallStatus::Failed, OverallStatus::SpecificationError];
    assert_eq!(
        serde_json::to_value(happened).expect("words"),
        serde_json::json!(["SUCCESS", "PARTIAL_SUCCESS", "FAILED", "SPECIFICATION_ERROR"])
    );
    let asked = [OverallResult::Passed, OverallResult::Failed];
    assert_eq!(serde_json::to_value(asked).expect("words"), serde_json::json!(["PASSED", "FAILED"]));
    let task = [TaskStatus::Complete, TaskStatus::Partial, TaskStatus::Failed];
    assert_eq!(serde_json::to_value(task).expect("words"), serde_json::json!(["COMPLETE", "PARTIAL", "FAILED"]));
    let ticked = [CompletionStatus::Complete, CompletionStatus::Incomplete];
    assert_eq!(serde_json::to_value(ticked).expect("words"), serde_json::json!(["COMPLETE", "INCOMPLETE"]));
}
