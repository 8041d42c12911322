//! What can go wrong with evidence, and what to do about it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::evidence::{ArchiveProblem, KeyProblem};
use crate::model::{ProjectId, RunId, Sequence};

/// What to do about causes that the operating system names.
const FILE_HINTS: [(io::ErrorKind, &str); 4] = [
    (io::ErrorKind::StorageFull, "free some space there and run the command again"),
    (io::ErrorKind::QuotaExceeded, "free some space there and run the command again"),
    (io::ErrorKind::PermissionDenied, "the directory must belong to you; mend its owner or mode"),
    (io::ErrorKind::ReadOnlyFilesystem, "point XDG_STATE_HOME to a directory that can be written"),
];

/// What was being done to a file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOperation {
    /// Creating it.
    Create,
    /// Opening it.
    Open,
    /// Reading it.
    Read,
    /// Writing to it.
    Write,
    /// Waiting until it is on disk.
    Sync,
    /// Setting its mode.
    Protect,
    /// Listing what lies in it.
    List,
    /// Renaming it.
    Rename,
    /// Removing it.
    Remove,
    /// Linking to it.
    Link,
    /// Locking it.
    Lock,
}

/// Says why evidence could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    /// A file operation failed.
    #[error("cannot {operation} `{}`", path.display())]
    File {
        /// What was being done.
        operation: FileOperation,
        /// To what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A name cannot be the name of a file in a run directory, or of the project's link.
    #[error(
        "`{name}` cannot be the name of an evidence file or link: one component without `/`, a leading `.` or control characters is expected, and none of proctor's own names"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// Something could not be written as a JSON object.
    #[error("cannot write `{name}` as JSON")]
    Encode {
        /// The file it was meant for.
        name: String,
        /// Why not.
        source: serde_json::Error,
    },
    /// A line of a ledger is not what it must be.
    #[error("`{}`, line {line}: {problem}", path.display())]
    LedgerLine {
        /// The ledger.
        path: PathBuf,
        /// The number of the line, counted from 1.
        line: u64,
        /// What is wrong with it.
        problem: LineProblem,
    },
    /// No line of the ledger ends where a reader wants to go on.
    #[error("`{}` has no line that ends at byte {offset}", path.display())]
    LedgerOffset {
        /// The ledger.
        path: PathBuf,
        /// Where a line should end.
        offset: u64,
    },
    /// The ledger has another length than its one writer left it with.
    #[error("`{}` was changed by something else than the holder of its lock", path.display())]
    LedgerChanged {
        /// The ledger.
        path: PathBuf,
    },
    /// An earlier line could not be synced, so what is on disk is unknown.
    #[error("`{}` takes no more lines because an earlier one could not be written", path.display())]
    LedgerFailed {
        /// The ledger.
        path: PathBuf,
    },
    /// A run was to be created before unsealed runs of the project were recovered.
    #[error("runs of project `{project}` that a dead process left have not been recovered")]
    NotRecovered {
        /// The project.
        project: ProjectId,
    },
    /// A run of the project is still open in this process.
    #[error("a run of project `{project}` is still open")]
    RunIsOpen {
        /// The project.
        project: ProjectId,
    },
    /// A key cannot be used.
    #[error("`{}` cannot be used: {problem}", path.display())]
    Key {
        /// The file of it.
        path: PathBuf,
        /// What is wrong with it.
        problem: KeyProblem,
    },
    /// A run was made before there was a key.
    #[error("run {run_id} is not signed: it was made before signatures")]
    NotSigned {
        /// The run.
        run_id: RunId,
    },
    /// No line of the ledger is about a run.
    #[error("no line of the ledger is about run {run_id}")]
    NotInLedger {
        /// The run.
        run_id: RunId,
    },
    /// The ledger does not begin with what a checkpoint was made of.
    #[error("the ledger of project `{project}` does not begin with the {size} lines that were anchored")]
    NotAnchored {
        /// The project.
        project: ProjectId,
        /// How many lines the checkpoint is of.
        size: u64,
    },
    /// A run is later than a checkpoint.
    #[error("run {run_id} is later than the {size} lines of the checkpoint")]
    AnchoredEarlier {
        /// The run.
        run_id: RunId,
        /// How many lines the checkpoint is of.
        size: u64,
    },
    /// An archive cannot be read.
    #[error("`{}` is no archive as proctor writes it", path.display())]
    Archive {
        /// The archive.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        problem: ArchiveProblem,
    },
    /// Something in a run directory is no regular file.
    #[error("`{}` is no regular file and was not put there by proctor", path.display())]
    Foreign {
        /// What it is.
        path: PathBuf,
    },
}

