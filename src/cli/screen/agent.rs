//! What agents are answered, in lines for people. Pure.

use crate::api::AgentAnswerV1;
use crate::model::CompletionStatus;

/// Returns the lines of an answer.
pub(crate) fn agent_answer(answer: &AgentAnswerV1) -> Vec<String> {
    match answer {
        AgentAnswerV1::RequestStatusUpdate { task_id, accepted, computed_status, reasons, run_id, .. } => {
            let status = match computed_status {
                CompletionStatus::Complete => "COMPLETE",
                CompletionStatus::Incomplete => "INCOMPLETE",
            };
            let word = if *accepted { "accepted" } else { "not accepted" };
            let run = run_id.as_ref().map(|run| format!(" · run {}", run.number())).unwrap_or_default();
            let head = format!("{task_id}: {status} · {word}{run}");
            std::iter::once(head).chain(reasons.iter().map(|reason| format!("  {reason}"))).collect()
        }
        AgentAnswerV1::RequestRetest { task_id, number, budget, .. } => vec![format!("{task_id}: retest {number} of {budget}")],
        AgentAnswerV1::FixSpecification { task_id, accepted: true, .. } => vec![format!("{task_id}: the configuration is right")],
        AgentAnswerV1::FixSpecification { task_id, errors, .. } => {
            let head = format!("{task_id}: the configuration is wrong");
            std::iter::once(head).chain(errors.iter().map(|error| format!("  {}", error.replace('\n', "\n  ")))).collect()
        }
    }
}
