//! The audit trail of a governance workflow: a directory of the project with files that proctor writes once and never
//! changes.
//!
//! The files belong to the project: they are readable like its other files, and its people commit them. `governance/`
//! chooses their names.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::changes::{
    create_shared_directories, create_shared_file, remove_file, rename, rename_if_free, sync_directory, sync_file, write_all,
};
use crate::error::failed;
use crate::files::list_directory;
use crate::regular_file::{open_regular_file, read_regular_file};
use crate::{EvidenceError, FileOperation};
use proctor_model::Digest;

/// The directory of one workflow's audit trail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrailDirectory {
    path: PathBuf,
}

/// Why an audit trail could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum TrailError {
    #[error(transparent)]
    File(#[from] EvidenceError),
    /// A file or directory of this name exists with other content.
    #[error("`{}` is there already and holds something else", .0.display())]
    Different(PathBuf),
    /// The entry is a directory, a pipe or another special file.
    #[error("`{}` is not a regular file", .0.display())]
    NotRegular(PathBuf),
    #[error("`{}` is not UTF-8", .0.display())]
    NotUtf8(PathBuf),
    #[error("`{}` is longer than {cap} bytes", path.display())]
    TooLong {
        path: PathBuf,
        /// The limit for the size of the file, in bytes.
        cap: u64,
    },
}

impl TrailDirectory {
    /// A file of more bytes than this is not read.
    pub const CAP: u64 = 1 << 20;

    /// Refers to a directory that need not exist yet.
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether anything exists at the directory's path.
    pub fn exists(&self) -> bool {
        self.path.symlink_metadata().is_ok()
    }

    /// Writes a file. If it already exists with the same bytes, an earlier process wrote it before it died, and it is
    /// left unchanged.
    ///
    /// # Errors
    ///
    /// When the file exists with other content, or cannot be written.
    pub fn write_once(&self, name: &str, text: &str) -> Result<(), TrailError> {
        if self.create_if_missing(name, text)? || self.read(name)? == text {
            Ok(())
        } else {
            Err(TrailError::Different(self.path.join(name)))
        }
    }

