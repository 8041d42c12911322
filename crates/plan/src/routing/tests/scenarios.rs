//! Scenarios 010 to 160 of seed 000; 151 to 159 were added by decision A20.

use crate::routing::tests::{now, result, run_id, started, verify_all};
use crate::routing::{
    TestResult, check_retry_limit_exceeded, resolve, route_by_exit_code, verify_green_phase, verify_phase, verify_red_phase,
};
use proctor_model::{ExitCodeSource, NextNode, Phase, RouteKind, RoutingSettings, TddState};

const PHASES: [Phase; 3] = [Phase::Red, Phase::Green, Phase::Refactor];

fn settings() -> RoutingSettings {
    RoutingSettings::default()
}

#[test]
fn t010_exit_code_0_in_green_phase_goes_to_the_next_phase() {
    let route = route_by_exit_code(0, Phase::Green);
    assert_eq!(route.next_node, NextNode::NextPhase);
    assert_eq!(route.reason, "Tests passed, proceeding to next phase");
    assert!(!route.requires_human && !route.retry_allowed);
}

#[test]
fn t020_exit_code_1_in_red_phase_is_a_valid_red() {
    let route = route_by_exit_code(1, Phase::Red);
    assert_eq!(route.next_node, NextNode::N4);
    assert_eq!(route.reason, "Valid RED state - tests failing as expected");
    assert!(!route.requires_human && !route.retry_allowed);
}

#[test]
fn t030_exit_code_1_in_green_phase_goes_back_to_the_implementation() {
    let route = route_by_exit_code(1, Phase::Green);
    assert_eq!(route.next_node, NextNode::N3);
    assert_eq!(route.reason, "Tests still failing in GREEN phase, back to implementation");
    assert!(!route.requires_human && !route.retry_allowed);
}

#[test]
fn t040_exit_code_2_requires_a_person_in_every_phase() {
    for phase in PHASES {
        let route = route_by_exit_code(2, phase);
        assert_eq!(route.next_node, NextNode::HumanReview);
        assert_eq!(route.reason, "Test execution interrupted, requires human review");
        assert!(route.requires_human && !route.retry_allowed);
    }
}

#[test]
fn t050_exit_code_3_requires_a_person_in_every_phase() {
    for phase in PHASES {
        let route = route_by_exit_code(3, phase);
        assert_eq!(route.next_node, NextNode::HumanReview);
        assert_eq!(route.reason, "Pytest internal error, requires human review");
        assert!(route.requires_human && !route.retry_allowed);
    }
}

#[test]
fn t060_exit_code_4_goes_to_n2_in_every_phase() {
    for phase in PHASES {
        let route = route_by_exit_code(4, phase);
        assert_eq!(route.next_node, NextNode::N2);
        assert_eq!(route.reason, "Usage/syntax error, re-scaffold required");
        assert!(!route.requires_human && route.retry_allowed);
    }
}

#[test]
fn t070_exit_code_5_goes_to_n2_in_every_phase() {
    for phase in PHASES {
        let route = route_by_exit_code(5, phase);
        assert_eq!(route.next_node, NextNode::N2);
        assert_eq!(route.reason, "No tests collected, re-scaffold required");
        assert!(!route.requires_human && route.retry_allowed);
    }
}

#[test]
fn t080_the_exit_code_is_stored_in_the_state() {
    let verified = verify_green_phase(&result(1, 0), started(Phase::Green, &[]), &settings());
    assert_eq!(verified.state.exit_code, Some(1));
    assert_eq!(verified.state.exit_code_source, Some(ExitCodeSource::Process));
}

#[test]
fn t090_the_history_of_exit_codes_is_maintained() {
    let (_, state) = verify_all(started(Phase::Green, &[]), &[1, 4, 1, 5], &settings());
    assert_eq!(state.exit_code_history, [1, 4, 1, 5].map(Some));
    assert_eq!(state.phase_history, 4);
    assert_eq!(state.attempts, 4);
    assert_eq!(state.route_history.len(), 4);
}

#[test]
fn t100_an_unknown_exit_code_requires_a_person() {
    for code in [99, 6, 7, -1, 128 + 9, i32::MIN, i32::MAX] {
        for phase in PHASES {
            let route = route_by_exit_code(code, phase);
            assert_eq!(route.next_node, NextNode::HumanReview);
            assert_eq!(route.reason, format!("Unknown exit code {code}, requires human review"));
            assert!(route.requires_human && !route.retry_allowed);
        }
    }
}

