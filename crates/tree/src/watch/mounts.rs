//! The file systems that are mounted inside a project. The kernel reports no event when one comes or goes, and the watches
//! of the directories below it are those of the hidden directories, so the watcher compares the list from time to time.

use std::fs;
use std::path::{Path, PathBuf};

use proctor_model::MountTable;

/// The list of this thread's mounts. Threads of one process may have different mount namespaces.
const MOUNTS: &str = "/proc/thread-self/mountinfo";

/// A mount point with the id of its mount, which is another one after the file system was unmounted and mounted again.
pub(super) type MountPoint = (u64, PathBuf);

/// Returns the mounts at or below a directory. Returns none if the list cannot be read.
pub(super) fn read_mounts_below(root: &Path) -> Vec<MountPoint> {
    fs::read(MOUNTS).map(|text| mounts_below(&MountTable::parse(&text), root)).unwrap_or_default()
}

fn mounts_below(table: &MountTable, root: &Path) -> Vec<MountPoint> {
    let below = table.mounts.iter().filter(|mount| mount.point.starts_with(root));
    let mut mounts: Vec<MountPoint> = below.map(|mount| (mount.id, mount.point.clone())).collect();
    mounts.sort();
    mounts
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "22 1 0:21 / / rw - ext4 /dev/a rw\n\
        31 22 0:30 / /home/a/shop/data rw,relatime shared:2 - tmpfs tmpfs rw\n\
        30 22 0:30 / /home/a/shop/with\\040space rw - tmpfs tmpfs rw\n\
        33 22 0:31 / /home/a/shopping rw - tmpfs tmpfs rw\n";

    fn below(list: &str, root: &str) -> Vec<MountPoint> {
        mounts_below(&MountTable::parse(list.as_bytes()), Path::new(root))
    }

    #[test]
    fn only_mounts_at_or_below_the_directory_are_found() {
        let found = [(30, PathBuf::from("/home/a/shop/with space")), (31, PathBuf::from("/home/a/shop/data"))];
        assert_eq!(below(LIST, "/home/a/shop"), found);
        assert_eq!(below(LIST, "/home/a/shop/data").len(), 1);
    }

    #[test]
    fn a_file_system_that_was_mounted_again_is_another_mount() {
        assert_ne!(below(LIST, "/home/a/shop"), below(&LIST.replace("31 22", "35 22"), "/home/a/shop"));
    }

    #[test]
    fn the_list_of_this_thread_has_the_root() {
        assert!(!read_mounts_below(Path::new("/")).is_empty());
    }
}
