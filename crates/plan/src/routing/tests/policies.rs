//! Tests of decisions that differ from the exit-code table: by category, without an exit code, after a repeated
//! failure, and without a cycle (R2, R4, R7, C06, E4).

use crate::routing::tests::{now, result, run_id, started, verify_all, with_category};
use crate::routing::{
    RunCause, TestResult, route_by_exit_code, start_cycle, verify_phase, verify_red_phase, verify_without_review_verdict,
};
use proctor_model::{
    CategoryCode, CollectionErrorPolicy, Digest, ExitCodeSource, NextNode, Phase, RouteKind, RoutingSettings, TddState,
};

fn collection(policy: CollectionErrorPolicy, expected: &[&str]) -> RoutingSettings {
    let expected_missing = expected.iter().map(|name| (*name).to_owned()).collect();
    RoutingSettings { collection_error: policy, expected_missing, ..RoutingSettings::default() }
}

#[test]
fn outside_a_cycle_a_run_is_counted_and_moves_nothing() {
    for (code, node) in [(0, NextNode::NextPhase), (1, NextNode::N3), (3, NextNode::HumanReview), (4, NextNode::N2)] {
        let verified = verify_phase(&result(code, 0), TddState::default(), &RoutingSettings::default());
        assert_eq!(verified.entry.destination.next_node, node);
        assert_eq!(verified.entry.kind, RouteKind::Routed);
        let expected = TddState {
            exit_code: Some(code),
            exit_code_source: Some(ExitCodeSource::Process),
            exit_code_history: vec![Some(code)],
            phase_history: 1,
            route_history: vec![verified.entry.clone()],
            ..TddState::default()
        };
        assert_eq!(verified.state, expected, "no attempt, no pause, no other phase");
        assert_eq!(verified.log.len(), 2);
    }
}

#[test]
fn outside_a_cycle_the_third_scaffold_error_in_a_row_asks_a_person_to_look() {
    let settings = RoutingSettings::default();
    let (decisions, state) = verify_all(TddState::default(), &[4, 5, 4, 4], &settings);
    let seen: Vec<_> = decisions.iter().map(|one| (one.entry.destination.next_node, one.entry.kind)).collect();
    let (routed, limit) = ((NextNode::N2, RouteKind::Routed), (NextNode::HumanReview, RouteKind::RetryLimit));
    assert_eq!(seen, [routed, routed, limit, limit]);
    assert_eq!(decisions[2].entry.destination.reason, "third scaffold error in a row: a person should look");
    assert_eq!((&state.paused, state.started, state.attempts), (&None, false, 0));
    assert_eq!(state.notice.as_ref(), decisions[2].state.notice.as_ref(), "it is asked once");
    let (_, after) = verify_all(state.clone(), &[1], &settings);
    assert_eq!(after.notice, None);
    assert_eq!(start_cycle(state.clone(), None).expect("none is started").notice, None);
    let (_, long) = verify_all(state, &[0; 50], &settings);
    assert_eq!((long.exit_code_history.len(), long.route_history.len()), (10, 10), "each ledger line has the state");
    for (limit, word) in [(1, "first"), (2, "second"), (11, "11th"), (21, "21st"), (100, "100th")] {
        let settings = RoutingSettings { max_scaffold_retries: limit, ..RoutingSettings::default() };
        let (decisions, _) = verify_all(TddState::default(), &vec![4; limit as usize], &settings);
        let reason = &decisions.last().expect("some").entry.destination.reason;
        assert_eq!(reason, &format!("{word} scaffold error in a row: a person should look"));
    }
}

#[test]
fn a_pass_in_red_that_nobody_asked_for_is_not_red_yet() {
    let settings = RoutingSettings { max_attempts: 2, ..RoutingSettings::default() };
    let passed = |cause, state| verify_phase(&TestResult { cause, ..result(0, 0) }, state, &settings);
    let other = passed(RunCause::Other, started(Phase::Red, &[]));
    assert_eq!((other.entry.kind, other.entry.destination.next_node), (RouteKind::NotRedYet, NextNode::N2));
    assert_eq!((other.state.attempts, &other.state.paused, other.state.phase), (0, &None, Phase::Red));
    let first = passed(RunCause::SavedTest, other.state);
    assert_eq!((first.state.attempts, &first.state.paused), (1, &None));
    let second = passed(RunCause::SavedTest, first.state);
    assert_eq!(second.entry.kind, RouteKind::AttemptLimit, "a phase that never becomes red ends at the limit");
    assert!(second.state.paused.is_some());
    let asked = passed(RunCause::Asked, started(Phase::Red, &[]));
    assert_eq!((asked.entry.kind, asked.entry.destination.next_node), (RouteKind::Routed, NextNode::HumanReview));
    let green = passed(RunCause::Other, started(Phase::Green, &[]));
    assert_eq!(green.entry.destination.next_node, NextNode::NextPhase);
}

