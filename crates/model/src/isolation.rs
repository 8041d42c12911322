//! How an action is isolated: the level of isolation, and its view of the file system. This file has data only: `run/`
//! makes the decision, and `process/` isolates the action.

use std::path::PathBuf;

use proctor_wire::wire;
use serde::{Deserialize, Serialize};

use crate::os_text;

/// The means that isolate the commands of a run, strongest first (architecture, Processes).
#[wire(Copy, PartialOrd, Ord, Hash, kebab, schema, named)]
pub enum IsolationLevel {
    /// User, mount, pid and ipc namespaces. The file system is read-only except for named places, and the kernel ends
    /// all processes together with the first one.
    Namespace,
    /// Landlock for files, and a cgroup that the kernel kills as a whole.
    Cgroup,
    /// Landlock for files, and a search of `/proc` for processes that are left over.
    Landlock,
    /// A process group and a search of `/proc`: files and network are shared with the user's other processes.
    ProcessGroup,
    /// Another machine, of which this one knows only what its server says.
    Remote,
}

/// How the remaining processes of an action were ended.
#[wire(Copy, kebab, schema)]
pub enum KilledBy {
    /// The kernel ended the whole pid namespace together with its first process.
    PidNamespace,
    /// The kernel ended the whole cgroup.
    Cgroup,
    /// Every descendant found in `/proc` was killed, until none was found.
    ProcSearch,
}

/// How an action was isolated. The level may be weaker than the level that was tried first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReachedIsolation {
    pub reached: ReachedLevel,
    /// How the processes of the action were killed; `None` if none was killed, neither to stop the action nor because the
    /// action left it behind.
    pub killed_by: Option<KilledBy>,
}

/// The isolation level at which an action ran, and why no stronger one was used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReachedLevel {
    pub level: IsolationLevel,
    /// Why each stronger level could not be used, one sentence for each level.
    pub obstacles: Vec<String>,
    /// The limits that the settings asked for and that were not enforced for this action.
    pub unenforced: Vec<UnenforcedLimit>,
    /// Whether the action's process was started before the action was requested.
    pub early: EarlyUse,
}

/// Whether an action was given to a command that had been started before it was requested.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum EarlyUse {
    /// No command had been started for it.
    #[default]
    NotTried,
    Used,
    /// One had been started and was thrown away, for this reason.
    Refused(String),
}

/// A limit on an action that the settings ask for and that this machine does not enforce.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct UnenforcedLimit {
    /// The key of `[sandbox]` that asks for the limit.
    pub setting: LimitSetting,
    /// Why the limit is not enforced.
    pub why: String,
}

/// Whether an action's system calls are filtered, so that it cannot use parts of the kernel that hardly any check needs.
#[wire(Copy)]
pub enum SystemCallFilter {
    /// The calls are filtered if the machine can do that. If not, the report says so.
    WherePossible,
    /// The calls are filtered, or the action is not started.
    Required,
    Off,
}

/// Which network an action has, the narrowest first.
#[wire(Copy, PartialOrd, Ord, Default, kebab, schema)]
pub enum NetworkAccess {
    /// No address is reached, not even one of the machine itself.
    Off,
    /// Only what other actions of the same run listen on is reached, by the loopback addresses. The ports are the run's own.
    Loopback,
    /// The machine's network.
    #[default]
    Open,
}

/// Whether prerequisites see the credentials of package indexes, such as `~/.npmrc`. Checks never see them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum PackageCredentials {
    /// No action sees them.
    #[default]
    Hidden,
    /// Prerequisites see them, so that they can fetch packages from private indexes.
    ForPrerequisites,
}

/// A key of `[sandbox]` that limits the resources of an action and needs a cgroup.
#[wire(Copy, PartialOrd, Ord, Hash, kebab, schema, named)]
pub enum LimitSetting {
    Memory,
    Processes,
}

/// The beginning of the obstacle that stands beside a verdict if an action could use the socket of a container engine.
pub const ENGINE_SOCKET_OPEN: &str = "engine socket open";

