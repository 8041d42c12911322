//! Projects: listed, added, removed.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::api::status::VerdictV1;
use crate::model::{ProjectId, ProjectStanding, Serving};

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
    /// How it stands as far as that is known without a look at its tree; only in a list.
    #[serde(default)]
    pub standing: Option<ListedV1>,
}

/// How a project stands as far as that is known without a look at its tree. Whether its verdict is for the tree as it is now is
/// `GET /v1/status`'s to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListedV1 {
    /// How changes come to be known.
    pub watching: WatchingV1,
    /// What goes on.
    pub doing: DoingV1,
    /// The last verdict of the configuration's task, by the ledger.
    pub verdict: Option<VerdictV1>,
    /// What is wrong.
    pub problems: Vec<String>,
}

/// How changes come to be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WatchingV1 {
    /// The kernel tells of them.
    Events,
    /// At least part of the tree is looked at every so often; `problems` says why.
    Polling,
    /// Nobody watches.
    NotWatched,
}

/// What goes on in a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DoingV1 {
    /// Nothing.
    Idle,
    /// A run.
    Running,
    /// A run waits for its turn.
    Queued,
    /// It is being opened, or is about to be left alone.
    Changing,
    /// It could not be opened, and is tried again; `problems` says why.
    Closed,
    /// Nobody who was asked knows.
    Unknown,
}

impl ProjectV1 {
    /// Returns a project of which nothing else is said.
    pub fn new(id: ProjectId, root: &Path, serving: Serving) -> Self {
        Self { id, root: root.display().to_string(), serving, standing: None }
    }
}

impl ListedV1 {
    /// Returns what is known of a project.
    pub fn new(standing: &ProjectStanding, watching: WatchingV1, doing: DoingV1) -> Self {
        let verdict = standing.tasks.first().and_then(|task| task.verdict.as_ref()).map(VerdictV1::from);
        Self { watching, doing, verdict, problems: standing.problems.clone() }
    }
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
