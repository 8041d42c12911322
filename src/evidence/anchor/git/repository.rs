//! The repository that a project is in, as far as a note is concerned.

use std::path::{Path, PathBuf};

use crate::evidence::anchor::git::database::ObjectDatabase;
use crate::evidence::anchor::git::error::GitAnchorError;
use crate::evidence::anchor::git::object::ObjectId;
use crate::evidence::anchor::git::reference;
use crate::evidence::git::find_git_directories;

/// A repository.
#[derive(Debug, Clone)]
pub(super) struct Repository {
    root: PathBuf,
    git_directory: PathBuf,
    pub(super) common: PathBuf,
    pub(super) objects: ObjectDatabase,
}

/// How a repository may be kept that is not read here: a key of `[extensions]`, its value, and what that means.
const FORMATS: [(&str, &str, &str); 2] =
    [("objectformat", "sha256", "its objects by SHA-256"), ("refstorage", "reftable", "its references in tables")];

impl Repository {
    /// Opens the repository that a project is in.
    pub(super) fn open(root: &Path) -> Result<Self, GitAnchorError> {
        let (git_directory, common) =
            find_git_directories(root).ok_or_else(|| GitAnchorError::NoRepository { root: root.to_owned() })?;
        let config = std::fs::read_to_string(common.join("config")).unwrap_or_default();
        match foreign_format(&config) {
            Some(what) => Err(GitAnchorError::Format { what }),
            None => {
                let objects = ObjectDatabase::open(common.join("objects"));
                Ok(Self { root: root.to_owned(), git_directory, common, objects })
            }
        }
    }

    /// Returns the commit that is checked out.
    pub(super) fn head(&self) -> Result<ObjectId, GitAnchorError> {
        let head = reference::read_head(&self.git_directory, &self.common)?;
        head.ok_or_else(|| GitAnchorError::NothingCommitted { root: self.root.clone() })
    }
}

/// Returns what of a repository's form is not read here. A key like these anywhere is enough: it is refused, not guessed.
fn foreign_format(config: &str) -> Option<&'static str> {
    let keys = config.lines().filter_map(|line| line.split_once('=')).map(|(key, value)| (key.trim(), value.trim()));
    let of_key = |(key, value): (&str, &str)| {
        FORMATS
            .iter()
            .find(|(name, kept, _)| key.eq_ignore_ascii_case(name) && value.trim_matches('"').eq_ignore_ascii_case(kept))
    };
    keys.filter_map(of_key).next().map(|(_, _, what)| *what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_that_is_not_written_is_known_by_its_key() {
        assert_eq!(foreign_format("[core]\n\tbare = false\n[extensions]\n\tobjectFormat = sha1\n"), None);
        assert_eq!(foreign_format("[extensions]\n\tobjectFormat = sha256\n"), Some("its objects by SHA-256"));
        assert_eq!(foreign_format("[extensions]\n\trefStorage = \"reftable\"\n"), Some("its references in tables"));
    }
}
