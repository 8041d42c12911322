//! Finds the git repository that contains a project.

use std::ffi::OsStr;
use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A `.git` file, which worktrees and submodules have instead of a directory, is read up to this many bytes. Further
/// bytes are ignored.
const MAX_POINTER_BYTES: u64 = 8192;

/// A repository, as far as its index is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// The directory that contains `.git`. Paths in the index are relative to it.
    pub work_tree: PathBuf,
    /// The directory that contains the index of this working tree.
    pub directory: PathBuf,
}

impl Repository {
    /// Finds the repository of a project by looking for `.git` in the project's root and in the directories above it.
    pub fn find(root: &Path) -> Option<Self> {
        let work_tree = root.ancestors().find(|directory| fs::symlink_metadata(directory.join(".git")).is_ok())?;
        Some(Self { work_tree: work_tree.to_owned(), directory: git_directory(work_tree)? })
    }
}

/// Returns the git directory of this working tree. In a worktree or a submodule, `.git` is a file that holds the path of
/// the git directory.
pub fn git_directory(work_tree: &Path) -> Option<PathBuf> {
    let path = work_tree.join(".git");
    let kind = fs::symlink_metadata(&path).ok()?;
    if !kind.is_file() {
        return Some(path);
    }
    let mut text = Vec::new();
    fs::File::open(&path).ok()?.take(MAX_POINTER_BYTES).read_to_end(&mut text).ok()?;
    let named = text.strip_prefix(b"gitdir:")?.trim_ascii();
    (!named.is_empty()).then(|| work_tree.join(OsStr::from_bytes(named)))
}
