//! What git is in the middle of, read from its files. Git itself is never run: it would take locks of its own, and would do what
//! the project's configuration tells it.

use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::model::GitOperation;

/// The files that say what git is in the middle of, the lasting ones first: during a rebase the index is locked again and again.
pub const GIT_MARKS: &[(&str, GitOperation)] = &[
    ("rebase-merge", GitOperation::Rebase),
    ("rebase-apply", GitOperation::Apply),
    ("MERGE_HEAD", GitOperation::Merge),
    ("CHERRY_PICK_HEAD", GitOperation::CherryPick),
    ("REVERT_HEAD", GitOperation::Revert),
    ("index.lock", GitOperation::Index),
];

/// The file of a worktree or submodule that names its git directory is never longer.
const MAX_POINTER_BYTES: u64 = 8192;

/// Where the git directory of a project is looked for.
#[derive(Debug, Clone)]
pub struct GitFiles {
    /// The project's root or the directory above it that has a `.git`.
    top: PathBuf,
}

impl GitFiles {
    /// Looks for the repository a project lies in.
    pub fn find(root: &Path) -> Self {
        let top = root.ancestors().find(|directory| fs::symlink_metadata(directory.join(".git")).is_ok());
        Self { top: top.unwrap_or(root).to_owned() }
    }

    /// Reads what git is in the middle of. Nothing where there is no repository, or where its files cannot be read.
    pub fn read(&self) -> Option<GitOperation> {
        let directory = git_directory(&self.top)?;
        let is_there = |name: &str| fs::symlink_metadata(directory.join(name)).is_ok();
        GIT_MARKS.iter().find(|(name, _)| is_there(name)).map(|(_, operation)| *operation)
    }
}

/// Returns the directory with the files of this working tree; in a worktree or a submodule `.git` is a file that names it.
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
