//! Random numbers, and what a loss of power leaves of files.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use proctor_evidence::DurableFiles;

/// A row of numbers that a seed decides (SplitMix64).
pub(super) struct Numbers(pub(super) u64);

impl Numbers {
    /// Returns a number below `bound`, which is not 0.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// What a loss of power takes of a store.
pub(super) struct PowerLoss<'p> {
    pub(super) synced: &'p DurableFiles,
    pub(super) numbers: &'p mut Numbers,
    /// Whether names that were not synced are lost too.
    pub(super) loses_names: bool,
}

impl PowerLoss<'_> {
    /// Loses what was written and not synced, of some files, and some names that were not synced.
    pub(super) fn happen(&mut self, directory: &Path) {
        let mut entries: Vec<_> = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        entries.sort();
        let names = fs::metadata(directory).ok().and_then(|found| self.synced.names.get(&found.ino()));
        for path in entries {
            let Ok(found) = fs::symlink_metadata(&path) else { continue };
            if is_of_index(&path) {
                self.lose_of_index(&path);
                continue;
            }
            let is_lost = !found.is_symlink() && self.loses_names && self.loses_name(&path, found.ino(), names);
            if !is_lost && found.is_dir() {
                self.happen(&path);
            } else if !is_lost && found.is_file() {
                self.lose_content(&path, &found);
            }
        }
    }

    /// SQLite syncs its log before it moves pages into the file. Until then, any part of the end of the log may be lost.
    fn lose_of_index(&mut self, path: &Path) {
        let length = fs::metadata(path).map(|found| found.len()).unwrap_or_default();
        if path.to_string_lossy().ends_with("-wal") && self.numbers.below(2) == 0 {
            let left = self.numbers.below(length + 1);
            fs::OpenOptions::new().write(true).open(path).and_then(|file| file.set_len(left)).expect("it is ours");
        }
    }

    /// Loses a name, if it is a new one and chance has it. A file that was renamed has its old name again, and one that was replaced its
    /// old content.
    #[expect(clippy::disallowed_methods, reason = "a test plays the disk after a loss of power")]
    fn loses_name(&mut self, path: &Path, inode: u64, names: Option<&BTreeMap<OsString, u64>>) -> bool {
        let name = path.file_name().unwrap_or_default();
        let before = names.and_then(|names| names.get(name));
        if before == Some(&inode) || self.numbers.below(3) > 0 {
            return false;
        }
        let former = names.and_then(|names| names.iter().find(|(_, known)| **known == inode));
        let former = former.map(|(name, _)| path.with_file_name(name)).filter(|former| !former.exists());
        match (before.and_then(|before| self.synced.contents.get(before)), former) {
            (Some(content), _) => write_over(path, content),
            (None, Some(former)) => fs::rename(path, former).expect("it is ours"),
            (None, None) if path.is_dir() => fs::remove_dir_all(path).expect("it is ours"),
            (None, None) => fs::remove_file(path).expect("it is ours"),
        }
        true
    }

    fn lose_content(&mut self, path: &Path, found: &fs::Metadata) {
        let now = fs::read(path).unwrap_or_default();
        let old = self.synced.contents.get(&found.ino()).cloned().unwrap_or_default();
        let left = match self.numbers.below(3) {
            _ if old == now => return,
            0 => return,
            1 => old,
            // What was appended is written up to a point. What was written over is lost as a whole.
            _ if now.starts_with(&old) => now[..(old.len() + now.len()) / 2].to_vec(),
            _ => old,
        };
        write_over(path, &left);
    }
}

fn is_of_index(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("state.db"))
}

#[expect(clippy::disallowed_methods, reason = "a test plays the disk after a loss of power")]
fn write_over(path: &Path, content: &[u8]) {
    let mode = fs::metadata(path).expect("it is there").permissions();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("it is ours");
    fs::write(path, content).expect("there is room");
    fs::set_permissions(path, mode).expect("it is ours");
}
