//! The errors of this folder, each with a hint that says what to do next.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::{ArchiveProblem, EvidenceFault, KeyProblem, SealedFileProblem};
use proctor_model::{ProjectId, RunId, Sequence};

/// Hints for I/O errors whose kind already shows what to do.
const FILE_HINTS: [(io::ErrorKind, &str); 6] = [
    (io::ErrorKind::StorageFull, "free some space there and run the command again"),
    (io::ErrorKind::QuotaExceeded, "free some space there and run the command again"),
    (io::ErrorKind::FileTooLarge, "raise the limit on file sizes (`ulimit -f`) and run the command again"),
    (
        io::ErrorKind::PermissionDenied,
        "the directory must belong to you: mend its owner or mode, or point XDG_STATE_HOME to one of yours",
    ),
    (
        io::ErrorKind::NotADirectory,
        "a file lies where a directory belongs: move it, or point XDG_STATE_HOME to another directory",
    ),
    (io::ErrorKind::ReadOnlyFilesystem, "point XDG_STATE_HOME to a directory that can be written"),
];

/// The operation on a file or directory that failed. Its `Display` fits after "cannot".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOperation {
    Create,
    Open,
    Read,
    Write,
    /// Waiting until the content is on disk (`fsync`).
    Sync,
    Protect,
    List,
    Rename,
    Remove,
    Link,
    Lock,
}

/// Why evidence could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    #[error("cannot {operation} `{}`", path.display())]
    File { operation: FileOperation, path: PathBuf, source: io::Error },
    /// The name is not allowed for a file in a run directory, or for the link in the project.
    #[error(
        "`{name}` cannot be the name of an evidence file or link: one component without `/`, a leading `.` or control characters is expected, and none of proctor's own names"
    )]
    Name { name: String },
    #[error("cannot write `{name}` as JSON")]
    Encode {
        /// The name of the file to which the JSON was to be written.
        name: String,
        source: serde_json::Error,
    },
    #[error("`{}`, line {line}: {problem}", path.display())]
    LedgerLine {
        path: PathBuf,
        /// The line's number in the file; the first line is 1.
        line: u64,
        problem: LineProblem,
    },
    /// No line of the ledger ends where a line ended that was read before: the ledger was cut, replaced or removed.
    #[error("`{}` lacks lines that proctor has read: no line ends at byte {offset} any more", path.display())]
    LedgerOffset { path: PathBuf, offset: u64 },
    /// proctor has read lines of the ledger, and its file is gone.
    #[error("`{}` is gone, and proctor has read lines of it: No such file or directory", path.display())]
    LedgerGone { path: PathBuf },
    /// A compressed segment of the ledger does not hold the bytes that its name says.
    #[error("`{}` is no segment of a ledger as proctor writes it: {why}", path.display())]
    LedgerSegment { path: PathBuf, why: String },
    /// The ledger's length differs from the length after the lock holder's last line, so another program wrote to it.
    #[error("`{}` was changed by a program that does not hold its lock", path.display())]
    LedgerChanged { path: PathBuf },
    /// An earlier line could not be synced. The content on disk is unknown, so no further line may be appended.
    #[error("`{}` takes no more lines because an earlier one could not be written", path.display())]
    LedgerFailed { path: PathBuf },
    /// A run was to be created before the project's unsealed runs were recovered.
    #[error("project `{project}` has runs of a process that died, and they have not been recovered")]
    NotRecovered { project: ProjectId },
    /// This process has another run of the project open.
    #[error("a run of project `{project}` is still open")]
    RunIsOpen { project: ProjectId },
    #[error("`{}` cannot be used: {problem}", path.display())]
    Key { path: PathBuf, problem: KeyProblem },
    /// The run is older than the store's first key, so it has no signature.
    #[error("run {run_id} is not signed: it is older than the first key of the store")]
    NotSigned { run_id: RunId },
    #[error("no line of the ledger is about run {run_id}")]
    NotInLedger { run_id: RunId },
    /// The ledger does not begin with the lines that a checkpoint, a signed head of the ledger, was made from.
    #[error("the ledger of project `{project}` does not begin with the {size} lines that were anchored")]
    NotAnchored {
        project: ProjectId,
        /// How many lines of the ledger the checkpoint covers.
        size: u64,
    },
    /// The run's line was written after the checkpoint, so the checkpoint proves nothing about it.
    #[error("run {run_id} was added to the ledger after the checkpoint, which covers {size} lines")]
    AnchoredEarlier {
        run_id: RunId,
        /// How many lines of the ledger the checkpoint covers.
        size: u64,
    },
    #[error("`{}` is no archive as proctor writes it", path.display())]
    Archive {
        path: PathBuf,
        #[source]
        problem: ArchiveProblem,
    },
    /// A file of a run is not the one that the run was sealed with.
    #[error("`{name}` of run {run_id} {problem}: `{}`", path.display())]
    NotAsSealed {
        /// The path of the file, or of the archive that has it.
        path: PathBuf,
        name: String,
        run_id: RunId,
        problem: SealedFileProblem,
    },
    /// A copy of the run does not verify, so it was not handed out.
    #[error("run {run_id} is not as it was sealed, and nothing was exported: `{}`: {} ({})", fault.file.display(), fault.kind.what(), fault.detail)]
    ExportFaulty {
        run_id: RunId,
        /// The first fault of the copy.
        fault: Box<EvidenceFault>,
    },
    /// A link, or something else, is in the place of a directory of the store. It is never followed.
    #[error("`{}` is no directory of the store: a link, or something else, is in its place, and is not followed", path.display())]
    NotADirectory { path: PathBuf },
    /// A run directory contains an entry that is not a regular file.
    #[error("`{}` is no regular file and was not put there by proctor", path.display())]
    Foreign { path: PathBuf },
}