#[test]
fn t110_verifying_red_routes_and_moves_the_cycle_on() {
    let verified = verify_red_phase(&result(1, 0), started(Phase::Red, &[]), &settings());
    assert_eq!(verified.entry.destination, route_by_exit_code(1, Phase::Red));
    assert_eq!((verified.entry.kind, verified.entry.phase), (RouteKind::Routed, Phase::Red));
    assert_eq!((verified.state.started, verified.state.phase), (true, Phase::Green));
    assert_eq!((verified.state.attempts, verified.state.phase_history), (0, 0));
    assert_eq!(verified.state.exit_code_history, [Some(1)]);
    let expected = ["Verifying RED phase with exit code 1", "Routing to N4: Valid RED state - tests failing as expected"];
    assert_eq!(verified.log, expected);
}

#[test]
fn t120_verifying_green_routes_and_moves_the_cycle_on() {
    let verified = verify_green_phase(&result(0, 0), started(Phase::Green, &[]), &settings());
    assert_eq!(verified.entry.destination, route_by_exit_code(0, Phase::Green));
    assert_eq!((verified.state.started, verified.state.phase), (true, Phase::Refactor));
    assert_eq!(verified.log[0], "Verifying GREEN phase with exit code 0");
}

#[test]
fn t140_an_exceeded_retry_limit_routes_to_a_person() {
    let verified = verify_red_phase(&result(4, 0), started(Phase::Red, &[4, 4, 4]), &settings());
    assert_eq!(verified.entry.kind, RouteKind::RetryLimit);
    assert_eq!(verified.entry.destination.next_node, NextNode::HumanReview);
    assert_eq!(verified.entry.destination.reason, "Scaffold retry limit (3) exceeded");
    assert!(verified.entry.destination.requires_human && !verified.entry.destination.retry_allowed);
    assert_eq!(verified.log[1], "Scaffold retry limit exceeded after 3 attempts");
    assert_eq!(verified.state.paused.expect("it waits for a person").reason, "Scaffold retry limit (3) exceeded");
}

/// The retry limit is checked after the new code was appended to the history (R3). So seed 000's `[4, 4]` is the
/// history `[4]` and the new code 4.
#[test]
fn t150_two_consecutive_scaffold_errors_do_not_exceed_the_limit() {
    let verified = verify_red_phase(&result(4, 0), started(Phase::Red, &[4]), &settings());
    assert_eq!(verified.state.exit_code_history, [Some(4), Some(4)]);
    assert_eq!(verified.entry.destination.next_node, NextNode::N2);
    assert!(verified.entry.destination.retry_allowed);
    assert_eq!(verified.state.paused, None);
}

#[test]
fn t151_a_third_consecutive_scaffold_error_exceeds_the_limit() {
    assert!(!check_retry_limit_exceeded(&[Some(4), Some(4)], 3));
    let verified = verify_red_phase(&result(4, 0), started(Phase::Red, &[4, 4]), &settings());
    assert_eq!(verified.entry.destination.next_node, NextNode::HumanReview);
    assert_eq!(verified.entry.kind, RouteKind::RetryLimit);
}

#[test]
fn t152_passing_tests_in_red_require_a_person() {
    let verified = verify_red_phase(&result(0, 0), started(Phase::Red, &[]), &settings());
    assert_eq!(verified.entry.destination.next_node, NextNode::HumanReview);
    assert_eq!(verified.entry.destination.reason, "Tests should fail in RED phase");
    assert!(verified.entry.destination.requires_human);
    assert_eq!(verified.state.phase, Phase::Red);
    let pause = verified.state.paused.expect("it waits for a person");
    assert_eq!((pause.since, pause.run_id), (now(), run_id()));
}

#[test]
fn t153_passing_tests_in_refactor_end_the_cycle() {
    let verified = verify_phase(&result(0, 0), started(Phase::Refactor, &[]), &settings());
    assert_eq!(verified.entry.destination.next_node, NextNode::NextPhase);
    assert_eq!((verified.state.started, verified.state.phase), (false, Phase::Green));
    assert_eq!(verified.log[0], "Verifying REFACTOR phase with exit code 0");
}

