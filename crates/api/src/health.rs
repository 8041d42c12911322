//! What keeps the service from judging a project although nothing is wrong with the project.

use serde::{Deserialize, Serialize};

use proctor_model::{HealthProblem, ServiceTrouble, Timestamp};

/// A problem that keeps the service from judging a project, for example a full disk. The service tries again by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HealthV1 {
    /// The name of the problem, for programs.
    pub problem: HealthProblem,
    /// The problem and the error message with its causes, for people.
    pub message: String,
    /// What a person can do about it.
    pub mend: String,
    /// When the problem was first noticed.
    pub since: Timestamp,
}

impl From<&ServiceTrouble> for HealthV1 {
    fn from(health: &ServiceTrouble) -> Self {
        let message = format!("{}: {}", health.problem.words(), health.cause);
        Self { problem: health.problem, message, mend: health.mend.clone(), since: health.since }
    }
}

impl HealthV1 {
    /// Returns the same lines for a command that tried it itself, without the service.
    pub fn lines_without_service(&self) -> [String; 2] {
        [format!("cannot judge: {}", self.message), format!("hint: {}; then run the command again", self.mend)]
    }

    /// Returns the lines that tell a person of the problem and of the mend.
    pub fn lines(&self) -> [String; 2] {
        [
            format!("cannot judge since {}: {}", self.since, self.message),
            format!("hint: {}; a running service tries again by itself", self.mend),
        ]
    }
}
