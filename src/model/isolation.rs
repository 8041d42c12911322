//! How an action is kept apart from everything else: the level, and what it sees of the file system. Data only: `run/` decides it,
//! `process/` carries it out.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::model::os_text;

/// What keeps the commands of a run apart, the strongest first (architecture, Processes at run time).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IsolationLevel {
    /// User, mount, pid and ipc namespaces: a file system that is read-only but for named places, and an end the kernel proves.
    Namespace,
    /// Landlock for files, and a cgroup that is killed as a whole.
    Cgroup,
    /// Landlock for files, and a search of `/proc` for whoever is left.
    Landlock,
    /// A process group and that search: files and network are shared with the user's other processes.
    ProcessGroup,
}

/// By what means everything that was left of an action was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KilledBy {
    /// The kernel ended the whole pid namespace with its first process.
    PidNamespace,
    /// The kernel ended the whole cgroup.
    Cgroup,
    /// Every descendant that `/proc` showed was ended, until it showed none.
    ProcSearch,
}

/// How an action was kept apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// By what.
    pub reached: ReachedLevel,
    /// How what was left of it was ended, where something was.
    pub killed_by: Option<KilledBy>,
}

/// The isolation level that was reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReachedLevel {
    pub level: IsolationLevel,
    /// Why each stronger level could not be had, one sentence each.
    pub obstacles: Vec<String>,
}

impl IsolationLevel {
    /// Every level, the strongest first.
    pub const ALL: [Self; 4] = [Self::Namespace, Self::Cgroup, Self::Landlock, Self::ProcessGroup];

    /// Returns the means of this level to end what is left of an action.
    pub fn killed_by(self) -> KilledBy {
        match self {
            Self::Namespace => KilledBy::PidNamespace,
            Self::Cgroup => KilledBy::Cgroup,
            Self::Landlock | Self::ProcessGroup => KilledBy::ProcSearch,
        }
    }
}

/// What an action sees of the file system. Everything that is not named here is seen and read-only.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sandbox {
    /// The places that differ, no two of one path, each after the places it lies in.
    pub places: Vec<Place>,
    /// The directory of proctor's own files: hidden but for the action's output directory, which lies below it.
    #[serde(with = "os_text")]
    pub store: PathBuf,
}

/// One place of an action's file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Where: absolute, without links, and there. What is to be seen below a place that hides it may itself be a link: then what it
    /// leads to is seen at its path, and the identity is that of what it leads to.
    #[serde(with = "os_text")]
    pub path: PathBuf,
    /// What is done with it.
    pub access: Access,
    /// Device and inode of what was there when the place was named; a place that was replaced is another one.
    pub identity: (u64, u64),
}

/// What an action may do with a place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Access {
    /// See and write.
    Writable,
    /// See. It need only be named below a place that is writable, hidden or private.
    ReadOnly,
    /// Nothing: a directory is empty, a file is empty.
    Hidden,
    /// See and write another directory in its place.
    Private {
        /// That directory; it is made if it is missing, and belongs to the run.
        #[serde(with = "os_text")]
        source: PathBuf,
    },
    /// See it as it is and write to a copy that goes with the run (overlayfs).
    Overlay {
        /// An empty directory of the run, for what is written and for the kernel's own use.
        #[serde(with = "os_text")]
        scratch: PathBuf,
    },
    /// A file system in memory, empty at the start.
    Memory,
}
