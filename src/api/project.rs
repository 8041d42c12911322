//! Projects: listed, added, removed.

use serde::{Deserialize, Serialize};

use crate::model::{ProjectId, Serving};

/// The answer of `GET /v1/projects`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProjectsV1 {
    /// Every registered project, sorted by id.
    pub projects: Vec<ProjectV1>,
}

/// A registered project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProjectV1 {
    /// Its id.
    pub id: ProjectId,
    /// Its root, absolute.
    pub root: String,
    /// Whether the service watches it.
    pub serving: Serving,
}

/// The body of `POST /v1/projects`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AddRequestV1 {
    /// The project's root, absolute.
    pub root: String,
}

/// The answer of `POST /v1/projects`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AddedV1 {
    /// The project.
    pub project: ProjectV1,
    /// Lines for people about a project that was registered by this.
    pub notes: Vec<String>,
}