/// How the name of the open channel begins by which every file of the user decides, and no verdict names it. A run with such a
/// channel proves nothing at the gate, unless the policy accepts an open world.
pub const OPEN_WORLD: &str = "open world";

/// The beginning of the names of those open channels by which an action reads files that no verdict names.
pub const UNNAMED_FILES: &str = "files that no digest names: ";

impl NetworkAccess {
    /// Returns whether this is the machine's network, and not one of the run's own.
    pub fn is_open(&self) -> bool {
        *self == Self::Open
    }
}

words! {
    /// Returns the word of the settings.
    pub fn NetworkAccess::word, WORDS: Open "open", Loopback "loopback", Off "off"
}

impl IsolationLevel {
    /// Returns whether this level is weaker than the strongest one.
    pub fn is_weaker(self) -> bool {
        self > Self::Namespace
    }

    /// Returns the words that stand beside a verdict if this level is weaker than the strongest one.
    pub fn weaker_words(self) -> Option<String> {
        self.is_weaker().then(|| format!("isolation {} instead of {}", self.word(), Self::Namespace.word()))
    }

    /// Returns how processes that an action left behind are ended at this level.
    pub fn killed_by(self) -> KilledBy {
        match self {
            Self::Namespace => KilledBy::PidNamespace,
            Self::Cgroup => KilledBy::Cgroup,
            Self::Landlock | Self::ProcessGroup | Self::Remote => KilledBy::ProcSearch,
        }
    }
}

/// An action's view of the file system. Everything that is not named here is visible and read-only.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sandbox {
    /// The places whose access is not plain read-only. Each path occurs once, and a place comes after the places that
    /// contain it.
    pub places: Vec<Place>,
    /// The directory in which proctor keeps evidence, ledger and keys. It is hidden from the action, except for the
    /// action's output directory inside it.
    #[serde(with = "os_text")]
    pub store: PathBuf,
    /// What is hidden from the action wherever a mount shows it: the store, credentials, run-time directories.
    #[serde(with = "os_text::list")]
    pub hidden: Vec<PathBuf>,
    /// The other paths at which mounts showed something of `hidden` when the sandbox was described. They are hidden by places of
    /// their own, but for those that a person opened.
    #[serde(with = "os_text::list")]
    pub second_paths: Vec<PathBuf>,
    /// What the action sees outside of the project that users can write: toolchains, installed packages, caches of packages.
    /// A verdict names their content.
    #[serde(skip)]
    pub visible: Vec<VisibleDirectory>,
    /// The hidden places that are hidden because they are not of the system, and not because of secrets.
    #[serde(skip)]
    pub closed: Vec<PathBuf>,
    /// The directories outside of the project that are writable because package managers and other tools keep what they download
    /// there. Prerequisites fill them; what a check writes there is dropped.
    #[serde(with = "os_text::list")]
    pub caches: Vec<PathBuf>,
}

/// A directory outside of the project that an action sees.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct VisibleDirectory {
    /// The absolute path without links.
    pub path: PathBuf,
    pub kind: VisibleKind,
}

/// Why an action sees a directory outside of the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum VisibleKind {
    /// Programs and what they consist of: an interpreter with its libraries, a compiler, a directory of `PATH`.
    Toolchain,
    /// Installed packages that the project's programs load: a virtual environment, `node_modules`, `site-packages`.
    Environment,
    /// Packages that a package manager downloaded, and data that a tool keeps like that.
    PackageCache,
    /// Packages that a package manager downloaded, of which a lock file of the project has the hashes. No verdict names their
    /// content: the tree does.
    PinnedPackages,
}

/// A place in an action's file system with its own access rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The absolute path, which must exist and contain no links. Exception: inside a hidden place the path may be a
    /// link. The link's target is then visible at this path, and `identity` is that of the target.
    #[serde(with = "os_text")]
    pub path: PathBuf,
    pub access: Access,
    /// Device and inode of the file or directory when this place was found. If the identity differs later, the file or
    /// directory was replaced.
    pub identity: (u64, u64),
}

