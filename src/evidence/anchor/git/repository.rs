//! The repository that contains a project, as far as notes need it.

use std::path::{Path, PathBuf};

use crate::evidence::anchor::git::database::ObjectDatabase;
use crate::evidence::anchor::git::directory::GitDirectory;
use crate::evidence::anchor::git::error::GitAnchorError;
use crate::evidence::anchor::git::object::ObjectId;
use crate::evidence::anchor::git::reference;
use crate::evidence::git::find_git_directories;

#[derive(Debug, Clone)]
pub(super) struct Repository {
    root: PathBuf,
    git_directory: GitDirectory,
    pub(super) common: GitDirectory,
    pub(super) objects: ObjectDatabase,
}

/// Unsupported storage formats: a key of `[extensions]`, its value, and a description.
const FORMATS: [(&str, &str, &str); 2] =
    [("objectformat", "sha256", "objects under SHA-256 names"), ("refstorage", "reftable", "references in reftable files")];

/// The longest configuration of a repository that is read, in bytes.
const LONGEST_CONFIG: u64 = 1 << 20;

impl Repository {
    pub(super) fn open(root: &Path) -> Result<Self, GitAnchorError> {
        let (git_directory, common) =
            find_git_directories(root).ok_or_else(|| GitAnchorError::NoRepository { root: root.to_owned() })?;
        let (git_directory, common) = (GitDirectory::open(&git_directory)?, GitDirectory::open(&common)?);
        let config = common.text("config", LONGEST_CONFIG)?.unwrap_or_default();
        match foreign_format(&config) {
            Some(what) => Err(GitAnchorError::Format { what }),
            None => {
                let objects = ObjectDatabase::open(&common)?;
                Ok(Self { root: root.to_owned(), git_directory, common, objects })
            }
        }
    }

    /// Returns the checked-out commit; an error if nothing is committed yet.
    pub(super) fn head(&self) -> Result<ObjectId, GitAnchorError> {
        let head = reference::read_head(&self.git_directory, &self.common)?;
        head.ok_or_else(|| GitAnchorError::NothingCommitted { root: self.root.clone() })
    }
}

/// Returns the unsupported format of a repository, if it has one. The key is refused in any section of the file,
/// because sections are not parsed.
fn foreign_format(config: &str) -> Option<&'static str> {
    let keys = config.lines().filter_map(|line| line.split_once('=')).map(|(key, value)| (key.trim(), value.trim()));
    let known_format = |(key, value): (&str, &str)| {
        FORMATS
            .iter()
            .find(|(name, kept, _)| key.eq_ignore_ascii_case(name) && value.trim_matches('"').eq_ignore_ascii_case(kept))
    };
    keys.filter_map(known_format).next().map(|(_, _, what)| *what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unsupported_format_is_recognised_by_its_key() {
        assert_eq!(foreign_format("[core]\n\tbare = false\n[extensions]\n\tobjectFormat = sha1\n"), None);
        assert_eq!(foreign_format("[extensions]\n\tobjectFormat = sha256\n"), Some("objects under SHA-256 names"));
        assert_eq!(foreign_format("[extensions]\n\trefStorage = \"reftable\"\n"), Some("references in reftable files"));
    }
}
