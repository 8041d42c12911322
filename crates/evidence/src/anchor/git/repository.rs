//! The repository that contains a project, as far as notes need it.

use std::path::{Path, PathBuf};

use crate::anchor::git::error::GitAnchorError;
use proctor_git::{GitStorage, ObjectId, find_git_directories};

#[derive(Debug)]
pub(super) struct Repository {
    root: PathBuf,
    pub(super) storage: GitStorage,
}

impl Repository {
    pub(super) fn open(root: &Path) -> Result<Self, GitAnchorError> {
        let (git_directory, common) =
            find_git_directories(root).ok_or_else(|| GitAnchorError::NoRepository { root: root.to_owned() })?;
        Ok(Self { root: root.to_owned(), storage: GitStorage::open(&git_directory, &common)? })
    }

    /// Returns the checked-out commit; an error if nothing is committed yet.
    pub(super) fn head(&self) -> Result<ObjectId, GitAnchorError> {
        self.storage.head()?.ok_or_else(|| GitAnchorError::NothingCommitted { root: self.root.clone() })
    }
}
