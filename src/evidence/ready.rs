//! New files and directories that are made while nobody waits for them, and get their names when they are needed. A file system may
//! look long for a free inode where many were freed lately (ext4 without a journal: 0.2 ms each); a name costs a hundredth of that.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::evidence::EvidenceError;
use crate::evidence::changes::{create_directories, create_directory, create_file, rename_to_free};

/// What is made: `run.json`, and the log and its frames of the first action.
const FILES: usize = 3;
/// The run's directory, and those for what its first action leaves: the run's and the action's.
const DIRECTORIES: usize = 3;

/// Files and directories of nobody yet, private and empty, on the file system of the store. Dropped, they are left to whoever removes
/// the directory they were made in.
#[derive(Debug, Default)]
pub(super) struct Ready {
    files: Vec<(PathBuf, File)>,
    directories: Vec<PathBuf>,
}

impl Ready {
    /// Makes them in a directory.
    pub(super) fn make(directory: &Path) -> Result<Self, EvidenceError> {
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

    /// Gives a file its name, which nobody may have yet; none where there is no file left, or it cannot be had there.
    pub(super) fn file(&mut self, path: &Path) -> Option<File> {
        let (made, file) = self.files.pop()?;
        if is_named(&made, path) {
            return Some(file);
        }
        self.files.push((made, file));
        None
    }

    /// Gives a directory its name, which nobody may have yet; returns whether it is there.
    pub(super) fn directory(&mut self, path: &Path) -> bool {
        let Some(made) = self.directories.pop() else { return false };
        let is_named = is_named(&made, path);
        if !is_named {
            self.directories.push(made);
        }
        is_named
    }
}

/// Renames without replacing. Any refusal is no matter: whoever asked makes what it needs, and hears of what is wrong there.
fn is_named(made: &Path, path: &Path) -> bool {
    rename_to_free(made, path).is_ok_and(|is_named| is_named)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use tempfile::TempDir;

    use super::*;
    use crate::evidence::testing::mode;

    #[test]
    fn what_was_made_gets_its_name_once_and_replaces_nothing() {
        let home = TempDir::new().unwrap();
        let at = |name: &str| home.path().join(name);
        let mut ready = Ready::make(&at("ready")).unwrap();
        create_file(&at("taken")).unwrap().write_all(b"mine").unwrap();
        assert!(ready.file(&at("taken")).is_none() && !ready.directory(&at("taken")) && !ready.directory(&at("none/below")));
        for number in 0..FILES {
            let path = at(&format!("log-{number}"));
            write!(ready.file(&path).unwrap(), "{number}").unwrap();
            assert_eq!((std::fs::read_to_string(&path).unwrap(), mode(&path)), (number.to_string(), 0o600));
        }
        for number in 0..DIRECTORIES {
            let path = at(&format!("run-{number}"));
            assert!(ready.directory(&path) && mode(&path) == 0o700);
        }
        assert!(ready.file(&at("more")).is_none() && !ready.directory(&at("more")));
        assert_eq!(std::fs::read_to_string(at("taken")).unwrap(), "mine");
    }
}
