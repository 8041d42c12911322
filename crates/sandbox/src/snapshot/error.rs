//! Errors of making or updating the copy of a project.

use std::io;
use std::path::PathBuf;

use nix::libc;

/// Why a project's copy could not be updated to an index.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The project's directory cannot be opened.
    #[error("cannot read the project `{path}`")]
    Project {
        /// The root of the project.
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A file or directory of the copy cannot be made, written or removed.
    #[error("cannot write the copy of the project at `{path}`")]
    Copy {
        /// The path at which writing failed, inside proctor's directory for the copy.
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl SnapshotError {
    /// Returns the error with its cause in one line. If the disk is full, the line ends with what to do.
    pub fn reason(&self) -> String {
        let (Self::Project { source, .. } | Self::Copy { source, .. }) = self;
        format!("{self}: {}", with_hint(source))
    }

    /// Returns whether the copy failed because the disk is full.
    pub fn is_disk_full(&self) -> bool {
        let (Self::Project { source, .. } | Self::Copy { source, .. }) = self;
        is_disk_full(source)
    }
}

/// Returns the text of an error. If the disk is full, the text ends with what to do.
pub(super) fn with_hint(error: &io::Error) -> String {
    let hint = if is_disk_full(error) { "; free some space there, then the next run does it" } else { "" };
    format!("{error}{hint}")
}

fn is_disk_full(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT))
}
