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
    /// Returns whether the copy failed because the disk is full.
    pub fn is_disk_full(&self) -> bool {
        let (Self::Project { source, .. } | Self::Copy { source, .. }) = self;
        matches!(source.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT))
    }
}
