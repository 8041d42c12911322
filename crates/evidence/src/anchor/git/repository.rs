//! The repository that contains a project, as far as notes need it.

use std::path::Path;

use crate::anchor::git::error::GitAnchorError;
use proctor_git::{GitStorage, find_git_directories};

#[derive(Debug)]
pub(super) struct Repository {
    pub(super) storage: GitStorage,
}

impl Repository {
    pub(super) fn open(root: &Path) -> Result<Self, GitAnchorError> {
        let (git_directory, common) =
            find_git_directories(root).ok_or_else(|| GitAnchorError::NoRepository { root: root.to_owned() })?;
        Ok(Self { storage: GitStorage::open(&git_directory, &common)? })
    }
}
