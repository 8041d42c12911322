//! Requests that read or change the red, green, refactor cycle of a task.

use serde::{Deserialize, Serialize};

use crate::model::{NextNode, Phase, TaskId, TddState};

/// The body of `POST /v1/projects/{id}/phase`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "verb", deny_unknown_fields)]
pub enum CycleRequestV1 {
    Start {
        task: TaskId,
        /// The phase in which the cycle begins.
        phase: Phase,
    },
    /// Set the phase of a cycle that was started.
    Phase { task: TaskId, phase: Phase },
    /// End the cycle and forget its history. If the cycle waits for a person, only a process at a terminal may do this.
    Reset { task: TaskId },
    /// Decide where a task goes that waits for a person. Only a process at a terminal may do this (R9).
    Resolve {
        task: TaskId,
        /// The node to which the task goes.
        to: NextNode,
        /// The person's reason, in their own words.
        reason: String,
    },
}

/// The answer of both `…/phase` routes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CycleV1 {
    pub task: TaskId,
    /// The same state as `proctor tdd show --json` prints.
    pub state: TddState,
}

impl CycleRequestV1 {
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
        let read = |text: &str| serde_json::from_str::<CycleRequestV1>(text).ok();
        let task = TaskId::default_task();
        let resolve = CycleRequestV1::Resolve { task: task.clone(), to: NextNode::NextPhase, reason: "why".to_owned() };
        assert_eq!(read(r#"{"verb": "resolve", "task": "default", "to": "NEXT_PHASE", "reason": "why"}"#), Some(resolve));
        let start = CycleRequestV1::Start { task, phase: Phase::Red };
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
