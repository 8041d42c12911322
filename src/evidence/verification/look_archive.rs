//! Looking into an archive: what a directory would have, with the digest of every byte, and nothing written anywhere.

use std::io::{self, Read};

use crate::evidence::archive::{ArchiveProblem, Bounds, Shelf, read_archive};
use crate::evidence::names::{EXPORTED_LEDGER, EXPORTED_PROOF};
use crate::evidence::verification::look::{
    Access, FoundBytes, FoundDirectory, FoundEntry, Keep, hash_and_keep, is_read_of_a_run,
};
use crate::model::RunId;

/// A file that is read, beside being hashed, has so many bytes at most: 256 MiB. It is held in memory.
const MOST_KEPT: u64 = 1 << 28;
/// What is in an archive has no mode and no owner that would say anything.
const NO_ACCESS: Access = Access { mode: 0, owner: 0 };

/// What lies in an archive.
#[derive(Debug)]
pub(super) struct FoundArchive {
    /// Whose it says it is.
    pub(super) run_id: RunId,
    /// The files of its one directory.
    pub(super) top: FoundDirectory,
    /// Those of the run in it, where it is an export.
    pub(super) run: FoundDirectory,
}

/// Looks into an archive whose files are hashed; those of a run and of an export that are read as well are kept.
pub(super) fn look_into_archive(archive: impl Read, bounds: Bounds) -> Result<FoundArchive, ArchiveProblem> {
    let (mut top, mut run) = (FoundDirectory::default(), FoundDirectory::default());
    let run_id = read_archive(archive, bounds, |place, _, content| {
        let is_read = is_read_of_a_run(&place.name) || [EXPORTED_LEDGER, EXPORTED_PROOF].contains(&place.name.as_str());
        let found = if is_read { look_at_content(content)? } else { hash_and_keep(content, Keep::Digest).map_err(unreadable)? };
        let (bytes, sha256, content) = found;
        let shelf = match place.shelf {
            Shelf::Top => &mut top,
            Shelf::Run => &mut run,
        };
        let file = FoundBytes { access: NO_ACCESS, names: 1, bytes, sha256, content };
        shelf.entries.insert(place.name.clone().into_bytes(), FoundEntry::File(file));
        Ok(())
    })?;
    Ok(FoundArchive { run_id, top, run })
}

type Found = (u64, crate::model::Digest, Option<Vec<u8>>);

fn look_at_content(content: &mut dyn Read) -> Result<Found, ArchiveProblem> {
    let found = hash_and_keep(&mut content.take(MOST_KEPT + 1), Keep::Content).map_err(unreadable)?;
    if found.0 > MOST_KEPT { Err(ArchiveProblem::TooLarge(MOST_KEPT)) } else { Ok(found) }
}

fn unreadable(error: io::Error) -> ArchiveProblem {
    ArchiveProblem::Unreadable(error)
}
