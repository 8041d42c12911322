//! The error answers of the control socket: a kind for programs, a message for people, and a hint what to do next.

use proctor_wire::wire;

/// The body of every answer that is an error.
#[wire]
pub struct ErrorDocumentV1 {
    pub error: ErrorV1,
}

/// An error: its kind for programs, its text for people.
#[wire]
pub struct ErrorV1 {
    pub kind: ErrorKindV1,
    pub message: String,
    pub hint: String,
}

/// The kind of an error. It decides the HTTP status code of the answer.
#[wire(Copy, Hash)]
pub enum ErrorKindV1 {
    /// The request has an unknown field, an unknown parameter or a wrong value.
    BadRequest,
    NotFound,
    /// A request of a browser has no valid token.
    TokenWrong,
    /// The process that asks belongs to an action, such as a check, or it is not known where it comes from.
    Refused,
    /// The route exists, but for another method.
    MethodNotAllowed,
    /// The head or the body of the request exceeds its limit.
    TooLarge,
    /// A file of a run has no byte in the range that the request asks for.
    NoSuchRange,
    /// The request did not come within a few seconds.
    TooSlow,
    /// Only a person at a terminal may decide this: whether a directory is the registered project, where a task goes, whether a plan is
    /// approved.
    PersonNeeded,
    /// The present state of the project or task does not allow the request.
    NotNow,
    /// A retest is refused because neither the tree nor the plan has changed since the last run, which did not pass.
    Unchanged,
    /// A retest is refused because neither the tree nor the plan has changed since the last run, and that run passed.
    Passed,
    /// A retest is refused because the task has used up its budget of retests.
    BudgetSpent,
    /// The caller's environment variables differ from the service's, so the run would have another result.
    EnvironmentDiffers,
    ConfigurationWrong,
    /// The service or the project is busy, for example because too many requests are waiting. The caller may ask again
    /// later.
    TooMany,
    Stopping,
    /// Stored evidence does not match the ledger.
    EvidenceWrong,
    /// An internal error of proctor.
    OwnFault,
}

impl ErrorKindV1 {
    pub fn status(self) -> u16 {
        match self {
            Self::BadRequest => 400,
            Self::TokenWrong => 401,
            Self::Refused => 403,
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::TooSlow => 408,
            Self::PersonNeeded | Self::EnvironmentDiffers | Self::NotNow | Self::Unchanged | Self::Passed | Self::BudgetSpent => {
                409
            }
            Self::TooLarge => 413,
            Self::NoSuchRange => 416,
            Self::ConfigurationWrong => 422,
            Self::TooMany | Self::Stopping => 503,
            Self::EvidenceWrong | Self::OwnFault => 500,
        }
    }
}

impl ErrorV1 {
    pub fn new(kind: ErrorKindV1, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: hint.into() }
    }
}
