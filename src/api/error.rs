//! Errors as they are answered: a kind for programs, a message for people, and what to do next.

use serde::{Deserialize, Serialize};

/// The body of every answer that is not a success.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ErrorDocumentV1 {
    /// What is wrong.
    pub error: ErrorV1,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ErrorV1 {
    /// For programs.
    pub kind: ErrorKindV1,
    /// For people.
    pub message: String,
    /// What to do next.
    pub hint: String,
}

/// What can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ErrorKindV1 {
    /// The request is not one: unknown field, unknown parameter, wrong value.
    BadRequest,
    /// There is no such route or project.
    NotFound,
    /// The route is there, by another method.
    MethodNotAllowed,
    /// The body or the head of the request is longer than it may be.
    TooLarge,
    /// A person must say it, at a terminal: whether a directory is the project it resembles, how a task goes on, that a plan is
    /// approved.
    PersonNeeded,
    /// It makes no sense as things stand.
    NotNow,
    /// A retest would prove nothing: the tree is the one of the last verdict.
    Unchanged,
    /// A retest would prove nothing: the tree is the one of the last verdict, which is that everything passes.
    Passed,
    /// The task has had as many retests as it may.
    BudgetSpent,
    /// The caller's environment would make another run than the service's.
    EnvironmentDiffers,
    /// The project's configuration cannot be read.
    ConfigurationWrong,
    /// As many wait already as may.
    TooMany,
    /// The service is stopping.
    Stopping,
    /// Evidence is not what the ledger says.
    EvidenceWrong,
    /// proctor's own fault.
    OwnFault,
}

impl ErrorKindV1 {
    /// Returns the status code of the answer (RFC 9110).
    pub fn status(self) -> u16 {
        match self {
            Self::BadRequest => 400,
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::PersonNeeded | Self::EnvironmentDiffers | Self::NotNow | Self::Unchanged | Self::Passed | Self::BudgetSpent => {
                409
            }
            Self::TooLarge => 413,
            Self::ConfigurationWrong => 422,
            Self::TooMany | Self::Stopping => 503,
            Self::EvidenceWrong | Self::OwnFault => 500,
        }
    }
}

impl ErrorV1 {
    /// Makes an error.
    pub fn new(kind: ErrorKindV1, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: hint.into() }
    }
}
