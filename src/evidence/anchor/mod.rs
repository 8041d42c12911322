//! Checkpoints that are kept outside the store: written there, and read back to be compared with the ledger.
//!
//! # What it owns
//!
//! `file` an anchor that is a file · `git` one that is a note in the project's repository. Wherever one lies, it is replaced only by one that goes on from it: a ledger that was written anew is
//! refused here, before it is anchored.
//!
//! # What it may not do
//!
//! Run git, or say that an anchor holds: `verification` does that.

mod file;
mod git;

use std::path::PathBuf;

pub use file::{AnchorFileError, read_anchor, write_anchor};
pub use git::{GitAnchorError, GitAnchored, notes_reference, read_git_anchors, write_git_anchor};

use crate::evidence::{Checkpoint, CheckpointError, LedgerLog, SignedCheckpoint};

/// What was found where a checkpoint is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    /// Where, as it is shown.
    pub place: PathBuf,
    /// The checkpoint, or why it is none.
    pub found: Result<SignedCheckpoint, CheckpointError>,
}

/// Says why a checkpoint is not put in the place of another.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// What is there is no checkpoint of ours.
    #[error("what is there is no checkpoint of proctor's")]
    NotOurs(#[source] CheckpointError),
    /// It is another project's.
    #[error("it has the checkpoint of project {0}")]
    OtherProject(String),
    /// The ledger does not begin with what was anchored.
    #[error("the ledger does not begin with the {0} lines that were anchored there: it was cut or written anew")]
    Rewritten(u64),
}

impl Anchor {
    /// Decides whether a log's head may be put in its place; returns what it says.
    pub fn replaceable_by(&self, log: &LedgerLog) -> Result<&Checkpoint, Refusal> {
        let checkpoint = self.found.as_ref().map_err(|error| Refusal::NotOurs(error.clone()))?.checkpoint();
        if checkpoint.project != *log.project() {
            return Err(Refusal::OtherProject(checkpoint.project.to_string()));
        }
        if log.goes_on_from(checkpoint) { Ok(checkpoint) } else { Err(Refusal::Rewritten(checkpoint.size)) }
    }
}

impl Refusal {
    /// Returns the sentence that says what to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NotOurs(_) | Self::OtherProject(_) => "name another place, or look at what is there and move it elsewhere",
            Self::Rewritten(_) => "`proctor verify --anchor FILE` names the fault; the ledger of a backup shows what was there",
        }
    }
}
