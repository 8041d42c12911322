//! Makes one decision: table, category and limits choose the destination, then the state is advanced or paused (R2–R7,
//! R9).
//!
//! The state is passed in and returned by value, so its histories are never copied and a decision allocates less than 1
//! KiB.

use crate::routing::category::{route_result, why_no_code};
use crate::routing::limit::{attempt_limit, attempt_record, refuse_repeated_failure, retry_limit};
use crate::routing::result::{RunCause, TestResult};
use crate::routing::table::destination;
use crate::routing::transition::{advance, push_code, push_route};
use proctor_model::{NextNode, PauseRecord, Phase, RouteDestination, RouteEntry, RouteKind, RoutingSettings, TddState};

/// A decision, and the task's state after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteDecision {
    /// The decision. If it is for another phase than the task's, it is only advice: it is shown but not counted. Outside of a
    /// started cycle it is counted, and moves and pauses nothing (R2).
    pub entry: RouteEntry,
    /// The state after the decision; unchanged if the decision is only advice.
    pub state: TddState,
    /// The log messages that seed 000 prescribes, in order. The caller logs them, because the router itself logs
    /// nothing (A7).
    pub log: Vec<String>,
}

/// Decides on a test result by the rules of the RED phase (seed 000 `verify_red_phase`). If the task's cycle is in
/// another phase, the decision is only advice.
pub fn verify_red_phase(result: &TestResult<'_>, state: TddState, settings: &RoutingSettings) -> RouteDecision {
    verify(result, state, settings, (Phase::Red, None))
}

/// Decides on a test result by the rules of the GREEN phase (seed 000 `verify_green_phase`). If the task's cycle is in
/// another phase, the decision is only advice.
pub fn verify_green_phase(result: &TestResult<'_>, state: TddState, settings: &RoutingSettings) -> RouteDecision {
    verify(result, state, settings, (Phase::Green, None))
}

/// Decides on a test result by the rules of the phase that the task's cycle is in.
pub fn verify_phase(result: &TestResult<'_>, state: TddState, settings: &RoutingSettings) -> RouteDecision {
    match state.phase {
        Phase::Red => verify_red_phase(result, state, settings),
        Phase::Green => verify_green_phase(result, state, settings),
        Phase::Refactor => verify(result, state, settings, (Phase::Refactor, None)),
    }
}

/// Decides on a test result in a run whose review has no verdict: whatever the tests say, the task goes to a person
/// (V3). `why` becomes the decision's reason.
pub fn verify_without_review_verdict(
    result: &TestResult<'_>,
    state: TddState,
    settings: &RoutingSettings,
    why: &str,
) -> RouteDecision {
    let phase = state.phase;
    verify(result, state, settings, (phase, Some((RouteKind::Category, why))))
}

/// Decides on a test result in a run with protected files that nobody has approved: whatever the tests say, the task
/// goes to a person (S7). `why` becomes the decision's reason.
pub fn verify_with_unapproved_files(
    result: &TestResult<'_>,
    state: TddState,
    settings: &RoutingSettings,
    why: &str,
) -> RouteDecision {
    let phase = state.phase;
    verify(result, state, settings, (phase, Some((RouteKind::ProtectedFiles, why))))
}

fn verify(
    result: &TestResult<'_>,
    mut state: TddState,
    settings: &RoutingSettings,
    (phase, beside): (Phase, Option<(RouteKind, &str)>),
) -> RouteDecision {
    let mut log = Vec::with_capacity(3);
    log.push(opening_line(result, phase));
    let mut entry = route_result(result, phase, settings);
    if let Some((kind, why)) = beside {
        overrule(&mut entry, kind, destination(NextNode::HumanReview, why));
    }
    // If the caller names another phase than the task's, the decision is only advice and must not change the state (R6).
    if state.phase == phase {
        let is_counted = state.started && !take_for_not_red_yet(&mut entry, result);
        count_run(result, &mut state, settings, is_counted);
        match state.started {
            true => apply_limits(&mut entry, &state, settings, &mut log),
            false => ask_to_look(&mut entry, result, &mut state, settings, &mut log),
        }
        push_route(&mut state, entry.clone(), settings);
        if state.started {
            change_phase_or_pause(result, &mut state, &entry);
        }
    }
    log.push(closing_line(&entry));
    RouteDecision { entry, state, log }
}

