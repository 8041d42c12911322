//! The file of a ledger, and the compressed segments of its old lines (`ledger/<project-id>.jsonl.<from>-<to>.zlib`).
//!
//! A segment holds the bytes `from..to` of the ledger, which are whole lines, as a zlib stream (RFC 1950). Once it is on disk, these bytes
//! are taken out of the file itself: the file keeps its length and has zero bytes there, which take no room. So every offset, hash and
//! proof stays as it was. No line of a ledger has a zero byte in it (JSON escapes it), so zero bytes say that a segment is to be read.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress, inflate_flags};

use crate::changes::{punch_hole, remove_file, rename, sync_directory, sync_file, write_new};
use crate::error::failed;
use crate::files::{LARGEST_CONTENT, if_exists, list_directory, open_no_follow, read_no_follow};
use crate::ledger_tail::find_line_start;
use crate::regular_file::read_up_to;
use crate::{EvidenceError, FileOperation, Ledger, ProjectLock, Store};
use proctor_model::ProjectId;

/// The longest range that a segment may have. A longer one is damage.
const LONGEST_SEGMENT: u64 = 64 * 1024 * 1024;
const SEGMENT_SUFFIX: &str = ".zlib";
/// The end of the name of a segment while it is written.
pub(super) const UNFINISHED_SUFFIX: &str = ".segment-new";

/// A ledger's file, read as if nothing were compressed.
#[derive(Debug)]
pub(super) struct LedgerFile {
    file: File,
    path: PathBuf,
    /// The segment that was read last.
    last: RefCell<Option<ReadSegment>>,
}

/// A segment that was read: its range, and the bytes of the ledger that it holds.
type ReadSegment = (Range<u64>, Rc<Vec<u8>>);

impl LedgerFile {
    /// Opens a ledger for reading.
    pub(super) fn open(path: &Path) -> Result<Self, EvidenceError> {
        Ok(Self::of(open_no_follow(path)?, path))
    }

    pub(super) fn of(file: File, path: &Path) -> Self {
        Self { file, path: path.to_owned(), last: RefCell::default() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The file itself, which is written to at its end.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Returns the ledger's length in bytes.
    pub(super) fn length(&self) -> Result<u64, EvidenceError> {
        Ok(self.file.metadata().map_err(failed(FileOperation::Read, &self.path))?.len())
    }

    /// Fills `buffer` with the ledger's bytes from `offset` on.
    pub(super) fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> Result<(), EvidenceError> {
        self.file.read_exact_at(buffer, offset).map_err(failed(FileOperation::Read, &self.path))?;
        self.fill_in(buffer, offset)
    }

    /// Reads up to `buffer.len()` bytes from `offset` on; 0 at the end.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, EvidenceError> {
        let read = self.file.read_at(buffer, offset).map_err(failed(FileOperation::Read, &self.path))?;
        self.fill_in(&mut buffer[..read], offset)?;
        Ok(read)
    }

    /// Returns all bytes of the ledger.
    pub(super) fn read_to_end(&self) -> Result<Vec<u8>, EvidenceError> {
        let file = self.file.try_clone().map_err(failed(FileOperation::Open, &self.path))?;
        let mut bytes = read_up_to(file, LARGEST_CONTENT).map_err(failed(FileOperation::Read, &self.path))?;
        self.fill_in(&mut bytes, 0)?;
        Ok(bytes)
    }

    /// Puts the bytes of segments in the place of zero bytes.
    fn fill_in(&self, buffer: &mut [u8], offset: u64) -> Result<(), EvidenceError> {
        if memchr::memchr(0, buffer).is_none() {
            return Ok(());
        }
        let wanted = offset..offset + buffer.len() as u64;
        for (range, path) in segments(&self.path)? {
            if range.start < wanted.end && wanted.start < range.end {
                put_in(buffer, offset, &range, &self.segment(&range, &path)?);
            }
        }
        Ok(())
    }

    fn segment(&self, range: &Range<u64>, path: &Path) -> Result<Rc<Vec<u8>>, EvidenceError> {
        if let Some((known, content)) = &*self.last.borrow()
            && known == range
        {
            return Ok(Rc::clone(content));
        }
        let content = Rc::new(read_segment(range, path)?);
        *self.last.borrow_mut() = Some((range.clone(), Rc::clone(&content)));
        Ok(content)
    }
}

/// Puts the bytes of a segment in the place of zero bytes. `buffer` has the bytes of the ledger from `offset` on. Bytes that are still in
/// the file stay as they are there. Returns whether the bytes of the segment are now those in the buffer.
pub(super) fn put_in(buffer: &mut [u8], offset: u64, range: &Range<u64>, content: &[u8]) -> bool {
    let end = offset + buffer.len() as u64;
    let common = range.start.max(offset)..range.end.min(end).max(range.start.max(offset));
    let place = |from: u64| to_index(common.start - from)..to_index(common.end - from);
    let (target, source) = (&mut buffer[place(offset)], &content[place(range.start)]);
    target.iter_mut().zip(source).filter(|(byte, _)| **byte == 0).for_each(|(byte, original)| *byte = *original);
    target == source
}

/// Reads a ledger from an offset to its end.
#[derive(Debug)]
pub(super) struct LedgerReader {
    pub(super) ledger: LedgerFile,
    pub(super) offset: u64,
}

impl Read for LedgerReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.ledger.read_at(buffer, self.offset).map_err(io::Error::other)?;
        self.offset += read as u64;
        Ok(read)
    }
}

