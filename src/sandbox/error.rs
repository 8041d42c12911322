//! Errors in preparing an action's view of the file system.

use std::io;
use std::path::PathBuf;

/// Why the view of the file system cannot be prepared.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The project or the store could not be read.
    #[error("failed to look at `{path}`")]
    Look {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The project lies inside of proctor's own directory.
    #[error("the project `{project}` lies in proctor's own directory `{store}`, which actions cannot see")]
    ProjectInStore { project: PathBuf, store: PathBuf },
    /// A place in the settings does not exist and cannot be created.
    #[error("failed to make `{path}`, which `{key}` in `[sandbox]` names")]
    Missing {
        key: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A place in the settings would open the store.
    #[error("`{key}` in `[sandbox]` names `{path}`, and proctor's own directory `{store}` {relation}: no setting opens it")]
    OpensStore {
        key: &'static str,
        /// The place with links resolved.
        path: PathBuf,
        store: PathBuf,
        /// The relation of place and store: `lies in it`, `holds it`, `is it`.
        relation: &'static str,
    },
    /// A place in the settings contains the kernel's own files, through which a command could get out of its isolation.
    #[error("`{key}` in `[sandbox]` names `{path}`, which is the kernel's own: each action gets its own view of it")]
    Kernel { key: &'static str, path: PathBuf },
    /// A path in the settings begins with `~`, but there is no HOME.
    #[error("`{key}` in `[sandbox]` names `{path}`, and HOME is not set")]
    NoHome {
        key: &'static str,
        /// The path as written.
        path: String,
    },
}

impl SandboxError {
    /// Returns whether the settings are the cause.
    pub(crate) fn is_of_settings(&self) -> bool {
        match self {
            Self::Missing { .. } | Self::OpensStore { .. } | Self::Kernel { .. } | Self::NoHome { .. } => true,
            Self::Look { .. } | Self::ProjectInStore { .. } => false,
        }
    }

    /// Returns advice on what to do next.
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Self::Look { .. } => "check that the directory exists and that you may read it",
            Self::ProjectInStore { .. } => "move the project, or set XDG_STATE_HOME to another directory",
            Self::Missing { .. } => "make the directory yourself, or take the path out of `proctor.toml`",
            Self::OpensStore { .. } => "name the directories below it that the command needs, one by one",
            Self::Kernel { .. } => "take the path out of `proctor.toml`; `mode = \"off\"` runs commands without isolation",
            Self::NoHome { .. } => "set HOME, or write an absolute path",
        }
    }
}
