//! The requests of agents and the answers to them (agent protocol of seed document 004). An agent's claim about its
//! task is logged, and the answer is computed without the claim.

use serde::{Deserialize, Serialize};

use crate::run::RunAnswerV1;
use proctor_model::{CommandExit, CompletionStatus, PersonAsked, RuleDifference, RunId, TaskCompletion, TaskId};

/// The body of `POST /v1/projects/{id}/requests`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE", rename_all_fields = "camelCase", tag = "verb", deny_unknown_fields)]
pub enum AgentRequestV1 {
    /// Asks for the task's completion status.
    RequestStatusUpdate {
        task_id: TaskId,
        /// The status that the agent claims. It is logged and compared with the computed status.
        status: CompletionStatus,
    },
    RequestRetest {
        task_id: TaskId,
    },
    /// Asks for the errors in the configuration or in the task's specification, and for what nobody approved of them. With a
    /// proposed specification, the answer is about the proposal instead.
    FixSpecification {
        task_id: TaskId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        specification: Option<String>,
        /// The path of a file with the proposed specification, relative to the project. It is given instead of the
        /// proposal's text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
    },
}

/// The answer of `POST /v1/projects/{id}/requests`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE", rename_all_fields = "camelCase", tag = "verb", deny_unknown_fields)]
pub enum AgentAnswerV1 {
    /// The completion status of the task.
    #[serde(rename = "REQUEST_STATUS_UPDATE")]
    Computed {
        task_id: TaskId,
        /// Whether the claimed status equals the computed status.
        accepted: bool,
        /// The status according to the sealed report of the run whose verdict is for the present tree. INCOMPLETE if
        /// there is no such run.
        computed_status: CompletionStatus,
        reasons: Vec<String>,
        /// What is unfinished according to the sealed report: actions that did not succeed, and debt items.
        open: Vec<String>,
        /// The run of the sealed report; `None` if no verdict is for the present tree.
        run_id: Option<RunId>,
        /// Whether a check that counts found a tool's cache of an earlier run in its snapshot. `proctor request` runs the checks once more
        /// without caches before it shows COMPLETE.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        rests_on_kept_caches: bool,
        /// The exit code for a command that shows this answer.
        exit_code: u8,
    },
    /// The checks were run. A refused retest is answered with an error instead.
    #[serde(rename = "REQUEST_RETEST")]
    Retested {
        task_id: TaskId,
        /// How many retests were granted since the task last passed or a person decided on its cycle, this retest
        /// included.
        number: u32,
        /// The most retests allowed until the task passes or a person decides on its cycle.
        budget: u32,
        run: RunAnswerV1,
        /// The exit code for a command that shows this answer.
        exit_code: u8,
    },
    /// What is still wrong with the configuration or the specification.
    #[serde(rename = "FIX_SPECIFICATION")]
    Checked {
        task_id: TaskId,
        /// Whether there are no errors and a run would start without a person.
        accepted: bool,
        /// Every error with its line. The errors are the proposal's if there is a proposal, otherwise those of the
        /// project's files.
        errors: Vec<String>,
        /// Which rules are not the approved ones, such as `STEP.1: timeout: 6m instead of 1m`; empty if nothing of the task was approved
        /// before. A run by them proves nothing until a person approves them.
        changes: Vec<String>,
        /// What a person is asked before anything runs. The key is absent if nothing has to be approved first.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        person: Option<PersonAsked>,
        /// The exit code for a command that shows this answer.
        exit_code: u8,
    },
}

impl AgentRequestV1 {
    pub fn task_id(&self) -> &TaskId {
        match self {
            Self::RequestStatusUpdate { task_id, .. }
            | Self::RequestRetest { task_id }
            | Self::FixSpecification { task_id, .. } => task_id,
        }
    }
}

