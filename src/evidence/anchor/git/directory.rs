//! A directory of a repository whose files are opened without following a symbolic link.
//!
//! The tested code may have put a link into `.git`. Through such a link proctor would read, or write to, a place that the
//! tested code chose: another repository, or any directory of the user. So every path below the directory is resolved by the
//! kernel with `RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS` (openat2(2)), and files are created through the descriptor of the
//! directory that was opened in this way. A link that is put there meanwhile changes nothing.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, open, openat2};
use nix::sys::stat::Mode;

use crate::evidence::anchor::git::error::GitAnchorError;
use crate::evidence::changes::create_shared_directories;
use crate::evidence::error::failed;
use crate::evidence::{EvidenceError, FileOperation};

const DIRECTORY: OFlag = OFlag::O_RDONLY.union(OFlag::O_DIRECTORY).union(OFlag::O_CLOEXEC);
/// A pipe or a device is opened without waiting, and refused afterwards.
const FILE: OFlag = OFlag::O_RDONLY.union(OFlag::O_NONBLOCK).union(OFlag::O_NOCTTY).union(OFlag::O_CLOEXEC);

/// An open directory, with the path by which messages name it.
#[derive(Debug, Clone)]
pub(super) struct GitDirectory {
    path: PathBuf,
    handle: Arc<OwnedFd>,
}

impl GitDirectory {
    /// Opens a directory. A symbolic link in the last component is refused; links in the components before it are
    /// followed, because the path to the project itself may contain links.
    pub(super) fn open(path: &Path) -> Result<Self, GitAnchorError> {
        let is_link = path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
        let opened = if is_link { Err(Errno::ELOOP) } else { open(path, DIRECTORY.union(OFlag::O_NOFOLLOW), Mode::empty()) };
        match opened {
            Ok(handle) => Ok(Self { path: path.to_owned(), handle: Arc::new(handle) }),
            Err(errno) => Err(refuse(errno, path.to_owned())),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a directory below this one; `None` if it does not exist.
    pub(super) fn directory(&self, relative: &str) -> Result<Option<Self>, GitAnchorError> {
        let opened = self.resolve(relative, DIRECTORY)?;
        Ok(opened.map(|handle| Self { path: self.path.join(relative), handle: Arc::new(handle) }))
    }

    /// Opens a directory below this one. It is created if it does not exist, and so are missing directories above it.
    pub(super) fn create_directory(&self, relative: &str) -> Result<Self, GitAnchorError> {
        let mut at = self.clone();
        for name in relative.split('/').filter(|name| !name.is_empty()) {
            at = match at.directory(name)? {
                Some(directory) => directory,
                None => {
                    at.named(name, create_shared_directories(&at.through_handle(name)))?;
                    let made = at.directory(name)?;
                    made.ok_or_else(|| refuse(Errno::ENOENT, at.path.join(name)))?
                }
            };
        }
        Ok(at)
    }

    /// Opens a regular file below this directory; `None` if it does not exist.
    pub(super) fn file(&self, relative: &str) -> Result<Option<File>, GitAnchorError> {
        let Some(file) = self.resolve(relative, FILE)?.map(File::from) else { return Ok(None) };
        let path = self.path.join(relative);
        let metadata = file.metadata().map_err(failed(FileOperation::Open, &path))?;
        if metadata.is_file() { Ok(Some(file)) } else { Err(GitAnchorError::NotAFile { path }) }
    }

    /// Reads a small file as text; `None` if it does not exist or is no text.
    pub(super) fn text(&self, relative: &str, cap: u64) -> Result<Option<String>, GitAnchorError> {
        let Some(file) = self.file(relative)? else { return Ok(None) };
        let path = self.path.join(relative);
        let mut bytes = Vec::new();
        file.take(cap + 1).read_to_end(&mut bytes).map_err(failed(FileOperation::Read, &path))?;
        if bytes.len() as u64 > cap {
            return Err(GitAnchorError::TooLong { path, cap });
        }
        Ok(String::from_utf8(bytes).ok())
    }

    /// Returns a path to the entry `name` of this directory. The path leads through the directory's open descriptor, so
    /// another directory that is put at its path meanwhile is not used.
    pub(super) fn through_handle(&self, name: &str) -> PathBuf {
        self.handle_path().join(name)
    }

    /// Returns a path to this directory that leads through its descriptor.
    pub(super) fn handle_path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.handle.as_raw_fd()))
    }

    /// Names the file by its own path in an error of an operation that went through the descriptor.
    pub(super) fn named<T>(&self, name: &str, result: Result<T, EvidenceError>) -> Result<T, EvidenceError> {
        result.map_err(|mut error| {
            if let EvidenceError::File { path, .. } = &mut error {
                *path = self.path.join(name);
            }
            error
        })
    }

    fn resolve(&self, relative: &str, flags: OFlag) -> Result<Option<OwnedFd>, GitAnchorError> {
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

fn refuse(errno: Errno, path: PathBuf) -> GitAnchorError {
    if matches!(errno, Errno::ELOOP | Errno::EXDEV) {
        return GitAnchorError::Linked { path };
    }
    // A socket cannot be opened.
    if errno == Errno::ENXIO {
        return GitAnchorError::NotAFile { path };
    }
    GitAnchorError::Evidence(failed(FileOperation::Open, &path)(io::Error::from(errno)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::evidence::testing::put;

    #[test]
    fn nothing_is_read_or_made_through_a_link_and_a_pipe_is_not_waited_for() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path();
        put(&root.join("elsewhere/file"), b"theirs");
        put(&root.join("git/objects/file"), b"ours");
        symlink(root.join("elsewhere"), root.join("git/linked")).unwrap();
        symlink(root.join("missing"), root.join("git/dangling")).unwrap();
        symlink(root.join("git"), root.join("link-to-git")).unwrap();
        nix::unistd::mkfifo(&root.join("git/pipe"), Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
        assert!(matches!(GitDirectory::open(&root.join("link-to-git")), Err(GitAnchorError::Linked { .. })));
        let git = GitDirectory::open(&root.join("git")).unwrap();
        assert_eq!(git.text("objects/file", 10).unwrap().as_deref(), Some("ours"));
        assert_eq!(git.text("objects/missing/file", 10).unwrap(), None);
        assert_eq!(git.text("objects/file/below", 10).unwrap(), None);
        assert!(matches!(git.text("objects/file", 3), Err(GitAnchorError::TooLong { .. })));
        assert!(matches!(git.text("pipe", 10), Err(GitAnchorError::NotAFile { .. })));
        assert!(matches!(git.text("objects", 10), Err(GitAnchorError::NotAFile { .. })));
        for linked in ["linked", "linked/below", "dangling", "dangling/below"] {
            assert!(matches!(git.create_directory(linked), Err(GitAnchorError::Linked { .. })), "{linked}");
            assert!(matches!(git.file(linked), Err(GitAnchorError::Linked { .. })), "{linked}");
        }
        git.create_directory("refs/notes/proctor").unwrap();
        assert!(root.join("git/refs/notes/proctor").is_dir());
        assert_eq!(std::fs::read_dir(root.join("elsewhere")).unwrap().count(), 1);
        assert!(!root.join("missing").exists());
    }
}
