//! The audit trail of a governance workflow, a directory of the project: files that are made once and never changed by us.
//!
//! They are the project's: readable as any file of it, committed by its people. Names come from `governance/`.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::evidence::changes::{
    create_open_directories, create_plain_file, remove_file, rename, rename_to_free, sync_directory, sync_file, write_all,
};
use crate::evidence::error::failed;
use crate::evidence::files::list;
use crate::evidence::{EvidenceError, FileOperation};
use crate::model::Digest;

/// A directory with a trail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrailDirectory {
    path: PathBuf,
}

/// Says why a trail could not be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum TrailError {
    /// A file operation failed.
    #[error(transparent)]
    File(#[from] EvidenceError),
    /// Something else has the name of a file that is to be kept.
    #[error("`{}` is there already and holds something else", .0.display())]
    Different(PathBuf),
    /// It is a directory, a pipe or the like.
    #[error("`{}` is not a regular file", .0.display())]
    NoFile(PathBuf),
    /// It is no UTF-8.
    #[error("`{}` is not UTF-8", .0.display())]
    NoText(PathBuf),
    /// It is longer than what is read.
    #[error("`{}` is longer than {cap} bytes", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// The most that is read.
        cap: u64,
    },
}

impl TrailDirectory {
    /// The most bytes of a file that are read.
    pub const CAP: u64 = 1 << 20;

    /// Names a directory; it need not be there.
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Returns where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether anything of this name is there.
    pub fn exists(&self) -> bool {
        self.path.symlink_metadata().is_ok()
    }

    /// Keeps a file. One that is there with the same bytes was kept before: a process that died is carried on.
    ///
    /// # Errors
    /// When something else is there, or it cannot be written.
    pub fn keep(&self, name: &str, text: &str) -> Result<(), TrailError> {
        if self.make(name, text)? || self.read(name)? == text { Ok(()) } else { Err(TrailError::Different(self.path.join(name))) }
    }

    /// Makes a file for an editor, and returns whether it was made: one that is there is left as it is.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn make(&self, name: &str, text: &str) -> Result<bool, TrailError> {
        create_open_directories(&self.path)?;
        let path = self.path.join(name);
        if path.symlink_metadata().is_ok() {
            return Ok(false);
        }
        // A file has its name when it is whole: a part of one that a process left could not be told from what a person wrote.
        let unfinished = self.path.join(format!(".{name}.unfinished"));
        if unfinished.symlink_metadata().is_ok() {
            remove_file(&unfinished)?;
        }
        let mut file = create_plain_file(&unfinished)?;
        write_all(&mut file, &unfinished, text.as_bytes())?;
        sync_file(&file, &unfinished)?;
        let is_made = rename_to_free(&unfinished, &path)?;
        if !is_made {
            remove_file(&unfinished)?;
        }
        sync_directory(&self.path)?;
        Ok(is_made)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, is too long or no text.
    pub fn read(&self, name: &str) -> Result<String, TrailError> {
        Self::read_text(&self.path.join(name))
    }

    /// Reads a text that lies anywhere, within the same bounds.
    ///
    /// # Errors
    /// When it cannot be read, is too long or no text.
    pub fn read_text(path: &Path) -> Result<String, TrailError> {
        // Opening a pipe would wait for somebody to write.
        if !fs::metadata(path).map_err(failed(FileOperation::Open, path))?.is_file() {
            return Err(TrailError::NoFile(path.to_owned()));
        }
        let file = File::open(path).map_err(failed(FileOperation::Open, path))?;
        let mut bytes = Vec::new();
        file.take(Self::CAP + 1).read_to_end(&mut bytes).map_err(failed(FileOperation::Read, path))?;
        if bytes.len() as u64 > Self::CAP {
            return Err(TrailError::TooLong { path: path.to_owned(), cap: Self::CAP });
        }
        String::from_utf8(bytes).map_err(|_| TrailError::NoText(path.to_owned()))
    }

