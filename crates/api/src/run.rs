//! The request for a run, and its answer.

use proctor_wire::wire;

use proctor_model::{Digest, ProjectId, RunId, TaskId, words};

/// The body of `POST /v1/projects/{id}/runs`.
#[wire(Default)]
pub struct RunRequestV1 {
    /// The task. `None` means `default`, which is the project's own checks.
    #[serde(default)]
    pub task: Option<TaskId>,
    /// The names of the checks to run; empty means all checks.
    #[serde(default)]
    pub checks: Vec<String>,
    /// The variables that the caller's environment would give to the checks. The request is refused if the service's
    /// environment would give the checks other variables or values. `None` means that nothing is compared.
    #[serde(default)]
    pub environment: Option<Vec<VariableV1>>,
}

/// A variable that checks get. Its value is not sent, because it may be a secret.
#[wire(PartialOrd, Ord)]
pub struct VariableV1 {
    pub name: String,
    /// SHA-256 of the value. `None` if the project's settings pass the variable on but it is not set.
    pub digest: Option<Digest>,
}

/// The answer of `POST /v1/projects/{id}/runs`, when the run is over.
#[wire]
pub struct RunAnswerV1 {
    pub project: ProjectId,
    pub task: TaskId,
    pub outcome: RunOutcomeV1,
    /// The run's id; `None` if the run was not sealed.
    pub run_id: Option<RunId>,
    /// The exit code for a command that waited for this run.
    pub exit_code: u8,
    /// Problems that are in no report, for example why nothing was run.
    pub problems: Vec<String>,
}

/// How a run ended, or why there was none.
#[wire(Copy, Hash)]
pub enum RunOutcomeV1 {
    /// The run has a verdict for the tree that is on disk.
    Judged,
    /// The tree changed during the run (S6).
    Moved,
    /// A person stopped the run, or the service is stopping.
    Interrupted,
    /// A newer save stopped the run.
    Superseded,
    /// Nothing was run: the tree has not changed since the last verdict.
    Unchanged,
    /// Nothing was run: no check is triggered by the files that changed.
    Untriggered,
    /// Nothing was run: the task waits for a person's decision (R9).
    NeedsHuman,
    /// Nothing was run: the task depends on tasks that are not complete on this tree. `problems` names those tasks.
    Waits,
    /// Nothing was run: the task's plan is weaker than the approved plan. `problems` says where (S7).
    NotApproved,
    /// Nothing was run: the configuration is wrong.
    ConfigurationWrong,
    /// An error kept the run from being made, for example an unreadable file; `problems` says which error. Also a run during which
    /// helper processes of proctor died, and again during its repetition; such a run is sealed without a verdict and has an id.
    Failed,
}

words! {
    /// Returns the word that stands for this outcome in JSON.
    pub fn RunOutcomeV1::word: Judged "judged", Moved "moved", Interrupted "interrupted", Superseded "superseded",
        Unchanged "unchanged", Untriggered "untriggered", NeedsHuman "needsHuman", Waits "waits",
        NotApproved "notApproved", ConfigurationWrong "configurationWrong", Failed "failed"
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
