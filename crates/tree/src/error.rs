//! Errors that concern the whole tree. A single entry that cannot be read is an issue, never an error.

use std::io;
use std::path::PathBuf;

/// Why a tree has no digest. An entry that cannot be read is an issue of the tree instead, and no error.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// The root does not exist, is not a directory or may not be read.
    #[error("cannot read the project's directory `{}`", path.display())]
    ReadRoot { path: PathBuf, source: io::Error },
}

impl TreeError {
    /// Returns advice on what to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::ReadRoot { path, source } if source.kind() == io::ErrorKind::PermissionDenied => {
                format!("give yourself read and search permission: chmod u+rx {}", path.display())
            }
            Self::ReadRoot { .. } => "put the directory back, or tell proctor where the project is now".to_owned(),
        }
    }
}
