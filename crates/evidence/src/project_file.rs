//! Replaces the task list, the only file of a project that proctor changes. It is replaced only if it has not changed
//! since it was read.
//!
//! The new text is written to a second file, which is exchanged with the task list in one step (renameat2(2),
//! `RENAME_EXCHANGE`). The old file is then compared with the text that was read, and exchanged back if another program
//! saved in between. One case is not detected: a program that opened the file before the exchange and writes to it
//! after the comparison.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use nix::errno::Errno;

use crate::artifact::{ArtifactRefusal, read_artifact};
use crate::changes::{self, create_shared_file, hard_link, remove_file, rename, set_mode, sync_directory, sync_file, write_all};
use crate::files::read_no_follow;
use crate::{EvidenceError, mint_project_id};

/// A task list with more bytes than this is not read.
const LONGEST_FILE: u64 = 4 << 20;

/// Whether the project's file, which is the task list, was replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplaceOutcome {
    Done,
    /// The file changed since it was read. Nothing was done, and it has to be read again.
    ChangedMeanwhile,
}

/// Why a file of the project could not be read or replaced.
#[derive(Debug, thiserror::Error)]
pub enum ProjectFileError {
    /// The task list is not a regular file that may be read, or its path contains a link.
    #[error("`{}` is left alone: {refused}", path.display())]
    Refused { path: PathBuf, refused: ArtifactRefusal },
    #[error("`{}` is left alone: it is not UTF-8", path.display())]
    NotUtf8 { path: PathBuf },
    #[error("`{}` cannot be written: {problem}", path.display())]
    Write { path: PathBuf, problem: io::Error },
}

/// Reads the file `relative` of a project as text, or returns `None` if it does not exist. A link, and a file that is
/// longer than 4 MiB, is refused.
pub fn read_project_file(root: &Path, relative: &str) -> Result<Option<String>, ProjectFileError> {
    let path = root.join(relative);
    match read_artifact(root, Path::new(relative), LONGEST_FILE) {
        Ok(artifact) => String::from_utf8(artifact.bytes).map(Some).map_err(|_| ProjectFileError::NotUtf8 { path }),
        Err(ArtifactRefusal::NotThere) => Ok(None),
        Err(refused) => Err(ProjectFileError::Refused { path, refused }),
    }
}

/// Replaces the file `relative` of a project if it still has the text `read` (`None`: if it still does not exist).
/// `root` must be free of links.
pub fn replace_project_file(
    root: &Path,
    relative: &str,
    read: Option<&str>,
    new: &str,
) -> Result<ReplaceOutcome, ProjectFileError> {
    let path = root.join(relative);
    let directory = path.parent().unwrap_or(root);
    let failed = |problem: io::Error| ProjectFileError::Write { path: path.clone(), problem };
    if std::fs::canonicalize(directory).map_err(failed)? != directory {
        return Err(ProjectFileError::Refused { path, refused: ArtifactRefusal::Escapes });
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let unique = mint_project_id(&name).map_err(|error| failed(io::Error::other(error)))?;
    // A file whose name ends in `~` belongs to no project's tree, so watchers ignore it.
    let new_path = directory.join(format!(".{unique}~"));
    write_replacement(&new_path, new, &path, read).map_err(failed)?;
    let outcome = match read {
        None => link_if_free(&new_path, &path),
        Some(read) => exchange(&new_path, &path, read, new),
    };
    remove_file(&new_path).map_err(|error| failed(cause(error)))?;
    outcome.map_err(failed)
}

/// Writes the new text to a second file. That file gets the mode of the file that it will replace; if no file is
/// replaced, it gets the mode that the user's `umask` gives to any new file.
fn write_replacement(new_path: &Path, new: &str, path: &Path, read: Option<&str>) -> io::Result<()> {
    let mut file = create_shared_file(new_path).map_err(cause)?;
    if read.is_some()
        && let Ok(metadata) = std::fs::symlink_metadata(path)
    {
        set_mode(&file, new_path, metadata.permissions().mode() & 0o777).map_err(cause)?;
    }
    write_all(&mut file, new_path, new.as_bytes()).map_err(cause)?;
    sync_file(&file, new_path).map_err(cause)
}

/// Gives the new file the name of the task list, unless another program took that name meanwhile.
fn link_if_free(new_path: &Path, path: &Path) -> io::Result<ReplaceOutcome> {
    match hard_link(new_path, path).map_err(cause) {
        Ok(()) => sync_parent(path).map(|()| ReplaceOutcome::Done),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(ReplaceOutcome::ChangedMeanwhile),
        Err(error) => Err(error),
    }
}

fn exchange(new_path: &Path, path: &Path, read: &str, new: &str) -> io::Result<ReplaceOutcome> {
    let swap = || changes::exchange(new_path, path);
    let has_text = |at: &Path, text: &str| read_no_follow(at).is_ok_and(|bytes| bytes == text.as_bytes());
    match swap() {
        Ok(()) if has_text(new_path, read) => sync_parent(path).map(|()| ReplaceOutcome::Done),
        Ok(()) => {
            swap()?;
            if !has_text(new_path, new) {
                // Another program saved into the new file between the two exchanges. The text that it saved is kept.
                rename(new_path, &path.with_extension("saved.md")).map_err(cause)?;
            }
            Ok(ReplaceOutcome::ChangedMeanwhile)
        }
        Err(Errno::ENOENT) => Ok(ReplaceOutcome::ChangedMeanwhile),
        // This file system cannot exchange files, so a save between the comparison and the rename would be lost.
        Err(Errno::EINVAL | Errno::ENOSYS) => {
            if !has_text(path, read) {
                return Ok(ReplaceOutcome::ChangedMeanwhile);
            }
            rename(new_path, path).map_err(cause)?;
            sync_parent(path).map(|()| ReplaceOutcome::Done)
        }
        Err(error) => Err(error.into()),
    }
}

fn sync_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |directory| sync_directory(directory).map_err(cause))
}