/// What an action may do with a place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Access {
    /// The action may read and write the place.
    Writable,
    /// The action may only read. This is needed only inside a place that is writable, hidden or private.
    ReadOnly,
    /// The action may do nothing: a directory or file appears empty.
    Hidden,
    /// Another directory appears at this path, and the action may read and write it.
    Private {
        /// The directory that appears in place of the original. It belongs to the run and is created if it is missing.
        #[serde(with = "os_text")]
        source: PathBuf,
    },
    /// The action sees the original, and its writes go to a copy that is deleted with the run (overlayfs).
    Overlay {
        /// An empty directory of the run, in which overlayfs stores the written files and its own working files.
        #[serde(with = "os_text")]
        scratch: PathBuf,
    },
    /// An in-memory file system appears at this path; it is empty at the start.
    Memory,
    /// An empty directory appears at this path, which the action may write and which is deleted with the run. Without
    /// namespaces the place is hidden.
    Layer {
        /// A directory of the run, which is created if it is missing.
        #[serde(with = "os_text")]
        source: PathBuf,
    },
    /// A file with this text appears at this path, and the action may only read it. Without namespaces it reads the file
    /// itself.
    Text { content: String },
}

/// What a check sees in place of the project (overlayfs): directories laid over each other, with a writable one on top.
/// The check neither sees nor changes the project itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotMount {
    /// The root of the project: absolute, without links.
    #[serde(with = "os_text")]
    pub root: PathBuf,
    /// A directory inside proctor's own directory. It contains all directories that the other fields name, except
    /// `root`, the paths of the live directories in `environments`, and what lies in `memory`.
    #[serde(with = "os_text")]
    pub directory: PathBuf,
    /// The directory below `/dev/shm` that contains the layers, if the file system of `directory` cannot hold them.
    #[serde(with = "os_text::option")]
    pub memory: Option<PathBuf>,
    /// The directories that overlayfs only reads, the topmost first.
    #[serde(with = "os_text::list")]
    pub lower: Vec<PathBuf>,
    /// The directories for the files that the check writes.
    pub written: WrittenLayer,
    /// Directories of the live project that the check sees with their real content, such as `.venv`. What the check
    /// writes to them is stored separately.
    pub environments: Vec<EnvironmentMount>,
}

/// Directories that an action sees with their real content and that it cannot change: what it writes there goes to layers, which are
/// dropped when it has ended. Only the namespace level has layers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DroppedWrites {
    /// A directory inside proctor's own directory. It contains all layers, unless they lie in `memory`.
    #[serde(with = "os_text")]
    pub directory: PathBuf,
    /// The directory below `/dev/shm` that contains the layers, if the file system of `directory` cannot hold them.
    #[serde(with = "os_text::option")]
    pub memory: Option<PathBuf>,
    pub places: Vec<DroppedPlace>,
}

/// A directory and the layer for what an action writes to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DroppedPlace {
    /// The directory's path: absolute, without links.
    #[serde(with = "os_text")]
    pub path: PathBuf,
    pub written: WrittenLayer,
}

/// Two empty directories on one file system, in which overlayfs stores what an action writes to an overlay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenLayer {
    /// The directory for the written files. Deleted files are also recorded here, by markers of overlayfs.
    #[serde(with = "os_text")]
    pub upper: PathBuf,
    /// The directory for overlayfs's own working files.
    #[serde(with = "os_text")]
    pub work: PathBuf,
}

/// A directory of the live project that a check sees in its snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvironmentMount {
    /// The directory's path in the live project. The check sees it at the same path.
    #[serde(with = "os_text")]
    pub path: PathBuf,
    /// Directories that are laid over the live directory, the topmost first: the check's own kept caches, and a layer
    /// that hides caches that the project itself has in the live directory.
    #[serde(with = "os_text::list")]
    pub caches: Vec<PathBuf>,
    /// Where overlayfs stores the files that the check writes below `path`.
    pub written: WrittenLayer,
}

/// How a run was isolated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IsolationFacts {
    /// The weakest isolation among the run's actions.
    pub kept: ReachedIsolation,
    /// The ways by which a command could reach outside of the run.
    pub open_channels: Vec<String>,
}
