//! What a process of ours leaves that dies: no fault, because the next one that writes ends it.

use std::path::PathBuf;

/// Something that was begun and not ended.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unfinished {
    /// Where: a file or directory, relative to the store.
    pub file: PathBuf,
    /// What was begun.
    pub kind: UnfinishedKind,
    /// How far it got.
    pub detail: String,
}

/// What a process may die in the middle of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UnfinishedKind {
    /// A run: the lock file names it, and nobody holds the lock.
    Run,
    /// A pruning: the ledger's last line says so, and all that is there is what was sealed.
    Pruning,
    /// An archiving: the directory in which archives are made is there, and the run has its archive and its directory.
    Archiving,
    /// A line: there is the beginning of the one that is due.
    Line,
}

impl UnfinishedKind {
    /// Returns its word in `--json`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Pruning => "pruning",
            Self::Archiving => "archiving",
            Self::Line => "line",
        }
    }

    /// Returns what was begun, as a sentence about the file.
    pub fn what(self) -> &'static str {
        match self {
            Self::Run => "its process died",
            Self::Pruning => "the last line of the ledger prunes it, and its process died before all of it was gone",
            Self::Archiving => "it was being archived, and its process died",
            Self::Line => "behind the last line there is the beginning of one, whose process died",
        }
    }

    /// Returns who brings it to its end.
    pub fn next(self) -> &'static str {
        match self {
            Self::Run => "the next `proctor run` brings it to its end",
            Self::Pruning => "the next command that writes evidence removes it: `proctor prune`, or a run",
            Self::Archiving => "`proctor archive` or the next run brings it to its end, or takes it back",
            Self::Line => {
                "the next command that writes evidence cuts it off and keeps it beside the ledger: `proctor prune`, or a run"
            }
        }
    }
}

impl Unfinished {
    /// Names something that was begun.
    pub fn of(kind: UnfinishedKind, file: impl Into<PathBuf>, detail: impl Into<String>) -> Self {
        Self { file: file.into(), kind, detail: detail.into() }
    }
}
