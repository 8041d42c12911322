//! Unfinished work of a dead proctor process. It is not a fault, because the next process that writes evidence finishes
//! or removes it.

use crate::verification::EvidenceFault;
use proctor_model::words;

/// Work that a process began and did not finish. It is reported, but it is not a fault.
pub type UnfinishedWork = EvidenceFault<UnfinishedKind>;

/// The kinds of work that a process may leave unfinished when it dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UnfinishedKind {
    /// A run that was not sealed: the lock file names the run, but no process holds the lock.
    Run,
    /// Removing a pruned run: the ledger's last line prunes it, and every remaining file is as it was sealed.
    Pruning,
    /// Removing a project with its evidence: the ledger's last line says so, and the project's directory is still there.
    Purging,
    /// Writing a ledger line: the file ends with the beginning of the next line.
    Line,
    /// The line that tells of a new key: the key took over after the last line of the ledger.
    KeyLine,
    /// Destroying the private half of a key that was replaced.
    RetiredKey,
}

impl UnfinishedKind {
    /// Returns the unfinished work, in words that follow the file's name.
    pub fn what(self) -> &'static str {
        match self {
            Self::Run => "its process died before the run was sealed",
            Self::Pruning => "the last line of the ledger prunes it, and the process died before all of it was removed",
            Self::Purging => {
                "the last line of the ledger removes the project's evidence, and the process died before all of it was gone"
            }
            Self::KeyLine => "the key was replaced, and the process died before the ledger had a line about it",
            Self::RetiredKey => "it is the private half of a key that was replaced, and is still there",
            Self::Line => "after the last line there is the beginning of another: the process died while it wrote it",
        }
    }

    /// Returns which command finishes the work.
    pub fn next(self) -> &'static str {
        match self {
            Self::Run => "the next `proctor run` seals it as INTERRUPTED",
            Self::Pruning => "the next command that writes evidence removes it: `proctor prune`, or a run",
            Self::Purging => "the next command that writes evidence removes it: `proctor service remove --purge` again, or a run",
            Self::KeyLine => "the next command that writes evidence of the project writes the line: `proctor prune`, or a run",
            Self::RetiredKey => "the next command that writes evidence overwrites and removes it: `proctor prune`, or a run",
            Self::Line => {
                "the next command that writes evidence cuts it off and keeps it beside the ledger: `proctor prune`, or a run"
            }
        }
    }
}

words! {
    /// Returns the word for the kind in `--json`.
    pub fn UnfinishedKind::word, ALL: Run "run", Pruning "pruning", Purging "purging", Line "line", KeyLine "keyLine",
        RetiredKey "retiredKey"
}
