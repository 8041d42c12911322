//! Writes the files of a commit into a new directory, as git checks them out where nothing asks for a conversion. Nothing outside of
//! the directory is written, whatever the commit's objects say.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};

use crate::committed::{DEEPEST_SUBMODULE, MOST_SUBMODULES, is_clean};
use crate::read::is_too_deep;
use proctor_git::{GitEntryKind, GitReadError, GitStorage, ObjectId, SubmoduleNames, index_of_files};
use proctor_model::EntryKind;

/// The most entries that are written.
const MOST_ENTRIES: u64 = 5_000_000;

/// Why a commit could not be written to a directory.
#[derive(Debug, thiserror::Error)]
pub enum CheckoutError {
    #[error("the files of the commit have more than {most} bytes")]
    TooLarge { most: u64 },
    #[error("the commit has more entries or submodules, or deeper ones, than are checked out")]
    TooMany,
    /// A tree object has a name that git does not write, or two entries with one name.
    #[error("the commit has an entry that git does not write: `{name}`")]
    OddEntry { name: String },
    #[error("cannot write `{}`", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Git(#[from] GitReadError),
}

/// Writes a commit's tree into a directory, which must be new and empty, and returns git's index of it. Files of
/// submodules are not in the index. A submodule whose objects are not here becomes an empty directory. At most `most_bytes` are written.
///
/// # Errors
/// When an object cannot be read or a file cannot be written. What was written before is left there.
pub fn check_out(storage: &GitStorage, tree: ObjectId, directory: &Path, most_bytes: u64) -> Result<Vec<u8>, CheckoutError> {
    let mut writing = Writing { root: directory, left: most_bytes, most_bytes, entries: 0, submodules: 0, files: Vec::new() };
    let names = SubmoduleNames::of_commit(storage, tree)?.unwrap_or_default();
    writing.directory(&WrittenRepository { storage, names, nesting: 0, start: 0 }, tree, &[])?;
    let files = writing.files.iter().map(|(path, kind, id)| (path.as_slice(), *kind, *id));
    Ok(index_of_files(files))
}

/// The repository whose files are written: the project's own, or that of a submodule.
struct WrittenRepository<'a> {
    storage: &'a GitStorage,
    names: SubmoduleNames,
    /// How many repositories are around this one.
    nesting: u32,
    /// Where the path from this repository's root begins in a path from the root of the outermost one, where this is 0.
    start: usize,
}

struct Writing<'a> {
    root: &'a Path,
    /// How many bytes may still be written.
    left: u64,
    most_bytes: u64,
    entries: u64,
    submodules: u64,
    /// The files and links that were written, by their paths from the root. Those of submodules are not among them.
    files: Vec<(Vec<u8>, EntryKind, ObjectId)>,
}

impl Writing<'_> {
    fn directory(&mut self, repository: &WrittenRepository<'_>, tree: ObjectId, above: &[u8]) -> Result<(), CheckoutError> {
        let mut entries = repository.storage.entries(tree)?;
        self.entries += entries.len() as u64;
        if self.entries > MOST_ENTRIES || is_too_deep(above) {
            return Err(CheckoutError::TooMany);
        }
        entries.sort_unstable_by(|left, right| left.name.cmp(&right.name));
        let mut before: Option<Vec<u8>> = None;
        for entry in entries {
            // Two entries of one name could be a link and a directory, through which files would be written elsewhere.
            if !is_clean(&entry.name) || before.as_ref() == Some(&entry.name) {
                return Err(CheckoutError::OddEntry { name: String::from_utf8_lossy(&entry.name).into_owned() });
            }
            let path = if above.is_empty() { entry.name.clone() } else { [above, &b"/"[..], entry.name.as_slice()].concat() };
            let place = self.root.join(OsStr::from_bytes(&path));
            let failed = |source| CheckoutError::Write { path: place.clone(), source };
            match entry.kind() {
                None => return Err(CheckoutError::OddEntry { name: String::from_utf8_lossy(&entry.name).into_owned() }),
                Some(GitEntryKind::Submodule) => {
                    fs::create_dir(&place).map_err(failed)?;
                    self.submodule(repository, entry.id, &path)?;
                }
                Some(GitEntryKind::Own(EntryKind::Directory)) => {
                    fs::create_dir(&place).map_err(failed)?;
                    self.directory(repository, entry.id, &path)?;
                }
                Some(GitEntryKind::Own(kind)) => {
                    let content = repository.storage.blob(entry.id)?;
                    self.left =
                        self.left.checked_sub(content.len() as u64).ok_or(CheckoutError::TooLarge { most: self.most_bytes })?;
                    write_leaf(kind, &content, &place).map_err(failed)?;
                    if repository.nesting == 0 {
                        self.files.push((path, kind, entry.id));
                    }
                }
            }
            before = Some(entry.name);
        }
        Ok(())
    }

    fn submodule(&mut self, around: &WrittenRepository<'_>, commit: ObjectId, path: &[u8]) -> Result<(), CheckoutError> {
        self.submodules += 1;
        if self.submodules > MOST_SUBMODULES || around.nesting >= DEEPEST_SUBMODULE {
            return Err(CheckoutError::TooMany);
        }
        let Some(storage) = around.storage.submodule(&around.names, &path[around.start..], commit) else { return Ok(()) };
        let tree = storage.tree_of(commit)?;
        let names = SubmoduleNames::of_commit(&storage, tree)?.unwrap_or_default();
        let (nesting, start) = (around.nesting + 1, path.len() + 1);
        self.directory(&WrittenRepository { storage: &storage, names, nesting, start }, tree, path)
    }
}

fn write_leaf(kind: EntryKind, content: &[u8], place: &Path) -> io::Result<()> {
    let mode = match kind {
        EntryKind::Link => return symlink(OsStr::from_bytes(content), place),
        EntryKind::Executable => 0o777,
        EntryKind::File | EntryKind::Directory => 0o666,
    };
    // `create_new` follows no link.
    OpenOptions::new().write(true).create_new(true).mode(mode).open(place)?.write_all(content)
}
