//! The link to the evidence is kept out of what git shows, by a line in the repository's private list of ignored paths.
//!
//! Git is never run, because a repository's own configuration can make it run any program.

use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::changes::{create_shared_directory, open_shared_to_append, write_all};
use crate::error::failed;
use crate::names::check_component;
use crate::{EvidenceError, FileOperation};
use proctor_git::GitLocation;

/// The largest exclude file, in bytes, to which an entry is added.
const LARGEST_EXCLUDE: u64 = 4 * 1024 * 1024;

/// The result of adding the project's link to `.git/info/exclude`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExcludeOutcome {
    Added,
    AlreadyThere,
    /// Nothing was written: `info` or `exclude` is a link, not a regular file, or too large, or the project is not in
    /// the working tree.
    LeftAlone,
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::testing::put;
    use proctor_git::find_git_location;

    fn repository(root: &Path) {
        put(&root.join(".git/HEAD"), b"ref: refs/heads/main\n");
    }

    fn exclude_text(root: &Path) -> String {
        std::fs::read_to_string(root.join(".git/info/exclude")).unwrap()
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
