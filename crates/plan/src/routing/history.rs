//! Appends to the histories of a task's state and drops the oldest entries, so that the state stays small (R5).

use proctor_model::{RouteEntry, RoutingSettings, TddState};

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
