//! proctor's own failures while it runs a workflow. A model or tool that fails, or a person who refuses, is an event of
//! the workflow and never an error.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use crate::governance::NameError;
use proctor_evidence::{EvidenceError, TrailError};
use proctor_index::CheckpointError;
use proctor_model::CommandExit;

/// Why proctor itself could not continue a workflow. The last checkpoint stays, so the workflow can be resumed.
#[derive(Debug, thiserror::Error)]
pub enum WorkflowError {
    #[error("failed to read or write the workflow's checkpoint")]
    Checkpoint(#[source] CheckpointError),
    /// Another version of proctor has written the checkpoint.
    #[error("the checkpoint of `{slug}` cannot be understood")]
    CheckpointText { slug: String, source: serde_json::Error },
    #[error("there is no workflow `{slug}` to resume")]
    NoCheckpoint {
        slug: String,
        /// The names (slugs) of the workflows that can be resumed.
        known: Vec<String>,
        /// The audit trail of a finished workflow with this slug, relative to the project; `None` if there is none.
        done: Option<PathBuf>,
    },
    /// Another process has locked the workflow.
    #[error("another process is working on the workflow `{slug}`")]
    Busy { slug: String },
    /// A signal came while the workflow waited for a run of the project, which had locked the ledger.
    #[error("interrupted while waiting for a run of this project to end")]
    StoppedWaiting,
    #[error("failed to read or write the trail")]
    Trail(#[source] TrailError),
    #[error("failed to lock the workflow")]
    Lock(#[source] EvidenceError),
    /// A model's copy of the project could not be made or removed.
    #[error("failed to replace the models' copy of the project `{}`", path.display())]
    Copy { path: PathBuf, source: io::Error },
    #[error("no workflow name can be made from the brief's name")]
    Name(#[source] NameError),
    /// The host of the workflow failed: a program could not be supervised, or the ledger could not be written.
    #[error("failed to {what}")]
    Host {
        /// What failed, as a verb and its object.
        what: &'static str,
        source: Box<dyn Error + Send + Sync>,
    },
}

impl WorkflowError {
    /// Returns the exit code of a command that fails with this error.
    pub fn exit(&self) -> CommandExit {
        match self {
            Self::NoCheckpoint { .. } | Self::Busy { .. } | Self::Name(_) => CommandExit::CodeNeedsWork,
            Self::StoppedWaiting => CommandExit::Interrupted,
            Self::Checkpoint(_)
            | Self::CheckpointText { .. }
            | Self::Trail(_)
            | Self::Lock(_)
            | Self::Copy { .. }
            | Self::Host { .. } => CommandExit::OwnFault,
        }
    }

    /// Returns the sentence that tells people what to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::Checkpoint(error) => error.hint().to_owned(),
            Self::CheckpointText { .. } => {
                "resume it with the version of proctor that wrote it, or begin again with `--brief` under another name".to_owned()
            }
            Self::NoCheckpoint { done: Some(done), .. } => {
                format!("it is over, its issue is filed: see `{}`; `proctor-govern --list` shows the workflows that wait", done.display())
            }
            Self::NoCheckpoint { known, .. } if known.is_empty() => {
                "begin one with `--brief FILE`; if there is a trail with this name, move it away or choose another name when asked"
                    .to_owned()
            }
            Self::NoCheckpoint { known, .. } => format!("these workflows can be resumed: {}", known.join(", ")),
            Self::Busy { .. } => "continue in the terminal where it runs, or wait until it is paused there".to_owned(),
            Self::StoppedWaiting => "nothing is lost; `proctor-govern --list` says how to continue".to_owned(),
            Self::Trail(_) | Self::Copy { .. } => "repair the named path, then continue with `proctor-govern --resume`".to_owned(),
            Self::Lock(error) => error.hint().to_owned(),
            Self::Name(_) => "rename the brief: the workflow's name is made from the letters and digits of the brief's name".to_owned(),
            Self::Host { .. } => "repair that, then continue with `proctor-govern --resume`".to_owned(),
        }
    }
}
