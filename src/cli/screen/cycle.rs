//! The lines about a task's red, green, refactor cycle.

use proctor_model::{TaskId, TddState};

pub(crate) fn cycle_line(task: &TaskId, state: &TddState) -> String {
    match (state.started, &state.paused) {
        (false, _) => format!("{task}: no cycle is started; runs are judged in GREEN"),
        (true, None) => format!("{task}: {} · {} attempts in this phase", state.phase.name(), state.attempts),
        (true, Some(pause)) => format!("{task}: {} · needs human: {}", state.phase.name(), pause.reason),
    }
}

/// Returns the lines about a task's red, green, refactor cycle, with one line for each routing decision.
pub(crate) fn cycle(task: &TaskId, state: &TddState) -> Vec<String> {
    let mut lines = vec![cycle_line(task, state)];
    if !state.started && !state.route_history.is_empty() {
        lines.push("  the decisions of the last cycle, which is over:".to_owned());
    }
    lines.extend(state.route_history.iter().map(|entry| {
        let code = entry.exit_code.map_or_else(|| "-".to_owned(), |code| code.to_string());
        format!(
            "  {:<8} exit {code:<3} → {}  {}",
            entry.phase.name(),
            entry.destination.next_node.label(),
            entry.destination.reason
        )
    }));
    lines
}