    /// Creates a file unless it exists; returns whether it was created. An existing file, which a person may have edited, is
    /// left as it is.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn create_if_missing(&self, name: &str, text: &str) -> Result<bool, TrailError> {
        create_shared_directories(&self.path)?;
        let path = self.path.join(name);
        if path.symlink_metadata().is_ok() {
            return Ok(false);
        }
        // The file gets its name only when it is complete. Otherwise an incomplete file of a dead process could not be
        // distinguished from a file that a person wrote.
        let unfinished = self.path.join(format!(".{name}.unfinished"));
        if unfinished.symlink_metadata().is_ok() {
            remove_file(&unfinished)?;
        }
        let mut file = create_shared_file(&unfinished)?;
        write_all(&mut file, &unfinished, text.as_bytes())?;
        sync_file(&file, &unfinished)?;
        let is_made = rename_if_free(&unfinished, &path)?;
        if !is_made {
            remove_file(&unfinished)?;
        }
        sync_directory(&self.path)?;
        Ok(is_made)
    }

    /// Reads a file of the trail.
    ///
    /// # Errors
    /// When the file cannot be read, is too long, or is not UTF-8.
    pub fn read(&self, name: &str) -> Result<String, TrailError> {
        Self::read_text(&self.path.join(name))
    }

    /// Reads a text file at any path, if it has at most `CAP` bytes.
    ///
    /// # Errors
    /// When the file cannot be read, is too long, or is not UTF-8.
    pub fn read_text(path: &Path) -> Result<String, TrailError> {
        let file = match open_regular_file(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => return Err(TrailError::NotRegular(path.to_owned())),
            Err(error) => return Err(failed(FileOperation::Open, path)(error).into()),
        };
        let mut bytes = Vec::new();
        file.take(Self::CAP + 1).read_to_end(&mut bytes).map_err(failed(FileOperation::Read, path))?;
        if bytes.len() as u64 > Self::CAP {
            return Err(TrailError::TooLong { path: path.to_owned(), cap: Self::CAP });
        }
        String::from_utf8(bytes).map_err(|_| TrailError::NotUtf8(path.to_owned()))
    }

    /// Returns the names of the files in `kept` that are missing or do not have the digest that `kept` gives for them.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn changed_files(&self, kept: &[(String, Digest)]) -> Result<Vec<String>, TrailError> {
        let mut changed = Vec::new();
        for (name, digest) in kept {
            let path = self.path.join(name);
            // A file that is larger than any of the trail's has changed, too.
            match read_regular_file(&path, Self::CAP) {
                Ok(bytes) if Digest::of(&bytes) == *digest => {}
                Ok(_) => changed.push(name.clone()),
                Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidInput) => {
                    changed.push(name.clone());
                }
                Err(error) => return Err(failed(FileOperation::Read, &path)(error).into()),
            }
        }
        Ok(changed)
    }

    /// Returns the names of the directory's entries that are not among `kept`, sorted.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn unknown_entries(&self, kept: &[(String, Digest)]) -> Result<Vec<String>, TrailError> {
        let names = list_directory(&self.path)?.into_iter().map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut strangers: Vec<String> = names.filter(|name| kept.iter().all(|(known, _)| known != name)).collect();
        strangers.sort();
        Ok(strangers)
    }

    /// Moves the directory to another path and creates the parent of that path if it is missing.
    ///
    /// # Errors
    /// When something exists at `target`, or the directory cannot be moved.
    pub fn move_to(&self, target: &Path) -> Result<Self, TrailError> {
        if target.symlink_metadata().is_ok() {
            return Err(TrailError::Different(target.to_owned()));
        }
        let parent = target.parent().unwrap_or(Path::new("."));
        create_shared_directories(parent)?;
        rename(&self.path, target)?;
        sync_directory(parent)?;
        if let Some(left) = self.path.parent() {
            sync_directory(left)?;
        }
        Ok(Self::new(target.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_written_once_and_changed_or_added_ones_are_found() {
        let directory = tempfile::tempdir().unwrap();
        let trail = TrailDirectory::new(directory.path().join("active/notes"));
        assert!(!trail.exists());
        trail.write_once("001-brief.md", "one").unwrap();
        trail.write_once("001-brief.md", "one").unwrap();
        assert!(matches!(trail.write_once("001-brief.md", "two"), Err(TrailError::Different(_))));
        assert!(
            trail.create_if_missing("002-draft-human.md", "a").unwrap()
                && !trail.create_if_missing("002-draft-human.md", "b").unwrap()
        );
        assert_eq!(trail.read("002-draft-human.md").unwrap(), "a");
        let kept = |text: &str| vec![("001-brief.md".to_owned(), Digest::of(text.as_bytes()))];
        assert_eq!(trail.changed_files(&kept("one")).unwrap(), Vec::<String>::new());
        assert_eq!(trail.changed_files(&kept("other")).unwrap(), ["001-brief.md"]);
        assert_eq!(trail.changed_files(&[("gone".to_owned(), Digest::of(b""))]).unwrap(), ["gone"]);
        assert_eq!(trail.unknown_entries(&kept("one")).unwrap(), ["002-draft-human.md"]);
    }

    #[test]
    fn an_unfinished_file_of_a_dead_process_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let trail = TrailDirectory::new(directory.path().to_owned());
        let mut left = create_shared_file(&directory.path().join(".001-brief.md.unfinished")).unwrap();
        write_all(&mut left, directory.path(), b"on").unwrap();
        trail.write_once("001-brief.md", "one").unwrap();
        assert_eq!(trail.unknown_entries(&[]).unwrap(), ["001-brief.md"]);
        assert_eq!(trail.read("001-brief.md").unwrap(), "one");
    }

    #[test]
    fn only_a_regular_file_is_read_and_a_pipe_is_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRUSR).unwrap();
        for path in [pipe.as_path(), directory.path()] {
            assert!(matches!(TrailDirectory::read_text(path), Err(TrailError::NotRegular(_))), "{}", path.display());
        }
    }

    #[test]
    fn a_trail_is_moved_only_to_a_free_path() {
        let directory = tempfile::tempdir().unwrap();
        let trail = TrailDirectory::new(directory.path().join("active/notes"));
        trail.write_once("001-brief.md", "one").unwrap();
        let done = directory.path().join("done/62-notes");
        let moved = trail.move_to(&done).unwrap();
        assert_eq!((moved.read("001-brief.md").unwrap(), trail.exists()), ("one".to_owned(), false));
        trail.write_once("001-brief.md", "two").unwrap();
        assert!(matches!(trail.move_to(&done), Err(TrailError::Different(_))));
    }
}
