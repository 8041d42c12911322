//! Writes the files of a commit into a new directory, as git checks them out where nothing asks for a conversion. Nothing outside of
//! the directory is written, whatever the commit's objects say.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};

use crate::git::{GitEntryKind, GitReadError, GitStorage, ObjectId, index_of_files};
use crate::model::EntryKind;
use crate::tree::committed::is_clean;
use crate::tree::read::is_too_deep;

/// The most entries that are written.
const MOST_ENTRIES: u64 = 5_000_000;

/// Why a commit could not be written to a directory.
#[derive(Debug, thiserror::Error)]
pub enum CheckoutError {
    #[error("the files of the commit have more than {most} bytes")]
    TooLarge { most: u64 },
    #[error("the commit has more entries, or deeper directories, than are checked out")]
    TooMany,
    /// A tree object has a name that git does not write, or two entries with one name.
    #[error("the commit has an entry that git does not write: `{name}`")]
    OddEntry { name: String },
    #[error("cannot write `{}`", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Git(#[from] GitReadError),
}

/// Writes a commit's tree into a directory, which must be new and empty, and returns git's index of it. Submodules become empty
/// directories, as in a clone without them. At most `most_bytes` are written.
///
/// # Errors
/// When an object cannot be read or a file cannot be written. What was written before is left there.
pub fn check_out(storage: &GitStorage, tree: ObjectId, directory: &Path, most_bytes: u64) -> Result<Vec<u8>, CheckoutError> {
    let mut writing = Writing { storage, root: directory, left: most_bytes, most_bytes, entries: 0, files: Vec::new() };
    writing.directory(tree, &[])?;
    let files = writing.files.iter().map(|(path, kind, id)| (path.as_slice(), *kind, *id));
    Ok(index_of_files(files))
}

struct Writing<'a> {
    storage: &'a GitStorage,
    root: &'a Path,
    /// How many bytes may still be written.
    left: u64,
    most_bytes: u64,
    entries: u64,
    /// The files and links that were written, by their paths from the root.
    files: Vec<(Vec<u8>, EntryKind, ObjectId)>,
}

impl Writing<'_> {
    fn directory(&mut self, tree: ObjectId, above: &[u8]) -> Result<(), CheckoutError> {
        let mut entries = self.storage.entries(tree)?;
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
                Some(GitEntryKind::Submodule) => fs::create_dir(&place).map_err(failed)?,
                Some(GitEntryKind::Own(EntryKind::Directory)) => {
                    fs::create_dir(&place).map_err(failed)?;
                    self.directory(entry.id, &path)?;
                }
                Some(GitEntryKind::Own(kind)) => {
                    let content = self.storage.blob(entry.id)?;
                    self.left =
                        self.left.checked_sub(content.len() as u64).ok_or(CheckoutError::TooLarge { most: self.most_bytes })?;
                    write_leaf(kind, &content, &place).map_err(failed)?;
                    self.files.push((path, kind, entry.id));
                }
            }
            before = Some(entry.name);
        }
        Ok(())
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
