//! What can go wrong with a tree as a whole. A single entry that cannot be read is an issue, never an error.

use std::io;
use std::path::PathBuf;

/// A tree that cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// The root is not there, is no directory or may not be read.
    #[error("cannot read the project's directory `{}`", path.display())]
    ReadRoot {
        /// The root.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl TreeError {
    /// Returns what to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::ReadRoot { path, source } if source.kind() == io::ErrorKind::PermissionDenied => {
                format!("give yourself read and search permission: chmod u+rx {}", path.display())
            }
            Self::ReadRoot { .. } => "put the directory back, or tell proctor where the project is now".to_owned(),
        }
    }
}
