//! The exit codes of the command line. They are a public interface: each code has one meaning (G5).

use serde::{Deserialize, Serialize};

/// How a `proctor` command ends; [`CommandExit::code`] gives the exit status of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum CommandExit {
    /// The checks passed, or the RED phase has a valid RED, so the work can proceed.
    Proceed,
    /// The code is not in order: a check failed, or a time-out, an execution error or a failed prerequisite kept it
    /// from passing.
    CodeNeedsWork,
    /// The command line was wrong.
    Usage,
    /// A person must decide: a limit was reached, an approval or a review's verdict is missing, or a started cycle
    /// waits.
    PersonNeeded,
    /// The specification or configuration is wrong.
    SpecificationWrong,
    /// No fresh verdict came in time, or the tree changed during the run.
    NoFreshVerdict,
    /// Stored evidence or the ledger could not be verified.
    EvidenceWrong,
    /// proctor itself failed; the command says nothing about the code.
    OwnFault,
    /// SIGINT ended the command, as when a person presses Ctrl-C.
    Interrupted,
    /// SIGTERM ended the command.
    Terminated,
}

const ALL: [CommandExit; 10] = [
    CommandExit::Proceed,
    CommandExit::CodeNeedsWork,
    CommandExit::Usage,
    CommandExit::PersonNeeded,
    CommandExit::SpecificationWrong,
    CommandExit::NoFreshVerdict,
    CommandExit::EvidenceWrong,
    CommandExit::OwnFault,
    CommandExit::Interrupted,
    CommandExit::Terminated,
];

impl CommandExit {
    /// Returns the variant for an exit status; [`CommandExit::OwnFault`] for an unknown one.
    pub fn from_code(code: u8) -> Self {
        ALL.into_iter().find(|exit| exit.code() == code).unwrap_or(Self::OwnFault)
    }

    pub fn code(self) -> u8 {
        match self {
            Self::Proceed => 0,
            Self::CodeNeedsWork => 1,
            Self::Usage => 2,
            Self::PersonNeeded => 3,
            Self::SpecificationWrong => 4,
            Self::NoFreshVerdict => 5,
            Self::EvidenceWrong => 6,
            Self::OwnFault => 70,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }
}
