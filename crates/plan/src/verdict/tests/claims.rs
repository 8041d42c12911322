//! Tests interpreted categories that contradict how the action ended, for example success after a signal, and results
//! of file checks.

use std::time::Duration;

use crate::verdict::tests::{action, diagnostic, exited, judge, plain, policy, service, timed_out, with_policy};
use crate::verdict::{ActionFacts, TestHistory, classify, judge_invalid};
use proctor_model::{
    Action, ActionEnd, ActionKind, ActionPhase, BlockOn, Blocking, CategoryCode, Diagnostic, DurationMs, FileCheck,
    FileValidation, FindingLevel, HttpRequest, Interpretation, Phase, ResultType, Tool,
};

fn look_at_a_file() -> Action {
    let kind = ActionKind::FileValidation(FileValidation { path: "dist/app.js".to_owned(), check: FileCheck::Exists });
    Action { kind, ..action(Tool::Generic, ActionPhase::Step) }
}

#[test]
fn only_a_look_proves_what_was_seen_and_only_where_nothing_speaks_against_it() {
    let command = action(Tool::Generic, ActionPhase::Step);
    for claim in [CategoryCode::FileValid, CategoryCode::AnswerValid] {
        for (action, code, expected) in [
            (look_at_a_file(), 0, claim),
            (look_at_a_file(), 1, CategoryCode::Inconsistent),
            (command.clone(), 0, CategoryCode::Inconsistent),
            (command.clone(), 1, CategoryCode::Inconsistent),
        ] {
            assert_eq!(judge(&action, &exited(code), &plain(claim)).classification.code, expected, "{claim:?}, {code}");
        }
        let killed = ActionEnd::Signalled { signal: 9 };
        let outcome = judge(&look_at_a_file(), &killed, &plain(claim));
        assert_eq!(outcome.classification.code, CategoryCode::Signalled, "{claim:?}");
    }
}

#[test]
fn an_approval_is_one_only_of_a_reviewer_that_ended_well() {
    let review = action(Tool::Review, ActionPhase::Step);
    for (code, expected) in [(0, CategoryCode::ReviewApproved), (1, CategoryCode::Inconsistent)] {
        let outcome = judge(&review, &exited(code), &plain(CategoryCode::ReviewApproved));
        assert_eq!(outcome.classification.code, expected, "{code}");
    }
}

#[test]
fn an_action_whose_specification_is_wrong_names_every_error() {
    let outcome = judge_invalid(vec!["one".to_owned(), "other".to_owned()]);
    assert_eq!(outcome.classification.validation_errors, ["one", "other"]);
    assert_eq!((outcome.blocking, outcome.debt.should_generate), (Blocking::Blocks, false));
}

#[test]
fn a_signal_that_the_interpreter_has_seen_keeps_the_interpreters_reason() {
    let killed = ActionEnd::Signalled { signal: 11 };
    let step = action(Tool::Pytest, ActionPhase::Step);
    let outcome = judge(&step, &killed, &plain(CategoryCode::Signalled));
    assert_eq!(outcome.classification.reason, "what was seen");
    let doubted = judge(&step, &killed, &plain(CategoryCode::TestsPassed));
    assert_eq!(doubted.classification.reason, "Signal 11 ended the command before its result could count");
}

#[test]
fn a_time_out_of_the_run_as_a_whole_is_named_and_an_actions_own_is_not_taken_for_it() {
    let step = action(Tool::Generic, ActionPhase::Step);
    let reason = |end: &ActionEnd, said: CategoryCode, run_timeout: Option<Duration>| {
        let interpretation: &Interpretation = &plain(said);
        let duration = DurationMs(10_050);
        let facts = ActionFacts {
            action: &step,
            end,
            duration,
            interpretation,
            phase: Phase::Green,
            cycle_started: false,
            run_timeout,
            expected_failure: None,
            history: &TestHistory::default(),
        };
        classify(&facts).classification.reason
    };
    let whole = Some(Duration::from_millis(2_500));
    let said = "The time-out of the run as a whole (2.5 s) was over, so the action was stopped";
    assert_eq!(reason(&timed_out(), CategoryCode::TimedOut, whole), said);
    assert_eq!(reason(&timed_out(), CategoryCode::TimedOut, None), "what was seen");
    assert_eq!(reason(&exited(0), CategoryCode::ExpectedExit, whole), "what was seen");
}

#[test]
fn what_looked_at_a_file_is_named_with_what_it_found() {
    for (said, code, result, has_issues, expected) in [
        (CategoryCode::FileValid, 0, ResultType::Success, Some(false), None),
        (CategoryCode::FileMissing, 1, ResultType::ValidationFailure, Some(true), Some(false)),
        (CategoryCode::FileInvalid, 1, ResultType::ValidationFailure, Some(true), Some(false)),
        (CategoryCode::NotStarted, 1, ResultType::ExecutionError, None, None),
    ] {
        let action = look_at_a_file();
        let told = judge(&action, &exited(code), &plain(said)).classification;
        assert_eq!((told.category, told.code_has_issues, told.is_expected_failure), (result, has_issues, expected), "{said:?}");
        assert_eq!(told.validation_tool.as_deref(), Some(action.tool_name()), "{said:?}");
    }
    let command = action(Tool::Generic, ActionPhase::Step);
    assert_eq!(judge(&command, &exited(0), &plain(CategoryCode::ExpectedExit)).classification.validation_tool, None);
}

#[test]
fn a_prerequisite_that_fails_says_what_it_is_there_for() {
    let of = |action: Action| Action { phase: ActionPhase::Prerequisite, ..action };
    let request = HttpRequest::get("http://localhost:3000/health");
    let kind = ActionKind::HttpRequest(Box::new(request));
    let asks = Action { kind, ..action(Tool::Generic, ActionPhase::Prerequisite) };
    for (action, said, expected) in [
        (of(look_at_a_file()), CategoryCode::FileMissing, Some("FILE_EXISTS")),
        (asks, CategoryCode::NoAnswer, Some("SERVICE_HEALTHY")),
        (service(), CategoryCode::ServiceNotReady, Some("SERVICE_HEALTHY")),
        (action(Tool::Generic, ActionPhase::Prerequisite), CategoryCode::UnexpectedExit, None),
    ] {
        let told = judge(&action, &exited(1), &plain(said)).classification;
        assert_eq!((told.category, told.prerequisite_type.as_deref()), (ResultType::PrerequisiteFailure, expected), "{said:?}");
    }
}

#[test]
fn findings_are_fixable_where_the_tool_says_so_of_at_least_one() {
    let fixable = |said: &[Option<bool>]| {
        let of = |fixable: &Option<bool>| Diagnostic { fixable: *fixable, ..diagnostic(FindingLevel::Error, "e", 1) };
        let interpretation = Interpretation { diagnostics: said.iter().map(of).collect(), ..plain(CategoryCode::Findings) };
        let eslint = with_policy(Tool::Eslint, policy(BlockOn::ErrorsOnly));
        judge(&eslint, &exited(1), &interpretation).classification.fixable
    };
    assert_eq!(fixable(&[Some(false), Some(true)]), Some(true));
    assert_eq!(fixable(&[Some(false), Some(false)]), Some(false));
    assert_eq!(fixable(&[None]), None);
}
