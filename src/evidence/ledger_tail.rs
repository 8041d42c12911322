//! Reading a ledger backwards: its last whole line, the line that ends at a known offset, and what lies behind the last one.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde::Deserialize;

use crate::evidence::error::failed;
use crate::evidence::{EvidenceError, FileOperation, LineProblem};
use crate::model::{Digest, LEDGER_SCHEMA, LedgerLine, Sequence};

/// No line proctor writes is longer; a longer one is damage, not data.
pub(super) const LONGEST_LINE: u64 = 16 * 1024 * 1024;
/// How much is read at a time when going backwards; most lines fit.
const CHUNK: u64 = 16 * 1024;

/// Where a chain goes on: after this many whole bytes, with this sequence and hash of the last line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChainEnd {
    /// Length of the whole lines in bytes.
    pub(super) length: u64,
    /// The last line's sequence; 0 where there is no line.
    pub(super) sequence: Sequence,
    /// The last line's hash; of nothing where there is no line.
    pub(super) hash: Digest,
}

impl ChainEnd {
    /// Returns the end of an empty ledger.
    pub(super) fn empty() -> Self {
        Self { length: 0, sequence: Sequence(0), hash: Digest::of(b"") }
    }

    /// Returns the sequence of the line that is due.
    pub(super) fn next_sequence(&self) -> Sequence {
        Sequence(self.sequence.0 + 1)
    }
}

#[derive(Deserialize)]
struct SchemaOnly {
    schema: String,
}

/// Parses a line without its newline. Its place in the chain is not looked at.
pub(super) fn parse_line(bytes: &[u8]) -> Result<LedgerLine, LineProblem> {
    let unreadable = |error: serde_json::Error| LineProblem::Unreadable(error.to_string());
    match serde_json::from_slice::<LedgerLine>(bytes) {
        Ok(line) if line.schema == LEDGER_SCHEMA => Ok(line),
        Ok(line) => Err(LineProblem::UnknownSchema(line.schema)),
        Err(error) => {
            // A line of another schema is refused for that, not for the first field this version does not know.
            let schema = serde_json::from_slice::<SchemaOnly>(bytes).map_err(unreadable)?.schema;
            Err(if schema == LEDGER_SCHEMA { unreadable(error) } else { LineProblem::UnknownSchema(schema) })
        }
    }
}

/// Finds the end of the whole lines, and the last of them. What lies behind it is torn: a line without its newline, or, where the
/// file system kept the length of the last write but not all of its bytes, a last line with zero bytes in it.
pub(super) fn find_end(file: &File, path: &Path) -> Result<(ChainEnd, Option<LedgerLine>), EvidenceError> {
    let total = file.metadata().map_err(failed(FileOperation::Read, path))?.len();
    let after_newline = find_line_start(file, path, total)?;
    if after_newline == 0 {
        return Ok((ChainEnd::empty(), None));
    }
    let last = read_line_before(file, path, after_newline)?;
    if after_newline == total && last.contains(&0) {
        return last_before(file, path, after_newline - last.len() as u64 - 1);
    }
    end_of(&last, path, after_newline).map(|(end, line)| (end, Some(line)))
}

/// Returns how many bytes of a ledger are whole lines, as [`find_end`] has it.
pub(super) fn whole_length(bytes: &[u8]) -> usize {
    let behind_newline = |bytes: &[u8]| bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    let whole = behind_newline(bytes);
    if whole == 0 || whole < bytes.len() {
        return whole;
    }
    let start = behind_newline(&bytes[..whole - 1]);
    if bytes[start..].contains(&0) { start } else { whole }
}

