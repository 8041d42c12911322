//! Converts values to columns of the index and back. A column holds the value's JSON. A value that is one word is
//! stored without quotes.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::IndexError;

/// Returns the text that a column stores for a value: the word of an enum, an identifier or a digest.
pub(super) fn to_word(value: &impl Serialize) -> String {
    let json = serde_json::to_value(value).expect("our own values have a JSON form");
    json.as_str().map_or_else(|| json.to_string(), str::to_owned)
}

pub(super) fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("our own values have a JSON form")
}

/// Returns the signed integer with the same bits, because SQLite's integers are signed.
pub(super) fn to_integer(number: u64) -> i64 {
    number.cast_signed()
}

/// Returns the unsigned number that [`to_integer`] turned into this integer.
pub(super) fn from_integer(integer: i64) -> u64 {
    integer.cast_unsigned()
}

/// Parses the columns of the index file at `path`. An unexpected value becomes an error that names the file.
#[derive(Debug, Clone)]
pub(super) struct ColumnReader {
    pub(super) path: PathBuf,
}

impl ColumnReader {
    pub(super) fn word<T: DeserializeOwned>(&self, kind: &'static str, word: String) -> Result<T, IndexError> {
        serde_json::from_value(serde_json::Value::String(word.clone())).map_err(|_| self.refuse(kind, word))
    }

    pub(super) fn optional_word<T: DeserializeOwned>(
        &self,
        kind: &'static str,
        word: Option<String>,
    ) -> Result<Option<T>, IndexError> {
        word.map(|word| self.word(kind, word)).transpose()
    }

    pub(super) fn json<T: DeserializeOwned>(&self, kind: &'static str, text: String) -> Result<T, IndexError> {
        serde_json::from_str(&text).map_err(|_| self.refuse(kind, text))
    }

    /// Returns the error about bytes that proctor does not write.
    pub(super) fn unreadable(&self, kind: &'static str) -> IndexError {
        self.refuse(kind, "other bytes".to_owned())
    }

    fn refuse(&self, kind: &'static str, value: String) -> IndexError {
        IndexError::Value { path: self.path.clone(), kind, value }
    }
}

// Stores the tree index of a project (what `tree/` knows about its files), so that the next start is fast. This module does not
// interpret the bytes. They are a cache and can be lost without harm.

/// A file with more bytes than this is not read, because proctor did not write it: 64 MiB are enough for some hundred thousand
/// entries.
const MAX_BYTES: u64 = 512 * 1024 * 1024;

/// Reads the saved tree index of a project; `None` if no index was saved, or the file cannot be read, is no regular file or is
/// too large.
pub fn read_tree_index(path: &Path) -> Option<Vec<u8>> {
    let is_sound = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() <= MAX_BYTES);
    if is_sound { fs::read(path).ok() } else { None }
}

/// Replaces the saved tree index; only the owner can read the file. A concurrent reader gets either the old bytes or
/// the new ones.
///
/// The file is not synced: after a power loss it may be damaged. The parser notices this.
///
/// # Errors
/// When the directory or the file cannot be written.
pub fn write_tree_index(path: &Path, bytes: &[u8]) -> Result<(), IndexError> {
    let unfinished = path.with_extension("new");
    let written = write_whole(path, &unfinished, bytes);
    if written.is_err() {
        // An incomplete file is useless; if it cannot be removed either, nothing more can be done.
        let _left = fs::remove_file(&unfinished);
    }
    written.map_err(|source| IndexError::File { path: path.to_owned(), source })
}

/// Removes a saved index, if it is there.
///
/// # Errors
/// When the file cannot be removed.
pub fn remove_tree_index(path: &Path) -> Result<(), IndexError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(IndexError::File { path: path.to_owned(), source: error }),
        Ok(()) | Err(_) => Ok(()),
    }
}

#[expect(clippy::disallowed_methods, reason = "a saved index is replaced as a whole; it is derived data, not evidence")]
fn write_whole(path: &Path, unfinished: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    // A killed process may have left the unfinished file. Or another process is saving at the same time: then one of
    // the two fails, and the other renames a complete file.
    match fs::remove_file(unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(unfinished)?;
    file.write_all(bytes)?;
    fs::rename(unfinished, path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn what_was_saved_last_is_read_and_private() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("trees/shop-00000001");
        assert_eq!(read_tree_index(&path), None);
        for bytes in [&b"old and longer"[..], b"new"] {
            write_tree_index(&path, bytes).unwrap();
            assert_eq!(read_tree_index(&path).as_deref(), Some(bytes));
        }
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_or_a_directory_in_its_place_is_nothing_that_was_saved() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("trees");
        assert_eq!(read_tree_index(directory.path()), None);
        write_tree_index(&path.join("a"), b"x").unwrap();
        symlink(path.join("a"), path.join("b")).unwrap();
        assert_eq!(read_tree_index(&path.join("b")), None);
        fs::create_dir(path.join("c")).unwrap();
        let error = write_tree_index(&path.join("c"), b"x").unwrap_err();
        assert!(error.to_string().contains("trees/c") && fs::read_dir(&path).unwrap().count() == 3);
    }
}