/// Why a line of a ledger is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineProblem {
    /// The text is not the JSON of a ledger line.
    #[error("it is not a ledger line ({0})")]
    Unreadable(String),
    /// The line was written by another version of proctor.
    #[error("its schema is `{0}`, which this version does not know")]
    UnknownSchema(String),
    /// The line's sequence number is not the next one, because lines are missing or were reordered.
    #[error("its sequence is {}, {} is expected", found.0, expected.0)]
    WrongSequence { expected: Sequence, found: Sequence },
    /// The hash of the previous line differs from the hash that this line recorded.
    #[error("the line before it was changed: its hash is not the one this line names")]
    BrokenChain,
    /// The line is longer than any line that proctor writes; the length is in bytes.
    #[error("it is longer than {0} bytes")]
    TooLong(u64),
    /// The line has no signature, although the store had a key when the line was written.
    #[error("it is not signed, and key {key} was in use")]
    Unsigned {
        /// The short id of the key.
        key: String,
    },
    /// The line's signature is not one by the key that was in use.
    #[error("its signature is not by key {key}, which was in use, or the line was changed after it was signed")]
    WrongSignature {
        /// The short id of the key; "none" if the store had no key.
        key: String,
    },
    /// The ledger's file has zero bytes where the line was, which a compressed segment of the ledger held.
    #[error("the compressed segment that holds it is gone")]
    SegmentGone,
    /// The line is not the one that was read before at the same place.
    #[error("it is not the line that proctor read there before")]
    Replaced,
}

impl EvidenceError {
    /// Returns whether evidence is not what proctor wrote. Any other error is about the machine, or about what was asked for.
    pub fn is_changed_evidence(&self) -> bool {
        match self {
            Self::NotAsSealed { .. }
            | Self::Key { .. }
            | Self::ExportFaulty { .. }
            | Self::Archive { .. }
            | Self::LedgerOffset { .. }
            | Self::LedgerGone { .. }
            | Self::LedgerSegment { .. }
            | Self::LedgerChanged { .. }
            | Self::NotADirectory { .. } => true,
            Self::LedgerLine { problem, .. } => !matches!(problem, LineProblem::UnknownSchema(_)),
            Self::File { .. }
            | Self::Name { .. }
            | Self::Encode { .. }
            | Self::LedgerFailed { .. }
            | Self::NotRecovered { .. }
            | Self::RunIsOpen { .. }
            | Self::NotSigned { .. }
            | Self::NotInLedger { .. }
            | Self::NotAnchored { .. }
            | Self::AnchoredEarlier { .. }
            | Self::Foreign { .. } => false,
        }
    }

    /// Returns the hint that is shown below the message: what to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::File { source, .. } if source.kind() == io::ErrorKind::InvalidInput => {
                "save what comes out of it as a file of its own, and name that file"
            }
            Self::File { source, .. } => {
                let known = FILE_HINTS.iter().find(|(kind, _)| *kind == source.kind());
                known.map_or("look at the path, mend what is wrong there and run the command again", |(_, hint)| hint)
            }
            Self::Name { .. } => "use another name",
            Self::Encode { .. } => "this is a fault of proctor; please report it",
            Self::LedgerLine { problem: LineProblem::UnknownSchema(_), .. } => {
                "use the proctor version that wrote it, or a newer one"
            }
            Self::LedgerLine { .. } | Self::LedgerSegment { .. } => {
                "the ledger was damaged or edited: put it back from a backup, or move it aside to begin a new one without its history"
            }
            Self::LedgerOffset { .. } | Self::LedgerGone { .. } => {
                "the ledger was cut or replaced: put it back from a backup, or move it aside to begin a new one without its history"
            }
            Self::LedgerChanged { .. } => "let no other program write there, then run the command again",
            Self::LedgerFailed { .. } => "see the first error, mend its cause and start proctor again",
            Self::NotRecovered { .. } | Self::RunIsOpen { .. } => "this is a fault of proctor; please report it",
            Self::Key { .. } => "put it back from a backup; where it is lost, `proctor key rotate --lost` begins with a new one",
            Self::NotSigned { .. } => "export a newer run, or copy its directory as it is",
            Self::NotInLedger { .. } => "`proctor verify` says what is wrong with it",
            Self::Archive { .. } => "compare it with a backup or an export of the run; what it says now is no evidence",
            Self::NotAnchored { .. } => "`proctor verify --anchor FILE` says what is wrong",
            Self::AnchoredEarlier { .. } => "anchor the ledger again, or export the run without `--anchor`",
            Self::NotAsSealed { .. } | Self::ExportFaulty { .. } => {
                "`proctor verify RUN` says what else was changed; put the file back from a backup or an export"
            }
            Self::NotADirectory { .. } => {
                "find out who put it there, and put the directory back; `proctor verify` says what is missing. To keep a store elsewhere, \
                 set XDG_STATE_HOME"
            }
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

/// Returns a function that wraps an I/O error with the operation and the path.
pub(super) fn failed<E: Into<io::Error>>(operation: FileOperation, path: &Path) -> impl FnOnce(E) -> EvidenceError {
    move |source| EvidenceError::File { operation, path: path.to_owned(), source: source.into() }
}
