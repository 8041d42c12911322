//! The exit codes of the command line. They are a public interface: each code has one meaning (G5).

use serde::{Deserialize, Serialize};

/// How a `proctor` command ends; [`CommandExit::code`] gives the exit status of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum CommandExit {
    /// Proceed: the checks passed, or a valid RED in the RED phase.
    Proceed,
    /// The code needs work. Time-outs, execution errors and failed prerequisites count as this too.
    CodeNeedsWork,
    /// The command was used wrongly.
    Usage,
    /// A person is needed: a limit, an approval, INDETERMINATE, HUMAN_REVIEW in a started cycle.
    PersonNeeded,
    /// The specification or configuration is wrong.
    SpecificationWrong,
    /// No fresh verdict in time, or the tree moved or is unstable.
    NoFreshVerdict,
    /// Evidence does not verify.
    EvidenceWrong,
    /// proctor itself failed.
    OwnFault,
    /// SIGINT ended the command.
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
    pub fn of_code(code: u8) -> Self {
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