/// Returns whether what is torn is what a process of ours leaves that dies while it writes the line that is due behind `end`: the
/// beginning of that line, or that with zero bytes where the file system lost some.
///
/// # Why nothing can be hidden behind this
///
/// Torn bytes count for nobody: no reader yields them, and the next writer cuts them off. Somebody who makes some of a line that was
/// sealed has thus taken that line away, and for that nothing need be left: a ledger that is cut behind a whole line has no torn bytes
/// at all. What shows that a line is gone is judged by the whole lines alone, and is the same in both cases: a run that no line is
/// about, the index that knows more lines, a key that took over behind a line that is not there, an anchor that was ahead. A line
/// that was committed ended in its newline, and it was on disk with it before anything was published or a further line could name it;
/// so bytes without that newline were never a verdict, an approval or a signature of anybody.
pub(super) fn is_write_cut_short(torn: &[u8], end: &ChainEnd) -> bool {
    let (sequence, previous) = (end.next_sequence().0, end.hash.hex());
    let head = format!("{{\"schema\":\"{LEDGER_SCHEMA}\",\"sequence\":{sequence},\"previous\":\"{previous}\",\"time\":");
    let has_its_head = torn.iter().zip(head.as_bytes()).all(|(found, due)| found == due || *found == 0);
    let goes_on = || match serde_json::from_slice::<LedgerLine>(torn) {
        // All of it but the newline.
        Ok(_) => !torn.contains(&b'\n'),
        Err(error) => error.is_eof(),
    };
    torn.len() as u64 <= LONGEST_LINE && has_its_head && (torn.contains(&0) || goes_on())
}

/// Returns the chain's state after the line that ends at `offset`.
pub(super) fn end_at(file: &File, path: &Path, offset: u64) -> Result<ChainEnd, EvidenceError> {
    last_before(file, path, offset).map(|(end, _)| end)
}

fn last_before(file: &File, path: &Path, offset: u64) -> Result<(ChainEnd, Option<LedgerLine>), EvidenceError> {
    if offset == 0 {
        return Ok((ChainEnd::empty(), None));
    }
    let no_such_offset = || EvidenceError::LedgerOffset { path: path.to_owned(), offset };
    let mut newline = [0_u8; 1];
    match file.read_exact_at(&mut newline, offset - 1) {
        Ok(()) if newline == *b"\n" => {}
        Ok(()) => return Err(no_such_offset()),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Err(no_such_offset()),
        Err(error) => return Err(failed(FileOperation::Read, path)(error)),
    }
    end_of(&read_line_before(file, path, offset)?, path, offset).map(|(end, line)| (end, Some(line)))
}

fn end_of(line: &[u8], path: &Path, length: u64) -> Result<(ChainEnd, LedgerLine), EvidenceError> {
    match parse_line(line) {
        Ok(parsed) => Ok((ChainEnd { length, sequence: parsed.sequence, hash: Digest::of(line) }, parsed)),
        Err(problem) => {
            let line = count_lines(path, length)?;
            Err(EvidenceError::LedgerLine { path: path.to_owned(), line, problem })
        }
    }
}

/// Counts the lines of the first `length` bytes; only for messages, because it reads all of them.
fn count_lines(path: &Path, length: u64) -> Result<u64, EvidenceError> {
    let bytes = std::fs::read(path).map_err(failed(FileOperation::Read, path))?;
    let length = usize::try_from(length).unwrap_or(usize::MAX).min(bytes.len());
    Ok(bytes[..length].iter().filter(|byte| **byte == b'\n').count() as u64)
}

/// Returns the line whose newline is the byte before `end`, without that newline.
fn read_line_before(file: &File, path: &Path, end: u64) -> Result<Vec<u8>, EvidenceError> {
    let start = find_line_start(file, path, end - 1)?;
    let length = usize::try_from(end - 1 - start).expect("a line is not longer than the longest line");
    let mut line = vec![0_u8; length];
    file.read_exact_at(&mut line, start).map_err(failed(FileOperation::Read, path))?;
    Ok(line)
}

/// Returns where the line starts that the byte before `end` belongs to: behind the last newline before `end`.
fn find_line_start(file: &File, path: &Path, end: u64) -> Result<u64, EvidenceError> {
    let mut chunk = Vec::new();
    let mut cursor = end;
    while cursor > 0 {
        let start = cursor.saturating_sub(CHUNK);
        chunk.resize(usize::try_from(cursor - start).expect("a chunk is small"), 0);
        file.read_exact_at(&mut chunk, start).map_err(failed(FileOperation::Read, path))?;
        if let Some(newline) = chunk.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + newline as u64 + 1);
        }
        if end - start > LONGEST_LINE {
            let line = count_lines(path, start)? + 1;
            return Err(EvidenceError::LedgerLine { path: path.to_owned(), line, problem: LineProblem::TooLong(LONGEST_LINE) });
        }
        cursor = start;
    }
    Ok(0)
}
