//! Why a project cannot be watched.

use std::io;
use std::path::PathBuf;

/// The errors of starting a watcher or placing a watch.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The root's path is relative.
    #[error("`{}` is not an absolute path", path.display())]
    Relative { path: PathBuf },
    /// The root does not exist, is not a directory, or may not be read.
    #[error("cannot watch the project's directory `{}`", path.display())]
    Root { path: PathBuf, source: io::Error },
    #[error("cannot start watching")]
    Backend { source: io::Error },
    #[error("cannot watch `{}`", path.display())]
    Watch { path: PathBuf, source: io::Error },
    #[error("cannot start the watcher's thread")]
    Thread { source: io::Error },
}

impl WatchError {
    /// Returns advice for the user: what to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Relative { .. } => "give the project's whole path, from `/` on",
            Self::Root { .. } => "put the directory back, or tell proctor where the project is now",
            Self::Backend { .. } => "see `proctor doctor`; checks can still be run by hand: proctor run",
            Self::Watch { .. } => "mend what is wrong with the directory, or exclude it by `watch.ignore`",
            Self::Thread { .. } => "raise the limit on processes of your user (ulimit -u), or end some",
        }
    }
}
