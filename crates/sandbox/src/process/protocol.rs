//! The messages between the supervisor (it requests actions), the launcher (the helper process that starts actions) and
//! the keepers (each is a process that watches one action). Pure: [`crate::process::channel`] sends and receives the
//! messages.
//!
//! Messages name actions by number, and several actions may run at once. A start request names the role of every
//! descriptor that is sent with it.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use proctor_wire::wire;
use serde::{Deserialize, Serialize};

use proctor_model::{
    Access, DroppedWrites, EarlyUse, GroupUsage, IsolationLevel, LimitKind, NetworkAccess, ResourceLimits, Sandbox,
    SnapshotMount, SpawnFailure, StopStage, Survivor, SystemCallFilter, UnenforcedLimit, Usage, os_text,
};

/// Identifies one action of a launcher, the process that starts actions. A number is never reused while the launcher
/// lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct ActionNumber(pub(super) u64);

/// Which standard stream of the child a descriptor of a start request becomes.
#[wire(Copy)]
pub(super) enum DescriptorRole {
    /// The descriptor becomes the child's standard input. Without it, the input is `/dev/null`.
    Stdin,
    /// The descriptor becomes the child's standard output.
    Stdout,
    /// The descriptor becomes the child's standard error.
    Stderr,
    /// The user namespace to which the network of the run belongs. The launcher keeps it; the child does not get it.
    NetworkOwner,
    /// The network of the run. The launcher keeps it; the child does not get it.
    Network,
}

/// The beginning of the obstacle that says that an action has the machine's network in place of one of the run's own, although it runs in
/// namespaces. The reason follows.
pub(crate) const NO_OWN_NETWORK: &str = "no network of the run's own can be made: ";

/// What the launcher needs to start a child process.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchedChild {
    /// The absolute path of the program, from [`crate::process::resolve_program`].
    #[serde(with = "os_text")]
    pub program: PathBuf,
    /// The argument vector; the first entry is the program's name.
    #[serde(with = "os_text::list")]
    pub argv: Vec<OsString>,
    /// The complete environment of the child. The child inherits no other variables.
    #[serde(with = "os_text::pairs")]
    pub environment: Vec<(OsString, OsString)>,
    #[serde(with = "os_text")]
    pub directory: PathBuf,
    pub isolation: Isolation,
    /// Whether the next action will probably be isolated in the same way. If so, its keeper (the process that watches
    /// one action) is forked while this action runs, so that the next action starts faster.
    pub another_follows: bool,
    /// The key of the [`EarlyCommand`] that may go on as this child; `None` if the child is always started when it is requested.
    pub early: Option<String>,
}

/// A command that is started before its action is requested: in the namespaces that the action will probably have, with an empty directory
/// in place of the project. It is given the action and the project's files later.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlyCommand {
    /// Stands for everything that the started command may depend on. It may go on as the children with the same key.
    pub key: String,
    /// As in [`LaunchedChild`].
    #[serde(with = "os_text")]
    pub program: PathBuf,
    /// As in [`LaunchedChild`]; those of the action may differ where they name its output directory.
    #[serde(with = "os_text::list")]
    pub argv: Vec<OsString>,
    /// The variables of the started command; it gets those of its action later.
    #[serde(with = "os_text::pairs")]
    pub environment: Vec<(OsString, OsString)>,
    #[serde(with = "os_text")]
    pub directory: PathBuf,
    /// The root of the project.
    #[serde(with = "os_text")]
    pub root: PathBuf,
    /// The directories of installed packages that the command sees.
    #[serde(with = "os_text::list")]
    pub environments: Vec<PathBuf>,
    /// The directories, relative to the root, that the command finds.
    pub directories: Vec<String>,
    /// The files that the command finds in place of the project's: paths relative to the root, and contents.
    pub files: Vec<(String, String)>,
    /// The variable in which the command finds the number of the descriptor by which it speaks with the keeper.
    pub channel: String,
    /// The file, relative to the root, in which the command finds what its rehearsal has said.
    pub list: String,
}

impl fmt::Debug for EarlyCommand {
    /// Leaves out the environment: its values may be secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("EarlyCommand").field("key", &self.key).field("argv", &self.argv).finish_non_exhaustive()
    }
}

impl fmt::Debug for LaunchedChild {
    /// Leaves out the environment: its values may be secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printed = formatter.debug_struct("LaunchedChild");
        printed.field("program", &self.program).field("argv", &self.argv).field("directory", &self.directory);
        printed.finish_non_exhaustive()
    }
}