/// Sends a save of the RED phase on which the tests pass back to writing tests, instead of to a person: the first save is
/// seldom the failing test (R9). Returns whether that save is no attempt, because no test file changed.
fn take_for_not_red_yet(entry: &mut RouteEntry, result: &TestResult<'_>) -> bool {
    let passes = (entry.phase, entry.kind, entry.exit_code) == (Phase::Red, RouteKind::Routed, Some(0));
    if !passes || result.cause == RunCause::Asked {
        return false;
    }
    overrule(entry, RouteKind::NotRedYet, destination(NextNode::N2, "not red yet: no test fails, so write the one that must"));
    result.cause == RunCause::Other
}

/// Adds the run to the state, before any limit is checked (R3). Only a counted run of a started cycle is an attempt.
fn count_run(result: &TestResult<'_>, state: &mut TddState, settings: &RoutingSettings, is_counted: bool) {
    if is_counted {
        state.last_attempt = Some(attempt_record(result, state));
        state.attempts = state.attempts.saturating_add(1);
    }
    state.exit_code = result.exit_code;
    state.exit_code_source = Some(result.exit_code_source);
    push_code(state, result.exit_code, settings);
}

/// Asks a person to look at a task without a started cycle when the retry limit is reached. Nothing waits for it, and the next
/// run that is no scaffold error ends it (R3).
fn ask_to_look(
    entry: &mut RouteEntry,
    result: &TestResult<'_>,
    state: &mut TddState,
    settings: &RoutingSettings,
    log: &mut Vec<String>,
) {
    if retry_limit(state, entry, settings).is_none() {
        state.notice = None;
        return;
    }
    let limit = settings.max_scaffold_retries;
    log.push(format!("Scaffold retry limit exceeded after {limit} attempts"));
    let reason = format!("{} scaffold error in a row: a person should look", ordinal(limit));
    overrule(entry, RouteKind::RetryLimit, destination(NextNode::HumanReview, reason.clone()));
    let record = || PauseRecord { reason, since: result.now, run_id: result.run_id.clone() };
    state.notice.get_or_insert_with(record);
}

fn ordinal(number: u32) -> String {
    match (number, number % 10, number % 100) {
        (1, ..) => "first".to_owned(),
        (2, ..) => "second".to_owned(),
        (3, ..) => "third".to_owned(),
        (_, _, 11..=13) => format!("{number}th"),
        (_, 1, _) => format!("{number}st"),
        (_, 2, _) => format!("{number}nd"),
        (_, 3, _) => format!("{number}rd"),
        _ => format!("{number}th"),
    }
}

fn apply_limits(entry: &mut RouteEntry, state: &TddState, settings: &RoutingSettings, log: &mut Vec<String>) {
    if let Some(destination) = retry_limit(state, entry, settings) {
        log.push(format!("Scaffold retry limit exceeded after {} attempts", settings.max_scaffold_retries));
        overrule(entry, RouteKind::RetryLimit, destination);
    } else if let Some(destination) = attempt_limit(state, entry, settings) {
        log.push(format!("Attempt limit reached after {} attempts", state.attempts));
        overrule(entry, RouteKind::AttemptLimit, destination);
    } else if let Some(attempt) = state.last_attempt.as_ref().filter(|_| entry.kind != RouteKind::NotRedYet) {
        refuse_repeated_failure(entry, attempt);
    }
}

fn overrule(entry: &mut RouteEntry, kind: RouteKind, destination: RouteDestination) {
    entry.kind = kind;
    entry.destination = destination;
}

/// Advances the phase after N4 and NEXT_PHASE, and pauses the task after HUMAN_REVIEW (R6, R9). A task that is already paused
/// stays paused, whatever its tests say.
fn change_phase_or_pause(result: &TestResult<'_>, state: &mut TddState, entry: &RouteEntry) {
    if state.paused.is_some() {
        return;
    }
    match entry.destination.next_node {
        NextNode::HumanReview => {
            let reason = entry.destination.reason.clone();
            state.paused = Some(PauseRecord { reason, since: result.now, run_id: result.run_id.clone() });
        }
        NextNode::N4 | NextNode::NextPhase => advance(state),
        NextNode::N2 | NextNode::N3 => {}
    }
}

fn opening_line(result: &TestResult<'_>, phase: Phase) -> String {
    match result.exit_code {
        Some(code) => format!("Verifying {} phase with exit code {code}", phase.word()),
        None => format!("Verifying {} phase without exit code ({})", phase.word(), why_no_code(result.exit_code_source)),
    }
}

fn closing_line(entry: &RouteEntry) -> String {
    format!("Routing to {}: {}", entry.destination.next_node.word(), entry.destination.reason)
}
