//! Finds out from git's files which operation git is in the middle of. The git program is never run: it would take
//! locks, and it would execute commands that the project's configuration names.

use std::fs;
use std::path::{Path, PathBuf};

use proctor_git::git_directory;
use proctor_model::GitOperation;

/// The files and directories in the git directory that exist during an operation of git. Long operations come first,
/// because a rebase also locks the index again and again.
pub const GIT_MARKS: &[(&str, GitOperation)] = &[
    ("rebase-merge", GitOperation::Rebase),
    ("rebase-apply", GitOperation::Apply),
    ("MERGE_HEAD", GitOperation::Merge),
    ("CHERRY_PICK_HEAD", GitOperation::CherryPick),
    ("REVERT_HEAD", GitOperation::Revert),
    ("index.lock", GitOperation::Index),
];

/// Knows where the git directory of a project is, and reads git's state from it.
#[derive(Debug, Clone)]
pub struct GitFiles {
    /// The project's root or the nearest directory above it that contains a `.git`; the root if there is no `.git`.
    top: PathBuf,
}

impl GitFiles {
    /// Finds the repository that contains a project, by searching for `.git` from the root upwards.
    pub fn find(root: &Path) -> Self {
        let top = root.ancestors().find(|directory| fs::symlink_metadata(directory.join(".git")).is_ok());
        Self { top: top.unwrap_or(root).to_owned() }
    }

    /// Returns the operation that git is in the middle of; `None` if there is no operation, no repository, or git's
    /// files cannot be read.
    pub fn read(&self) -> Option<GitOperation> {
        let directory = git_directory(&self.top)?;
        let is_there = |name: &str| fs::symlink_metadata(directory.join(name)).is_ok();
        GIT_MARKS.iter().find(|(name, _)| is_there(name)).map(|(_, operation)| *operation)
    }
}