impl AgentAnswerV1 {
    /// Returns the answer about a task's completion. The claim is accepted only if it equals the computed status.
    pub fn from_completion(asked: CompletionStatus, completion: TaskCompletion) -> Self {
        let TaskCompletion { task: task_id, status: computed_status, reasons, open, run_id, rests_on_kept_caches, exit } =
            completion;
        let accepted = asked == computed_status;
        let exit = match (accepted, exit) {
            (true, _) => CommandExit::Proceed,
            (false, CommandExit::Proceed) => CommandExit::CodeNeedsWork,
            (false, other) => other,
        };
        let exit_code = exit.code();
        Self::Computed { task_id, accepted, computed_status, reasons, open, run_id, rests_on_kept_caches, exit_code }
    }

    /// Returns whether this answer says COMPLETE by results for which a check found a tool's cache of an earlier run.
    pub fn rests_on_kept_caches(&self) -> bool {
        matches!(self, Self::Computed { computed_status: CompletionStatus::Complete, rests_on_kept_caches: true, .. })
    }

    /// Returns the answer to show where a COMPLETE could not be proved without caches of earlier runs: INCOMPLETE, with the reason.
    pub fn or_unproved(mut self, why: &str) -> Self {
        if self.rests_on_kept_caches()
            && let Self::Computed { accepted, computed_status, reasons, exit_code, .. } = &mut self
        {
            (*accepted, *computed_status) = (false, CompletionStatus::Incomplete);
            *exit_code = CommandExit::NoFreshVerdict.code();
            reasons.insert(0, why.to_owned());
        }
        self
    }

    /// Returns the answer about a plan: its errors, and where its rules differ from the approved ones. It is accepted if a run of the
    /// plan would start, so the answer and the run never contradict each other (C80).
    pub fn from_review(task_id: TaskId, reviewed: Result<RuleDifference, Vec<String>>) -> Self {
        let (exit, errors, difference) = match reviewed {
            Err(errors) => (CommandExit::SpecificationWrong, errors, RuleDifference::default()),
            Ok(difference) if difference.opens.is_empty() => (CommandExit::Proceed, Vec::new(), difference),
            Ok(difference) => (CommandExit::PersonNeeded, Vec::new(), difference),
        };
        let person = PersonAsked::of_difference(&task_id, &difference);
        let (accepted, exit_code) = (exit == CommandExit::Proceed, exit.code());
        Self::Checked { task_id, accepted, errors, changes: difference.texts(), person, exit_code }
    }

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
            let completion = TaskCompletion { task, status, reasons, open, run_id: None, rests_on_kept_caches: false, exit };
            AgentAnswerV1::from_completion(CompletionStatus::Complete, completion).exit_code()
        };
        assert_eq!(asked(CompletionStatus::Complete, CommandExit::Proceed), 0);
        assert_eq!(asked(CompletionStatus::Incomplete, CommandExit::Proceed), 1, "a valid RED is not complete");
        assert_eq!(asked(CompletionStatus::Incomplete, CommandExit::NoFreshVerdict), 5);
        let complete = |rests_on_kept_caches| {
            let (task, status, exit) = (TaskId::default_task(), CompletionStatus::Complete, CommandExit::Proceed);
            let (reasons, open) = (Vec::new(), Vec::new());
            let completion = TaskCompletion { task, status, reasons, open, run_id: None, rests_on_kept_caches, exit };
            AgentAnswerV1::from_completion(CompletionStatus::Complete, completion)
        };
        assert_eq!(complete(false).or_unproved("why"), complete(false));
        let AgentAnswerV1::Computed { accepted, computed_status, reasons, exit_code, .. } = complete(true).or_unproved("why")
        else {
            panic!("the kind of an answer stays");
        };
        assert_eq!((accepted, computed_status, exit_code), (false, CompletionStatus::Incomplete, 5));
        assert_eq!(reasons, ["why"]);
        let unknown = r#"{"verb":"REQUEST_RETEST","taskId":"default","force":true}"#;
        assert!(serde_json::from_str::<AgentRequestV1>(unknown).is_err());
    }
}
