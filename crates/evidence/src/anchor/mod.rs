//! Anchors: checkpoints (signed heads) of the ledger that are kept outside the store, to be compared with the ledger
//! later.
//!
//! # What it owns
//!
//! * `file`: an anchor in a file.
//! * `git`: attestations in notes of the project's repository.
//!
//! An anchor is replaced only by a checkpoint of a ledger that extends the anchored one: the checkpoint of a rewritten
//! ledger is refused.
//!
//! # What it may not do
//!
//! Run git, or decide whether an anchor agrees with the ledger: `verification` does that.

mod file;
mod git;

use std::path::PathBuf;

pub use file::{AnchorFileError, read_anchor, write_anchor};
pub use git::*;

use crate::{LedgerLog, LogCheckpoint, LogCheckpointError, SignedCheckpoint};

/// The checkpoint (the signed head of a ledger) that was found at an anchor's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    /// The place, as it is shown to people: a path, or a git reference with a commit.
    pub place: PathBuf,
    /// The checkpoint, or why the content is not a checkpoint.
    pub found: Result<SignedCheckpoint, LogCheckpointError>,
}

/// Why a new checkpoint (a signed head of the ledger) may not replace what an anchor contains.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnchorRefusal {
    #[error("what is there is no checkpoint of proctor's")]
    NotOurs(#[source] LogCheckpointError),
    /// The anchor contains the checkpoint of this other project.
    #[error("it has the checkpoint of project {0}")]
    OtherProject(String),
    /// The anchor covers this many lines, and the ledger does not begin with these lines.
    #[error("the ledger does not begin with the {0} lines that were anchored there: it was cut or written anew")]
    Rewritten(u64),
}

impl Anchor {
    /// Decides whether a checkpoint of this ledger may replace the anchor. Returns the anchor's checkpoint.
    pub fn replaceable_by(&self, log: &LedgerLog) -> Result<&LogCheckpoint, AnchorRefusal> {
        let checkpoint = self.found.as_ref().map_err(|error| AnchorRefusal::NotOurs(error.clone()))?.checkpoint();
        if checkpoint.project != *log.project() {
            return Err(AnchorRefusal::OtherProject(checkpoint.project.to_string()));
        }
        if log.extends(checkpoint) { Ok(checkpoint) } else { Err(AnchorRefusal::Rewritten(checkpoint.size)) }
    }
}

impl AnchorRefusal {
    /// Returns the hint that is shown below the message: what to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NotOurs(_) | Self::OtherProject(_) => "name another place, or look at what is there and move it elsewhere",
            Self::Rewritten(_) => "`proctor verify --anchor FILE` names the fault; the ledger of a backup shows what was there",
        }
    }
}
