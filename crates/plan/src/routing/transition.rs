//! The transitions of the TDD state machine, which follow from a routing decision (R6) or from a person's command (R6,
//! R9).
//!
//! Nothing here checks that a person gives the command. Callers make sure that the command comes from a terminal, and
//! write the ledger line.
//!
//! Appends to the histories of a task's state and drops the oldest entries, so that the state stays small (R5).

use crate::routing::table::destination;
use proctor_model::{ExitCodeSource, NextNode, Phase, RouteEntry, RouteKind, RoutingSettings, TddState};

/// Why a command cannot change a task's TDD state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransitionError {
    #[error("a TDD cycle is already started, in the {} phase: set another phase, or reset it first", .0.word())]
    AlreadyStarted(Phase),
    #[error("no TDD cycle is started: start one first")]
    NotStarted,
    /// The task is in the requested phase already. Setting the phase again would only reset the counters.
    #[error("the task is in the {} phase already", .0.word())]
    AlreadyInPhase(Phase),
    #[error("the task waits for a person ({reason}): resolve it first")]
    Paused { reason: String },
    #[error("the task does not wait for a person, so there is nothing to resolve")]
    NotPaused,
    #[error("a resolution needs a reason: say why the task goes on there")]
    NoReason,
    /// A person cannot send the task to HUMAN_REVIEW, because the task is there already.
    #[error("`HUMAN_REVIEW` is where the task is: resolve it to N2, N3, N4 or NEXT_PHASE")]
    NotATarget,
}

/// Starts a cycle, in phase RED unless another phase is given. The histories are kept, and the counters start at 0.
///
/// # Errors
///
/// [`TransitionError::AlreadyStarted`] if the task has a cycle that has not ended.
pub fn start_cycle(mut state: TddState, phase: Option<Phase>) -> Result<TddState, TransitionError> {
    if state.started {
        return Err(TransitionError::AlreadyStarted(state.phase));
    }
    state.started = true;
    (state.paused, state.notice) = (None, None);
    enter_phase(&mut state, phase.unwrap_or(Phase::Red));
    Ok(state)
}

/// Sets the phase of a started cycle, to a later or an earlier one (R6).
///
/// # Errors
///
/// [`TransitionError::NotStarted`], [`TransitionError::Paused`], [`TransitionError::AlreadyInPhase`].
pub fn set_phase(mut state: TddState, phase: Phase) -> Result<TddState, TransitionError> {
    if !state.started {
        return Err(TransitionError::NotStarted);
    }
    if let Some(pause) = state.paused {
        return Err(TransitionError::Paused { reason: pause.reason });
    }
    if state.phase == phase {
        return Err(TransitionError::AlreadyInPhase(phase));
    }
    enter_phase(&mut state, phase);
    Ok(state)
}

/// Returns the state of a task that never had a cycle, but with the sequence number of `state`. The history stays in
/// the ledger.
///
/// A reset also ends a pause, so the caller must make sure that a person at a terminal gives the command, as for
/// [`resolve`].
pub fn reset(state: &TddState) -> TddState {
    TddState { sequence: state.sequence, ..TddState::default() }
}

/// Ends a pause by a person's decision: the task goes on at `to` (R9).
///
/// N4 leads to GREEN and NEXT_PHASE to the next phase; with N2 and N3 the phase stays. The counters start at 0, so that
/// the limit that paused the task is not exceeded again at once. The decision is the last entry of the returned state's
/// route history.
///
/// # Errors
///
/// [`TransitionError::NotStarted`], [`TransitionError::NotPaused`], [`TransitionError::NoReason`],
/// [`TransitionError::NotATarget`].
pub fn resolve(mut state: TddState, to: NextNode, reason: &str, settings: &RoutingSettings) -> Result<TddState, TransitionError> {
    if !state.started {
        return Err(TransitionError::NotStarted);
    }
    if state.paused.is_none() {
        return Err(TransitionError::NotPaused);
    }
    if reason.trim().is_empty() {
        return Err(TransitionError::NoReason);
    }
    let entry = RouteEntry {
        phase: state.phase,
        exit_code: state.exit_code,
        exit_code_source: state.exit_code_source.unwrap_or(ExitCodeSource::Lost),
        kind: RouteKind::Override,
        destination: destination(to, reason.trim()),
    };
    let phase = match to {
        NextNode::HumanReview => return Err(TransitionError::NotATarget),
        NextNode::N2 | NextNode::N3 => Some(state.phase),
        NextNode::N4 => Some(Phase::Green),
        NextNode::NextPhase => next_phase(state.phase),
    };
    state.paused = None;
    push_route(&mut state, entry, settings);
    match phase {
        Some(phase) => enter_phase(&mut state, phase),
        None => end_cycle(&mut state),
    }
    Ok(state)
}

/// Enters the next phase, or ends the cycle after the last one.
pub(in crate::routing) fn advance(state: &mut TddState) {
    match next_phase(state.phase) {
        Some(phase) => enter_phase(state, phase),
        None => end_cycle(state),
    }
}

/// Enters a phase and sets its counters to 0.
pub(in crate::routing) fn enter_phase(state: &mut TddState, phase: Phase) {
    state.phase = phase;
    state.phase_history = 0;
    state.attempts = 0;
    state.last_attempt = None;
}

fn end_cycle(state: &mut TddState) {
    state.started = false;
    enter_phase(state, Phase::Green);
}

fn next_phase(phase: Phase) -> Option<Phase> {
    match phase {
        Phase::Red => Some(Phase::Green),
        Phase::Green => Some(Phase::Refactor),
        Phase::Refactor => None,
    }
}

/// The most entries that a history keeps, unless the retry limit is higher.
const HISTORY_CAP: usize = 100;

/// The most entries outside of a started cycle, where only a series matters. Each run keeps the whole state in its ledger line.
const OUTSIDE_CAP: usize = 10;

/// Appends an exit code to the history of exit codes, and counts it as one of the current phase.
pub(in crate::routing) fn push_code(state: &mut TddState, code: Option<i32>, settings: &RoutingSettings) {
    push_capped(&mut state.exit_code_history, code, cap(state.started, settings));
    let kept = u32::try_from(state.exit_code_history.len()).unwrap_or(u32::MAX);
    state.phase_history = state.phase_history.saturating_add(1).min(kept);
}

/// Appends a decision to the route history and drops the oldest decisions above the cap.
pub(in crate::routing) fn push_route(state: &mut TddState, entry: RouteEntry, settings: &RoutingSettings) {
    push_capped(&mut state.route_history, entry, cap(state.started, settings));
}

/// Returns the largest number of entries that a history keeps. This is never less than the retry limit, because a longer
/// series than the history holds could not be noticed (A8).
fn cap(is_started: bool, settings: &RoutingSettings) -> usize {
    let cap = if is_started { HISTORY_CAP } else { OUTSIDE_CAP };
    cap.max(usize::try_from(settings.max_scaffold_retries).unwrap_or(HISTORY_CAP))
}

fn push_capped<T>(history: &mut Vec<T>, item: T, cap: usize) {
    // A stored history may be longer than the cap, because the limit in the settings may have been lowered since.
    let surplus = (history.len() + 1).saturating_sub(cap);
    history.drain(..surplus.min(history.len()));
    history.push(item);
}
