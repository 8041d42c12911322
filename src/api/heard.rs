//! What the service heard of a path last.

use serde::{Deserialize, Serialize};

/// The answer of `GET /v1/projects/{id}/heard`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HeardV1 {
    /// The path, lossily decoded.
    pub path: String,
    /// The last event of it; none where nothing was heard of it since the service began to watch, or too many other paths came since.
    pub last: Option<HeardEventV1>,
}

/// An event and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HeardEventV1 {
    /// What was heard, in words for people.
    pub event: String,
    /// Whether the path belonged to the tree then. If it did, the tree was looked at because of it, else nothing came of it.
    pub belonged: bool,
    /// The pattern that decided, and where it is written; none where no rule spoke of the path.
    pub rule: Option<String>,
}
