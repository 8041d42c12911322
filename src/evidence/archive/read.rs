//! Reading an archive: a stream from an unknown hand. Nothing of it is written anywhere, and nothing in it is believed.

use std::collections::BTreeSet;
use std::io::{self, BufReader, Read};

use tar::{Entry as TarEntry, EntryType};

use crate::evidence::names::{EXPORTED_RUN, check_component};
use crate::model::RunId;

/// What behind the last entry may be: the end that tar writes, filled up to a record.
const LONGEST_END: u64 = 1 << 20;
/// An entry that only holds the name of the next one has at most so many bytes: two directories and a file's name.
const LONGEST_PATH: u64 = 1024;

/// How much an archive may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::evidence) struct Bounds {
    /// So many files.
    pub(in crate::evidence) files: u64,
    /// So many bytes in all of them.
    pub(in crate::evidence) bytes: u64,
}

impl Bounds {
    /// Of an archive of which no line of a ledger says how much it holds: 65,536 files, 64 GiB.
    pub(in crate::evidence) const OF_A_STRANGER: Self = Self { files: 1 << 16, bytes: 1 << 36 };
}

/// Where in an archive a file lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::evidence) enum Shelf {
    /// In the one directory that an archive has, which is called by the run's id.
    Top,
    /// In the run's directory of an export.
    Run,
}

/// A file in an archive.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::evidence) struct Place {
    pub(in crate::evidence) shelf: Shelf,
    /// Its name: one plain component.
    pub(in crate::evidence) name: String,
}

/// Says why something is no archive as proctor writes it.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveProblem {
    /// It cannot be read, decompressed, or taken apart.
    #[error("it cannot be read as a tar archive in one zstd frame ({0})")]
    Unreadable(io::Error),
    /// Something in it is no regular file.
    #[error("`{name}` in it is no regular file")]
    NotAFile {
        /// Its path, lossily decoded.
        name: String,
    },
    /// A path leads elsewhere than into the run's directory.
    #[error("`{name}` in it is no path of a file of one run")]
    Path {
        /// The path, lossily decoded.
        name: String,
    },
    /// A path is there twice.
    #[error("`{name}` is in it twice")]
    Twice {
        /// The path.
        name: String,
    },
    /// There are too many files.
    #[error("it holds more than {0} files")]
    TooMany(u64),
    /// There are too many bytes.
    #[error("its files have more than {0} bytes")]
    TooLarge(u64),
    /// Something follows the last file.
    #[error("something lies behind its last file")]
    Trailing,
    /// There is no file in it.
    #[error("it holds no file")]
    Empty,
    /// Its manifest is another one, or its files are not those of the manifest.
    #[error("it does not hold what the manifest of the run says")]
    NotTheManifest,
}

/// Shows every file of an archive in its order with its size in bytes, and returns whose files they are.
pub(in crate::evidence) fn read_archive(
    archive: impl Read,
    bounds: Bounds,
    mut see: impl FnMut(&Place, u64, &mut dyn Read) -> Result<(), ArchiveProblem>,
) -> Result<RunId, ArchiveProblem> {
    let decoder = zstd::Decoder::new(archive).map_err(ArchiveProblem::Unreadable)?;
    let mut tar = tar::Archive::new(BufReader::new(decoder));
    let (mut seen, mut whose, mut bytes, mut long_path) = (BTreeSet::new(), None, 0_u64, None);
    // Raw: what else a header can say (sparse files, attributes, links to what was unpacked before) is no file here.
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
        let (run_id, place) = parse_path(&path).ok_or_else(|| ArchiveProblem::Path { name: shown() })?;
        if whose.get_or_insert_with(|| run_id.clone()) != &run_id {
            return Err(ArchiveProblem::Path { name: shown() });
        }
        bytes = bytes.saturating_add(entry.size());
        if bytes > bounds.bytes {
            return Err(ArchiveProblem::TooLarge(bounds.bytes));
        }
        if seen.len() as u64 >= bounds.files {
            return Err(ArchiveProblem::TooMany(bounds.files));
        }
        if !seen.insert(place.clone()) {
            return Err(ArchiveProblem::Twice { name: shown() });
        }
        // One that is cut off ends early here; looking for the next one is what fails then.
        see(&place, entry.size(), &mut entry)?;
    }
    check_end(&mut tar.into_inner(), long_path.is_none())?;
    whose.ok_or(ArchiveProblem::Empty)
}

/// Reads the path of the next entry, where it is longer than a header takes.
fn read_long_path(entry: &mut TarEntry<'_, impl Read>) -> Result<Vec<u8>, ArchiveProblem> {
    let mut path = Vec::new();
    let is_short = entry.size() <= LONGEST_PATH;
    if is_short {
        entry.read_to_end(&mut path).map_err(ArchiveProblem::Unreadable)?;
    }
    let is_ended = path.pop_if(|last| *last == 0).is_some();
    if is_short && is_ended { Ok(path) } else { Err(ArchiveProblem::Path { name: String::from_utf8_lossy(&path).into_owned() }) }
}

/// Takes `RUN/NAME` or `RUN/run/NAME` apart; nothing else is a path here.
fn parse_path(path: &[u8]) -> Option<(RunId, Place)> {
    let parts: Vec<&str> = std::str::from_utf8(path).ok()?.split('/').collect();
    let (shelf, run, name) = match parts.as_slice() {
        [run, name] => (Shelf::Top, run, name),
        [run, folder, name] if *folder == EXPORTED_RUN => (Shelf::Run, run, name),
        _ => return None,
    };
    check_component(name).ok()?;
    Some((RunId::try_from(*run).ok()?, Place { shelf, name: (*name).to_owned() }))
}

/// Reads to the end of the stream: behind the files there are zeros alone.
fn check_end(rest: &mut impl Read, is_complete: bool) -> Result<(), ArchiveProblem> {
    let mut end = Vec::new();
    rest.take(LONGEST_END + 1).read_to_end(&mut end).map_err(ArchiveProblem::Unreadable)?;
    let is_end = is_complete && end.len() as u64 <= LONGEST_END && end.iter().all(|byte| *byte == 0);
    if is_end { Ok(()) } else { Err(ArchiveProblem::Trailing) }
}
