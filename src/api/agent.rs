//! What agents ask, and what they are answered (seed 004, agent protocol). What they claim is logged and never believed.

use serde::{Deserialize, Serialize};

use crate::api::run::RunAnswerV1;
use crate::model::{CommandExit, Completion, CompletionStatus, RunId, SpecificationChange, TaskId};

/// The body of `POST /v1/projects/{id}/requests`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE", rename_all_fields = "camelCase", tag = "verb", deny_unknown_fields)]
pub enum AgentRequestV1 {
    /// Compute what the task amounts to.
    RequestStatusUpdate {
        /// The task.
        task_id: TaskId,
        /// What the agent believes; it is logged, and compared with what is computed.
        status: CompletionStatus,
    },
    /// Run the checks once more.
    RequestRetest {
        /// The task.
        task_id: TaskId,
    },
    /// Read the configuration or the task's specification again: it was mended. With a proposal: say what that would change.
    FixSpecification {
        /// The task.
        task_id: TaskId,
        /// The text of the proposed specification.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        specification: Option<String>,
        /// Its file instead, relative to the project.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
    },
}

/// The answer of `POST /v1/projects/{id}/requests`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE", rename_all_fields = "camelCase", tag = "verb", deny_unknown_fields)]
pub enum AgentAnswerV1 {
    /// What the task amounts to.
    #[serde(rename = "REQUEST_STATUS_UPDATE")]
    Computed {
        /// The task.
        task_id: TaskId,
        /// Whether what was asked for is what was computed.
        accepted: bool,
        /// By the sealed report of a run that is a verdict for the tree as it is now; INCOMPLETE where there is none.
        computed_status: CompletionStatus,
        /// Why.
        reasons: Vec<String>,
        /// What is open by that run's report: actions that did not succeed, and debt items.
        open: Vec<String>,
        /// That run.
        run_id: Option<RunId>,
        /// The exit code of a command that ends with it.
        exit_code: u8,
    },
    /// The checks were run; a refusal is an error instead.
    #[serde(rename = "REQUEST_RETEST")]
    Retested {
        /// The task.
        task_id: TaskId,
        /// How many retests this makes since the task last passed.
        number: u32,
        /// How many there may be.
        budget: u32,
        /// What came of it.
        run: RunAnswerV1,
        /// The exit code of a command that ends with it.
        exit_code: u8,
    },
    /// What is still wrong with the configuration.
    #[serde(rename = "FIX_SPECIFICATION")]
    Checked {
        /// The task.
        task_id: TaskId,
        /// Whether nothing is.
        accepted: bool,
        /// Everything that is wrong, each with its line; of the proposal, where there is one.
        errors: Vec<String>,
        /// What the proposal would change; empty without one.
        changes: Vec<SpecificationChange>,
        /// The exit code of a command that ends with it.
        exit_code: u8,
    },
}

impl AgentRequestV1 {
    /// Returns the task it is about.
    pub fn task_id(&self) -> &TaskId {
        match self {
            Self::RequestStatusUpdate { task_id, .. }
            | Self::RequestRetest { task_id }
            | Self::FixSpecification { task_id, .. } => task_id,
        }
    }
}

impl AgentAnswerV1 {
    /// Returns the answer about what a task amounts to. What was asked for is accepted only where it is what was computed.
    pub fn of_completion(asked: CompletionStatus, completion: Completion) -> Self {
        let Completion { task: task_id, status: computed_status, reasons, open, run_id, exit } = completion;
        let accepted = asked == computed_status;
        let exit = match (accepted, exit) {
            (true, _) => CommandExit::Proceed,
            (false, CommandExit::Proceed) => CommandExit::CodeNeedsWork,
            (false, other) => other,
        };
        Self::Computed { task_id, accepted, computed_status, reasons, open, run_id, exit_code: exit.code() }
    }

    /// Returns the answer about what is wrong, and about what a proposal would change. A proposal that is right and weakens is not
    /// accepted: a person has to agree (C80).
    pub fn of_problems(task_id: TaskId, errors: Vec<String>, changes: Vec<SpecificationChange>) -> Self {
        let needs_person = changes.iter().any(|change| change.effect.needs_person());
        let exit = match (errors.is_empty(), needs_person) {
            (false, _) => CommandExit::SpecificationWrong,
            (true, true) => CommandExit::PersonNeeded,
            (true, false) => CommandExit::Proceed,
        };
        Self::Checked { task_id, accepted: exit == CommandExit::Proceed, errors, changes, exit_code: exit.code() }
    }

    /// Returns the exit code of a command that ends with it.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Computed { exit_code, .. } | Self::Retested { exit_code, .. } | Self::Checked { exit_code, .. } => *exit_code,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_written_as_the_protocol_writes_them() {
        let task_id = TaskId::default_task();
        let status = AgentRequestV1::RequestStatusUpdate { task_id: task_id.clone(), status: CompletionStatus::Complete };
        for (request, text) in [
            (status, r#"{"verb":"REQUEST_STATUS_UPDATE","taskId":"default","status":"COMPLETE"}"#),
            (AgentRequestV1::RequestRetest { task_id: task_id.clone() }, r#"{"verb":"REQUEST_RETEST","taskId":"default"}"#),
            (
                AgentRequestV1::FixSpecification { task_id, specification: None, path: None },
                r#"{"verb":"FIX_SPECIFICATION","taskId":"default"}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&request).unwrap(), text);
            assert_eq!(serde_json::from_str::<AgentRequestV1>(text).unwrap(), request);
        }
        let asked = |status, exit| {
            let (reasons, open) = (Vec::new(), Vec::new());
            let task = TaskId::default_task();
            let completion = Completion { task, status, reasons, open, run_id: None, exit };
            AgentAnswerV1::of_completion(CompletionStatus::Complete, completion).exit_code()
        };
        assert_eq!(asked(CompletionStatus::Complete, CommandExit::Proceed), 0);
        assert_eq!(asked(CompletionStatus::Incomplete, CommandExit::Proceed), 1, "a valid RED is not complete");
        assert_eq!(asked(CompletionStatus::Incomplete, CommandExit::NoFreshVerdict), 5);
        let unknown = r#"{"verb":"REQUEST_RETEST","taskId":"default","force":true}"#;
        assert!(serde_json::from_str::<AgentRequestV1>(unknown).is_err());
    }
}
