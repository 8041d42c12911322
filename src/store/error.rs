//! What can go wrong with the index, and what to do about it.

use std::io;
use std::path::PathBuf;

use crate::model::{ProjectId, Sequence};

/// Says why the index could not be used. Since it can be rebuilt from the ledgers, none of these loses anything.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The file could not be created or set aside.
    #[error("cannot prepare `{}`", path.display())]
    File {
        /// The index.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A newer version of proctor has written it.
    #[error("`{}` has version {found}, this proctor knows versions up to {known}", path.display())]
    Newer {
        /// The index.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version that is known.
        known: u32,
    },
    /// It is damaged.
    #[error("`{}` is damaged", path.display())]
    Corrupt {
        /// The index.
        path: PathBuf,
        /// What SQLite says.
        source: rusqlite::Error,
    },
    /// SQLite refused something.
    #[error("cannot {operation} the index `{}`", path.display())]
    Database {
        /// What was being done: `open`, `migrate`, `read`, `write`.
        operation: &'static str,
        /// The index.
        path: PathBuf,
        /// What SQLite says.
        source: rusqlite::Error,
    },
    /// A stored value is not what this version writes.
    #[error("`{}` holds `{value}`, which is no {kind}", path.display())]
    Value {
        /// The index.
        path: PathBuf,
        /// What was expected, for example "run id".
        kind: &'static str,
        /// What was found.
        value: String,
    },
    /// A ledger line is missing between what the index knows and what it was given.
    #[error("the index knows the ledger of `{project}` up to line {}, line {} does not follow it", applied.0, found.0)]
    Gap {
        /// The project.
        project: ProjectId,
        /// The last line it knows.
        applied: Sequence,
        /// The line it was given.
        found: Sequence,
    },
}

impl IndexError {
    /// Returns whether the file is damaged: made anew it says what it should.
    pub(super) fn is_damage(&self) -> bool {
        match self {
            Self::Corrupt { .. } | Self::Value { .. } => true,
            Self::File { .. } | Self::Newer { .. } | Self::Database { .. } | Self::Gap { .. } => false,
        }
    }

    /// Returns the sentence that says what to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::File { .. } | Self::Database { .. } => {
                "see whether the disk is full, the file is yours and no other program holds it; then run the command again"
            }
            Self::Newer { .. } => "use the newer proctor, or delete the file: it is rebuilt from the ledgers",
            Self::Corrupt { .. } | Self::Value { .. } | Self::Gap { .. } => "delete the file: it is rebuilt from the ledgers",
        }
    }
}
