//! The last file event that the service received for a path. It answers the question why a save did or did not start a run.

use serde::{Deserialize, Serialize};

/// The answer of `GET /v1/projects/{id}/heard`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PathHistoryV1 {
    /// The path. Bytes that are not UTF-8 are replaced.
    pub path: String,
    /// The last event for the path. `None` if there was no event since the service began to watch, or too many other paths had events
    /// since.
    pub last: Option<PathEventV1>,
}

/// A file event and its consequence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PathEventV1 {
    /// What happened, in words for people.
    pub event: String,
    /// Whether the path belonged to the tree at that time. Only then was the tree examined because of the event.
    pub belonged: bool,
    /// The pattern that decided, and where it is written; `None` if no pattern matches the path.
    pub rule: Option<String>,
}