/// A request to start a child.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StartAction {
    pub(super) number: ActionNumber,
    pub(super) child: LaunchedChild,
    /// The roles of the descriptors that are sent with this request, in the order of the descriptors.
    pub(super) descriptors: Vec<DescriptorRole>,
}

/// How a child is to be isolated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Isolation {
    /// The isolation level that is tried first. If the system does not offer it, weaker levels are tried.
    pub strongest: IsolationLevel,
    /// The weakest acceptable level. If the system offers neither this level nor a stronger one, the child is not
    /// started.
    pub weakest: IsolationLevel,
    /// The child's view of the file system; `None` for the unrestricted whole file system.
    pub sandbox: Option<Sandbox>,
    /// The snapshot that the child sees in place of the project; `None` shows it the project itself. A snapshot needs
    /// the namespace level and a sandbox.
    pub snapshot: Option<SnapshotMount>,
    /// The directories whose changes are dropped when the child has ended; `None` if there are none. Weaker levels than namespaces
    /// ignore it.
    pub dropped: Option<DroppedWrites>,
    /// The one directory of the store that the child sees and may write (`PROCTOR_OUT`).
    #[serde(with = "os_text::option")]
    pub output: Option<PathBuf>,
    /// The child's network. One of the run's own comes with the request as descriptors. Without them, a child that asks for one has the
    /// machine's network at every level, and the report says so.
    pub network: NetworkAccess,
    /// Whether a child that cannot have its network is not started, instead.
    pub needs_network: bool,
    /// Why the run could not be given the network that the child asks for.
    pub network_obstacle: Option<String>,
    /// Limits on the resources that the child uses. They are enforced only if the child has a cgroup.
    pub resources: ResourceLimits,
    /// The filter on the child's system calls. The process-group level has none.
    pub filter: SystemCallFilter,
}

/// A request from the supervisor (the code that runs one action) to the launcher (the process that starts actions).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum LauncherRequest {
    /// Start a child in a process group of its own.
    Start(Box<StartAction>),
    /// Signal all processes of the action. The launcher ignores this if it does not know the action, or was told to
    /// forget it.
    Signal { number: ActionNumber, stage: StopStage },
    /// Prepare a keeper (the process that watches one action) for an action that will probably be requested next. A
    /// start with the same isolation is then faster.
    Park { isolation: Box<Isolation>, early: Option<Box<EarlyCommand>> },
    /// The supervisor is done with the action: kill the action's processes, reap its keeper (the process that watches
    /// it), and forget the action.
    Release { number: ActionNumber },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum LeaderStatus {
    Exited { code: i32 },
    Signalled { signal: i32 },
}

/// The status of an ended child, as `waitid(2)` returns it. The keeper (the child's parent) sends the status to the
/// launcher (the process that starts actions), and the launcher sends it to the supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EndedChild {
    pub(super) status: LeaderStatus,
    /// The resources used by the child and by the descendants that it waited for.
    pub(super) usage: Usage,
    /// Whether the child or a descendant read the repository by git.
    pub(super) used_git: bool,
}

/// An event that the launcher, the process that starts actions, reports to the supervisor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum LauncherEvent {
    /// The child was started. This event is sent together with the action's next event.
    Started {
        number: ActionNumber,
        /// The isolation level at which the child runs.
        level: IsolationLevel,
        /// Why no stronger level is used.
        obstacles: Vec<String>,
        /// The limits that were asked for and are not enforced.
        unenforced: Vec<UnenforcedLimit>,
        early: EarlyUse,
    },
    /// The child could not be started; no process of the action is left.
    NotStarted { number: ActionNumber, failure: SpawnFailure },
    Ended {
        number: ActionNumber,
        leader: EndedChild,
        /// The processes of the action that were alive when the leader had ended. If the list is empty, the action is
        /// over and no `Emptied` follows.
        survivors: Vec<Survivor>,
        /// The resources that all processes of the action used, if it had a cgroup and no process is left.
        group: Option<GroupUsage>,
    },
    /// No process of the action is alive any more.
    Emptied {
        number: ActionNumber,
        /// The resources that all processes of the action used, if it had a cgroup.
        group: Option<GroupUsage>,
    },
    /// No process of the action is alive any more, and it is unknown how the action's main process ended.
    Vanished {
        number: ActionNumber,
        /// Why the exit status of the action's main process is unknown.
        why: String,
        /// The resources that all processes of the action used, if it had a cgroup.
        group: Option<GroupUsage>,
    },
}

