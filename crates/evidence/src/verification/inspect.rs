//! Inspecting a directory: its entries and the digest of every file. Nothing is judged here, and links are not
//! followed.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::archive::{ArchiveBounds, ArchiveFolder, ArchiveProblem, read_archive};
use crate::files::{LARGEST_CONTENT, LARGEST_FILE, SizeAndDigest, list_directory, open_no_follow};
use crate::names::{
    EXPORTED_KEYS, EXPORTED_LEDGER, EXPORTED_PROOF, MANIFEST_NAME, REPORT_NAME, SIGNATURE_NAME, START_RECORD_NAME,
    STATEMENTS_SUFFIX,
};
use crate::report::DEBT_FILE;
use proctor_model::Digest;

/// How many bytes are read at a time: so few that they are still in the processor's cache when they are hashed.
const CHUNK: usize = 64 * 1024;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct InspectedDirectory {
    /// The directory's owner and mode; `None` if there is no directory at the path.
    pub(super) access: Option<OwnerAndMode>,
    /// The entries by name. Names need not be UTF-8.
    pub(super) entries: BTreeMap<Vec<u8>, InspectedEntry>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OwnerAndMode {
    pub(super) mode: u32,
    pub(super) owner: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum InspectedEntry {
    File(InspectedFile),
    SymbolicLink(PathBuf),
    Directory(OwnerAndMode),
    /// A pipe, socket or device.
    Other,
    /// The reason why the entry could not be opened or read.
    Unreadable(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InspectedFile {
    pub(super) access: OwnerAndMode,
    pub(super) hard_links: u64,
    /// The size and digest; the size is zero if the content was not read.
    pub(super) hashed: SizeAndDigest,
    /// The file's content; `None` if the inspection was not asked to keep it.
    pub(super) content: Option<Vec<u8>>,
}

/// The size and digest of a file, and its content if it is kept.
pub(super) type HashedContent = (SizeAndDigest, Option<Vec<u8>>);

/// Inspects a directory and hashes all of its files. The content of files for which `is_read` returns true is kept.
pub(super) fn inspect_directory(directory: &Path, is_read: fn(&str) -> bool) -> InspectedDirectory {
    let access = directory.symlink_metadata().ok().filter(Metadata::is_dir).map(|metadata| access(&metadata));
    // A directory that cannot be listed counts as empty: then every file that should be there is reported as missing.
    let entries = list_directory(directory).unwrap_or_default();
    let inspect = |entry: std::fs::DirEntry| {
        let name = entry.file_name();
        let keep = if name.to_str().is_some_and(is_read) { InspectionDepth::Content } else { InspectionDepth::Digest };
        (name.into_vec(), inspect_entry(&entry.path(), keep))
    };
    InspectedDirectory { access, entries: entries.into_iter().map(inspect).collect() }
}

/// Inspects the entries of a directory without reading any file.
pub(super) fn inspect_entries(directory: &Path) -> Vec<(String, InspectedEntry)> {
    let entries = list_directory(directory).unwrap_or_default();
    let inspect = |entry: std::fs::DirEntry| {
        let found = inspect_entry(&entry.path(), InspectionDepth::Metadata);
        (entry.file_name().to_string_lossy().into_owned(), found)
    };
    let mut names: Vec<_> = entries.into_iter().map(inspect).collect();
    names.sort_by(|one, other| one.0.cmp(&other.0));
    names
}

/// Returns whether verification needs the content of a run's file in addition to its digest.
pub(super) fn needs_content(name: &str) -> bool {
    [REPORT_NAME, MANIFEST_NAME, SIGNATURE_NAME, START_RECORD_NAME, DEBT_FILE].contains(&name)
        || name.ends_with(STATEMENTS_SUFFIX)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InspectionDepth {
    Metadata,
    Digest,
    Content,
}

pub(super) fn inspect_entry(path: &Path, keep: InspectionDepth) -> InspectedEntry {
    let unreadable = |error: std::io::Error| InspectedEntry::Unreadable(error.to_string());
    let metadata = match path.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(error) => return unreadable(error),
    };
    if metadata.is_symlink() {
        return path.read_link().map_or_else(unreadable, InspectedEntry::SymbolicLink);
    }
    if metadata.is_dir() {
        return InspectedEntry::Directory(access(&metadata));
    }
    if !metadata.is_file() {
        return InspectedEntry::Other;
    }
    read(path, keep).map_or_else(InspectedEntry::Unreadable, InspectedEntry::File)
}

fn read(path: &Path, keep: InspectionDepth) -> Result<InspectedFile, String> {
    let file = open_no_follow(path).map_err(|error| format!("{error}"))?;
    let metadata = file.metadata().map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("it was replaced while it was looked at".to_owned());
    }
    let access = access(&metadata);
    if keep == InspectionDepth::Metadata {
        let hashed = SizeAndDigest { bytes: 0, sha256: Digest::of(b"") };
        return Ok(InspectedFile { access, hard_links: metadata.nlink(), hashed, content: None });
    }
    let most = if keep == InspectionDepth::Content { LARGEST_CONTENT } else { LARGEST_FILE };
    if metadata.len() > most {
        return Err(format!("it has {} bytes, and at most {most} are read", metadata.len()));
    }
    let chunk = CHUNK.min(usize::try_from(metadata.len()).unwrap_or(CHUNK) + 1);
    // The file may grow while it is read.
    let mut file = file.take(most);
    let (hashed, content) = hash_in_chunks(&mut file, chunk, keep).map_err(|error| error.to_string())?;
    Ok(InspectedFile { access, hard_links: metadata.nlink(), hashed, content })
}

/// Reads `reader` to its end. Returns the size and the digest, and also the content if `keep` asks for it.
pub(super) fn hash_and_keep(reader: &mut dyn Read, keep: InspectionDepth) -> io::Result<HashedContent> {
    hash_in_chunks(reader, CHUNK, keep)
}

fn hash_in_chunks(reader: &mut dyn Read, chunk: usize, keep: InspectionDepth) -> io::Result<HashedContent> {
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
        if keep == InspectionDepth::Content {
            content.extend_from_slice(&chunk[..count]);
        }
    }
    let hashed = SizeAndDigest { bytes, sha256: Digest::from_hasher(hasher) };
    Ok((hashed, (keep == InspectionDepth::Content).then_some(content)))
}

fn access(metadata: &Metadata) -> OwnerAndMode {
    OwnerAndMode { mode: metadata.mode() & 0o7777, owner: metadata.uid() }
}

impl InspectedDirectory {
    pub(super) fn file(&self, name: &str) -> Option<&InspectedFile> {
        match self.entries.get(name.as_bytes()) {
            Some(InspectedEntry::File(file)) => Some(file),
            Some(
                InspectedEntry::SymbolicLink(_)
                | InspectedEntry::Directory(_)
                | InspectedEntry::Other
                | InspectedEntry::Unreadable(_),
            )
            | None => None,
        }
    }

    /// Returns the content of the file of this name; `None` if there is no such file, or its content was not kept.
    pub(super) fn content(&self, name: &str) -> Option<&[u8]> {
        self.file(name)?.content.as_deref()
    }
}

// Inspecting an archive: the same facts as about a directory. Nothing is written to disk.

/// The limit for the size of a file whose content verification needs, in bytes (256 MiB). An archive with a larger file
/// of this kind is refused.
const MOST_KEPT: u64 = 1 << 28;
/// The owner and mode that every file of an archive gets here. An archive of a run is verified by content only, so the
/// real owners and modes in it are not read.
const NO_ACCESS: OwnerAndMode = OwnerAndMode { mode: 0, owner: 0 };

#[derive(Debug)]
pub(super) struct InspectedArchive {
    /// The files that lie directly in the archive's top directory. For an archive of a store, these are the run's
    /// files.
    pub(super) top: InspectedDirectory,
    /// In an export, the files of the run, which are in the directory `run`.
    pub(super) run: InspectedDirectory,
}

/// Inspects an archive and hashes all of its files. The content of files that verification reads is kept.
pub(super) fn inspect_archive(archive: impl Read) -> Result<InspectedArchive, ArchiveProblem> {
    let (mut top, mut run) = (InspectedDirectory::default(), InspectedDirectory::default());
    read_archive(archive, ArchiveBounds::UNTRUSTED, |member, content| {
        let is_read =
            needs_content(&member.name) || [EXPORTED_KEYS, EXPORTED_LEDGER, EXPORTED_PROOF].contains(&member.name.as_str());
        let hashed = if is_read {
            hash_limited_content(content)?
        } else {
            hash_and_keep(content, InspectionDepth::Digest).map_err(unreadable)?
        };
        let (hashed, content) = hashed;
        let directory = match member.folder {
            ArchiveFolder::Top => &mut top,
            ArchiveFolder::Run => &mut run,
        };
        let file = InspectedFile { access: NO_ACCESS, hard_links: 1, hashed, content };
        directory.entries.insert(member.name.clone().into_bytes(), InspectedEntry::File(file));
        Ok(())
    })?;
    Ok(InspectedArchive { top, run })
}

fn hash_limited_content(content: &mut dyn Read) -> Result<HashedContent, ArchiveProblem> {
    let hashed = hash_and_keep(&mut content.take(MOST_KEPT + 1), InspectionDepth::Content).map_err(unreadable)?;
    if hashed.0.bytes > MOST_KEPT { Err(ArchiveProblem::TooLarge(MOST_KEPT)) } else { Ok(hashed) }
}

fn unreadable(error: io::Error) -> ArchiveProblem {
    ArchiveProblem::Unreadable(error)
}