    /// Returns the names of files that are not what was kept, or are missing.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn changed(&self, kept: &[(String, Digest)]) -> Result<Vec<String>, TrailError> {
        let mut changed = Vec::new();
        for (name, digest) in kept {
            let path = self.path.join(name);
            match fs::read(&path) {
                Ok(bytes) if Digest::of(&bytes) == *digest => {}
                Ok(_) => changed.push(name.clone()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => changed.push(name.clone()),
                Err(error) => return Err(failed(FileOperation::Read, &path)(error).into()),
            }
        }
        Ok(changed)
    }

    /// Returns the names of what lies there and was not kept, sorted.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn strangers(&self, kept: &[(String, Digest)]) -> Result<Vec<String>, TrailError> {
        let names = list(&self.path)?.into_iter().map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut strangers: Vec<String> = names.filter(|name| kept.iter().all(|(known, _)| known != name)).collect();
        strangers.sort();
        Ok(strangers)
    }

    /// Moves it to another place, whose parent is made where it is missing. What is there already is not replaced.
    ///
    /// # Errors
    /// When something is there, or it cannot be moved.
    pub fn move_to(&self, place: &Path) -> Result<Self, TrailError> {
        if place.symlink_metadata().is_ok() {
            return Err(TrailError::Different(place.to_owned()));
        }
        let parent = place.parent().unwrap_or(Path::new("."));
        create_open_directories(parent)?;
        rename(&self.path, place)?;
        sync_directory(parent)?;
        if let Some(left) = self.path.parent() {
            sync_directory(left)?;
        }
        Ok(Self::new(place.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_kept_once_and_what_was_changed_or_added_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let trail = TrailDirectory::new(directory.path().join("active/notes"));
        assert!(!trail.exists());
        trail.keep("001-brief.md", "one").unwrap();
        trail.keep("001-brief.md", "one").unwrap();
        assert!(matches!(trail.keep("001-brief.md", "two"), Err(TrailError::Different(_))));
        assert!(trail.make("002-draft-human.md", "a").unwrap() && !trail.make("002-draft-human.md", "b").unwrap());
        assert_eq!(trail.read("002-draft-human.md").unwrap(), "a");
        let kept = |text: &str| vec![("001-brief.md".to_owned(), Digest::of(text.as_bytes()))];
        assert_eq!(trail.changed(&kept("one")).unwrap(), Vec::<String>::new());
        assert_eq!(trail.changed(&kept("other")).unwrap(), ["001-brief.md"]);
        assert_eq!(trail.changed(&[("gone".to_owned(), Digest::of(b""))]).unwrap(), ["gone"]);
        assert_eq!(trail.strangers(&kept("one")).unwrap(), ["002-draft-human.md"]);
    }

    #[test]
    fn what_a_process_left_unfinished_is_made_anew() {
        let directory = tempfile::tempdir().unwrap();
        let trail = TrailDirectory::new(directory.path().to_owned());
        let mut left = create_plain_file(&directory.path().join(".001-brief.md.unfinished")).unwrap();
        write_all(&mut left, directory.path(), b"on").unwrap();
        trail.keep("001-brief.md", "one").unwrap();
        assert_eq!(trail.strangers(&[]).unwrap(), ["001-brief.md"]);
        assert_eq!(trail.read("001-brief.md").unwrap(), "one");
    }

    #[test]
    fn only_a_file_is_read_and_none_is_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRUSR).unwrap();
        for path in [pipe.as_path(), directory.path()] {
            assert!(matches!(TrailDirectory::read_text(path), Err(TrailError::NoFile(_))), "{}", path.display());
        }
    }

    #[test]
    fn it_is_moved_to_where_nothing_is() {
        let directory = tempfile::tempdir().unwrap();
        let trail = TrailDirectory::new(directory.path().join("active/notes"));
        trail.keep("001-brief.md", "one").unwrap();
        let done = directory.path().join("done/62-notes");
        let moved = trail.move_to(&done).unwrap();
        assert_eq!((moved.read("001-brief.md").unwrap(), trail.exists()), ("one".to_owned(), false));
        trail.keep("001-brief.md", "two").unwrap();
        assert!(matches!(trail.move_to(&done), Err(TrailError::Different(_))));
    }
}
