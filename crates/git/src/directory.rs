//! A directory of a repository whose files are opened without following a symbolic link.
//!
//! The tested code may have put a link into `.git`. Through such a link proctor would read, or write to, a place that the
//! tested code chose: another repository, or any directory of the user. So every path below the directory is resolved by the
//! kernel with `RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS` (openat2(2)). Whoever writes there does so through the descriptor of a
//! directory that was opened in this way. A link that is put there meanwhile changes nothing.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, open, openat2};
use nix::sys::stat::Mode;

use crate::error::GitReadError;

const DIRECTORY: OFlag = OFlag::O_RDONLY.union(OFlag::O_DIRECTORY).union(OFlag::O_CLOEXEC);
/// A pipe or a device is opened without waiting, and refused afterwards.
const FILE: OFlag = OFlag::O_RDONLY.union(OFlag::O_NONBLOCK).union(OFlag::O_NOCTTY).union(OFlag::O_CLOEXEC);

/// An open directory, with the path by which messages name it.
#[derive(Debug, Clone)]
pub struct GitDirectory {
    path: PathBuf,
    handle: Arc<OwnedFd>,
}

impl GitDirectory {
    /// Opens a directory. A symbolic link in the last component is refused; links in the components before it are
    /// followed, because the path to the project itself may contain links.
    ///
    /// # Errors
    /// When there is no directory, or it cannot be opened.
    pub fn open(path: &Path) -> Result<Self, GitReadError> {
        let is_link = path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
        let opened = if is_link { Err(Errno::ELOOP) } else { open(path, DIRECTORY.union(OFlag::O_NOFOLLOW), Mode::empty()) };
        match opened {
            Ok(handle) => Ok(Self { path: path.to_owned(), handle: Arc::new(handle) }),
            Err(errno) => Err(refuse(errno, path.to_owned())),
        }
    }

    /// Returns the path by which messages name the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a directory below this one; `None` if it does not exist.
    ///
    /// # Errors
    /// When it is no directory, lies behind a symbolic link, or cannot be opened.
    pub fn directory(&self, relative: &str) -> Result<Option<Self>, GitReadError> {
        let opened = self.resolve(relative, DIRECTORY)?;
        Ok(opened.map(|handle| Self { path: self.path.join(relative), handle: Arc::new(handle) }))
    }

    /// Opens a regular file below this directory; `None` if it does not exist.
    ///
    /// # Errors
    /// When it is no regular file, lies behind a symbolic link, or cannot be opened.
    pub fn file(&self, relative: &str) -> Result<Option<File>, GitReadError> {
        let Some(file) = self.resolve(relative, FILE)?.map(File::from) else { return Ok(None) };
        let path = self.path.join(relative);
        let metadata = file.metadata().map_err(|source| GitReadError::Unreadable { path: path.clone(), source })?;
        if metadata.is_file() { Ok(Some(file)) } else { Err(GitReadError::NotAFile { path }) }
    }

    /// Reads a small file as text; `None` if it does not exist or is no text.
    ///
    /// # Errors
    /// When the file has more than `cap` bytes, cannot be read, or [`Self::file`] refuses it.
    pub fn text(&self, relative: &str, cap: u64) -> Result<Option<String>, GitReadError> {
        let Some(file) = self.file(relative)? else { return Ok(None) };
        let path = || self.path.join(relative);
        let mut bytes = Vec::new();
        file.take(cap + 1).read_to_end(&mut bytes).map_err(|source| GitReadError::Unreadable { path: path(), source })?;
        if bytes.len() as u64 > cap {
            return Err(GitReadError::TooLong { path: path(), cap });
        }
        // A byte that is no text makes one line wrong, and not the whole file.
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Returns a path to the entry `name` of this directory. The path leads through the directory's open descriptor, so
    /// another directory that is put at its path meanwhile is not used.
    pub fn through_handle(&self, name: &str) -> PathBuf {
        self.handle_path().join(name)
    }

    /// Returns a path to this directory that leads through its descriptor.
    pub fn handle_path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.handle.as_raw_fd()))
    }

    fn resolve(&self, relative: &str, flags: OFlag) -> Result<Option<OwnedFd>, GitReadError> {
        let how = OpenHow::new().flags(flags).resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_SYMLINKS);
        match openat2(&*self.handle, relative, how) {
            Ok(handle) => Ok(Some(handle)),
            Err(Errno::ENOENT) => Ok(None),
            // A regular file stands where a directory should be: nothing can lie below it.
            Err(Errno::ENOTDIR) if !flags.contains(OFlag::O_DIRECTORY) => Ok(None),
            Err(errno) => Err(refuse(errno, self.path.join(relative))),
        }
    }
}

fn refuse(errno: Errno, path: PathBuf) -> GitReadError {
    if matches!(errno, Errno::ELOOP | Errno::EXDEV) {
        return GitReadError::Linked { path };
    }
    // A socket cannot be opened.
    if errno == Errno::ENXIO {
        return GitReadError::NotAFile { path };
    }
    GitReadError::Unreadable { path, source: io::Error::from(errno) }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests write the files that are read")]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn put(path: &Path, content: &[u8]) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    #[test]
    fn nothing_is_read_through_a_link_and_a_pipe_is_not_waited_for() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path();
        put(&root.join("elsewhere/file"), b"theirs");
        put(&root.join("git/objects/file"), b"ours");
        symlink(root.join("elsewhere"), root.join("git/linked")).unwrap();
        symlink(root.join("missing"), root.join("git/dangling")).unwrap();
        symlink(root.join("git"), root.join("link-to-git")).unwrap();
        nix::unistd::mkfifo(&root.join("git/pipe"), Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
        assert!(matches!(GitDirectory::open(&root.join("link-to-git")), Err(GitReadError::Linked { .. })));
        let git = GitDirectory::open(&root.join("git")).unwrap();
        assert_eq!(git.text("objects/file", 10).unwrap().as_deref(), Some("ours"));
        assert_eq!(git.text("objects/missing/file", 10).unwrap(), None);
        assert_eq!(git.text("objects/file/below", 10).unwrap(), None);
        assert!(matches!(git.text("objects/file", 3), Err(GitReadError::TooLong { .. })));
        assert!(matches!(git.text("pipe", 10), Err(GitReadError::NotAFile { .. })));
        assert!(matches!(git.text("objects", 10), Err(GitReadError::NotAFile { .. })));
        for linked in ["linked", "linked/below", "dangling", "dangling/below"] {
            assert!(matches!(git.directory(linked), Err(GitReadError::Linked { .. })), "{linked}");
            assert!(matches!(git.file(linked), Err(GitReadError::Linked { .. })), "{linked}");
        }
    }
}
