//! Which workflows of a project are not over, by their checkpoints alone: nothing is locked, started or written.

use crate::evidence::Store;
use crate::governance::State;
use crate::model::{ProjectId, Timestamp};
use crate::store::Checkpoints;
use crate::workflow::checkpoint::Checkpoint;
use crate::workflow::error::WorkflowError;
use crate::workflow::settings::checkpoints_file;

/// A workflow that is not over. Whether a process carries it on right now it does not say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Its name.
    pub slug: String,
    /// When it came to where it stands; none: it is not known.
    pub since: Option<Timestamp>,
    /// Where it stands; none: another version of proctor wrote that down.
    pub state: Option<State>,
}

/// Returns the workflows of a project that are not over, sorted by their names.
///
/// # Errors
/// When the checkpoints cannot be read.
pub fn list_waiting(store: &Store, project: &ProjectId) -> Result<Vec<Waiting>, WorkflowError> {
    let file = checkpoints_file(store);
    if !file.exists() {
        return Ok(Vec::new());
    }
    let checkpoints = Checkpoints::open(&file).map_err(WorkflowError::Checkpoint)?;
    let kept = checkpoints.list(project).map_err(WorkflowError::Checkpoint)?;
    let waiting = kept.into_iter().map(|one| {
        let state = Checkpoint::parse(&one.state).ok().map(|checkpoint| checkpoint.state);
        Waiting { slug: one.slug, since: one.since, state }
    });
    Ok(waiting.collect())
}
