//! What supervisor and launcher say to each other. Pure: [`crate::process::channel`] carries it.
//!
//! Actions have numbers and several may be in flight. A start request names the role of every descriptor that travels with it.
//! The launcher in turn speaks with the keeper of each action.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::model::{
    Access, GroupUsage, IsolationLevel, ResourceLimits, Sandbox, SpawnFailure, StopStage, Survivor, Usage, os_text,
};

/// Which of a launcher's actions a message is about; never used twice in a launcher's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct ActionNumber(pub(super) u64);

/// What a descriptor that travels with a start request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum DescriptorRole {
    /// It becomes the child's standard input; without it that is null.
    Stdin,
    /// It becomes the child's standard output.
    Stdout,
    /// It becomes the child's standard error.
    Stderr,
}

/// A child to be started.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Start {
    /// The action.
    pub(super) number: ActionNumber,
    /// The absolute path of the program.
    #[serde(with = "os_text")]
    pub(super) program: OsString,
    /// The argument vector, its own name first.
    #[serde(with = "os_text::list")]
    pub(super) argv: Vec<OsString>,
    /// The whole environment.
    #[serde(with = "os_text::pairs")]
    pub(super) environment: Vec<(OsString, OsString)>,
    /// The working directory.
    #[serde(with = "os_text")]
    pub(super) directory: OsString,
    /// How it is kept apart.
    pub(super) isolation: Isolation,
    /// Whether another that is kept apart in the same way will probably be asked for next: it is parked for without being asked.
    pub(super) another_follows: bool,
    /// The roles of the descriptors that came with the message, in their order.
    pub(super) descriptors: Vec<DescriptorRole>,
}

impl fmt::Debug for Start {
    /// Without the environment: its values may be secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printed = formatter.debug_struct("Start");
        printed.field("number", &self.number).field("program", &self.program).field("argv", &self.argv);
        printed.finish_non_exhaustive()
    }
}

/// How a child is to be kept apart from everything else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Isolation {
    /// The strongest level that is tried; where the system does not offer it, the next one is.
    pub strongest: IsolationLevel,
    /// The weakest level the child may be started at; below it, it is not.
    pub weakest: IsolationLevel,
    /// What it sees of the file system. None: all of it, as it is.
    pub sandbox: Option<Sandbox>,
    /// The one directory in the sandbox's store that it sees and writes (`PROCTOR_OUT`).
    #[serde(with = "os_text::option")]
    pub output: Option<PathBuf>,
    /// What it may use, where a cgroup can limit it.
    pub resources: ResourceLimits,
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
    /// Make ready for an action that will probably be asked for next. A start that asks for the same is then faster.
    Park {
        /// How it will be kept apart.
        isolation: Box<Isolation>,
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

/// What `waitid(2)` says of a child that has ended. In this form the end of an action's leader passes from keeper to launcher to
/// supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EndedChild {
    pub(super) status: LeaderStatus,
    /// What it and the descendants it waited for have used.
    pub(super) usage: Usage,
}

/// What the launcher has seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Event {
    /// The child runs.
    Started {
        /// The action.
        number: ActionNumber,
        /// The level it is kept apart by.
        level: IsolationLevel,
        /// Why it is no stronger one.
        obstacles: Vec<String>,
    },
    /// The child could not be started; nothing of the action is left.
    NotStarted {
        /// The action.
        number: ActionNumber,
        /// Why.
        failure: SpawnFailure,
    },
    /// The leader has ended.
    Ended {
        /// The action.
        number: ActionNumber,
        leader: EndedChild,
        /// Who of the action was alive when this was seen. If nobody was, the action is empty and no `Emptied` follows.
        survivors: Vec<Survivor>,
        /// What all of it has used, where it had a cgroup and nobody is left.
        group: Option<GroupUsage>,
    },
    /// Nobody of the action is alive any more.
    Emptied {
        /// The action.
        number: ActionNumber,
        /// What all of it has used, where it had a cgroup.
        group: Option<GroupUsage>,
    },
    /// Nobody of the action is alive any more, and how its leader ended was never learnt.
    Vanished {
        /// The action.
        number: ActionNumber,
        /// What was seen instead.
        why: String,
    },
}

