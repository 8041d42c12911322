//! Inspecting an archive: the same facts as about a directory. Nothing is written to disk.

use std::io::{self, Read};

use crate::archive::{ArchiveBounds, ArchiveFolder, ArchiveProblem, read_archive};
use crate::names::{EXPORTED_KEYS, EXPORTED_LEDGER, EXPORTED_PROOF};
use crate::verification::inspect::{
    HashedContent, InspectedDirectory, InspectedEntry, InspectedFile, InspectionDepth, OwnerAndMode, hash_and_keep, needs_content,
};
use proctor_model::RunId;

/// The limit for the size of a file whose content verification needs, in bytes (256 MiB). An archive with a larger file
/// of this kind is refused.
const MOST_KEPT: u64 = 1 << 28;
/// The owner and mode that every file of an archive gets here. An archive of a run is verified by content only, so the
/// real owners and modes in it are not read.
const NO_ACCESS: OwnerAndMode = OwnerAndMode { mode: 0, owner: 0 };

#[derive(Debug)]
pub(super) struct InspectedArchive {
    /// The id of the run, with which every path in the archive begins.
    pub(super) run_id: RunId,
    /// The files that lie directly in the archive's top directory. For an archive of a store, these are the run's
    /// files.
    pub(super) top: InspectedDirectory,
    /// In an export, the files of the run, which are in the directory `run`.
    pub(super) run: InspectedDirectory,
}

/// Inspects an archive and hashes all of its files. The content of files that verification reads is kept.
pub(super) fn inspect_archive(archive: impl Read, bounds: ArchiveBounds) -> Result<InspectedArchive, ArchiveProblem> {
    let (mut top, mut run) = (InspectedDirectory::default(), InspectedDirectory::default());
    let run_id = read_archive(archive, bounds, |member, _, content| {
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
    Ok(InspectedArchive { run_id, top, run })
}

fn hash_limited_content(content: &mut dyn Read) -> Result<HashedContent, ArchiveProblem> {
    let hashed = hash_and_keep(&mut content.take(MOST_KEPT + 1), InspectionDepth::Content).map_err(unreadable)?;
    if hashed.0.bytes > MOST_KEPT { Err(ArchiveProblem::TooLarge(MOST_KEPT)) } else { Ok(hashed) }
}

fn unreadable(error: io::Error) -> ArchiveProblem {
    ArchiveProblem::Unreadable(error)
}