#[test]
fn t154_failing_tests_in_refactor_go_back_to_the_implementation() {
    let verified = verify_phase(&result(1, 0), started(Phase::Refactor, &[]), &settings());
    assert_eq!(verified.entry.destination.next_node, NextNode::N3);
    assert_eq!(verified.entry.destination.reason, "Tests failing in REFACTOR phase, back to implementation");
    assert_eq!(verified.state.phase, Phase::Refactor);
}

#[test]
fn t155_the_retry_limit_holds_in_green() {
    let (decisions, state) = verify_all(started(Phase::Green, &[]), &[5, 5, 5], &settings());
    let nodes: Vec<_> = decisions.iter().map(|verified| verified.entry.destination.next_node).collect();
    assert_eq!(nodes, [NextNode::N2, NextNode::N2, NextNode::HumanReview]);
    assert!(state.paused.is_some());
}

#[test]
fn t156_codes_4_and_5_count_together() {
    let (decisions, _) = verify_all(started(Phase::Red, &[]), &[4, 5, 4], &settings());
    assert_eq!(decisions[2].entry.kind, RouteKind::RetryLimit);
    let (decisions, _) = verify_all(started(Phase::Green, &[]), &[4, 5, 1, 4, 5], &settings());
    assert!(decisions.iter().all(|verified| verified.entry.kind == RouteKind::Routed));
}

#[test]
fn t157_the_histories_are_capped() {
    let settings = RoutingSettings { max_attempts: 1000, ..settings() };
    let codes: Vec<_> = (0..250).map(|number| if number % 2 == 0 { 4 } else { 1 }).collect();
    let (_, state) = verify_all(started(Phase::Green, &[]), &codes, &settings);
    assert_eq!((state.exit_code_history.len(), state.route_history.len()), (100, 100));
    assert_eq!((state.phase_history, state.attempts), (100, 250));
    assert_eq!(state.exit_code_history.last(), Some(&Some(1)));
}

#[test]
fn t158_the_route_history_holds_overrides_too() {
    let (_, state) = verify_all(started(Phase::Green, &[]), &[1, 3], &settings());
    let state = resolve(state, NextNode::N3, "the plugin was updated", &settings()).expect("it waits for a person");
    let kinds: Vec<_> = state.route_history.iter().map(|entry| (entry.kind, entry.destination.next_node)).collect();
    let expected =
        [(RouteKind::Routed, NextNode::N3), (RouteKind::Routed, NextNode::HumanReview), (RouteKind::Override, NextNode::N3)];
    assert_eq!(kinds, expected);
    assert_eq!(state.route_history[2].destination.reason, "the plugin was updated");
}

#[test]
fn t159_alternating_codes_end_at_the_attempt_limit() {
    let codes: Vec<_> = (0..20).map(|number| if number % 2 == 0 { 4 } else { 1 }).collect();
    let (decisions, state) = verify_all(started(Phase::Green, &[]), &codes, &settings());
    assert!(decisions[..19].iter().all(|verified| verified.entry.kind == RouteKind::Routed));
    assert_eq!(decisions[19].entry.kind, RouteKind::AttemptLimit);
    assert_eq!(decisions[19].entry.destination.next_node, NextNode::HumanReview);
    assert_eq!(decisions[19].entry.destination.reason, "Attempt limit (20) reached in GREEN phase, requires human review");
    assert_eq!(decisions[19].log[1], "Attempt limit reached after 20 attempts");
    assert!(state.paused.is_some());
}

#[test]
fn t160_a_missing_exit_code_defaults_to_an_internal_error() {
    let missing = TestResult::without_exit_code_field(result(0, 0).tree_digest, run_id(), now());
    assert_eq!((missing.exit_code, missing.exit_code_source), (Some(3), ExitCodeSource::Defaulted));
    let verified = verify_green_phase(&missing, started(Phase::Green, &[]), &settings());
    assert_eq!(verified.entry.destination, route_by_exit_code(3, Phase::Green));
    assert_eq!(verified.state.exit_code, Some(3));
    assert_eq!(verified.state.exit_code_source, Some(ExitCodeSource::Defaulted));
}

#[test]
fn passing_on_the_last_attempt_is_not_sent_to_a_person() {
    let state = TddState { attempts: 19, ..started(Phase::Green, &[]) };
    let verified = verify_phase(&result(0, 0), state, &settings());
    assert_eq!(verified.entry.destination.next_node, NextNode::NextPhase);
}