impl Isolation {
    /// Nothing but a process group, on everything there is.
    pub fn weakest() -> Self {
        Self {
            strongest: IsolationLevel::ProcessGroup,
            weakest: IsolationLevel::ProcessGroup,
            sandbox: None,
            output: None,
            resources: ResourceLimits::default(),
        }
    }

    /// Returns whether it lays a writable copy over a directory: of those there may be one at a time (overlayfs, "Sharing and copying
    /// layers").
    pub(super) fn lays_copies(&self) -> bool {
        let mut places = self.sandbox.iter().flat_map(|sandbox| &sandbox.places);
        places.any(|place| matches!(place.access, Access::Overlay { .. }))
    }

    /// The strongest level there is, on everything there is.
    pub fn strongest() -> Self {
        Self { strongest: IsolationLevel::Namespace, ..Self::weakest() }
    }
}

/// What the launcher asks of the keeper of one action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum KeeperRequest {
    /// Start the action's leader.
    Run(Box<Start>),
    /// Signal everything of the action.
    Signal(StopStage),
}

/// What a keeper has seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum KeeperEvent {
    /// Everything is ready for a leader that is not known yet.
    Ready,
    /// It cannot be made ready.
    Unready(Obstacle),
    /// The leader runs.
    Started,
    /// The leader could not be started.
    NotStarted(SpawnFailure),
    /// The leader has ended.
    Ended {
        leader: EndedChild,
        /// Who else is alive.
        others: Others,
    },
}

/// Who of an action is alive when its leader has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Others {
    /// Nobody: the kernel says that the first process of the namespace has no child, and everybody in it descends from that. It is
    /// ended by whoever asked for it.
    Nobody,
    /// Nobody was found. That nobody is there is certain when the keeper has ended, which it does.
    NoneFound,
    /// These.
    Alive(Vec<Survivor>),
}

/// Why an action cannot be kept apart as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub(super) enum Obstacle {
    /// The system does not offer the level: it never will.
    #[error("{0}")]
    Level(String),
    /// Something of this sandbox cannot be had.
    #[error("{0}")]
    Place(String),
    /// A place is not any more what it was when it was named.
    #[error("a directory was replaced while a command was made ready for it")]
    Stale,
}

impl Event {
    /// Returns the action the event is about.
    pub(super) fn number(&self) -> ActionNumber {
        match self {
            Self::Started { number, .. }
            | Self::NotStarted { number, .. }
            | Self::Ended { number, .. }
            | Self::Emptied { number, .. }
            | Self::Vanished { number, .. } => *number,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt as _;

    use super::*;
    use crate::model::Place;

    #[test]
    fn names_that_are_not_utf_8_survive_the_wire() {
        let odd = OsString::from_vec(vec![b'a', 0xff, b'\n', 0x80]);
        let place = Place { path: odd.clone().into(), access: Access::Private { source: odd.clone().into() }, identity: (1, 2) };
        let sandbox = Sandbox { places: vec![place], store: odd.clone().into() };
        let request = Request::Start(Box::new(Start {
            number: ActionNumber(7),
            program: odd.clone(),
            argv: vec![odd.clone()],
            environment: vec![(odd.clone(), odd.clone())],
            directory: odd.clone(),
            isolation: Isolation { output: Some(odd.clone().into()), sandbox: Some(sandbox), ..Isolation::weakest() },
            another_follows: true,
            descriptors: vec![DescriptorRole::Stdout, DescriptorRole::Stderr],
        }));
        let bytes = serde_json::to_vec(&request).expect("a request is plain data");
        assert_eq!(serde_json::from_slice::<Request>(&bytes).expect("own words"), request);
    }
}