impl Isolation {
    /// Returns isolation by a process group only, without a sandbox: the action sees the whole file system.
    pub fn weakest() -> Self {
        Self {
            strongest: IsolationLevel::ProcessGroup,
            weakest: IsolationLevel::ProcessGroup,
            sandbox: None,
            snapshot: None,
            dropped: None,
            output: None,
            network: NetworkAccess::Open,
            needs_network: false,
            network_obstacle: None,
            resources: ResourceLimits::default(),
            filter: SystemCallFilter::WherePossible,
        }
    }

    /// Returns whether the sandbox mounts a writable copy of a directory (overlayfs). Only one such copy may exist at a
    /// time (overlayfs, "Sharing and copying layers").
    pub(super) fn mounts_overlay(&self) -> bool {
        let mut places = self.sandbox.iter().flat_map(|sandbox| &sandbox.places);
        places.any(|place| matches!(place.access, Access::Overlay { .. }))
    }

    /// Returns isolation at the strongest level that the system offers, without a sandbox: the action sees the whole
    /// file system.
    pub fn strongest() -> Self {
        Self { strongest: IsolationLevel::Namespace, ..Self::weakest() }
    }
}

/// A request from the launcher (the process that starts actions) to a keeper (the process that watches one action).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum KeeperRequest {
    /// Start the action's leader, that is, its main process.
    Run(Box<StartAction>),
    /// Signal all processes of the action.
    Signal(StopStage),
}

/// An event that a keeper (the process that watches one action) reports to the launcher (the process that starts
/// actions).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum KeeperEvent {
    /// The keeper was forked in advance and is ready: it waits until the launcher sends it an action.
    Ready,
    /// The keeper could not set up the isolation of its action.
    Unready(Obstacle),
    /// The rehearsal of an early command has said what the command loads.
    Listed(String),
    /// The leader, the action's main process, was started.
    LeaderStarted(EarlyUse),
    /// The leader, the action's main process, could not be started.
    LeaderNotStarted(SpawnFailure),
    /// The action is above a limit that the keeper watches, because no cgroup enforces it.
    LimitExceeded(LimitKind),
    LeaderEnded {
        leader: EndedChild,
        /// The processes of the action that are alive, except the leader (the action's main process).
        others: RemainingProcesses,
    },
}

/// Which processes of an action are alive when its leader, the main process, has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum RemainingProcesses {
    /// No process is left. The kernel guarantees that: the keeper, the first process of the action's namespace, has no
    /// child, and every other process of the namespace descends from the keeper. The launcher then ends the keeper.
    Nobody,
    /// The keeper (the process that watches the action) found no process. It is certain that none is left only once the
    /// keeper has ended, so the keeper now ends.
    NoneFound,
    Alive(Vec<Survivor>),
}

/// Why an action cannot be isolated as requested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub(super) enum Obstacle {
    /// The system does not offer the level, and trying again will not help.
    #[error("{0}")]
    Level(String),
    /// A path of the action's sandbox cannot be set up.
    #[error("{0}")]
    Place(String),
    /// The action cannot have the network that it asks for. It says nothing about the level.
    #[error("{0}")]
    Network(String),
    /// A path of the sandbox was replaced by another file or directory after the sandbox was described.
    #[error("a directory was replaced while a command was made ready for it")]
    Stale,
    /// The keeper (the process that starts the action) ended, or stopped answering, before it reported the start. So the isolation
    /// itself may be possible.
    #[error("{0}")]
    Keeper(String),
}

impl LauncherEvent {
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
    use proctor_model::Place;

    #[test]
    fn names_that_are_not_utf_8_survive_the_wire() {
        let odd = OsString::from_vec(vec![b'a', 0xff, b'\n', 0x80]);
        let place = Place { path: odd.clone().into(), access: Access::Private { source: odd.clone().into() }, identity: (1, 2) };
        let sandbox = Sandbox {
            places: vec![place],
            store: odd.clone().into(),
            hidden: vec![odd.clone().into()],
            caches: vec![odd.clone().into()],
            ..Sandbox::default()
        };
        let request = LauncherRequest::Start(Box::new(StartAction {
            number: ActionNumber(7),
            child: LaunchedChild {
                program: odd.clone().into(),
                argv: vec![odd.clone()],
                environment: vec![(odd.clone(), odd.clone())],
                directory: odd.clone().into(),
                isolation: Isolation { output: Some(odd.clone().into()), sandbox: Some(sandbox), ..Isolation::weakest() },
                another_follows: true,
                early: Some("k".to_owned()),
            },
            descriptors: vec![DescriptorRole::Stdout, DescriptorRole::Stderr],
        }));
        let bytes = serde_json::to_vec(&request).expect("a request is plain data");
        assert_eq!(serde_json::from_slice::<LauncherRequest>(&bytes).expect("own words"), request);
    }
}
