//! Lines for people about the answers to agents. Pure.

use proctor_api::AgentAnswerV1;
use proctor_app::indented;
use proctor_model::{SpecificationChange, TaskId};

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
        AgentAnswerV1::Checked { task_id, accepted, errors, changes, .. } => {
            let what = if *task_id == TaskId::default_task() { "configuration" } else { "specification" };
            let head = match (accepted, errors.is_empty(), changes.is_empty()) {
                (true, _, true) => format!("{task_id}: the {what} is right"),
                (true, _, false) => format!("{task_id}: the proposal is right and weakens nothing: it may take the file's place"),
                (false, true, _) => {
                    format!("{task_id}: the proposal is right, and a person has to agree before it takes the file's place")
                }
                (false, false, _) => format!("{task_id}: the {what} is wrong"),
            };
            let errors = errors.iter().flat_map(|error| indented(error));
            std::iter::once(head).chain(errors).chain(changes.iter().map(change_line)).collect()
        }
    }
}

fn change_line(change: &SpecificationChange) -> String {
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
    let (before, after) = (value(&change.before), value(&change.after));
    format!("  {}: {before} → {after} ({})", change.pointer, change.effect.words())
}
