//! The requests that change a task's red, green, refactor cycle.

use serde::{Deserialize, Serialize};

use crate::{NextNode, Phase, TaskId};

/// A request that changes a task's cycle; its JSON is the body of `POST /v1/projects/{id}/phase`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "verb", deny_unknown_fields)]
pub enum CycleRequest {
    /// Start a cycle for the task, in the given phase.
    Start { task: TaskId, phase: Phase },
    /// Set the phase of a started cycle.
    Phase { task: TaskId, phase: Phase },
    /// End the cycle and forget its history. If the task waits for a person, only a process at a terminal may do this.
    Reset { task: TaskId },
    /// Decide where a task that waits for a person continues. Only a process at a terminal may do this (R9).
    Resolve {
        task: TaskId,
        /// The node where the task continues, such as N3 or `NEXT_PHASE`.
        to: NextNode,
        /// The person's reason, in the person's own words.
        reason: String,
    },
}

impl CycleRequest {
    /// Returns the task whose cycle the request changes.
    pub fn task(&self) -> &TaskId {
        match self {
            Self::Start { task, .. } | Self::Phase { task, .. } | Self::Reset { task } | Self::Resolve { task, .. } => task,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_what_is_written_and_nothing_else_is_understood() {
        let read = |text: &str| serde_json::from_str::<CycleRequest>(text).ok();
        let task = TaskId::default_task();
        let resolve = CycleRequest::Resolve { task: task.clone(), to: NextNode::NextPhase, reason: "why".to_owned() };
        assert_eq!(read(r#"{"verb": "resolve", "task": "default", "to": "NEXT_PHASE", "reason": "why"}"#), Some(resolve));
        let start = CycleRequest::Start { task, phase: Phase::Red };
        assert_eq!(read(r#"{"verb": "start", "task": "default", "phase": "RED"}"#), Some(start));
        for wrong in [
            r#"{"verb": "start", "task": "default"}"#,
            r#"{"verb": "begin", "task": "default", "phase": "RED"}"#,
            r#"{"verb": "reset", "task": "default", "phase": "RED"}"#,
            r#"{"verb": "reset", "task": "../x"}"#,
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
