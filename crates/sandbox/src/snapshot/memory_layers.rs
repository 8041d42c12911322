//! The place in memory for the layers of a run, where the file system of the store cannot hold them: overlayfs cannot write to a
//! directory that itself lies on an overlay, as the root of a container does.
//!
//! The place is a directory in `/dev/shm`, whose size is bounded by the machine or the container (often 64 MiB in a container).
//! Every action sees an empty `/dev/shm` of its own, so no action reaches the layers of another one there.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use nix::sys::statfs::{OVERLAYFS_SUPER_MAGIC, TMPFS_MAGIC, statfs};

use crate::snapshot::entries::empty_directory;
use proctor_model::Digest;

const MEMORY: &str = "/dev/shm";

/// Makes the directory in memory for the layers of a project. `None` if `snapshot`, the project's snapshot directory, can hold
/// them, or if there is no such directory that belongs to this user alone.
pub(super) fn make_memory_directory(snapshot: &Path) -> Option<PathBuf> {
    let lies_on = |path: &Path, wanted| statfs(path).is_ok_and(|found| found.filesystem_type() == wanted);
    if !lies_on(snapshot, OVERLAYFS_SUPER_MAGIC) || !lies_on(Path::new(MEMORY), TMPFS_MAGIC) {
        return None;
    }
    let directory = memory_directory(snapshot);
    match DirBuilder::new().mode(0o700).create(&directory) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => made.ok()?,
    }
    // Every user may make directories in `/dev/shm`, so another user could have made this one.
    let found = fs::symlink_metadata(&directory).ok()?;
    let is_own = found.is_dir() && found.uid() == nix::unistd::geteuid().as_raw() && found.mode() & 0o077 == 0;
    is_own.then_some(directory)
}

/// Removes the layers in memory that a killed run of a project left. `snapshot` is the project's snapshot directory. The caller
/// must hold the project's lock.
pub fn remove_memory_layers(snapshot: &Path) {
    let directory = memory_directory(snapshot);
    if fs::symlink_metadata(&directory).is_ok_and(|found| found.is_dir()) {
        // What cannot be removed belongs to another user, or is gone with the next start of the machine.
        let _left = empty_directory(&directory).and_then(|()| fs::remove_dir(&directory));
    }
}

fn memory_directory(snapshot: &Path) -> PathBuf {
    let name = Digest::of(snapshot.as_os_str().as_bytes()).hex();
    Path::new(MEMORY).join(format!("proctor-{}", &name[..32]))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test writes what a killed run leaves")]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_run_left_in_memory_is_removed() {
        let snapshot = tempfile::TempDir::new().expect("a directory");
        remove_memory_layers(snapshot.path());
        let left = memory_directory(snapshot.path());
        fs::create_dir_all(left.join("1/upper")).expect("a directory");
        fs::write(left.join("1/upper/file"), "x").expect("a file");
        remove_memory_layers(snapshot.path());
        assert!(!left.exists());
        // On a file system that can hold layers, none are in memory.
        assert!(make_memory_directory(snapshot.path()).is_none_or(|made| fs::remove_dir(made).is_ok()));
    }
}
