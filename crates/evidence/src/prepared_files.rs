//! Files and directories that are created in advance. A run that needs a new file or directory only renames a prepared
//! one.
//!
//! A file system may search long for a free inode if many were freed lately (ext4 without a journal: 0.2 ms for each
//! file); a rename takes a hundredth of that.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::EvidenceError;
use crate::changes::{create_directories, create_directory, create_file, rename_if_free};

/// The number of prepared files: `run.json`, the log of the first action, and the file with the frames of this log
/// (which bytes came from which stream, and when).
const FILES: usize = 3;
/// The number of prepared directories: the run directory, and the output directories of the run and of its first
/// action.
const DIRECTORIES: usize = 3;

/// Empty private files and directories that have no final name yet. Unused ones are removed together with the directory
/// in which they were made.
#[derive(Debug, Default)]
pub(super) struct PreparedFiles {
    files: Vec<(PathBuf, File)>,
    directories: Vec<PathBuf>,
}

impl PreparedFiles {
    /// Creates `FILES` empty files and `DIRECTORIES` empty directories in this directory.
    pub(super) fn create(directory: &Path) -> Result<Self, EvidenceError> {
        create_directories(directory)?;
        let mut ready = Self::default();
        for number in 0..FILES {
            let path = directory.join(format!("file-{number}"));
            let file = create_file(&path)?;
            ready.files.push((path, file));
        }
        for number in 0..DIRECTORIES {
            let path = directory.join(format!("directory-{number}"));
            create_directory(&path)?;
            ready.directories.push(path);
        }
        Ok(ready)
    }

    /// Renames a prepared file to this path. Returns `None` if no prepared file is left, or the path is taken, or the
    /// rename fails.
    pub(super) fn take_file(&mut self, path: &Path) -> Option<File> {
        let (made, file) = self.files.pop()?;
        if try_rename(&made, path) {
            return Some(file);
        }
        self.files.push((made, file));
        None
    }

    /// Renames a prepared directory to this path; returns whether that worked.
    pub(super) fn take_directory(&mut self, path: &Path) -> bool {
        let Some(made) = self.directories.pop() else { return false };
        let is_named = try_rename(&made, path);
        if !is_named {
            self.directories.push(made);
        }
        is_named
    }
}

/// Renames without replacing anything. If the rename fails, the caller creates the file or directory itself, and an
/// error of that creation is the one that is reported.
fn try_rename(made: &Path, path: &Path) -> bool {
    rename_if_free(made, path).is_ok_and(|is_named| is_named)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use tempfile::TempDir;

    use super::*;
    use crate::testing::mode;

    #[test]
    fn a_prepared_file_is_used_once_and_replaces_nothing() {
        let home = TempDir::new().unwrap();
        let at = |name: &str| home.path().join(name);
        let mut ready = PreparedFiles::create(&at("ready")).unwrap();
        create_file(&at("taken")).unwrap().write_all(b"mine").unwrap();
        assert!(
            ready.take_file(&at("taken")).is_none()
                && !ready.take_directory(&at("taken"))
                && !ready.take_directory(&at("none/below"))
        );
        for number in 0..FILES {
            let path = at(&format!("log-{number}"));
            write!(ready.take_file(&path).unwrap(), "{number}").unwrap();
            assert_eq!((std::fs::read_to_string(&path).unwrap(), mode(&path)), (number.to_string(), 0o600));
        }
        for number in 0..DIRECTORIES {
            let path = at(&format!("run-{number}"));
            assert!(ready.take_directory(&path) && mode(&path) == 0o700);
        }
        assert!(ready.take_file(&at("more")).is_none() && !ready.take_directory(&at("more")));
        assert_eq!(std::fs::read_to_string(at("taken")).unwrap(), "mine");
    }
}
