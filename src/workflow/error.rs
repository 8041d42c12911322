//! proctor's own troubles with a workflow. What models, tools and people do is never one of them.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use crate::evidence::{EvidenceError, TrailError};
use crate::governance::NameError;
use crate::model::CommandExit;
use crate::store::CheckpointError;

/// Says what could not be done. Where the workflow stood is written down.
#[derive(Debug, thiserror::Error)]
pub enum WorkflowError {
    /// A checkpoint could not be read or written.
    #[error("failed to keep where the workflow stands")]
    Checkpoint(#[source] CheckpointError),
    /// A checkpoint is none of this version's.
    #[error("the checkpoint of `{slug}` cannot be understood")]
    CheckpointText {
        /// The workflow.
        slug: String,
        /// Why.
        source: serde_json::Error,
    },
    /// There is no checkpoint.
    #[error("there is no workflow `{slug}` to go on with")]
    NoCheckpoint {
        /// The workflow.
        slug: String,
        /// Those that there are.
        known: Vec<String>,
        /// The trail of one that was filed under this name, relative to the project; none: none was.
        done: Option<PathBuf>,
    },
    /// Another process carries it on.
    #[error("the workflow `{slug}` is being carried on by another process")]
    Busy {
        /// The workflow.
        slug: String,
    },
    /// A stop was asked for while a run of the project had the ledger.
    #[error("interrupted while a run of this project was waited for")]
    StoppedWaiting,
    /// The trail could not be kept.
    #[error("failed to keep the trail")]
    Trail(#[source] TrailError),
    /// The lock could not be had.
    #[error("failed to lock the workflow")]
    Lock(#[source] EvidenceError),
    /// A model's copy of the project could not be made or removed.
    #[error("failed to replace the models' copy of the project `{}`", path.display())]
    Copy {
        /// Where it lies.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The brief's name gives none to the workflow.
    #[error("the brief's name gives none to the workflow")]
    Name(#[source] NameError),
    /// Who starts programs and writes the ledger could not.
    #[error("failed to {what}")]
    Hands {
        /// What was to be done.
        what: &'static str,
        /// Why not.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl WorkflowError {
    /// Returns how a command ends with it.
    pub fn exit(&self) -> CommandExit {
        match self {
            Self::NoCheckpoint { .. } | Self::Busy { .. } | Self::Name(_) => CommandExit::CodeNeedsWork,
            Self::StoppedWaiting => CommandExit::Interrupted,
            Self::Checkpoint(_)
            | Self::CheckpointText { .. }
            | Self::Trail(_)
            | Self::Lock(_)
            | Self::Copy { .. }
            | Self::Hands { .. } => CommandExit::OwnFault,
        }
    }

    /// Returns the sentence that says what to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::Checkpoint(error) => error.hint().to_owned(),
            Self::CheckpointText { .. } => {
                "go on with the proctor that wrote it, or begin anew with `--brief` under another name".to_owned()
            }
            Self::NoCheckpoint { done: Some(done), .. } => {
                format!("it is over, its issue is filed: see `{}`; `proctor govern --list` shows what waits", done.display())
            }
            Self::NoCheckpoint { known, .. } if known.is_empty() => {
                "begin one with `--brief FILE`; a trail without a checkpoint is moved away by hand, or answered with a new name"
                    .to_owned()
            }
            Self::NoCheckpoint { known, .. } => format!("those that wait are: {}", known.join(", ")),
            Self::Busy { .. } => "go on in the terminal where it is, or wait until that one is paused".to_owned(),
            Self::StoppedWaiting => "nothing is lost; `proctor govern --list` says how to go on".to_owned(),
            Self::Trail(_) | Self::Copy { .. } => "see to the named path, then go on with `proctor govern --resume`".to_owned(),
            Self::Lock(error) => error.hint().to_owned(),
            Self::Name(_) => "rename the brief: letters and digits of its name are what the workflow is called by".to_owned(),
            Self::Hands { .. } => "go on with `proctor govern --resume` once that is mended".to_owned(),
        }
    }
}
