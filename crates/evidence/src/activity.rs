//! Tells whether another process writes to a store. Verification, which takes no lock, reads everything again then.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::files::list_directory;
use crate::lock_file::{ALL_BYTES, LockFile};

/// What changes in a store whenever a process writes evidence. Two equal values, both without a process at work, mean that nothing was
/// written in between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreActivity {
    /// Whether no process holds the lock of a project.
    pub is_idle: bool,
    /// Path, size, inode and time of change of each ledger, key and lock; of the index the path and the inode.
    files: Vec<(PathBuf, u64, u64, i64, i64)>,
}

/// Reads the state of the store at `root`. What cannot be read counts as absent.
pub fn read_store_activity(root: &Path) -> StoreActivity {
    let entries = |directory: &str| list_directory(&root.join(directory)).unwrap_or_default();
    let locks: Vec<PathBuf> = entries("locks").iter().map(std::fs::DirEntry::path).collect();
    let is_locked = |path: &PathBuf| {
        let file = LockFile::open_to_inspect(path).ok().flatten();
        file.and_then(|file| file.locked_by_others(ALL_BYTES).ok()).is_some_and(|locks| !locks.is_empty())
    };
    // The lock of the service is held as long as it serves, those of watches as long as they run, and the queue's while an action runs:
    // none of these alone writes evidence.
    let of_projects = locks.iter().filter(|path| !["service", "slots", "watches"].iter().any(|other| path.ends_with(other)));
    let is_idle = !of_projects.into_iter().any(is_locked);
    let others = ["ledger", "keys"].into_iter().flat_map(entries).map(|entry| entry.path());
    let mut files: Vec<_> = others.chain(locks.iter().cloned()).filter_map(stamp).collect();
    // Reading the index changes its file too: SQLite merges its log into it when the last reader closes it. Another inode is a new index.
    files.extend(stamp(root.join("state.db")).map(|(path, _, inode, ..)| (path, 0, inode, 0, 0)));
    files.sort();
    StoreActivity { is_idle, files }
}

fn stamp(path: PathBuf) -> Option<(PathBuf, u64, u64, i64, i64)> {
    let metadata = path.symlink_metadata().ok()?;
    let changed = (metadata.ctime(), metadata.ctime_nsec());
    Some((path, metadata.len(), metadata.ino(), changed.0, changed.1))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test plays the other processes")]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::{TestStore, put};
    use proctor_model::OverallStatus;

    #[test]
    fn a_written_ledger_a_lock_and_a_new_index_are_activity_and_a_read_index_is_none() {
        let test = TestStore::new();
        test.run(1, &[], OverallStatus::Success);
        let index = test.store.root().join("state.db");
        put(&index, b"rows");
        let before = read_store_activity(test.store.root());
        assert!(before.is_idle);
        // What SQLite does when the last reader closes the file.
        put(&index, b"rows, with those of the log");
        put(&index.with_extension("db-wal"), b"");
        assert_eq!(read_store_activity(test.store.root()), before);

        put(&index.with_extension("new"), b"rows");
        fs::rename(index.with_extension("new"), &index).unwrap();
        let renewed = read_store_activity(test.store.root());
        assert_ne!(renewed, before, "another index");
        let lock = test.lock();
        assert!(!read_store_activity(test.store.root()).is_idle);
        drop(lock);
        assert_ne!(read_store_activity(test.store.root()), renewed, "somebody had the lock");
        let idle = read_store_activity(test.store.root());
        test.run(2, &[], OverallStatus::Success);
        assert_ne!(read_store_activity(test.store.root()), idle);
    }
}
