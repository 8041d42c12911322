//! Lists the workflows of a project that are not over. Only their checkpoints are read: nothing is locked, started or
//! written.

use crate::governance::WorkflowState;
use crate::workflow::checkpoint::WorkflowCheckpoint;
use crate::workflow::error::WorkflowError;
use crate::workflow::settings::checkpoints_file;
use proctor_evidence::Store;
use proctor_index::Checkpoints;
use proctor_model::{ProjectId, Timestamp};

/// A workflow that is not over. A process may or may not be working on it at the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingWorkflow {
    pub slug: String,
    /// When the workflow came to its present node (step); `None` if the checkpoint does not say.
    pub since: Option<Timestamp>,
    /// The content of the checkpoint; `None` if another version of proctor has written it and this version cannot read
    /// it.
    pub state: Option<WorkflowState>,
}

/// Returns the workflows of a project that are not over, sorted by slug.
///
/// # Errors
/// When the checkpoints cannot be read.
pub fn list_waiting_workflows(store: &Store, project: &ProjectId) -> Result<Vec<WaitingWorkflow>, WorkflowError> {
    let file = checkpoints_file(store);
    if !file.exists() {
        return Ok(Vec::new());
    }
    let checkpoints = Checkpoints::open(&file).map_err(WorkflowError::Checkpoint)?;
    let kept = checkpoints.list(project).map_err(WorkflowError::Checkpoint)?;
    let waiting = kept.into_iter().map(|one| {
        let state = WorkflowCheckpoint::parse(&one.text).ok().map(|checkpoint| checkpoint.state);
        WaitingWorkflow { slug: one.slug, since: one.since, state }
    });
    Ok(waiting.collect())
}
