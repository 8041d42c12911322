//! The one file in a project that proctor writes parts of, the task list: read as it is, and replaced only while it is so.
//!
//! A replacement is made beside the file and exchanged with it in one step (renameat2(2), `RENAME_EXCHANGE`); what comes out is then
//! compared with what was read, and put back where somebody saved meanwhile. Not seen is a writer who opened the file before the
//! exchange and writes after the comparison: he writes into the old file.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use nix::errno::Errno;

use crate::evidence::artifact::{Refused, take_artifact};
use crate::evidence::changes::{
    self, create_plain_file, give_second_name, remove_file, rename, set_mode, sync_directory, sync_file, write_all,
};
use crate::evidence::files::read_plain;
use crate::evidence::{EvidenceError, mint_project_id};

/// The longest task list that is read, in bytes.
const LONGEST_FILE: u64 = 4 << 20;

/// What became of a replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replaced {
    /// It was made.
    Done,
    /// The file is not what it was: nothing was done, it has to be read again.
    ChangedMeanwhile,
}

/// Says why a file of the project could not be read or replaced.
#[derive(Debug, thiserror::Error)]
pub enum ProjectFileError {
    /// It is nothing that is read, or in a place that is not written to.
    #[error("`{}` is left alone: {refused}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// Why.
        refused: Refused,
    },
    /// It is no UTF-8.
    #[error("`{}` is left alone: it is not UTF-8", path.display())]
    NoText {
        /// The file.
        path: PathBuf,
    },
    /// It could not be replaced.
    #[error("`{}` cannot be written: {problem}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why not.
        problem: io::Error,
    },
}

/// Reads the file `relative` of a project as text; none where it is not there. Links are not followed, and 4 MiB are read at most.
pub fn read_project_file(root: &Path, relative: &str) -> Result<Option<String>, ProjectFileError> {
    let path = root.join(relative);
    match take_artifact(root, Path::new(relative), LONGEST_FILE) {
        Ok(artifact) => String::from_utf8(artifact.bytes).map(Some).map_err(|_| ProjectFileError::NoText { path }),
        Err(Refused::NotThere) => Ok(None),
        Err(refused) => Err(ProjectFileError::Refused { path, refused }),
    }
}

/// Replaces the file `relative` of a project, whose root has no links in its path, if it still is as it was read.
pub fn replace_project_file(root: &Path, relative: &str, read: Option<&str>, new: &str) -> Result<Replaced, ProjectFileError> {
    let path = root.join(relative);
    let directory = path.parent().unwrap_or(root);
    let failed = |problem: io::Error| ProjectFileError::Write { path: path.clone(), problem };
    if std::fs::canonicalize(directory).map_err(failed)? != directory {
        return Err(ProjectFileError::Refused { path, refused: Refused::Escapes });
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let unique = mint_project_id(&name).map_err(|error| failed(io::Error::other(error)))?;
    // A name that belongs to no tree: whoever watches hears nothing of it.
    let beside = directory.join(format!(".{unique}~"));
    write_beside(&beside, new, &path, read).map_err(failed)?;
    let outcome = match read {
        None => link_anew(&beside, &path),
        Some(read) => exchange(&beside, &path, read, new),
    };
    remove_file(&beside).map_err(|error| failed(cause(error)))?;
    outcome.map_err(failed)
}

/// Writes the new text with the mode of the file it replaces, or with that of any new file.
fn write_beside(beside: &Path, new: &str, path: &Path, read: Option<&str>) -> io::Result<()> {
    let mut file = create_plain_file(beside).map_err(cause)?;
    if read.is_some()
        && let Ok(metadata) = std::fs::symlink_metadata(path)
    {
        set_mode(&file, beside, metadata.permissions().mode() & 0o777).map_err(cause)?;
    }
    write_all(&mut file, beside, new.as_bytes()).map_err(cause)?;
    sync_file(&file, beside).map_err(cause)
}

/// Gives a file its name if that is free.
fn link_anew(beside: &Path, path: &Path) -> io::Result<Replaced> {
    match give_second_name(beside, path).map_err(cause) {
        Ok(()) => sync_parent(path).map(|()| Replaced::Done),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Replaced::ChangedMeanwhile),
        Err(error) => Err(error),
    }
}

fn exchange(beside: &Path, path: &Path, read: &str, new: &str) -> io::Result<Replaced> {
    let swap = || changes::exchange(beside, path);
    let is = |at: &Path, text: &str| read_plain(at).is_ok_and(|bytes| bytes == text.as_bytes());
    match swap() {
        Ok(()) if is(beside, read) => sync_parent(path).map(|()| Replaced::Done),
        Ok(()) => {
            swap()?;
            if !is(beside, new) {
                // Somebody saved into the new file in between. That is nobody's to throw away.
                rename(beside, &path.with_extension("saved.md")).map_err(cause)?;
            }
            Ok(Replaced::ChangedMeanwhile)
        }
        Err(Errno::ENOENT) => Ok(Replaced::ChangedMeanwhile),
        // The file system cannot exchange: there is a moment between the comparison and the renaming.
        Err(Errno::EINVAL | Errno::ENOSYS) => {
            if !is(path, read) {
                return Ok(Replaced::ChangedMeanwhile);
            }
            rename(beside, path).map_err(cause)?;
            sync_parent(path).map(|()| Replaced::Done)
        }
        Err(error) => Err(error.into()),
    }
}

fn sync_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |directory| sync_directory(directory).map_err(cause))
}

/// Returns what the system said.
fn cause(error: EvidenceError) -> io::Error {
    if let EvidenceError::File { source, .. } = error { source } else { io::Error::other(error) }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::evidence::testing::put;

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
        assert_eq!(replace(None, "one"), Replaced::Done);
        assert_eq!(replace(None, "two"), Replaced::ChangedMeanwhile);
        assert_eq!(replace(Some("other"), "two"), Replaced::ChangedMeanwhile);
        assert_eq!(read_project_file(&root, "tasks.md").expect("it is there").as_deref(), Some("one"));
        std::fs::set_permissions(root.join("tasks.md"), Permissions::from_mode(0o640)).expect("it is ours");
        assert_eq!(replace(Some("one"), "two"), Replaced::Done);
        assert_eq!(read_project_file(&root, "tasks.md").expect("it is there").as_deref(), Some("two"));
        let mode = std::fs::metadata(root.join("tasks.md")).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        std::fs::remove_file(root.join("tasks.md")).expect("it is ours");
        assert_eq!(replace(Some("two"), "three"), Replaced::ChangedMeanwhile);
        assert_eq!(names(&root), Vec::<String>::new(), "nothing is left behind");
    }

    #[test]
    fn what_is_no_plain_file_below_the_project_is_left_alone() {
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
