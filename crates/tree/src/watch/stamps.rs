//! Polling recognises changed files by stamps of their metadata. Comparing stamps is pure; reading them lists a
//! directory and calls `lstat` on its entries.
//!
//! Equal stamps do not prove equal content. A second write within the same tick of the file system's clock is missed if
//! size and inode stay the same. The next scan of the whole tree finds it.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The metadata by which polling recognises that a directory entry has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    is_directory: bool,
    /// Device and inode, mode. For entries that are not directories, also size and the times of modification and status change in
    /// nanoseconds.
    numbers: [i128; 5],
}

/// The stamps of a directory's entries by name. Entries that do not belong to the tree are left out.
pub(super) type Snapshot = BTreeMap<Vec<u8>, Stamp>;

/// How an entry changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameChange {
    /// The entry is new, or a directory was replaced by a file or the other way round.
    Came,
    /// Content or mode of the entry changed.
    Changed,
    /// The entry was removed.
    Went,
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        let (device, inode, mode) = (metadata.dev(), metadata.ino(), metadata.mode());
        let identity = [(i128::from(device) << 64) | i128::from(inode), i128::from(mode)];
        let nanoseconds = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
        let is_directory = metadata.is_dir();
        // Size and times of a directory are left out. The directory's entries are compared anyway, and entries outside
        // the tree change these values too.
        let [size, modified, changed] = if is_directory {
            [0; 3]
        } else {
            let modified = nanoseconds(metadata.mtime(), metadata.mtime_nsec());
            [i128::from(metadata.size()), modified, nanoseconds(metadata.ctime(), metadata.ctime_nsec())]
        };
        Self { is_directory, numbers: [identity[0], identity[1], size, modified, changed] }
    }
}

/// Reads the stamps of a directory; `None` if it cannot be listed. `belongs` gets an entry's name and whether it is a directory.
pub(super) fn read_snapshot(directory: &Path, belongs: impl Fn(&[u8], bool) -> bool) -> Option<Snapshot> {
    let entries = fs::read_dir(directory).ok()?.flatten();
    let stamped = entries.filter_map(|entry| {
        let name = entry.file_name();
        let is_directory = entry.file_type().ok()?.is_dir();
        // An entry that was removed after it was listed is left out.
        belongs(name.as_bytes(), is_directory).then(|| Some((name.as_bytes().to_vec(), Stamp::of(&entry.metadata().ok()?))))?
    });
    Some(stamped.collect())
}

/// Returns the changed entries: first the removed ones, then the new and the changed ones together. Each of the two
/// groups is sorted by name.
pub(super) fn compare(before: &Snapshot, after: &Snapshot) -> Vec<(Vec<u8>, NameChange)> {
    let gone = before.keys().filter(|name| !after.contains_key(*name)).map(|name| (name.clone(), NameChange::Went));
    let rest = after.iter().filter_map(|(name, stamp)| {
        let change = match before.get(name) {
            Some(known) if known == stamp => return None,
            Some(known) if known.is_directory || stamp.is_directory => NameChange::Came,
            Some(_) => NameChange::Changed,
            None => NameChange::Came,
        };
        Some((name.clone(), change))
    });
    // Removed entries come first, so that a rename is reported as removal and then creation.
    gone.chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(is_directory: bool, number: i128) -> Stamp {
        Stamp { is_directory, numbers: [number, 0, 0, 0, 0] }
    }

    #[test]
    fn every_difference_is_a_change_and_nothing_else_is() {
        let snapshot =
            |entries: &[(&str, Stamp)]| entries.iter().map(|(name, stamp)| (name.as_bytes().to_vec(), *stamp)).collect();
        let (file, other, directory) = (stamp(false, 1), stamp(false, 2), stamp(true, 3));
        let before: Snapshot =
            snapshot(&[("file", file), ("gone", file), ("kept", directory), ("kind", file), ("new", directory)]);
        let after: Snapshot =
            snapshot(&[("came", file), ("file", other), ("kept", directory), ("kind", directory), ("new", stamp(true, 4))]);
        let named = |name: &str, change| (name.as_bytes().to_vec(), change);
        let expected = [
            named("gone", NameChange::Went),
            named("came", NameChange::Came),
            named("file", NameChange::Changed),
            named("kind", NameChange::Came),
            named("new", NameChange::Came),
        ];
        assert_eq!(compare(&before, &after), expected);
        assert_eq!(compare(&after, &after), []);
    }
}
