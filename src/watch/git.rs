//! Finds out from git's files which operation git is in the middle of. The git program is never run: it would take locks itself,
//! and it would execute commands that the project's configuration names.

use std::fs;
use std::path::{Path, PathBuf};

use crate::git::git_directory;
use crate::model::GitOperation;

/// The files that exist during a git operation. Those of long operations come first, because a rebase also locks the index again
/// and again.
pub const GIT_MARKS: &[(&str, GitOperation)] = &[
    ("rebase-merge", GitOperation::Rebase),
    ("rebase-apply", GitOperation::Apply),
    ("MERGE_HEAD", GitOperation::Merge),
    ("CHERRY_PICK_HEAD", GitOperation::CherryPick),
    ("REVERT_HEAD", GitOperation::Revert),
    ("index.lock", GitOperation::Index),
];

/// Finds the git directory of a project.
#[derive(Debug, Clone)]
pub struct GitFiles {
    /// The project's root, or the directory above it that has a `.git`.
    top: PathBuf,
}

impl GitFiles {
    /// Finds the repository that contains a project.
    pub fn find(root: &Path) -> Self {
        let top = root.ancestors().find(|directory| fs::symlink_metadata(directory.join(".git")).is_ok());
        Self { top: top.unwrap_or(root).to_owned() }
    }

    /// Returns the operation that git is in the middle of; `None` if there is none, no repository, or its files cannot be read.
    pub fn read(&self) -> Option<GitOperation> {
        let directory = git_directory(&self.top)?;
        let is_there = |name: &str| fs::symlink_metadata(directory.join(name)).is_ok();
        GIT_MARKS.iter().find(|(name, _)| is_there(name)).map(|(_, operation)| *operation)
    }
}
