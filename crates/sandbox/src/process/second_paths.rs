//! The other paths at which mounts show what is hidden from an action: a path is hidden by its name, and the same file may have a
//! second name through a second mount of its file system.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use proctor_model::{MountTable, Sandbox, SecondPath};

/// The list of this thread's mounts. Threads of one process may have different mount namespaces.
pub(crate) const MOUNTS: &str = "/proc/thread-self/mountinfo";

/// Reads the mounts that this thread sees.
///
/// # Errors
/// When the kernel's list cannot be read.
pub(crate) fn read_mounts() -> io::Result<MountTable> {
    Ok(MountTable::parse(&fs::read(MOUNTS)?))
}

/// Returns the other paths at which this process sees the file or directory at `path`, or something in it, except those below `path`.
pub(crate) fn find_second_paths(mounts: &MountTable, path: &Path) -> Vec<SecondPath> {
    let identity = |path: &Path| path.symlink_metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()));
    let is_there = |second: &SecondPath| {
        let found = identity(&second.path);
        // A mount of a part is seen even if another mount covers the first path of that part, so it is not compared.
        found.is_some() && (second.shows != path || found == identity(path))
    };
    mounts.second_paths(path).into_iter().filter(is_there).collect()
}

/// Why an action must not start: something that is hidden from it may show at a path that is not hidden.
#[derive(Debug, thiserror::Error)]
pub(super) enum SecondPathError {
    #[error("cannot read the list of mounts `{MOUNTS}`: {0}")]
    Mounts(#[from] io::Error),
    /// Something was mounted after the sandbox was described.
    #[error(
        "`{}` is hidden from commands, and since a moment ago a mount shows it at `{}` too: run once more, and both are hidden",
        shows.display(),
        path.display()
    )]
    New { path: PathBuf, shows: PathBuf },
}

/// Refuses the sandbox if something hidden shows at a path at which it did not when the sandbox was described.
pub(super) fn refuse_new_second_path(sandbox: &Sandbox) -> Result<(), SecondPathError> {
    if sandbox.hidden.is_empty() {
        return Ok(());
    }
    let mounts = read_mounts()?;
    let found = sandbox.hidden.iter().flat_map(|path| find_second_paths(&mounts, path));
    match found.into_iter().find(|second| !sandbox.second_paths.contains(&second.path)) {
        Some(SecondPath { path, shows }) => Err(SecondPathError::New { path, shows }),
        None => Ok(()),
    }
}
