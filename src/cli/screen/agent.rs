//! Lines for people about the answers to agents, and about a task's red, green, refactor cycle. Pure.

use proctor_api::AgentAnswerV1;
use proctor_app::indented;
use proctor_model::{TaskId, TddState, approve_command};

pub(crate) fn agent_answer(answer: &AgentAnswerV1) -> Vec<String> {
    match answer {
        AgentAnswerV1::Computed { task_id, accepted, computed_status, reasons, open, run_id, .. } => {
            let status = computed_status.word();
            let word = if *accepted { "accepted" } else { "not accepted" };
            let run = run_id.as_ref().map(|run| format!(" · run {}", run.number())).unwrap_or_default();
            let head = format!("{task_id}: {status} · {word}{run}");
            let open = open.iter().map(|line| format!("  open: {line}"));
            std::iter::once(head).chain(reasons.iter().map(|reason| format!("  {reason}"))).chain(open).collect()
        }
        AgentAnswerV1::Retested { task_id, number, budget, .. } => vec![format!("{task_id}: retest {number} of {budget}")],
        AgentAnswerV1::Checked { task_id, errors, changes, person, .. } => {
            let what = if *task_id == TaskId::default_task() { "configuration" } else { "specification" };
            let head = match (person, errors.is_empty(), changes.is_empty()) {
                (_, false, _) => format!("{task_id}: the {what} is wrong"),
                (Some(person), true, _) => return vec![format!("{task_id}: the {what} is right, and {}", person.sentence())],
                (None, true, true) => format!("{task_id}: the {what} is right"),
                (None, true, false) => format!(
                    "{task_id}: the {what} is right and may run; by these rules no run proves anything until a person approves them \
                     (`{}`):",
                    approve_command(task_id)
                ),
            };
            std::iter::once(head).chain(errors.iter().chain(changes).flat_map(|line| indented(line))).collect()
        }
    }
}

pub(crate) fn cycle_line(task: &TaskId, state: &TddState) -> String {
    match (state.started, &state.paused) {
        (false, _) => format!("{task}: no cycle is started; runs are judged in GREEN"),
        (true, None) => format!("{task}: {} · {} attempts in this phase", state.phase.word(), state.attempts),
        (true, Some(pause)) => format!("{task}: {} · needs human: {}", state.phase.word(), pause.reason),
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
            entry.phase.word(),
            entry.destination.next_node.word(),
            entry.destination.reason
        )
    }));
    lines
}
