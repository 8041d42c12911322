//! Random numbers, and what a loss of power leaves of files.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use crate::failure_injection::simulated::SyncedFiles;

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

/// Loses what was written and not synced, of some files.
pub(super) fn lose_power(directory: &Path, synced: &SyncedFiles, numbers: &mut Numbers) {
    let mut entries: Vec<_> = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        let Ok(found) = fs::symlink_metadata(&path) else { continue };
        if found.is_dir() {
            lose_power(&path, synced, numbers);
        } else if found.is_file() {
            let now = fs::read(&path).unwrap_or_default();
            let synced = synced.lock().expect("nobody panics").get(&found.ino()).cloned();
            let old = synced.unwrap_or_default();
            let left = match numbers.below(3) {
                _ if old == now => continue,
                0 => continue,
                1 => old,
                // What was appended is written up to a point. What was written over is lost as a whole.
                _ if now.starts_with(&old) => now[..(old.len() + now.len()) / 2].to_vec(),
                _ => old,
            };
            let mode = found.permissions();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it is ours");
            fs::OpenOptions::new().write(true).truncate(true).open(&path).expect("it is ours");
            std::os::unix::fs::FileExt::write_all_at(
                &fs::OpenOptions::new().write(true).open(&path).expect("it is ours"),
                &left,
                0,
            )
            .expect("there is room");
            fs::set_permissions(&path, mode).expect("it is ours");
        }
    }
}
