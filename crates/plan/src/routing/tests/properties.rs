//! Properties that hold for every exit code, phase and history.

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};

use crate::routing::tests::{now, run_id};
use crate::routing::{TestResult, check_retry_limit_exceeded, is_scaffold_error, route_by_exit_code, verify_phase};
use proctor_model::{Digest, ExitCodeSource, NextNode, Phase, RouteDestination, RouteKind, RoutingSettings, TddState};

fn phases() -> impl Strategy<Value = Phase> {
    prop_oneof![Just(Phase::Red), Just(Phase::Green), Just(Phase::Refactor)]
}

fn codes() -> impl Strategy<Value = Option<i32>> {
    prop_oneof![4 => (0..=6_i32).prop_map(Some), 1 => Just(None), 1 => any::<i32>().prop_map(Some)]
}

fn states() -> impl Strategy<Value = TddState> {
    (any::<bool>(), phases(), vec(codes(), 0..120), any::<u32>(), any::<u32>()).prop_map(
        |(started, phase, exit_code_history, phase_history, attempts)| TddState {
            started,
            phase,
            exit_code_history,
            phase_history,
            attempts,
            ..TddState::default()
        },
    )
}

fn flags_follow_from_the_node(route: &RouteDestination) -> bool {
    route.requires_human == (route.next_node == NextNode::HumanReview)
        && (!route.retry_allowed || route.next_node == NextNode::N2)
        && !route.reason.is_empty()
}

fn result_of(code: Option<i32>, tree: u8) -> TestResult<'static> {
    let source = if code.is_some() { ExitCodeSource::Process } else { ExitCodeSource::Timeout };
    TestResult::new(code, source, Digest::of(&[tree]), run_id(), now())
}

proptest! {
    #[test]
    fn the_table_is_total(code in any::<i32>(), phase in phases()) {
        let route = route_by_exit_code(code, phase);
        prop_assert!(flags_follow_from_the_node(&route));
        prop_assert_eq!(route.retry_allowed, is_scaffold_error(code));
        if !(0..=5).contains(&code) {
            prop_assert_eq!(route.next_node, NextNode::HumanReview);
        }
    }

    #[test]
    fn any_sequence_of_attempts_keeps_the_state_in_bounds(
        state in states(),
        attempts in vec((codes(), 0..3_u8), 0..40),
        retries in 1..=150_u32,
        max_attempts in 1..=1000_u32,
    ) {
        let settings = RoutingSettings { max_scaffold_retries: retries, max_attempts, ..RoutingSettings::default() };
        let cap = retries.max(100) as usize;
        let mut state = state;
        for (code, tree) in attempts {
            let before = state.clone();
            let verified = verify_phase(&result_of(code, tree), state, &settings);
            state = verified.state;
            prop_assert!(flags_follow_from_the_node(&verified.entry.destination));
            if before.started {
                prop_assert!(state.exit_code_history.len() <= cap && state.route_history.len() <= cap);
                prop_assert_eq!(state.route_history.last(), Some(&verified.entry));
                prop_assert_eq!(state.exit_code, code);
                prop_assert!(state.paused.is_some() || verified.entry.destination.next_node != NextNode::HumanReview);
                let (went_on, stayed) = (state.phase != before.phase || !state.started, state.phase == before.phase);
                prop_assert!(stayed || state.phase > before.phase || !state.started);
                prop_assert!(!went_on || before.paused.is_none());
            } else {
                let held = (state.started, state.phase, state.attempts, &state.paused);
                prop_assert_eq!(held, (false, before.phase, before.attempts, &before.paused));
                prop_assert!(state.route_history.len() <= retries.max(10) as usize);
                prop_assert_eq!(state.route_history.last(), Some(&verified.entry));
            }
        }
    }

    #[test]
    fn any_other_code_resets_the_streak(history in vec(codes(), 0..120), code in codes(), limit in 1..=100_u32) {
        let mut history = history;
        history.push(code);
        if !code.is_some_and(is_scaffold_error) {
            prop_assert!(!check_retry_limit_exceeded(&history, limit));
        }
        let streak = history.iter().rev().take_while(|code| code.is_some_and(is_scaffold_error)).count();
        prop_assert_eq!(check_retry_limit_exceeded(&history, limit), streak >= limit as usize);
    }

    #[test]
    fn a_limit_only_ever_ends_in_a_person(state in states(), code in codes()) {
        let verified = verify_phase(&result_of(code, 0), state, &RoutingSettings::default());
        if matches!(verified.entry.kind, RouteKind::RetryLimit | RouteKind::AttemptLimit) {
            prop_assert_eq!(verified.entry.destination.next_node, NextNode::HumanReview);
        }
    }
}
