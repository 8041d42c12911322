//! Reading a ledger from its end: its last whole line, the line that ends at a known offset, and the torn bytes behind
//! the last line.

use serde::Deserialize;

use crate::ledger_file::LedgerFile;
use crate::{EvidenceError, LineProblem};
use proctor_model::{Digest, LEDGER_SCHEMA, LedgerLine, Sequence};

/// The longest line that proctor writes, in bytes. A longer line is damage.
pub(super) const LONGEST_LINE: u64 = 16 * 1024 * 1024;
/// The number of bytes that are read at a time when going backwards. Most lines are shorter.
const CHUNK: u64 = 16 * 1024;

/// Where a ledger's hash chain stands after one of its lines. The next line must continue from this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChainEnd {
    /// The offset after the line, in bytes from the beginning of the ledger.
    pub(super) length: u64,
    /// The sequence number of the line; 0 if the ledger has no line.
    pub(super) sequence: Sequence,
    /// The hash of the line; if the ledger has no line, the hash of no bytes.
    pub(super) hash: Digest,
}

impl ChainEnd {
    pub(super) fn empty() -> Self {
        Self { length: 0, sequence: Sequence(0), hash: Digest::of(b"") }
    }

    /// Returns the sequence number that the next line must have.
    pub(super) fn next_sequence(&self) -> Sequence {
        Sequence(self.sequence.0 + 1)
    }
}

#[derive(Deserialize)]
struct SchemaOnly {
    schema: String,
}

/// Parses a line without its newline. The line's sequence number and the hash of the previous line are not checked.
pub(super) fn parse_line(bytes: &[u8]) -> Result<LedgerLine, LineProblem> {
    let unreadable = |error: serde_json::Error| LineProblem::Unreadable(error.to_string());
    match serde_json::from_slice::<LedgerLine>(bytes) {
        Ok(line) if line.schema == LEDGER_SCHEMA => Ok(line),
        Ok(line) => Err(LineProblem::UnknownSchema(line.schema)),
        Err(error) => {
            // If the line has an unknown schema version, the error must name that, and not the first unknown field.
            let schema = serde_json::from_slice::<SchemaOnly>(bytes).map_err(unreadable)?.schema;
            Err(if schema == LEDGER_SCHEMA { unreadable(error) } else { LineProblem::UnknownSchema(schema) })
        }
    }
}

/// Finds the end of the whole lines, and the last whole line. Bytes behind that line are torn: a line without its
/// newline, or a last line with zero bytes in it, which results if the file system kept the length of the last write
/// but lost some of its bytes.
pub(super) fn find_end(ledger: &LedgerFile) -> Result<(ChainEnd, Option<LedgerLine>), EvidenceError> {
    let total = ledger.length()?;
    let after_newline = find_line_start(ledger, total)?;
    if after_newline == 0 {
        return Ok((ChainEnd::empty(), None));
    }
    let last = read_line_before(ledger, after_newline)?;
    if after_newline == total && last.contains(&0) {
        return end_and_line_at(ledger, after_newline - last.len() as u64 - 1);
    }
    end_after(&last, ledger, after_newline).map(|(end, line)| (end, Some(line)))
}

/// Returns how many bytes of a ledger are whole lines, by the rules of [`find_end`].
pub(super) fn whole_length(bytes: &[u8]) -> usize {
    let behind_newline = |bytes: &[u8]| bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    let whole = behind_newline(bytes);
    if whole == 0 || whole < bytes.len() {
        return whole;
    }
    let start = behind_newline(&bytes[..whole - 1]);
    if bytes[start..].contains(&0) { start } else { whole }
}

/// Returns whether torn bytes are what a proctor process leaves if it dies while it writes the line that follows `end`:
/// the beginning of that line, possibly with zero bytes where the file system lost some.
///
/// # Why this cannot hide a removed line
///
/// Torn bytes count for nothing: no reader returns them, and the next writer cuts them off. Somebody could turn a
/// committed line into torn bytes, but that is the same as removing the line, and a ledger that is cut after a whole
/// line has no torn bytes at all. That a line is gone is detected by the whole lines alone, in both cases: a run has no
/// line, the index knows more lines, a key took over after a line that is missing, or an anchor covers more lines. A
/// committed line ended in its newline, and was on disk with it before the run was published or another line named it.
/// So bytes without that newline never were a verdict, an approval or a signature.
pub(super) fn is_write_cut_short(torn: &[u8], end: &ChainEnd) -> bool {
    let (sequence, previous) = (end.next_sequence().0, end.hash.hex());
    let head = format!("{{\"schema\":\"{LEDGER_SCHEMA}\",\"sequence\":{sequence},\"previous\":\"{previous}\",\"time\":");
    let has_its_head = torn.iter().zip(head.as_bytes()).all(|(found, due)| found == due || *found == 0);
    let goes_on = || match serde_json::from_slice::<LedgerLine>(torn) {
        // The line is complete and only its newline is missing.
        Ok(_) => !torn.contains(&b'\n'),
        Err(error) => error.is_eof(),
    };
    torn.len() as u64 <= LONGEST_LINE && has_its_head && (torn.contains(&0) || goes_on())
}

