//! What can go wrong with a note in a repository, and what to do about it.

use std::path::PathBuf;

use crate::evidence::{EvidenceError, Refusal};

/// Says why a repository has no note, or gets none.
#[derive(Debug, thiserror::Error)]
pub enum GitAnchorError {
    /// The project is in no repository.
    #[error("`{}` is in no git repository", root.display())]
    NoRepository {
        /// The project's root.
        root: PathBuf,
    },
    /// There is no commit that a note could be about.
    #[error("nothing is committed yet in the repository of `{}`", root.display())]
    NothingCommitted {
        /// The project's root.
        root: PathBuf,
    },
    /// It is kept in a form that is not read here.
    #[error("the repository keeps {what}, which proctor does not write")]
    Format {
        /// What is kept how.
        what: &'static str,
    },
    /// A reference's name is none.
    #[error("`{0}` is no name of a reference: `refs/…` is expected")]
    Name(String),
    /// Another program is changing the reference.
    #[error("`{}` is there: another program is changing the reference, or died while it did", path.display())]
    Locked {
        /// The lock.
        path: PathBuf,
    },
    /// An object cannot be read.
    #[error("object {id} {problem}")]
    Object {
        /// Its name.
        id: String,
        /// What is wrong with it.
        problem: ObjectProblem,
    },
    /// What is there must not be replaced.
    #[error("the note `{place}` is left alone")]
    Refused {
        /// The note.
        place: String,
        /// Why.
        source: Refusal,
    },
    /// A file operation failed.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
}

/// What is wrong with an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ObjectProblem {
    /// It is nowhere.
    #[error("is not in the repository")]
    Missing,
    /// It is not what its name says, or not written as an object is.
    #[error("is damaged")]
    Damaged,
    /// It is another kind of object than is expected there.
    #[error("is not what it should be there")]
    Kind,
    /// It is larger than anything that belongs to a note.
    #[error("is larger than 64 MiB")]
    TooLarge,
}

impl GitAnchorError {
    /// Returns the sentence that says what to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoRepository { .. } => "anchor it in a file: `proctor anchor --file FILE`",
            Self::NothingCommitted { .. } => "commit something first, or anchor it in a file: `proctor anchor --file FILE`",
            Self::Format { .. } => {
                "anchor it in a file, or write the note yourself: `proctor checkpoint | git notes --ref=proctor add -F -`"
            }
            Self::Name(_) => "name a reference in full, such as `refs/notes/origin/proctor`",
            Self::Locked { .. } => "wait for the other program; where there is none, remove the file",
            Self::Object { .. } => "`git fsck` says what is wrong with the repository; `proctor anchor --file FILE` needs none",
            Self::Refused { source, .. } => source.hint(),
            Self::Evidence(error) => error.hint(),
        }
    }
}