/// What is wrong with a line of a ledger.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineProblem {
    /// It is no ledger line.
    #[error("it is not a ledger line ({0})")]
    Unreadable(String),
    /// It was written by another version.
    #[error("its schema is `{0}`, which this version does not know")]
    UnknownSchema(String),
    /// Lines are missing or were moved.
    #[error("its sequence is {}, {} is expected", found.0, expected.0)]
    WrongSequence {
        /// The sequence that is due.
        expected: Sequence,
        /// The one it has.
        found: Sequence,
    },
    /// The line before it is not the one it was written after.
    #[error("the line before it was changed: its hash is not the one this line names")]
    BrokenChain,
    /// It is longer than any line proctor writes.
    #[error("it is longer than {0} bytes")]
    TooLong(u64),
}

impl EvidenceError {
    /// Returns the sentence that says what to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::File { source, .. } => {
                let known = FILE_HINTS.iter().find(|(kind, _)| *kind == source.kind());
                known.map_or("look at the path, mend what is wrong there and run the command again", |(_, hint)| hint)
            }
            Self::Name { .. } => "use another name",
            Self::Encode { .. } => "this is a fault of proctor; please report it",
            Self::LedgerLine { problem: LineProblem::UnknownSchema(_), .. } => {
                "use the proctor version that wrote it, or a newer one"
            }
            Self::LedgerLine { .. } => {
                "the ledger was damaged or edited: put it back from a backup, or move it aside to begin a new one without its history"
            }
            Self::LedgerOffset { .. } => "delete `state.db` beside the ledgers: it is rebuilt from them",
            Self::LedgerChanged { .. } => "let no other program write there, then run the command again",
            Self::LedgerFailed { .. } => "see the first error, mend its cause and start proctor again",
            Self::NotRecovered { .. } | Self::RunIsOpen { .. } => "this is a fault of proctor; please report it",
            Self::Key { .. } => "put it back from a backup; where it is lost, `proctor key rotate --lost` begins with a new one",
            Self::NotSigned { .. } => "export a newer run, or copy its directory as it is",
            Self::NotInLedger { .. } => "`proctor verify` says what is wrong with it",
            Self::Archive { .. } => "compare it with a backup or an export of the run; what it says now is no evidence",
            Self::NotAnchored { .. } => "`proctor verify --anchor FILE` says what is wrong",
            Self::AnchoredEarlier { .. } => "anchor the ledger again, or export the run without `--anchor`",
            Self::Foreign { .. } => "move it elsewhere; only proctor writes into its store",
        }
    }
}

impl fmt::Display for FileOperation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Create => "create",
            Self::Open => "open",
            Self::Read => "read",
            Self::Write => "write to",
            Self::Sync => "sync",
            Self::Protect => "set the mode of",
            Self::List => "list",
            Self::Rename => "rename",
            Self::Remove => "remove",
            Self::Link => "create the link",
            Self::Lock => "lock",
        })
    }
}

/// Returns the function that puts an operation and a path around an I/O error.
pub(super) fn failed<E: Into<io::Error>>(operation: FileOperation, path: &Path) -> impl FnOnce(E) -> EvidenceError {
    move |source| EvidenceError::File { operation, path: path.to_owned(), source: source.into() }
}