/// Returns the state of the hash chain after the line that ends at `offset`.
pub(super) fn end_at(ledger: &LedgerFile, offset: u64) -> Result<ChainEnd, EvidenceError> {
    end_and_line_at(ledger, offset).map(|(end, _)| end)
}

fn end_and_line_at(ledger: &LedgerFile, offset: u64) -> Result<(ChainEnd, Option<LedgerLine>), EvidenceError> {
    if offset == 0 {
        return Ok((ChainEnd::empty(), None));
    }
    let mut newline = [0_u8; 1];
    if offset <= ledger.length()? {
        ledger.read_exact_at(&mut newline, offset - 1)?;
    }
    if newline != *b"\n" {
        return Err(EvidenceError::LedgerOffset { path: ledger.path().to_owned(), offset });
    }
    end_after(&read_line_before(ledger, offset)?, ledger, offset).map(|(end, line)| (end, Some(line)))
}

fn end_after(line: &[u8], ledger: &LedgerFile, length: u64) -> Result<(ChainEnd, LedgerLine), EvidenceError> {
    match parse_line(line) {
        Ok(parsed) => Ok((ChainEnd { length, sequence: parsed.sequence, hash: Digest::of(line) }, parsed)),
        Err(problem) => {
            let line = count_lines(ledger, length)?;
            Err(EvidenceError::LedgerLine { path: ledger.path().to_owned(), line, problem })
        }
    }
}

/// Counts the lines in the first `length` bytes of a ledger. Reading all of them is slow, so only error messages use
/// this.
fn count_lines(ledger: &LedgerFile, length: u64) -> Result<u64, EvidenceError> {
    let bytes = ledger.read_to_end()?;
    let length = usize::try_from(length).unwrap_or(usize::MAX).min(bytes.len());
    Ok(bytes[..length].iter().filter(|byte| **byte == b'\n').count() as u64)
}

/// Returns the line whose newline is the byte before `end`, without that newline.
pub(super) fn read_line_before(ledger: &LedgerFile, end: u64) -> Result<Vec<u8>, EvidenceError> {
    let from = (end - 1).saturating_sub(CHUNK);
    let mut chunk = vec![0_u8; usize::try_from(end - 1 - from).expect("a chunk is small")];
    ledger.read_exact_at(&mut chunk, from)?;
    if let Some(newline) = memchr::memrchr(b'\n', &chunk) {
        chunk.drain(..=newline);
        return Ok(chunk);
    }
    // The line is the first one, or longer than most.
    let start = find_line_start(ledger, end - 1)?;
    let length = usize::try_from(end - 1 - start).expect("a line is not longer than the longest line");
    let mut line = vec![0_u8; length];
    ledger.read_exact_at(&mut line, start)?;
    Ok(line)
}

/// Returns the start of the line that contains the byte before `end`, which is the offset behind the last newline
/// before `end`.
pub(super) fn find_line_start(ledger: &LedgerFile, end: u64) -> Result<u64, EvidenceError> {
    let mut chunk = Vec::new();
    let mut cursor = end;
    while cursor > 0 {
        let start = cursor.saturating_sub(CHUNK);
        chunk.resize(usize::try_from(cursor - start).expect("a chunk is small"), 0);
        ledger.read_exact_at(&mut chunk, start)?;
        if let Some(newline) = memchr::memrchr(b'\n', &chunk) {
            return Ok(start + newline as u64 + 1);
        }
        if end - start > LONGEST_LINE {
            let line = count_lines(ledger, start)? + 1;
            return Err(EvidenceError::LedgerLine {
                path: ledger.path().to_owned(),
                line,
                problem: LineProblem::TooLong(LONGEST_LINE),
            });
        }
        cursor = start;
    }
    Ok(0)
}
