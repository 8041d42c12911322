//! The exit codes of the command line. They are a public interface: each code has one meaning (G5).

use proctor_wire::wire;

/// How a `proctor` command ends; [`CommandExit::code`] gives the exit status of the process.
#[wire(Copy, Hash, screaming, schema)]
pub enum CommandExit {
    /// The checks passed, or tests failed as they must in the RED phase of a cycle. In both cases the work can proceed.
    Proceed,
    /// The code is not in order: a check failed, or it could not pass because of a time-out, an execution error or a
    /// failed prerequisite.
    CodeNeedsWork,
    /// The command line was wrong.
    Usage,
    /// A person must decide: a limit was reached, an approval or the verdict of a review is missing, or a cycle waits
    /// for a person.
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

/// The exit codes in the order in which one of them decides for several tasks. A red task comes before a wrong
/// specification, so that "any task is red" always has the code of one red task. What is not known comes before success.
const DECIDING: [CommandExit; 10] = [
    CommandExit::OwnFault,
    CommandExit::Interrupted,
    CommandExit::Terminated,
    CommandExit::EvidenceWrong,
    CommandExit::CodeNeedsWork,
    CommandExit::SpecificationWrong,
    CommandExit::PersonNeeded,
    CommandExit::Usage,
    CommandExit::NoFreshVerdict,
    CommandExit::Proceed,
];

impl CommandExit {
    /// Returns the exit code of a command about several tasks, from the exit code of each task. Without any task it is
    /// [`CommandExit::NoFreshVerdict`].
    pub fn of_tasks(exits: &[Self]) -> Self {
        DECIDING.into_iter().find(|exit| exits.contains(exit)).unwrap_or(Self::NoFreshVerdict)
    }

    /// Returns the variant for an exit status; [`CommandExit::OwnFault`] if no variant has this status.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_code_stands_for_several_tasks_and_unknown_is_never_success() {
        use CommandExit::{CodeNeedsWork, Interrupted, NoFreshVerdict, OwnFault, PersonNeeded, Proceed, SpecificationWrong};
        for (exits, expected) in [
            (&[][..], NoFreshVerdict),
            (&[Proceed, Proceed], Proceed),
            (&[Proceed, NoFreshVerdict], NoFreshVerdict),
            (&[SpecificationWrong, CodeNeedsWork, Proceed], CodeNeedsWork),
            (&[NoFreshVerdict, PersonNeeded], PersonNeeded),
            (&[PersonNeeded, SpecificationWrong], SpecificationWrong),
            (&[CodeNeedsWork, Interrupted], Interrupted),
            (&[OwnFault, CodeNeedsWork], OwnFault),
        ] {
            assert_eq!(CommandExit::of_tasks(exits), expected, "{expected:?}");
        }
        assert!(ALL.iter().all(|exit| CommandExit::of_tasks(&[*exit]) == *exit), "each code decides where it is alone");
    }
}
