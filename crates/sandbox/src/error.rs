//! Errors in computing an action's view of the file system.

use std::io;
use std::path::PathBuf;

/// Why an action's view of the file system cannot be computed.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The project or the store could not be read.
    #[error("failed to look at `{path}`")]
    Look {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The project lies inside of the directory in which proctor keeps its own files.
    #[error("the project `{project}` lies in proctor's own directory `{store}`, which actions cannot see")]
    ProjectInStore { project: PathBuf, store: PathBuf },
    /// A mount shows something hidden at a path that cannot be hidden.
    #[error("`{hidden}` is hidden from commands, and a mount shows it at `{other}` too, which cannot be hidden: {why}")]
    SecondPath {
        hidden: PathBuf,
        other: PathBuf,
        /// Why the other path cannot be hidden.
        why: &'static str,
    },
    /// A path in the settings does not exist and cannot be created.
    #[error("failed to make `{path}`, which `{key}` in `[sandbox]` names")]
    Missing {
        key: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A path in the settings would give the action access to proctor's own files.
    #[error("`{key}` in `[sandbox]` names `{path}`, and proctor's own directory `{store}` {relation}: no setting opens it")]
    OpensStore {
        key: &'static str,
        /// The path in the settings, with links resolved.
        path: PathBuf,
        store: PathBuf,
        /// How the path relates to the store: `lies in it`, `holds it`, `is it`.
        relation: &'static str,
    },
    /// A path in the settings contains the kernel's own files, by which a command could get out of its isolation.
    #[error("`{key}` in `[sandbox]` names `{path}`, which is the kernel's own: each action gets its own view of it")]
    Kernel { key: &'static str, path: PathBuf },
    /// A path in the settings begins with `~`, but there is no HOME.
    #[error("`{key}` in `[sandbox]` names `{path}`, and HOME is not set")]
    NoHome {
        key: &'static str,
        /// The path as it stands in the settings.
        path: String,
    },
}

impl SandboxError {
    /// Returns whether a setting of the user causes the error.
    pub fn is_of_settings(&self) -> bool {
        match self {
            Self::Missing { .. } | Self::OpensStore { .. } | Self::Kernel { .. } | Self::NoHome { .. } => true,
            Self::Look { .. } | Self::ProjectInStore { .. } | Self::SecondPath { .. } => false,
        }
    }

    /// Returns what a person can do about the error.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Look { .. } => "check that the directory exists and that you may read it",
            Self::ProjectInStore { .. } => "move the project, or set XDG_STATE_HOME to another directory",
            Self::SecondPath { .. } => "unmount the second path, or mount there only the directories that you need",
            Self::Missing { .. } => "make the directory yourself, or take the path out of `proctor.toml`",
            Self::OpensStore { .. } => "name the directories below it that the command needs, one by one",
            Self::Kernel { .. } => "take the path out of `proctor.toml`; `mode = \"off\"` runs commands without isolation",
            Self::NoHome { .. } => "set HOME, or write an absolute path",
        }
    }
}