/// Returns the I/O error that an evidence error contains.
fn cause(error: EvidenceError) -> io::Error {
    if let EvidenceError::File { source, .. } = error { source } else { io::Error::other(error) }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::testing::put;

    fn root() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let root = directory.path().canonicalize().expect("it is there");
        (directory, root)
    }

    fn names(root: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(root).expect("it can be listed").flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_file_is_replaced_only_while_it_is_as_it_was_read() {
        let (_kept, root) = root();
        let replace = |read, new| replace_project_file(&root, "tasks.md", read, new).expect("it can be written");
        assert_eq!(read_project_file(&root, "tasks.md").expect("nothing is wrong"), None);
        assert_eq!(replace(None, "one"), ReplaceOutcome::Done);
        assert_eq!(replace(None, "two"), ReplaceOutcome::ChangedMeanwhile);
        assert_eq!(replace(Some("other"), "two"), ReplaceOutcome::ChangedMeanwhile);
        assert_eq!(read_project_file(&root, "tasks.md").expect("it is there").as_deref(), Some("one"));
        std::fs::set_permissions(root.join("tasks.md"), Permissions::from_mode(0o640)).expect("it is ours");
        assert_eq!(replace(Some("one"), "two"), ReplaceOutcome::Done);
        assert_eq!(read_project_file(&root, "tasks.md").expect("it is there").as_deref(), Some("two"));
        let mode = std::fs::metadata(root.join("tasks.md")).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        std::fs::remove_file(root.join("tasks.md")).expect("it is ours");
        assert_eq!(replace(Some("two"), "three"), ReplaceOutcome::ChangedMeanwhile);
        assert_eq!(names(&root), Vec::<String>::new(), "nothing is left behind");
    }

    #[test]
    fn links_and_paths_outside_the_project_are_left_alone() {
        let (_kept, root) = root();
        let (_other, outside) = self::root();
        put(&outside.join("tasks.md"), b"theirs");
        symlink(outside.join("tasks.md"), root.join("tasks.md")).expect("it is ours");
        symlink(&outside, root.join("docs")).expect("it is ours");
        put(&root.join("latin.md"), b"\xe4");
        for name in ["tasks.md", "docs/tasks.md", "latin.md", "../tasks.md"] {
            assert!(read_project_file(&root, name).is_err(), "{name}");
        }
        assert!(replace_project_file(&root, "docs/new.md", None, "ours").is_err());
        assert_eq!(names(&outside), ["tasks.md"]);
    }
}
