//! Why a project cannot be watched.

use std::io;
use std::path::PathBuf;

use notify::ErrorKind;

/// The errors of starting a watcher or placing a watch.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The root's path is relative.
    #[error("`{}` is not an absolute path", path.display())]
    Relative { path: PathBuf },
    /// The root does not exist, is not a directory, or may not be read.
    #[error("cannot watch the project's directory `{}`", path.display())]
    Root { path: PathBuf, source: io::Error },
    #[error("the kernel's limit on inotify instances is reached")]
    TooManyInstances,
    #[error("cannot start watching")]
    Backend { source: notify::Error },
    #[error("cannot watch `{}`", path.display())]
    Watch { path: PathBuf, source: notify::Error },
    #[error("cannot start the watcher's thread")]
    Thread { source: io::Error },
}

impl WatchError {
    /// Returns advice for the user: what to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Relative { .. } => "give the project's whole path, from `/` on",
            Self::Root { .. } => "put the directory back, or tell proctor where the project is now",
            Self::TooManyInstances => {
                "close other programs that watch files, or raise the limit: sudo sysctl fs.inotify.max_user_instances=512"
            }
            Self::Backend { .. } => "see `proctor doctor`; checks can still be run by hand: proctor run",
            Self::Watch { .. } => "mend what is wrong with the directory, or exclude it by `watch.ignore`",
            Self::Thread { .. } => "raise the limit on processes of your user (ulimit -u), or end some",
        }
    }

    /// Converts an error that the backend returned when it was started.
    pub(super) fn starting(source: notify::Error) -> Self {
        match &source.kind {
            // inotify_init(2) returns EMFILE for the limit on instances and also for the limit on open files.
            ErrorKind::Io(error) if error.raw_os_error() == Some(nix::libc::EMFILE) => Self::TooManyInstances,
            ErrorKind::MaxFilesWatch => Self::TooManyInstances,
            ErrorKind::Io(_)
            | ErrorKind::Generic(_)
            | ErrorKind::PathNotFound
            | ErrorKind::WatchNotFound
            | ErrorKind::InvalidConfig(_) => Self::Backend { source },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exhausted_limit_on_instances_is_recognised() {
        let error = notify::Error::io(io::Error::from_raw_os_error(nix::libc::EMFILE));
        assert!(matches!(WatchError::starting(error), WatchError::TooManyInstances));
    }
}
