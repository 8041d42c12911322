//! The errors of notes in a git repository, each with a hint.

use std::path::PathBuf;

use crate::EvidenceError;
use proctor_git::GitReadError;

const NO_REPOSITORY: &str = "an attestation is a note of git: name a directory in a repository";

/// Why an attestation could not be read from, or written to, a git note.
#[derive(Debug, thiserror::Error)]
pub enum GitAnchorError {
    #[error("`{}` is in no git repository", root.display())]
    NoRepository { root: PathBuf },
    #[error("`{}` is there: another program is changing the reference, or died while it did", path.display())]
    Locked {
        /// The lock file that the other program created beside the reference.
        path: PathBuf,
    },
    #[error("the notes that were fetched have more entries or bytes than are united")]
    TooManyNotes,
    /// Lines of the note would be lost, so it is not replaced.
    #[error("the note of tree {tree} {problem}, so nothing was added to it")]
    NoteInTheWay {
        /// The name of the tree object that the note is about, in hexadecimal digits.
        tree: String,
        problem: &'static str,
    },
    /// A file or an object of the repository could not be read.
    #[error(transparent)]
    Read(#[from] GitReadError),
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
}

impl GitAnchorError {
    /// Returns the hint that is shown below the message: what to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoRepository { .. } => NO_REPOSITORY,
            Self::Locked { .. } => "wait for the other program; where there is none, remove the file",
            Self::TooManyNotes => {
                "unite them yourself: `git notes --ref=proctor-attest merge -s cat_sort_uniq proctor-attest-fetched`"
            }
            Self::NoteInTheWay { .. } => {
                "take it out, its history keeps it: `git notes --ref=proctor-attest remove TREE`, and the same with \
                 `--ref=proctor-attest-fetched` if it was fetched; then attest again"
            }
            Self::Read(error) => reading_hint(error),
            Self::Evidence(error) => error.hint(),
        }
    }
}

fn reading_hint(error: &GitReadError) -> &'static str {
    match error {
        GitReadError::NoObjects { .. } => NO_REPOSITORY,
        GitReadError::Format { .. } => "`proctor attest --dry-run` prints what the note would say",
        GitReadError::Name(_) => "name a reference in full, such as `refs/notes/origin/proctor`",
        GitReadError::Linked { .. } => "replace the link by what it leads to",
        GitReadError::NotAFile { .. } | GitReadError::TooLong { .. } => "look what is there, and remove what is none of git's",
        GitReadError::Object { .. } => "`git fsck` says what is wrong with the repository",
        GitReadError::Unreadable { .. } => "check the permissions of the repository",
    }
}
