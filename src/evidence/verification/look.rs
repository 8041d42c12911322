//! Looking: what lies in a directory, with the digest of every byte. Nothing is judged here, and nothing is followed that is a link.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::evidence::files::{list, open_plain};
use crate::evidence::names::{MANIFEST_NAME, REPORT_NAME, SIGNATURE_NAME, START_RECORD_NAME, STATEMENTS_SUFFIX};
use crate::model::Digest;
use crate::report::DEBT_FILE;

/// So much is read at a time. Small, so that what was read is hashed while it is in the processor's cache.
const CHUNK: usize = 64 * 1024;

/// What lies in a directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FoundDirectory {
    /// Whose it is and what may be done with it; none where it is not there.
    pub(super) access: Option<Access>,
    /// Its entries by name.
    pub(super) entries: BTreeMap<Vec<u8>, FoundEntry>,
}

/// Whose something is and who may do what with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) mode: u32,
    pub(super) owner: u32,
}

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FoundEntry {
    /// A regular file.
    File(FoundBytes),
    /// A link, with what it leads to.
    Link(PathBuf),
    /// A directory.
    Directory(Access),
    /// Anything else.
    Other,
    /// It could not be opened or read.
    Unreadable(String),
}

/// A regular file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundBytes {
    pub(super) access: Access,
    /// How many names it has.
    pub(super) names: u64,
    pub(super) bytes: u64,
    pub(super) sha256: Digest,
    /// Its content, where it is read and not only hashed.
    pub(super) content: Option<Vec<u8>>,
}

/// Looks at a directory whose files are hashed; those that are read as well are kept.
pub(super) fn look_at_files(directory: &Path, is_read: fn(&str) -> bool) -> FoundDirectory {
    let access = directory.symlink_metadata().ok().filter(Metadata::is_dir).map(|metadata| access(&metadata));
    // A directory that cannot be listed has no entries, and every file that should be there is missing.
    let entries = list(directory).unwrap_or_default();
    let look = |entry: std::fs::DirEntry| {
        let name = entry.file_name();
        let keep = if name.to_str().is_some_and(is_read) { Keep::Content } else { Keep::Digest };
        (name.into_vec(), look_at_entry(&entry.path(), keep))
    };
    FoundDirectory { access, entries: entries.into_iter().map(look).collect() }
}

/// Looks at the entries of a directory, and not into files.
pub(super) fn look_at_names(directory: &Path) -> Vec<(String, FoundEntry)> {
    let entries = list(directory).unwrap_or_default();
    let look = |entry: std::fs::DirEntry| {
        let found = look_at_entry(&entry.path(), Keep::Nothing);
        (entry.file_name().to_string_lossy().into_owned(), found)
    };
    let mut names: Vec<_> = entries.into_iter().map(look).collect();
    names.sort_by(|one, other| one.0.cmp(&other.0));
    names
}

/// Returns whether a file of a run is read, beside being hashed.
pub(super) fn is_read_of_a_run(name: &str) -> bool {
    [REPORT_NAME, MANIFEST_NAME, SIGNATURE_NAME, START_RECORD_NAME, DEBT_FILE].contains(&name)
        || name.ends_with(STATEMENTS_SUFFIX)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    Nothing,
    Digest,
    Content,
}

/// Looks at one entry.
pub(super) fn look_at_entry(path: &Path, keep: Keep) -> FoundEntry {
    let unreadable = |error: std::io::Error| FoundEntry::Unreadable(error.to_string());
    let metadata = match path.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(error) => return unreadable(error),
    };
    if metadata.is_symlink() {
        return path.read_link().map_or_else(unreadable, FoundEntry::Link);
    }
    if metadata.is_dir() {
        return FoundEntry::Directory(access(&metadata));
    }
    if !metadata.is_file() {
        return FoundEntry::Other;
    }
    read(path, keep).map_or_else(FoundEntry::Unreadable, FoundEntry::File)
}

fn read(path: &Path, keep: Keep) -> Result<FoundBytes, String> {
    let mut file = open_plain(path).map_err(|error| format!("{error}"))?;
    let metadata = file.metadata().map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("it was replaced while it was looked at".to_owned());
    }
    let access = access(&metadata);
    if keep == Keep::Nothing {
        return Ok(FoundBytes { access, names: metadata.nlink(), bytes: 0, sha256: Digest::of(b""), content: None });
    }
    let chunk = CHUNK.min(usize::try_from(metadata.len()).unwrap_or(CHUNK) + 1);
    let (bytes, sha256, content) = hash_in_chunks(&mut file, chunk, keep).map_err(|error| error.to_string())?;
    Ok(FoundBytes { access, names: metadata.nlink(), bytes, sha256, content })
}

/// Reads to the end; returns size and digest, and the bytes where they are kept.
pub(super) fn hash_and_keep(reader: &mut dyn Read, keep: Keep) -> io::Result<(u64, Digest, Option<Vec<u8>>)> {
    hash_in_chunks(reader, CHUNK, keep)
}

fn hash_in_chunks(reader: &mut dyn Read, chunk: usize, keep: Keep) -> io::Result<(u64, Digest, Option<Vec<u8>>)> {
    let (mut hasher, mut content, mut bytes) = (Sha256::new(), Vec::new(), 0_u64);
    let mut chunk = vec![0; chunk];
    loop {
        let count = match reader.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hasher.update(&chunk[..count]);
        bytes += count as u64;
        if keep == Keep::Content {
            content.extend_from_slice(&chunk[..count]);
        }
    }
    Ok((bytes, Digest::from_hasher(hasher), (keep == Keep::Content).then_some(content)))
}

fn access(metadata: &Metadata) -> Access {
    Access { mode: metadata.mode() & 0o7777, owner: metadata.uid() }
}

impl FoundDirectory {
    /// Returns a file by its name.
    pub(super) fn file(&self, name: &str) -> Option<&FoundBytes> {
        match self.entries.get(name.as_bytes()) {
            Some(FoundEntry::File(file)) => Some(file),
            Some(FoundEntry::Link(_) | FoundEntry::Directory(_) | FoundEntry::Other | FoundEntry::Unreadable(_)) | None => None,
        }
    }

    /// Returns the content of a file that is read.
    pub(super) fn content(&self, name: &str) -> Option<&[u8]> {
        self.file(name)?.content.as_deref()
    }
}
