//! Finds out from git's files which operation git is in the middle of. The git program is never run: it would take
//! locks, and it would execute commands that the project's configuration names.

use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::model::GitOperation;

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

/// The most bytes that are read of a `.git` file. Worktrees and submodules have such a file instead of a directory.
const MAX_POINTER_BYTES: u64 = 8192;

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

/// Returns the git directory of this working tree. In a worktree or a submodule, `.git` is a file that contains the
/// directory's path.
fn git_directory(top: &Path) -> Option<PathBuf> {
    let path = top.join(".git");
    let kind = fs::symlink_metadata(&path).ok()?;
    if !kind.is_file() {
        return Some(path);
    }
    let mut text = Vec::new();
    fs::File::open(&path).ok()?.take(MAX_POINTER_BYTES).read_to_end(&mut text).ok()?;
    let named = text.strip_prefix(b"gitdir:")?.trim_ascii();
    (!named.is_empty()).then(|| top.join(std::ffi::OsStr::from_bytes(named)))
}
