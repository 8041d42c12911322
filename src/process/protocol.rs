//! What supervisor and launcher say to each other. Pure: [`crate::process::channel`] carries it.
//!
//! Actions have numbers and several may be in flight. A start request names the role of every descriptor that travels with it,
//! so a role can be added (a status descriptor, a lifeline) without another kind of message.

use std::ffi::OsString;

use serde::{Deserialize, Serialize};

use crate::model::{SpawnFailure, StopStage, Survivor, Usage};

/// Which of a launcher's actions a message is about; never used twice in a launcher's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct ActionNumber(pub(super) u64);

/// What a descriptor that travels with a start request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum DescriptorRole {
    /// It becomes the child's standard output.
    Stdout,
    /// It becomes the child's standard error.
    Stderr,
}

/// A child to be started. `OsString` is written as its bytes, so nothing is lost of names that are not UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Start {
    /// The action.
    pub(super) number: ActionNumber,
    /// The absolute path of the program.
    pub(super) program: OsString,
    /// The argument vector, its own name first.
    pub(super) argv: Vec<OsString>,
    /// The whole environment.
    pub(super) environment: Vec<(OsString, OsString)>,
    /// The working directory.
    pub(super) directory: OsString,
    /// The roles of the descriptors that came with the message, in their order.
    pub(super) descriptors: Vec<DescriptorRole>,
}

/// What the supervisor asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Request {
    /// Start a child in a group of its own.
    Start(Box<Start>),
    /// Signal everything of the action. Ignored if the action is not open.
    Signal {
        /// The action.
        number: ActionNumber,
        /// The signal.
        stage: StopStage,
    },
    /// The supervisor is done with the action: kill what is left, reap its leader, forget it.
    Release {
        /// The action.
        number: ActionNumber,
    },
}

/// How a leader ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum LeaderStatus {
    /// By itself.
    Exited {
        /// Its exit status.
        code: i32,
    },
    /// By a signal.
    Signalled {
        /// The signal's number.
        signal: i32,
    },
}

/// What the launcher has seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Event {
    /// The child runs.
    Started {
        /// The action.
        number: ActionNumber,
        /// Its leader, which is also its group.
        pid: i32,
    },
    /// The child could not be started; nothing of the action is left.
    NotStarted {
        /// The action.
        number: ActionNumber,
        /// Why.
        failure: SpawnFailure,
    },
    /// The leader has ended. It stays a zombie until the release, so its group id cannot be used again.
    Ended {
        /// The action.
        number: ActionNumber,
        /// How.
        status: LeaderStatus,
        /// What it used.
        usage: Usage,
        /// Who of its group was alive when this was seen. If nobody was, the action is empty and no `Emptied` follows.
        survivors: Vec<Survivor>,
    },
    /// Nobody of the action's group is alive any more.
    Emptied {
        /// The action.
        number: ActionNumber,
    },
}

impl Event {
    /// Returns the action the event is about.
    pub(super) fn number(&self) -> ActionNumber {
        match self {
            Self::Started { number, .. }
            | Self::NotStarted { number, .. }
            | Self::Ended { number, .. }
            | Self::Emptied { number } => *number,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt as _;

    use super::*;

    #[test]
    fn names_that_are_not_utf_8_survive_the_wire() {
        let odd = OsString::from_vec(vec![b'a', 0xff, b'\n', 0x80]);
        let request = Request::Start(Box::new(Start {
            number: ActionNumber(7),
            program: odd.clone(),
            argv: vec![odd.clone()],
            environment: vec![(odd.clone(), odd.clone())],
            directory: odd,
            descriptors: vec![DescriptorRole::Stdout, DescriptorRole::Stderr],
        }));
        let bytes = serde_json::to_vec(&request).expect("a request is plain data");
        assert_eq!(serde_json::from_slice::<Request>(&bytes).expect("own words"), request);
    }
}
