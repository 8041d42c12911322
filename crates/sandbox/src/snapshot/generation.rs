//! Counts the changes of a copy that some tools cannot see: tools that compare the times of their inputs with the time of
//! their cache.
//!
//! A file with new content gets the time of copying, so it is newer than every kept cache. Three changes leave no newer
//! file: an entry is removed, a link is changed to lead to another file, or an ignored input, whose copy gets an old time, has
//! another content.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use nix::fcntl::{AT_FDCWD, renameat};
use nix::sys::statfs::{OVERLAYFS_SUPER_MAGIC, TMPFS_MAGIC, statfs};
use serde::{Deserialize, Serialize};

use crate::snapshot::entries::empty_directory;
use proctor_model::{Digest, Timestamp};

const GENERATION: &str = "generation";
const NEW: &str = "generation.new";

/// Identifies the state of a copy, as far as caches of earlier runs depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyGeneration {
    /// When the copy was made from scratch, in milliseconds since 1970. The files of a new copy have the times of the project's
    /// files, so a cache that was kept before then can hold the same time for other content.
    made: i64,
    /// How many updates since then made one of the three changes that leave no newer file.
    removals: u64,
}

impl CopyGeneration {
    pub(super) fn new(now: Timestamp) -> Self {
        Self { made: now.as_millis(), removals: 0 }
    }

    /// Returns the generation after an update that makes one of the three changes that leave no newer file.
    pub(super) fn after_removal(self) -> Self {
        Self { removals: self.removals + 1, ..self }
    }

    /// Returns whether no copy was made from scratch between the two generations.
    pub(super) fn is_of_same_copy(self, other: Self) -> bool {
        self.made == other.made
    }

    /// Reads the generation of the copy in `directory`; `None` if it is unknown.
    pub(super) fn read(directory: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(directory.join(GENERATION)).ok()?).ok()
    }

    pub(super) fn write(self, directory: &Path) -> io::Result<()> {
        let new = directory.join(NEW);
        File::create(&new)?.write_all(&serde_json::to_vec(&self)?)?;
        Ok(renameat(AT_FDCWD, &new, AT_FDCWD, &directory.join(GENERATION))?)
    }
}

// The place in memory for the layers of a run, where the file system of the store cannot hold them: overlayfs cannot write to a
// directory that itself lies on an overlay, as the root of a container does. The place is a directory in `/dev/shm`, whose size is
// bounded by the machine or the container (often 64 MiB in a container). Every action sees an empty `/dev/shm` of its own, so no action
// reaches the layers of another one there.

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