#[test]
fn a_question_about_another_phase_moves_nothing() {
    let state = started(Phase::Green, &[4]);
    let verified = verify_red_phase(&result(1, 0), state.clone(), &RoutingSettings::default());
    assert_eq!(verified.entry.destination.next_node, NextNode::N4);
    assert_eq!(verified.state, state);
}

#[test]
fn an_attempt_without_a_code_is_recorded_as_null_and_routed_as_3() {
    for (source, words) in [
        (ExitCodeSource::Timeout, "timed out"),
        (ExitCodeSource::Signal, "ended by a signal"),
        (ExitCodeSource::NotStarted, "not started"),
        (ExitCodeSource::Lost, "status lost"),
    ] {
        let none = TestResult::new(None, source, Digest::of(b"tree"), run_id(), now());
        let verified = verify_phase(&none, started(Phase::Red, &[4, 4]), &RoutingSettings::default());
        assert_eq!(verified.state.exit_code_history, [Some(4), Some(4), None]);
        assert_eq!((verified.state.exit_code, verified.state.exit_code_source), (None, Some(source)));
        assert_eq!(verified.entry.exit_code, None);
        assert_eq!(verified.entry.kind, RouteKind::Routed);
        assert_eq!(verified.entry.destination.next_node, route_by_exit_code(3, Phase::Red).next_node);
        assert_eq!(verified.entry.destination.reason, format!("No exit code ({words}), requires human review"));
        assert_eq!(verified.log[0], format!("Verifying RED phase without exit code ({words})"));
    }
}

#[test]
fn a_streak_does_not_cross_phases() {
    let settings = RoutingSettings::default();
    let (decisions, state) = verify_all(started(Phase::Red, &[4, 4]), &[1, 4, 4], &settings);
    assert!(decisions.iter().all(|verified| verified.entry.kind == RouteKind::Routed));
    assert_eq!(state.exit_code_history, [4, 4, 1, 4, 4].map(Some));
    assert_eq!((state.phase, state.phase_history), (Phase::Green, 2));
}

#[test]
fn the_same_failure_on_the_same_tree_refuses_a_retry() {
    let settings = RoutingSettings::default();
    let first = verify_phase(&result(5, 1), started(Phase::Red, &[]), &settings);
    assert!(first.entry.destination.retry_allowed);
    let second = verify_phase(&result(5, 1), first.state.clone(), &settings);
    assert_eq!(second.entry.destination.next_node, NextNode::N2);
    assert!(!second.entry.destination.retry_allowed);
    assert!(second.entry.destination.reason.starts_with("No tests collected, re-scaffold required (the same failure 2 times"));
    assert_eq!(second.state.last_attempt.expect("kept").times, 2);

    for other in [result(5, 2), result(4, 1), TestResult { failing_set: Digest::of(b"other"), ..result(5, 1) }] {
        let differs = verify_phase(&other, first.state.clone(), &settings);
        assert!(differs.entry.destination.retry_allowed, "{other:?}");
        assert_eq!(differs.state.last_attempt.expect("kept").times, 1);
    }
}

#[test]
fn a_review_without_a_verdict_sends_the_task_to_a_person_whatever_the_tests_say() {
    let settings = RoutingSettings::default();
    for (code, phase) in [(0, Phase::Green), (1, Phase::Red), (1, Phase::Refactor), (0, Phase::Refactor), (5, Phase::Green)] {
        let verified = verify_without_review_verdict(&result(code, 0), started(phase, &[]), &settings, "no verdict twice");
        let destination = &verified.entry.destination;
        assert_eq!((destination.next_node, destination.reason.as_str()), (NextNode::HumanReview, "no verdict twice"));
        assert!(destination.requires_human && !destination.retry_allowed);
        assert_eq!((verified.state.phase, verified.state.started), (phase, true), "{code} in {phase:?}");
        assert_eq!(verified.state.paused.expect("it waits").reason, "no verdict twice");
    }
}

#[test]
fn a_paused_task_is_counted_and_stays_where_it_is() {
    let settings = RoutingSettings::default();
    let paused = verify_phase(&result(3, 0), started(Phase::Green, &[]), &settings).state;
    let verified = verify_phase(&result(0, 1), paused.clone(), &settings);
    assert_eq!(verified.entry.destination.next_node, NextNode::NextPhase);
    assert_eq!((verified.state.phase, &verified.state.paused), (Phase::Green, &paused.paused));
    assert_eq!(verified.state.attempts, 2);
}

