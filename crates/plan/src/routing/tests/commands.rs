//! Tests of a person's commands and the states that result from them (R6, R9).

use crate::routing::tests::{result, started, verify_all};
use crate::routing::{TransitionError, reset, resolve, set_phase, start_cycle, verify_phase};
use proctor_model::{ExitCodeSource, NextNode, Phase, RouteKind, RoutingSettings, Sequence, TddState};

fn paused_in(phase: Phase) -> TddState {
    verify_phase(&result(3, 0), started(phase, &[]), &RoutingSettings::default()).state
}

fn resolved(phase: Phase, to: NextNode) -> TddState {
    resolve(paused_in(phase), to, " looked at it ", &RoutingSettings::default()).expect("it waits for a person")
}

#[test]
fn a_cycle_starts_in_red_unless_told_otherwise() {
    let state = start_cycle(TddState::default(), None).expect("none is started");
    assert_eq!((state.started, state.phase), (true, Phase::Red));
    let state = start_cycle(TddState::default(), Some(Phase::Refactor)).expect("none is started");
    assert_eq!(state.phase, Phase::Refactor);
    assert_eq!(start_cycle(state, None), Err(TransitionError::AlreadyStarted(Phase::Refactor)));
}

#[test]
fn a_new_cycle_keeps_the_histories_and_begins_its_counters_anew() {
    let (_, ended) = verify_all(started(Phase::Refactor, &[]), &[4, 4, 0], &RoutingSettings::default());
    assert!(!ended.started);
    let state = start_cycle(ended, Some(Phase::Green)).expect("the last one has ended");
    assert_eq!((state.phase_history, state.attempts), (0, 0));
    assert_eq!(state.exit_code_history.len(), 3);
    let (decisions, _) = verify_all(state, &[4, 4], &RoutingSettings::default());
    assert_eq!(decisions[1].entry.kind, RouteKind::Routed);
}

#[test]
fn a_phase_is_set_in_a_started_cycle_only() {
    assert_eq!(set_phase(TddState::default(), Phase::Red), Err(TransitionError::NotStarted));
    assert_eq!(set_phase(started(Phase::Red, &[4]), Phase::Red), Err(TransitionError::AlreadyInPhase(Phase::Red)));
    let paused = set_phase(paused_in(Phase::Green), Phase::Red).expect_err("it waits for a person");
    assert_eq!(paused, TransitionError::Paused { reason: "Pytest internal error, requires human review".to_owned() });
    let state = set_phase(started(Phase::Refactor, &[4, 4]), Phase::Red).expect("backwards is a person's right");
    assert_eq!((state.phase, state.phase_history), (Phase::Red, 0));
}

#[test]
fn a_reset_leaves_nothing_but_the_place_in_the_ledger() {
    let state = TddState { sequence: Some(Sequence(9)), ..paused_in(Phase::Green) };
    assert_eq!(reset(&state), TddState { sequence: Some(Sequence(9)), ..TddState::default() });
}

#[test]
fn a_resolution_ends_the_pause_and_moves_where_the_node_implies_it() {
    for (phase, to, after) in [
        (Phase::Red, NextNode::N4, Phase::Green),
        (Phase::Green, NextNode::N4, Phase::Green),
        (Phase::Red, NextNode::NextPhase, Phase::Green),
        (Phase::Green, NextNode::NextPhase, Phase::Refactor),
        (Phase::Red, NextNode::N2, Phase::Red),
        (Phase::Refactor, NextNode::N3, Phase::Refactor),
    ] {
        let state = resolved(phase, to);
        assert_eq!((state.started, state.phase, &state.paused), (true, after, &None), "{phase:?} {to:?}");
        assert_eq!((state.phase_history, state.attempts, &state.last_attempt), (0, 0, &None));
        let entry = state.route_history.last().expect("the override");
        assert_eq!((entry.kind, entry.phase, entry.destination.next_node), (RouteKind::Override, phase, to));
        assert_eq!((entry.exit_code, entry.exit_code_source), (Some(3), ExitCodeSource::Process));
        assert_eq!(entry.destination.reason, "looked at it");
        assert_eq!(entry.destination.retry_allowed, to == NextNode::N2);
    }
    let ended = resolved(Phase::Refactor, NextNode::NextPhase);
    assert_eq!((ended.started, ended.phase), (false, Phase::Green));
}

#[test]
fn the_limit_does_not_trip_at_once_after_a_resolution() {
    let settings = RoutingSettings::default();
    let (_, state) = verify_all(started(Phase::Red, &[]), &[4, 4, 4], &settings);
    let state = resolve(state, NextNode::N2, "new scaffold", &settings).expect("it waits for a person");
    let (decisions, state) = verify_all(state, &[4, 4, 4], &settings);
    let kinds: Vec<_> = decisions.iter().map(|verified| verified.entry.kind).collect();
    assert_eq!(kinds, [RouteKind::Routed, RouteKind::Routed, RouteKind::RetryLimit]);
    assert_eq!(state.route_history.len(), 7);
}

#[test]
fn a_resolution_needs_a_pause_a_reason_and_a_node() {
    let settings = RoutingSettings::default();
    let refused = |state, to, reason| resolve(state, to, reason, &settings).expect_err("it is refused");
    assert_eq!(refused(TddState::default(), NextNode::N2, "x"), TransitionError::NotStarted);
    assert_eq!(refused(started(Phase::Red, &[]), NextNode::N2, "x"), TransitionError::NotPaused);
    assert_eq!(refused(paused_in(Phase::Red), NextNode::N2, " "), TransitionError::NoReason);
    assert_eq!(refused(paused_in(Phase::Red), NextNode::HumanReview, "x"), TransitionError::NotATarget);
}
