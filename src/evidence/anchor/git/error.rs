//! The errors of anchoring in a git repository, each with a hint.

use std::path::PathBuf;

use crate::evidence::{AnchorRefusal, EvidenceError};

/// Why a checkpoint (a signed head of the ledger) could not be read from, or written to, a git note.
#[derive(Debug, thiserror::Error)]
pub enum GitAnchorError {
    #[error("`{}` is in no git repository", root.display())]
    NoRepository { root: PathBuf },
    #[error("nothing is committed yet in the repository of `{}`", root.display())]
    NothingCommitted { root: PathBuf },
    /// The repository uses a storage format that proctor does not support.
    #[error("the repository stores {what}, which proctor does not support")]
    Format {
        /// The part of the repository that has an unsupported format.
        what: &'static str,
    },
    /// The text is not the name of a reference.
    #[error("`{0}` is no name of a reference: `refs/…` is expected")]
    Name(String),
    #[error("`{}` is there: another program is changing the reference, or died while it did", path.display())]
    Locked {
        /// The lock file that the other program created beside the reference.
        path: PathBuf,
    },
    #[error("`{}` is, or lies behind, a symbolic link, and proctor follows none in a repository", path.display())]
    Linked { path: PathBuf },
    #[error("`{}` is a directory, a pipe, a socket or a device, and a regular file is expected there", path.display())]
    NotAFile { path: PathBuf },
    #[error("`{}` is larger than {cap} bytes", path.display())]
    TooLong { path: PathBuf, cap: u64 },
    #[error("object {id} {problem}")]
    Object {
        /// The object's hash in hexadecimal digits.
        id: String,
        problem: ObjectProblem,
    },
    /// The note contains something other than an earlier head of the same ledger, so it is not replaced.
    #[error("the note `{place}` is left alone")]
    Refused { place: String, source: AnchorRefusal },
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
}

/// Why a git object cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ObjectProblem {
    #[error("is not in the repository")]
    Missing,
    /// The object's content does not have the hash in its name, or it is not in git's format.
    #[error("is damaged")]
    Damaged,
    /// The object has another type than is needed, for example a blob instead of a tree.
    #[error("is of another kind than is required there")]
    Kind,
    #[error("is larger than 64 MiB")]
    TooLarge,
    /// The object's file, or the pack that contains it, would be read through a symbolic link, or is no regular file.
    #[error("lies behind a symbolic link or in what is no regular file, and proctor reads neither in a repository")]
    Linked,
}

impl GitAnchorError {
    /// Returns the hint that is shown below the message: what to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoRepository { .. } => "anchor it in a file: `proctor anchor --file FILE`",
            Self::NothingCommitted { .. } => "commit something first, or anchor it in a file: `proctor anchor --file FILE`",
            Self::Format { .. } => {
                "anchor it in a file, or write the note yourself: `proctor checkpoint | git notes --ref=proctor add -F -`"
            }
            Self::Name(_) => "name a reference in full, such as `refs/notes/origin/proctor`",
            Self::Locked { .. } => "wait for the other program; where there is none, remove the file",
            Self::Linked { .. } => "replace the link by what it leads to, or anchor it in a file: `proctor anchor --file FILE`",
            Self::NotAFile { .. } | Self::TooLong { .. } => {
                "look what is there, and remove what is none of git's; `proctor anchor --file FILE` needs no repository"
            }
            Self::Object { .. } => "`git fsck` says what is wrong with the repository; `proctor anchor --file FILE` needs none",
            Self::Refused { source, .. } => source.hint(),
            Self::Evidence(error) => error.hint(),
        }
    }
}
