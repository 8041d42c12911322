//! The events that `GET /v1/events` sends, each as one server-sent event.

use proctor_wire::wire;
use serde::{Deserialize, Serialize};

use crate::run::RunOutcomeV1;
use proctor_model::{
    ActionId, EndedTest, ProjectId, ResultType, RunId, ServiceTrouble, TaskId, TestProgress, TriggerKind, words,
};

/// An event of the service. Its `kind` is also the name in the `event:` line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "kind", deny_unknown_fields)]
pub enum EventV1 {
    RunStarted {
        project: ProjectId,
        run_id: RunId,
        task: TaskId,
        trigger: TriggerKind,
    },
    /// An action of a run was started: a prerequisite, a check or a clean-up.
    ActionStarted {
        project: ProjectId,
        run_id: RunId,
        /// The action's id, the same as in the report.
        action_id: ActionId,
        name: String,
    },
    /// How far a running action is, as far as its output says it; told at most twice a second, and only if it is news.
    ActionProgress {
        project: ProjectId,
        run_id: RunId,
        /// The action's id, the same as in the report.
        action_id: ActionId,
        name: String,
        progress: TestProgress,
        /// The tests that have ended since the last of these events: the newest 200 of them, as far as the output names them.
        ended: Vec<EndedTest>,
    },
    /// An action has ended or was skipped.
    ActionEnded {
        project: ProjectId,
        run_id: RunId,
        /// The action's id, the same as in the report.
        action_id: ActionId,
        name: String,
        /// The result; `None` for an action that was skipped.
        status: Option<ResultType>,
    },
    RunFinished {
        project: ProjectId,
        task: TaskId,
        /// The run's id; `None` if the run was not sealed.
        run_id: Option<RunId>,
        outcome: RunOutcomeV1,
        /// The exit code for a command that waited for this run.
        exit_code: u8,
    },
    /// A file was saved, so the last verdict may be out of date.
    Changed {
        project: ProjectId,
    },
    /// Something keeps the service from judging a project, or does so no longer.
    Health {
        project: ProjectId,
        /// The problem; `None` if the service judges the project again.
        health: Option<ServiceTrouble>,
    },
    /// The service began to watch a project.
    Added {
        project: ProjectId,
    },
    /// The service stopped watching a project.
    Removed {
        project: ProjectId,
    },
    /// The first event for a client that named an event which is too old, or none of this service: events were missed.
    Missed,
    /// The last event of the stream; it says why the stream ends.
    End {
        reason: EndReasonV1,
    },
}

/// Why a stream of events ends.
#[wire(Copy, Hash)]
pub enum EndReasonV1 {
    /// The reader was too slow, and its queue of events is full.
    SlowReader,
    Stopping,
}

words! {
    /// Returns the name that stands in the `event:` line of the event stream.
    pub fn EventV1::name(&self): RunStarted "runStarted", ActionStarted "actionStarted",
        ActionProgress "actionProgress", ActionEnded "actionEnded", RunFinished "runFinished", Changed "changed",
        Health "health", Added "added", Removed "removed", Missed "missed", End "end"
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::Timestamp;

    #[test]
    fn the_name_of_an_event_is_its_kind() {
        let project = ProjectId::mint("shop", 1);
        let action_id = ActionId::numbered("STEP", 2);
        let finished = EventV1::RunFinished {
            project: project.clone(),
            task: TaskId::default_task(),
            run_id: None,
            outcome: RunOutcomeV1::Judged,
            exit_code: 0,
        };
        let (run_id, name) = (RunId::new(Timestamp::from_millis(0), 1), "tsc".to_owned());
        let events = [
            EventV1::RunStarted {
                project: project.clone(),
                run_id: run_id.clone(),
                task: TaskId::default_task(),
                trigger: TriggerKind::Save,
            },
            EventV1::ActionStarted {
                project: project.clone(),
                run_id: run_id.clone(),
                action_id: action_id.clone(),
                name: name.clone(),
            },
            EventV1::ActionProgress {
                project: project.clone(),
                run_id: run_id.clone(),
                action_id: action_id.clone(),
                name,
                progress: TestProgress::default(),
                ended: Vec::new(),
            },
            EventV1::ActionEnded {
                project: project.clone(),
                run_id,
                action_id,
                name: "tsc".to_owned(),
                status: Some(ResultType::ValidationFailure),
            },
            finished,
            EventV1::Changed { project: project.clone() },
            EventV1::Health { project: project.clone(), health: None },
            EventV1::Added { project: project.clone() },
            EventV1::Removed { project },
            EventV1::Missed,
            EventV1::End { reason: EndReasonV1::SlowReader },
        ];
        for event in events {
            let json = serde_json::to_value(&event).unwrap();
            assert_eq!(json["kind"], event.name());
            assert_eq!(serde_json::from_value::<EventV1>(json).unwrap(), event);
        }
    }
}
