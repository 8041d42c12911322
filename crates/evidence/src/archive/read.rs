//! Reads an archive of unknown origin as a stream. Its content is neither trusted nor written to the disk.

use std::collections::BTreeSet;
use std::io::{self, BufReader, Read};

use tar::{Entry as TarEntry, EntryType};

use crate::names::{EXPORTED_RUN, check_component};
use proctor_model::RunId;

/// The most bytes of zeros after the last entry: tar's end mark, filled up to a whole record.
const LONGEST_END: u64 = 1 << 20;
/// The longest path, in bytes, that is read from an entry of its own because it does not fit into a tar header.
const LONGEST_PATH: u64 = 1024;

/// The most files and bytes that an archive may contain. Reading an archive with more files or bytes is an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ArchiveBounds {
    pub(crate) files: u64,
    /// The sum of the sizes of all files.
    pub(crate) bytes: u64,
}

impl ArchiveBounds {
    /// The limits for an archive whose size no ledger line records: 65,536 files and 64 GiB.
    pub(crate) const UNTRUSTED: Self = Self { files: 1 << 16, bytes: 1 << 36 };
}

/// The directory inside an archive in which a file lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ArchiveFolder {
    /// The only directory at the top, which is named like the run.
    Top,
    /// The directory `run` in the top directory; only an export has it.
    Run,
}

/// Names one file in an archive by its directory and its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ArchiveMember {
    pub(crate) folder: ArchiveFolder,
    /// The file's name, which is a single path component.
    pub(crate) name: String,
}

/// Why a file is not an archive as proctor writes it.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveProblem {
    /// The archive cannot be read, decompressed, or parsed as tar.
    #[error("it cannot be read as a tar archive in one zstd frame ({0})")]
    Unreadable(io::Error),
    #[error("`{name}` in it is no regular file")]
    NotAFile {
        /// The entry's path. Bytes that are not UTF-8 are replaced.
        name: String,
    },
    /// An entry's path is not `RUN/NAME` or `RUN/run/NAME`, or names another run than the first entry.
    #[error("`{name}` in it is not the path of a file of this run")]
    Path {
        /// The path; bytes that are not UTF-8 are replaced.
        name: String,
    },
    #[error("`{name}` is in it twice")]
    Twice { name: String },
    /// The archive has more files than this limit.
    #[error("it holds more than {0} files")]
    TooMany(u64),
    /// The archive's files together have more bytes than this limit.
    #[error("its files have more than {0} bytes")]
    TooLarge(u64),
    /// Bytes other than tar's end mark, which is zeros, follow the last file.
    #[error("something follows its last file")]
    Trailing,
    #[error("it holds no file")]
    Empty,
    /// The archive's manifest is not the sealed one, or its files differ from the manifest.
    #[error("it does not hold what the manifest of the run says")]
    NotTheManifest,
}

/// Passes every file of an archive, in order, to `visit`. Returns the run whose files they are.
pub(crate) fn read_archive(
    archive: impl Read,
    bounds: ArchiveBounds,
    mut visit: impl FnMut(&ArchiveMember, &mut dyn Read) -> Result<(), ArchiveProblem>,
) -> Result<RunId, ArchiveProblem> {
    let decoder = zstd::Decoder::new(archive).map_err(ArchiveProblem::Unreadable)?;
    let mut tar = tar::Archive::new(BufReader::new(decoder));
    let (mut members, mut archived_run, mut bytes, mut long_path) = (BTreeSet::new(), None, 0_u64, None);
    // Entries are read raw, so that sparse files, attributes and links to earlier entries are refused below, as they are no
    // regular files.
    for entry in tar.entries().map_err(ArchiveProblem::Unreadable)?.raw(true) {
        let mut entry = entry.map_err(ArchiveProblem::Unreadable)?;
        if entry.header().entry_type() == EntryType::GNULongName && long_path.is_none() {
            long_path = Some(read_long_path(&mut entry)?);
            continue;
        }
        let path = long_path.take().unwrap_or_else(|| entry.path_bytes().into_owned());
        let shown = || String::from_utf8_lossy(&path).into_owned();
        if entry.header().entry_type() != EntryType::Regular {
            return Err(ArchiveProblem::NotAFile { name: shown() });
        }
        let (run_id, member) = parse_path(&path).ok_or_else(|| ArchiveProblem::Path { name: shown() })?;
        if archived_run.get_or_insert_with(|| run_id.clone()) != &run_id {
            return Err(ArchiveProblem::Path { name: shown() });
        }
        bytes = bytes.saturating_add(entry.size());
        if bytes > bounds.bytes {
            return Err(ArchiveProblem::TooLarge(bounds.bytes));
        }
        if members.len() as u64 >= bounds.files {
            return Err(ArchiveProblem::TooMany(bounds.files));
        }
        if !members.insert(member.clone()) {
            return Err(ArchiveProblem::Twice { name: shown() });
        }
        // An entry that is cut off just ends early here; the error comes from reading the next entry.
        visit(&member, &mut entry)?;
    }
    check_end(&mut tar.into_inner(), long_path.is_none())?;
    archived_run.ok_or(ArchiveProblem::Empty)
}

/// Reads a path that is too long for a header from `entry`, whose content is the path of the entry after it.
fn read_long_path(entry: &mut TarEntry<'_, impl Read>) -> Result<Vec<u8>, ArchiveProblem> {
    let mut path = Vec::new();
    let is_short = entry.size() <= LONGEST_PATH;
    if is_short {
        entry.read_to_end(&mut path).map_err(ArchiveProblem::Unreadable)?;
    }
    let is_ended = path.pop_if(|last| *last == 0).is_some();
    if is_short && is_ended { Ok(path) } else { Err(ArchiveProblem::Path { name: String::from_utf8_lossy(&path).into_owned() }) }
}

/// Parses `RUN/NAME` or `RUN/run/NAME`. No other path is allowed.
fn parse_path(path: &[u8]) -> Option<(RunId, ArchiveMember)> {
    let parts: Vec<&str> = std::str::from_utf8(path).ok()?.split('/').collect();
    let (shelf, run, name) = match parts.as_slice() {
        [run, name] => (ArchiveFolder::Top, run, name),
        [run, folder, name] if *folder == EXPORTED_RUN => (ArchiveFolder::Run, run, name),
        _ => return None,
    };
    check_component(name).ok()?;
    Some((RunId::try_from(*run).ok()?, ArchiveMember { folder: shelf, name: (*name).to_owned() }))
}

/// Reads to the end of the stream, which must contain only zeros after the last file.
fn check_end(rest: &mut impl Read, is_complete: bool) -> Result<(), ArchiveProblem> {
    let mut end = Vec::new();
    rest.take(LONGEST_END + 1).read_to_end(&mut end).map_err(ArchiveProblem::Unreadable)?;
    let is_end = is_complete && end.len() as u64 <= LONGEST_END && end.iter().all(|byte| *byte == 0);
    if is_end { Ok(()) } else { Err(ArchiveProblem::Trailing) }
}
