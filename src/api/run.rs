//! A run that is asked for, and what came of it.

use serde::{Deserialize, Serialize};

use crate::model::{Digest, ProjectId, RunId, TaskId};

/// The body of `POST /v1/projects/{id}/runs`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunRequestV1 {
    /// The task; left out: `default`, which is the project's own checks.
    #[serde(default)]
    pub task: Option<TaskId>,
    /// The checks to run, by name; empty: all.
    #[serde(default)]
    pub checks: Vec<String>,
    /// What the caller would hand to the checks if it ran them itself; left out: the service's environment is right.
    #[serde(default)]
    pub environment: Option<Vec<VariableV1>>,
}

/// A variable that checks get, without its value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VariableV1 {
    /// Its name.
    pub name: String,
    /// SHA-256 of its value; none where it is not set and the project's settings pass it on.
    pub digest: Option<Digest>,
}

/// The answer of `POST /v1/projects/{id}/runs`, when the run is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunAnswerV1 {
    /// The project.
    pub project: ProjectId,
    /// The task.
    pub task: TaskId,
    /// What came of it.
    pub outcome: RunOutcomeV1,
    /// Its id, where it was sealed.
    pub run_id: Option<RunId>,
    /// The exit code of a command that ends with it.
    pub exit_code: u8,
    /// What there is to say where no report says it.
    pub problems: Vec<String>,
}

/// What came of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RunOutcomeV1 {
    /// It has a verdict for the tree that is on disk.
    Judged,
    /// The tree moved while it ran (S6).
    Moved,
    /// It was stopped by a person, or because the service stops.
    Interrupted,
    /// A newer save stopped it.
    Superseded,
    /// Nothing was run: the tree is the one of the last verdict.
    Unchanged,
    /// Nothing was run: what changed triggers no check.
    Untriggered,
    /// Nothing was run: the task waits for a person (R9).
    NeedsHuman,
    /// Nothing was run: tasks it depends on are not complete on this tree; `problems` says which.
    Waits,
    /// Nothing was run: the task's plan asks for less than was approved; `problems` says what (S7).
    NotApproved,
    /// Nothing was run: the configuration is wrong.
    ConfigurationWrong,
    /// It could not be carried out.
    Failed,
}

impl RunOutcomeV1 {
    /// Returns its word, as it is sent.
    pub fn word(self) -> &'static str {
        match self {
            Self::Judged => "judged",
            Self::Moved => "moved",
            Self::Interrupted => "interrupted",
            Self::Superseded => "superseded",
            Self::Unchanged => "unchanged",
            Self::Untriggered => "untriggered",
            Self::NeedsHuman => "needsHuman",
            Self::Waits => "waits",
            Self::NotApproved => "notApproved",
            Self::ConfigurationWrong => "configurationWrong",
            Self::Failed => "failed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RunOutcomeV1;

    #[test]
    fn words_are_those_that_are_sent() {
        for outcome in [
            RunOutcomeV1::Judged,
            RunOutcomeV1::Moved,
            RunOutcomeV1::Interrupted,
            RunOutcomeV1::Superseded,
            RunOutcomeV1::Unchanged,
            RunOutcomeV1::Untriggered,
            RunOutcomeV1::NeedsHuman,
            RunOutcomeV1::Waits,
            RunOutcomeV1::NotApproved,
            RunOutcomeV1::ConfigurationWrong,
            RunOutcomeV1::Failed,
        ] {
            assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.word());
        }
    }
}
