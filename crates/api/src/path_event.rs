//! The last file event that the service received for a path. It shows why a save did or did not start a run.

use serde::{Deserialize, Serialize};

/// The answer of `GET /v1/projects/{id}/heard`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PathHistoryV1 {
    /// The path. Bytes that are not UTF-8 are replaced.
    pub path: String,
    /// The last event for the path. `None` if the path had no event since the service began to watch, or if the service
    /// has forgotten the event because too many other paths had events later.
    pub last: Option<PathEventV1>,
}

/// A file event, and whether the path belonged to the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PathEventV1 {
    /// What happened, in words for people.
    pub event: String,
    /// Whether the path belonged to the tree when the event came. The event of a path outside of the tree has no
    /// effect.
    pub belonged: bool,
    /// The ignore pattern that decided `belonged`, and the place where the pattern is written; `None` if no pattern
    /// matches the path.
    pub rule: Option<String>,
}
