//! Compresses the old lines of a ledger, byte for byte ([`ledger_file`](crate::ledger_file) reads them).

use std::path::Path;

use miniz_oxide::deflate::compress_to_vec_zlib;

use crate::changes::{punch_hole, remove_file, rename, sync_directory, sync_file, write_new};
use crate::ledger_file::{UNFINISHED_SUFFIX, read_segment, segment_name, segments, to_index};
use crate::ledger_tail::find_line_start;
use crate::{EvidenceError, Ledger, ProjectLock, Store};
use proctor_model::ProjectId;

/// About how many bytes of a ledger go into one segment.
const SEGMENT: u64 = 4 * 1024 * 1024;
/// At least so many bytes at the end of a ledger stay uncompressed: the lines that are asked for most.
const UNCOMPRESSED: u64 = 1024 * 1024;
/// The compression level of zlib, from 0 to 10.
const LEVEL: u8 = 6;

/// How much of a ledger was compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CompressedLines {
    /// The bytes of the lines, and of the segments that hold them now.
    pub before: u64,
    pub after: u64,
}

/// Returns whether a ledger has enough old lines for another segment. Takes no lock.
///
/// # Errors
/// When the directory of the ledgers cannot be read.
pub fn has_old_lines(store: &Store, project: &ProjectId) -> Result<bool, EvidenceError> {
    let ledger = &store.ledger_path(project);
    let length = std::fs::symlink_metadata(ledger).map_or(0, |metadata| metadata.len());
    if length < SEGMENT + UNCOMPRESSED {
        return Ok(false);
    }
    Ok(length - compressed_end(ledger)? >= SEGMENT + UNCOMPRESSED)
}

fn compressed_end(ledger: &Path) -> Result<u64, EvidenceError> {
    Ok(segments(ledger)?.last().map_or(0, |(range, _)| range.end))
}

/// Compresses the old lines of a ledger. Nothing is taken out of the file before the segment that holds it is on disk and was read back,
/// so a process that dies leaves every line where a reader finds it.
///
/// # Errors
/// When a segment cannot be written, or the file system cannot take bytes out of a file. The ledger is whole all the same.
pub fn compress_old_lines(lock: &ProjectLock, ledger: &Ledger) -> Result<CompressedLines, EvidenceError> {
    compress(lock, ledger, SEGMENT, UNCOMPRESSED)
}

fn compress(lock: &ProjectLock, ledger: &Ledger, size: u64, uncompressed: u64) -> Result<CompressedLines, EvidenceError> {
    let path = lock.store().ledger_path(lock.project());
    let name = path.file_name().expect("a ledger has a name").to_string_lossy().into_owned();
    let directory = lock.store().ledger_directory();
    let file = ledger.ledger_file();
    let mut done = CompressedLines::default();
    // A process may have died before it took out what its segment holds.
    for (range, _) in segments(&path)? {
        punch_hole(file.file(), &path, range)?;
    }
    let mut from = compressed_end(&path)?;
    let new = directory.join(format!("{name}{UNFINISHED_SUFFIX}"));
    if ledger.length() - from >= size + uncompressed && !takes_holes(&new)? {
        return Ok(done);
    }
    while ledger.length() - from >= size + uncompressed {
        let to = find_line_start(file, from + size)?;
        let range = from..to;
        if range.is_empty() {
            break;
        }
        let mut bytes = vec![0; to_index(to - from)];
        file.read_exact_at(&mut bytes, from)?;
        let compressed = compress_to_vec_zlib(&bytes, LEVEL);
        let segment = directory.join(segment_name(&name, &range));
        sync_file(&write_new(&new, &compressed)?, &new)?;
        if read_segment(&range, &new)? != bytes {
            return Err(EvidenceError::LedgerSegment { path: new, why: "it is not what was written".to_owned() });
        }
        rename(&new, &segment)?;
        sync_directory(&directory)?;
        punch_hole(file.file(), &path, range)?;
        done.before += to - from;
        done.after += compressed.len() as u64;
        from = to;
    }
    Ok(done)
}

/// Returns whether bytes can be taken out of a file in this directory. A file that a process left which died is removed.
fn takes_holes(new: &Path) -> Result<bool, EvidenceError> {
    if new.symlink_metadata().is_ok() {
        remove_file(new)?;
    }
    let taken = punch_hole(&write_new(new, &[0])?, new, 0..1);
    remove_file(new)?;
    Ok(taken.is_ok())
}

#[cfg(test)]
mod tests;
