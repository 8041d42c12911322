//! What `GET /v1/events` tells, one server-sent event each.

use serde::{Deserialize, Serialize};

use crate::api::run::RunOutcomeV1;
use crate::model::{ActionId, ProjectId, ResultType, RunId, TaskId, TriggerKind};

/// An event; its kind is also the `event:` line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "kind", deny_unknown_fields)]
pub enum EventV1 {
    /// A run was started.
    RunStarted {
        /// The project.
        project: ProjectId,
        /// The task.
        task: TaskId,
        /// Why.
        trigger: TriggerKind,
    },
    /// An action of a run was started: a prerequisite, a check, the clean-up.
    ActionStarted {
        /// The project.
        project: ProjectId,
        /// Which, as in the report.
        action_id: ActionId,
        /// Its name.
        name: String,
    },
    /// An action is over, or was not needed.
    ActionEnded {
        /// The project.
        project: ProjectId,
        /// Which, as in the report.
        action_id: ActionId,
        /// Its name.
        name: String,
        /// What came of it; none for one that was left out.
        status: Option<ResultType>,
    },
    /// A run is over.
    RunFinished {
        /// The project.
        project: ProjectId,
        /// The task.
        task: TaskId,
        /// Its id, where it was sealed.
        run_id: Option<RunId>,
        /// What came of it.
        outcome: RunOutcomeV1,
        /// The exit code of a command that ends with it.
        exit_code: u8,
    },
    /// A save was seen: the last verdict is doubtful from here on.
    Changed {
        /// The project.
        project: ProjectId,
    },
    /// The service watches a project from here on.
    Added {
        /// The project.
        project: ProjectId,
    },
    /// The service leaves a project alone from here on.
    Removed {
        /// The project.
        project: ProjectId,
    },
    /// Nothing follows.
    End {
        /// Why.
        reason: EndReasonV1,
    },
}

/// Why there are no further events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EndReasonV1 {
    /// The reader was too slow: events would have been left out.
    SlowReader,
    /// The service stops.
    Stopping,
}

impl EventV1 {
    /// Returns the name of the event on the wire.
    pub fn name(&self) -> &'static str {
        match self {
            Self::RunStarted { .. } => "runStarted",
            Self::ActionStarted { .. } => "actionStarted",
            Self::ActionEnded { .. } => "actionEnded",
            Self::RunFinished { .. } => "runFinished",
            Self::Changed { .. } => "changed",
            Self::Added { .. } => "added",
            Self::Removed { .. } => "removed",
            Self::End { .. } => "end",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let events = [
            EventV1::RunStarted { project: project.clone(), task: TaskId::default_task(), trigger: TriggerKind::Save },
            EventV1::ActionStarted { project: project.clone(), action_id: action_id.clone(), name: "tsc".to_owned() },
            EventV1::ActionEnded {
                project: project.clone(),
                action_id,
                name: "tsc".to_owned(),
                status: Some(ResultType::ValidationFailure),
            },
            finished,
            EventV1::Changed { project: project.clone() },
            EventV1::Added { project: project.clone() },
            EventV1::Removed { project },
            EventV1::End { reason: EndReasonV1::SlowReader },
        ];
        for event in events {
            let json = serde_json::to_value(&event).unwrap();
            assert_eq!(json["kind"], event.name());
            assert_eq!(serde_json::from_value::<EventV1>(json).unwrap(), event);
        }
    }
}
