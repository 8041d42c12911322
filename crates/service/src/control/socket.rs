//! The control socket. Its file is private. A stale file is replaced, but never the file of a running service. systemd
//! can also pass in a socket.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::libc;

use proctor_app::SERVICE_LOCK;

/// The socket on which the service receives requests.
#[derive(Debug)]
pub struct ControlSocket {
    listener: UnixListener,
    path: PathBuf,
    origin: Origin,
    /// Holds the lock until the service ends.
    _lock: Flock<File>,
}

/// Where the socket comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// proctor created it and removes it at the end.
    Made,
    /// systemd created it and keeps it (socket activation).
    HandedIn,
}

/// Why the socket could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum ControlSocketError {
    /// The directory of the socket cannot be created.
    #[error("failed to make the directory `{}`", path.display())]
    Directory {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The path is not a directory, or the directory belongs to another user.
    #[error("`{}` is not a directory of this user's own", path.display())]
    Foreign { path: PathBuf },
    /// Another service is running.
    #[error("a service is running already{}", pid.map(|pid| format!(" (process {pid})")).unwrap_or_default())]
    Running {
        /// The process id of the other service; `None` if it has not yet written it into the lock file.
        pid: Option<i32>,
    },
    /// The socket cannot be opened.
    #[error("failed to listen on `{}`", path.display())]
    Listen {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl ControlSocket {
    /// Listens at `path`, or on a socket that was passed in.
    ///
    /// # Errors
    /// When another service is running, or the directory or the socket cannot be opened.
    pub fn open(path: &Path, handed_in: Option<OwnedFd>) -> Result<Self, ControlSocketError> {
        let directory = path.parent().unwrap_or(Path::new("/"));
        make_private_directory(directory)?;
        let lock = lock(directory)?;
        let listen = |source| ControlSocketError::Listen { path: path.to_owned(), source };
        let (listener, origin) = match handed_in {
            Some(descriptor) => (UnixListener::from(descriptor), Origin::HandedIn),
            None => (bind(path).map_err(listen)?, Origin::Made),
        };
        listener.set_nonblocking(true).map_err(listen)?;
        Ok(Self { listener, path: path.to_owned(), origin, _lock: lock })
    }

    /// Returns the path at which the socket's file lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns another descriptor of the listening socket.
    pub(super) fn listener(&self) -> io::Result<UnixListener> {
        self.listener.try_clone()
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        if self.origin == Origin::Made {
            // If the file cannot be removed, the next service finds that it is stale.
            let _stays = std::fs::remove_file(&self.path);
        }
    }
}

impl ControlSocketError {
    /// Returns advice for the person whose service could not open the socket.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Directory { .. } | Self::Listen { .. } => "check that XDG_RUNTIME_DIR names a directory you may write to",
            Self::Foreign { .. } => "remove it, or set XDG_RUNTIME_DIR to a directory of your own",
            Self::Running { .. } => "`proctor status` asks it; stop it before you start another",
        }
    }
}

/// Creates the directory. If it exists, makes sure that no other user can access it.
///
/// # Errors
/// When it cannot be created, or belongs to another user.
pub fn make_private_directory(path: &Path) -> Result<(), ControlSocketError> {
    let failed = |source| ControlSocketError::Directory { path: path.to_owned(), source };
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
        Ok(()) | Err(_) => {}
    }
    let metadata = std::fs::symlink_metadata(path).map_err(failed)?;
    if !metadata.is_dir() || metadata.uid() != nix::unistd::getuid().as_raw() {
        return Err(ControlSocketError::Foreign { path: path.to_owned() });
    }
    std::fs::set_permissions(path, Permissions::from_mode(0o700)).map_err(failed)
}

fn lock(directory: &Path) -> Result<Flock<File>, ControlSocketError> {
    let path = directory.join(SERVICE_LOCK);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    let file = options.open(&path).map_err(|source| ControlSocketError::Directory { path: path.clone(), source })?;
    let lock = Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(file, errno)| {
        if errno == Errno::EWOULDBLOCK {
            ControlSocketError::Running { pid: holder(&file) }
        } else {
            ControlSocketError::Directory { path: path.clone(), source: errno.into() }
        }
    })?;
    let pid = format!("{:<PID_BYTES$}", std::process::id());
    lock.write_all_at(pid.as_bytes(), 0).map_err(|source| ControlSocketError::Directory { path, source })?;
    Ok(lock)
}

/// The length of the process id in the lock file, with the spaces that follow it. One write replaces the whole earlier one.
const PID_BYTES: usize = 16;

/// Returns the process that holds the lock, as the lock file says. The kernel could only tell who created the socket, and that
/// is systemd if systemd has passed it in.
fn holder(file: &File) -> Option<i32> {
    let mut bytes = [0_u8; PID_BYTES];
    let count = file.read_at(&mut bytes, 0).ok()?;
    std::str::from_utf8(&bytes[..count]).ok()?.trim().parse().ok()
}

/// Replaces the socket's file. This is safe while the lock is held, because then no running service listens on the old
/// file.
fn bind(path: &Path) -> io::Result<UnixListener> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let listener = UnixListener::bind(path)?;
    // Before this line, only the directory's mode keeps other users out.
    std::fs::set_permissions(path, Permissions::from_mode(0o600))?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn the_socket_is_private_and_a_second_service_is_told_the_first_ones_pid() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("proctor/control.sock");
        let first = ControlSocket::open(&path, None).unwrap();
        assert_eq!((mode(path.parent().unwrap()), mode(&path)), (0o700, 0o600));
        match ControlSocket::open(&path, None) {
            Err(ControlSocketError::Running { pid }) => assert_eq!(pid, i32::try_from(std::process::id()).ok()),
            other => panic!("{other:?}"),
        }
        assert!(path.exists(), "who is refused takes nothing away");
        drop(first);
        assert!(!path.exists());
    }

    #[test]
    fn a_stale_socket_is_replaced_and_an_open_directory_is_closed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("proctor/control.sock");
        std::fs::create_dir(path.parent().unwrap()).unwrap();
        std::fs::set_permissions(path.parent().unwrap(), Permissions::from_mode(0o755)).unwrap();
        drop(UnixListener::bind(&path).unwrap());
        let socket = ControlSocket::open(&path, None).unwrap();
        assert_eq!((mode(path.parent().unwrap()), mode(&path)), (0o700, 0o600));
        UnixStream::connect(socket.path()).unwrap();
    }

    #[test]
    fn a_socket_that_was_handed_in_is_used_and_left() {
        let directory = tempfile::tempdir().unwrap();
        let (path, handed) = (directory.path().join("proctor/control.sock"), directory.path().join("handed"));
        let listener = UnixListener::bind(&handed).unwrap();
        let socket = ControlSocket::open(&path, Some(listener.into())).unwrap();
        UnixStream::connect(&handed).unwrap();
        let Err(ControlSocketError::Running { pid }) = ControlSocket::open(&path, None) else { panic!("two services run") };
        assert_eq!(pid, i32::try_from(std::process::id()).ok(), "the service, and not the process that made the socket");
        drop(socket);
        assert!(handed.exists());
    }

    #[test]
    fn a_link_in_place_of_the_directory_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(directory.path(), directory.path().join("proctor")).unwrap();
        let refused = ControlSocket::open(&directory.path().join("proctor/control.sock"), None);
        assert!(matches!(refused, Err(ControlSocketError::Foreign { .. })), "{refused:?}");
    }
}
