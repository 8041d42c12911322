//! The errors of reading a repository's objects and references.

use std::io;
use std::path::PathBuf;

/// Why something could not be read from a git repository.
#[derive(Debug, thiserror::Error)]
pub enum GitReadError {
    #[error("`{}` has no objects: it is no git repository", path.display())]
    NoObjects {
        /// The directory in which `objects` was expected.
        path: PathBuf,
    },
    /// The repository uses a storage format that proctor does not support.
    #[error("the repository stores {what}, which proctor does not support")]
    Format {
        /// The part of the repository that has an unsupported format.
        what: &'static str,
    },
    /// The text is not the name of a reference.
    #[error("`{0}` is no name of a reference: `refs/…` is expected")]
    Name(String),
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
    #[error("cannot read `{}`", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
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
    /// So many packs are not opened at once: each takes two file descriptors.
    #[error("may lie in one of more than 256 packs: `git gc` makes one of them")]
    TooManyPacks,
    /// The object's file, or the pack that contains it, would be read through a symbolic link, or is no regular file.
    #[error("lies behind a symbolic link or in what is no regular file, and proctor reads neither in a repository")]
    Linked,
}

impl GitReadError {
    /// Returns what is wrong with an object whose file cannot be opened.
    pub(super) fn of_an_object(&self) -> ObjectProblem {
        match self {
            Self::Linked { .. } | Self::NotAFile { .. } => ObjectProblem::Linked,
            Self::NoObjects { .. }
            | Self::Format { .. }
            | Self::Name(_)
            | Self::TooLong { .. }
            | Self::Object { .. }
            | Self::Unreadable { .. } => ObjectProblem::Damaged,
        }
    }
}