/// Returns the whole content of a ledger; `None` if there is no such file.
pub(super) fn read_ledger_bytes(path: &Path) -> Result<Option<Vec<u8>>, EvidenceError> {
    if_exists(LedgerFile::open(path))?.map(|file| file.read_to_end()).transpose()
}

/// Returns the segments of a ledger with their ranges, in their order.
pub(super) fn segments(ledger: &Path) -> Result<Vec<(Range<u64>, PathBuf)>, EvidenceError> {
    let (Some(directory), Some(name)) = (ledger.parent(), ledger.file_name().and_then(|name| name.to_str())) else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for entry in list_directory(directory)? {
        let range = entry.file_name().to_str().and_then(|entry| segment_range(name, entry));
        found.extend(range.map(|range| (range, entry.path())));
    }
    found.sort_by_key(|(range, _)| range.start);
    Ok(found)
}

/// Returns whether an entry beside a ledger is a segment of it, or one that a process left which died while it wrote it.
pub(super) fn is_segment_of(ledger: &str, entry: &str) -> bool {
    segment_range(ledger, entry).is_some() || entry.strip_prefix(ledger) == Some(UNFINISHED_SUFFIX)
}

/// Returns the range that the name of a segment of this ledger says; `None` if the entry is no segment of it.
fn segment_range(ledger: &str, entry: &str) -> Option<Range<u64>> {
    let range = entry.strip_prefix(ledger)?.strip_prefix('.')?.strip_suffix(SEGMENT_SUFFIX)?;
    let (from, to) = range.split_once('-')?;
    let range = from.parse().ok()?..to.parse().ok()?;
    (segment_name(ledger, &range) == entry && !range.is_empty()).then_some(range)
}

/// Returns the name of the segment with this range of a ledger.
pub(super) fn segment_name(ledger: &str, range: &Range<u64>) -> String {
    format!("{ledger}.{:012}-{:012}{SEGMENT_SUFFIX}", range.start, range.end)
}

/// Returns the bytes of a ledger that a segment holds.
pub(super) fn read_segment(range: &Range<u64>, path: &Path) -> Result<Vec<u8>, EvidenceError> {
    let damaged = |why: String| EvidenceError::LedgerSegment { path: path.to_owned(), why };
    let length = range.end - range.start;
    if length > LONGEST_SEGMENT {
        return Err(damaged(format!("its name says {length} bytes, more than {LONGEST_SEGMENT}")));
    }
    let stream = read_no_follow(path)?;
    // One byte more than the name says, so that a longer content is seen as such.
    let mut content = vec![0; to_index(length) + 1];
    let flags = inflate_flags::TINFL_FLAG_PARSE_ZLIB_HEADER | inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
    let (status, read, written) = decompress(&mut DecompressorOxide::new(), &stream, &mut content, 0, flags);
    if written as u64 > length || status == TINFLStatus::HasMoreOutput {
        return Err(damaged(format!("it has more than the {length} bytes that its name says")));
    }
    if status != TINFLStatus::Done {
        return Err(damaged("it is no whole zlib stream".to_owned()));
    }
    if read < stream.len() {
        return Err(damaged(format!("{} bytes stand behind its stream", stream.len() - read)));
    }
    if (written as u64) < length {
        return Err(damaged(format!("it has {written} bytes, and its name says {length}")));
    }
    content.truncate(written);
    Ok(content)
}

/// Converts a length within a segment, or within what is read at once.
pub(super) fn to_index(bytes: u64) -> usize {
    usize::try_from(bytes).expect("a segment and what is read at once fit in memory")
}

// Compresses the old lines of a ledger, byte for byte ([`ledger_file`](crate::ledger_file) reads them).

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
mod ledger_compression_tests;
