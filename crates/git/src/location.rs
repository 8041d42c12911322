//! Where a project's repository is: its working tree, its git directory, and what all worktrees share.
//!
//! Finds the git repository that contains a project.

use std::ffi::OsStr;
use std::fs;
use std::fs::{Metadata, OpenOptions};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use nix::libc;

/// A file that contains a path, such as the file `.git` of a worktree, is read up to this number of bytes; the bytes after
/// them are ignored.
const LONGEST_POINTER: u64 = 8 * 1024;

/// Where a project is in its git repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitLocation {
    /// The root of the working tree that contains the project.
    pub work_tree: PathBuf,
    /// The directory that all worktrees of the repository share. It contains `info/exclude`.
    pub common_directory: PathBuf,
}

/// Returns the directory in the main working tree of the repository that corresponds to a directory in a linked one; `None` if the
/// directory lies in no linked working tree, or the repository has no main one.
pub fn directory_in_main_work_tree(directory: &Path) -> Option<PathBuf> {
    let location = find_git_location(directory)?;
    // A bare repository has no `.git`, and that of a submodule lies elsewhere.
    let main = location.common_directory.parent().filter(|_| location.common_directory.ends_with(".git"))?;
    let below = directory.strip_prefix(&location.work_tree).ok()?;
    // Without the slash at the end that joining an empty path leaves.
    (main != location.work_tree).then(|| main.join(below).components().collect())
}

/// Finds the repository of a project by looking for `.git` in the project's root and the directories above it.
pub fn find_git_location(project_root: &Path) -> Option<GitLocation> {
    find_location_and_git_directory(project_root).map(|(location, _)| location)
}

/// Returns the git directory of the project's working tree, which contains its `HEAD`, and the directory that all
/// worktrees share; `None` if the project is in no git repository.
pub fn find_git_directories(project_root: &Path) -> Option<(PathBuf, PathBuf)> {
    find_location_and_git_directory(project_root).map(|(location, git_directory)| (git_directory, location.common_directory))
}

fn find_location_and_git_directory(project_root: &Path) -> Option<(GitLocation, PathBuf)> {
    project_root.ancestors().find_map(|directory| {
        let git_directory = read_git_entry(directory)?;
        let common_directory = read_common_directory(&git_directory);
        common_directory.join("HEAD").symlink_metadata().ok()?;
        let common_directory = common_directory.canonicalize().ok()?;
        Some((GitLocation { work_tree: directory.to_owned(), common_directory }, git_directory))
    })
}

/// Returns the directory that all worktrees of the project's repository share.
pub fn git_common_directory(project_root: &Path) -> Option<PathBuf> {
    find_git_location(project_root).map(|location| location.common_directory)
}

/// Returns the git directory of a directory: its `.git`, or the path that the file `.git` contains.
fn read_git_entry(directory: &Path) -> Option<PathBuf> {
    let git = directory.join(".git");
    let metadata = git.metadata().ok()?;
    if metadata.is_dir() {
        return Some(git);
    }
    if !metadata.is_file() {
        return None;
    }
    let text = read_pointer(&git)?;
    Some(directory.join(text.strip_prefix("gitdir:")?.trim()))
}

/// Returns the directory that all worktrees share: the file `commondir` of a linked worktree names it
/// (gitrepository-layout(5)).
fn read_common_directory(git_directory: &Path) -> PathBuf {
    match read_pointer(&git_directory.join("commondir")) {
        Some(text) => git_directory.join(text.trim_end_matches('\n')),
        None => git_directory.to_owned(),
    }
}

fn read_pointer(path: &Path) -> Option<String> {
    let mut text = String::new();
    // A pipe in the file's place is not waited for.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path).ok()?;
    file.metadata().ok().filter(Metadata::is_file)?;
    file.take(LONGEST_POINTER).read_to_string(&mut text).ok()?;
    Some(text)
}

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

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn put(path: &Path, content: &[u8]) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::File::create(path).unwrap().write_all(content).unwrap();
    }

    fn repository(root: &Path) {
        put(&root.join(".git/HEAD"), b"ref: refs/heads/main\n");
    }

    #[test]
    fn a_project_may_be_a_repository_or_lie_in_one() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        assert_eq!(git_common_directory(&root), None);
        repository(&root);
        let expected = Some(GitLocation { work_tree: root.clone(), common_directory: root.join(".git") });
        assert_eq!(find_git_location(&root), expected);
        assert_eq!(find_git_location(&root.join("a/b")), expected);
    }

    #[test]
    fn a_linked_worktree_and_a_submodule_lead_to_their_common_directory() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        repository(&root.join("main"));
        put(&root.join("main/.git/worktrees/side/commondir"), b"../..\n");
        put(&root.join("side/.git"), format!("gitdir: {}\n", root.join("main/.git/worktrees/side").display()).as_bytes());
        assert_eq!(git_common_directory(&root.join("side")), Some(root.join("main/.git")));
        assert_eq!(directory_in_main_work_tree(&root.join("side/lib")), Some(root.join("main/lib")));
        let top = directory_in_main_work_tree(&root.join("side")).expect("a linked working tree");
        assert_eq!(top.as_os_str(), root.join("main").as_os_str(), "a path is compared as text elsewhere");
        assert_eq!(directory_in_main_work_tree(&root.join("main/lib")), None);
        put(&root.join("main/.git/modules/sub/HEAD"), b"ref: refs/heads/main\n");
        put(&root.join("main/sub/.git"), b"gitdir: ../.git/modules/sub\n");
        assert_eq!(git_common_directory(&root.join("main/sub")), Some(root.join("main/.git/modules/sub")));
        assert_eq!(directory_in_main_work_tree(&root.join("main/sub")), None, "a repository of its own");
    }

    #[test]
    fn an_invalid_git_entry_is_skipped() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        repository(&root);
        put(&root.join("a/.git"), b"not a pointer");
        std::fs::create_dir_all(root.join("b/.git")).unwrap();
        for name in ["a", "b"] {
            assert_eq!(find_git_location(&root.join(name)).unwrap().work_tree, root, "{name}");
        }
    }
}
