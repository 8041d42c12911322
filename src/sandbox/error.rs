//! Why there is no file system for an action.

use std::io;
use std::path::PathBuf;

/// Says which place is in the way.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The project or the store could not be looked at.
    #[error("failed to look at `{path}`")]
    Look {
        /// The directory.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The project lies in proctor's own directory.
    #[error("the project `{project}` lies in proctor's own directory `{store}`, which actions cannot see")]
    ProjectInStore {
        /// The project's root.
        project: PathBuf,
        /// The state root.
        store: PathBuf,
    },
    /// A place of the settings is not there and cannot be made.
    #[error("failed to make `{path}`, which `{key}` in `[sandbox]` names")]
    Missing {
        /// The setting.
        key: &'static str,
        /// The place.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A place of the settings would open the store.
    #[error("`{key}` in `[sandbox]` names `{path}`, and proctor's own directory `{store}` {relation}: no setting opens it")]
    OpensStore {
        /// The setting.
        key: &'static str,
        /// The place as it is on disk.
        path: PathBuf,
        /// The state root.
        store: PathBuf,
        /// How the two lie: `lies in it`, `holds it`, `is it`.
        relation: &'static str,
    },
    /// A place of the settings shows the kernel's own files, by which one gets out.
    #[error("`{key}` in `[sandbox]` names `{path}`, which is the kernel's own: each action gets its own view of it")]
    Kernel {
        /// The setting.
        key: &'static str,
        /// The place.
        path: PathBuf,
    },
    /// A path of the settings begins with `~` and there is no HOME.
    #[error("`{key}` in `[sandbox]` names `{path}`, and HOME is not set")]
    NoHome {
        /// The setting.
        key: &'static str,
        /// The path as it is written.
        path: String,
    },
}

impl SandboxError {
    /// Returns whether the settings are to blame.
    pub(crate) fn is_of_settings(&self) -> bool {
        match self {
            Self::Missing { .. } | Self::OpensStore { .. } | Self::Kernel { .. } | Self::NoHome { .. } => true,
            Self::Look { .. } | Self::ProjectInStore { .. } => false,
        }
    }

    /// Returns what to do next.
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
