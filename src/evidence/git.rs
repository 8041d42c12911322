//! Git's state, read from its files: where a project's repository is, and the repository's private list of ignored
//! paths.
//!
//! Git is never run, because a repository's own configuration can make it run any program.

use std::fs::{Metadata, OpenOptions};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use nix::libc;

use crate::evidence::changes::{create_shared_directory, open_shared_to_append, write_all};
use crate::evidence::error::failed;
use crate::evidence::names::check_component;
use crate::evidence::{EvidenceError, FileOperation};

/// A file that contains a path, such as the file `.git` of a worktree, is read up to this number of bytes; the bytes after
/// them are ignored.
const LONGEST_POINTER: u64 = 8 * 1024;
/// The largest exclude file, in bytes, to which an entry is added.
const LARGEST_EXCLUDE: u64 = 4 * 1024 * 1024;

/// Where a project is in its git repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitLocation {
    /// The root of the working tree that contains the project.
    pub work_tree: PathBuf,
    /// The directory that all worktrees of the repository share. It contains `info/exclude`.
    pub common_directory: PathBuf,
}

/// The result of adding the project's link to `.git/info/exclude`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExcludeOutcome {
    Added,
    AlreadyThere,
    /// Nothing was written: `info` or `exclude` is a link, not a regular file, or too large, or the project is not in
    /// the working tree.
    LeftAlone,
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

/// Adds the project's link to `.git/info/exclude` unless the entry is there already, so that git does not show the link
/// as a new file.
///
/// The entry starts at the root of the working tree, so it does not match an entry of the same name elsewhere.
pub fn exclude_link(location: &GitLocation, project_root: &Path, link_name: &str) -> Result<ExcludeOutcome, EvidenceError> {
    check_component(link_name)?;
    let Ok(below) = project_root.strip_prefix(&location.work_tree) else { return Ok(ExcludeOutcome::LeftAlone) };
    let entry = exclude_entry(below.join(link_name).as_os_str().as_bytes());
    let info = location.common_directory.join("info");
    match info.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return Ok(ExcludeOutcome::LeftAlone),
        Err(_) => create_shared_directory(&info)?,
    }
    let exclude = info.join("exclude");
    if exclude.symlink_metadata().is_ok_and(|metadata| !metadata.is_file() || metadata.len() > LARGEST_EXCLUDE) {
        return Ok(ExcludeOutcome::LeftAlone);
    }
    append_once(&exclude, &entry)
}

fn append_once(exclude: &Path, entry: &[u8]) -> Result<ExcludeOutcome, EvidenceError> {
    // Git creates this file with the same mode, 0666 minus the user's mask.
    let mut file = open_shared_to_append(exclude)?;
    let mut present = Vec::new();
    file.read_to_end(&mut present).map_err(failed(FileOperation::Read, exclude))?;
    if present.split(|byte| *byte == b'\n').any(|line| line.strip_suffix(b"\r").unwrap_or(line) == entry) {
        return Ok(ExcludeOutcome::AlreadyThere);
    }
    let mut addition = Vec::new();
    if present.last().is_some_and(|last| *last != b'\n') {
        addition.push(b'\n');
    }
    addition.extend_from_slice(entry);
    addition.push(b'\n');
    write_all(&mut file, exclude, &addition)?;
    Ok(ExcludeOutcome::Added)
}

/// Returns the pattern that matches exactly this path (gitignore(5)): it starts at the root, and special characters are
/// escaped.
fn exclude_entry(path: &[u8]) -> Vec<u8> {
    let mut entry = vec![b'/'];
    for byte in path {
        if b"*?[]\\ ".contains(byte) {
            entry.push(b'\\');
        }
        entry.push(*byte);
    }
    entry
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::evidence::testing::put;

    fn repository(root: &Path) {
        put(&root.join(".git/HEAD"), b"ref: refs/heads/main\n");
    }

    fn exclude_text(root: &Path) -> String {
        std::fs::read_to_string(root.join(".git/info/exclude")).unwrap()
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
        put(&root.join("main/.git/modules/sub/HEAD"), b"ref: refs/heads/main\n");
        put(&root.join("main/sub/.git"), b"gitdir: ../.git/modules/sub\n");
        assert_eq!(git_common_directory(&root.join("main/sub")), Some(root.join("main/.git/modules/sub")));
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

    #[test]
    fn the_link_is_excluded_once_and_nothing_else_changes() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        repository(&root);
        let location = find_git_location(&root).unwrap();
        assert_eq!(exclude_link(&location, &root, "evidence").unwrap(), ExcludeOutcome::Added);
        assert_eq!(exclude_link(&location, &root, "evidence").unwrap(), ExcludeOutcome::AlreadyThere);
        assert_eq!(exclude_text(&root), "/evidence\n");
        std::fs::remove_file(root.join(".git/info/exclude")).unwrap();
        put(&root.join(".git/info/exclude"), b"*.tmp");
        assert_eq!(exclude_link(&location, &root.join("sub dir"), "[e]").unwrap(), ExcludeOutcome::Added);
        assert_eq!(exclude_text(&root), "*.tmp\n/sub\\ dir/\\[e\\]\n");
        assert!(exclude_link(&location, &root, "a/b").is_err());
        assert_eq!(exclude_link(&location, Path::new("/elsewhere"), "evidence").unwrap(), ExcludeOutcome::LeftAlone);
    }

    #[test]
    fn a_link_in_place_of_the_exclude_file_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        repository(&root);
        put(&root.join("precious"), b"mine");
        std::fs::create_dir(root.join(".git/info")).unwrap();
        symlink(root.join("precious"), root.join(".git/info/exclude")).unwrap();
        let location = find_git_location(&root).unwrap();
        assert_eq!(exclude_link(&location, &root, "evidence").unwrap(), ExcludeOutcome::LeftAlone);
        assert_eq!(std::fs::read(root.join("precious")).unwrap(), b"mine");
    }
}