#[test]
fn collection_errors_go_to_a_person_by_default() {
    let verified =
        verify_phase(&with_category(2, CategoryCode::CollectionError), started(Phase::Red, &[]), &RoutingSettings::default());
    assert_eq!(verified.entry.kind, RouteKind::Routed);
    assert_eq!(verified.entry.destination, route_by_exit_code(2, Phase::Red));
}

#[test]
fn collection_errors_may_be_scaffolded_again_and_then_count_as_scaffold_errors() {
    let settings = collection(CollectionErrorPolicy::ReScaffold, &[]);
    let mut state = started(Phase::Green, &[]);
    let mut kinds = Vec::new();
    for tree in 0..3 {
        let result = TestResult { category: Some(CategoryCode::CollectionError), ..result(2, tree) };
        let verified = verify_phase(&result, state, &settings);
        kinds.push((verified.entry.kind, verified.entry.destination.next_node));
        state = verified.state;
    }
    let expected = [
        (RouteKind::CollectionErrorPolicy, NextNode::N2),
        (RouteKind::CollectionErrorPolicy, NextNode::N2),
        (RouteKind::RetryLimit, NextNode::HumanReview),
    ];
    assert_eq!(kinds, expected);
    let interrupted =
        verify_phase(&with_category(2, CategoryCode::Interrupted), started(Phase::Green, &[]), &settings).entry.destination;
    assert_eq!(interrupted.next_node, NextNode::HumanReview);
}

#[test]
fn only_expected_missing_modules_make_a_valid_red() {
    let settings = collection(CollectionErrorPolicy::RedIfMissing, &["", "shop.quotes"]);
    let route = |phase, missing: &[&str], only| {
        let missing: Vec<_> = missing.iter().map(|name| (*name).to_owned()).collect();
        let result = TestResult {
            missing_modules: &missing,
            only_missing_modules: only,
            ..with_category(2, CategoryCode::CollectionError)
        };
        verify_phase(&result, started(phase, &[]), &settings)
    };
    let valid = route(Phase::Red, &["shop.quotes", "shop.quotes.model"], true);
    assert_eq!((valid.entry.kind, valid.entry.destination.next_node), (RouteKind::CollectionErrorPolicy, NextNode::N4));
    assert!(valid.entry.destination.reason.contains("shop.quotes.model"));
    assert_eq!(valid.state.phase, Phase::Green);

    for refused in [
        route(Phase::Red, &["shop.quotes", "numpy"], true),
        route(Phase::Red, &["shop.quotesx"], true),
        route(Phase::Red, &["shop"], true),
        route(Phase::Red, &[], true),
        route(Phase::Red, &["shop.quotes"], false),
        route(Phase::Green, &["shop.quotes"], true),
    ] {
        assert_eq!(refused.entry.kind, RouteKind::Routed);
        assert_eq!(refused.entry.destination.next_node, NextNode::HumanReview);
    }
}

#[test]
fn a_category_takes_back_what_the_code_did_not_earn() {
    use CategoryCode as C;
    let rows = [
        (0, Phase::Green, C::TestsPassed, NextNode::NextPhase),
        (0, Phase::Green, C::NoTestsExecuted, NextNode::N2),
        (0, Phase::Refactor, C::CoverageBelowTarget, NextNode::N2),
        (0, Phase::Green, C::ReportMissing, NextNode::HumanReview),
        (0, Phase::Refactor, C::Inconsistent, NextNode::HumanReview),
        (0, Phase::Green, C::SurvivorsLeft, NextNode::N3),
        (0, Phase::Red, C::NoTestsExecuted, NextNode::HumanReview),
        (1, Phase::Red, C::TestsFailed, NextNode::N4),
        (1, Phase::Red, C::ToolNotFound, NextNode::HumanReview),
        (1, Phase::Red, C::ReportMissing, NextNode::HumanReview),
        (1, Phase::Red, C::CoverageBelowTarget, NextNode::HumanReview),
        (1, Phase::Green, C::CoverageBelowTarget, NextNode::N2),
        (1, Phase::Green, C::FailedOutsideTests, NextNode::N3),
        (4, Phase::Green, C::ConftestError, NextNode::N2),
        (6, Phase::Green, C::MaxWarnings, NextNode::HumanReview),
    ];
    for (code, phase, category, node) in rows {
        let verified = verify_phase(&with_category(code, category), started(phase, &[]), &RoutingSettings::default());
        assert_eq!(verified.entry.destination.next_node, node, "{code} {phase:?} {category:?}");
    }
}
