//! Reading a ledger from front to back: strict, in order, and without the lock.

use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::changes::sync_data;
use crate::error::failed;
use crate::files::if_exists;
use crate::keys::{KeyRing, read_key_ring};
use crate::ledger_file::{LedgerFile, LedgerReader};
use crate::ledger_tail::{ChainEnd, LONGEST_LINE, end_at, parse_line, read_line_before};
use crate::line_signature::check_signature;
use crate::{EvidenceError, FileOperation, LineProblem, Store};
use proctor_model::{Digest, LedgerLine, ProjectId};

/// The lines of a ledger from an offset on, each with the offset after it. The iterator ends after the first error.
#[derive(Debug)]
pub struct LedgerLines {
    path: PathBuf,
    reader: Option<BufReader<LedgerReader>>,
    end: ChainEnd,
    signatures: SignatureCheck,
}

/// Whether the signatures of the lines are checked while they are read.
#[derive(Debug)]
enum SignatureCheck {
    Off,
    /// The keys are read when the first line is there, so that the key of that line is among them.
    On {
        store: Store,
        project: ProjectId,
        keys: Option<KeyRing>,
    },
}

/// Reads a project's ledger from `offset` on, as [`read_lines`] does, and checks the signature of each line too. The line that ends at the
/// offset is checked as well, and has to be the one that `is_expected` accepts.
pub fn read_signed_lines(
    store: &Store,
    project: &ProjectId,
    offset: u64,
    is_expected: impl FnOnce(&LedgerLine) -> bool,
) -> Result<LedgerLines, EvidenceError> {
    let mut lines = read_lines(store, project, offset)?;
    lines.signatures = SignatureCheck::On { store: store.clone(), project: project.clone(), keys: None };
    if let Some(reader) = lines.reader.as_ref().filter(|_| offset > 0) {
        let bytes = read_line_before(&reader.get_ref().ledger, offset)?;
        let line = parse_line(&bytes).map_err(|problem| lines.refuse_last(problem))?;
        if !is_expected(&line) {
            return Err(lines.refuse_last(LineProblem::Replaced));
        }
        lines.signatures.check(&bytes, &line)?.map_err(|problem| lines.refuse_last(problem))?;
    }
    Ok(lines)
}

/// Reads a project's ledger from `offset` on. A line must end at this offset; 0 is the beginning.
///
/// A ledger that does not exist has no lines. A torn last line is not returned, because it was never committed.
pub fn read_lines(store: &Store, project: &ProjectId, offset: u64) -> Result<LedgerLines, EvidenceError> {
    let path = store.ledger_path(project);
    let Some(ledger) = if_exists(LedgerFile::open(&path))? else {
        if offset > 0 {
            return Err(EvidenceError::LedgerGone { path });
        }
        return Ok(LedgerLines { path, reader: None, end: ChainEnd::empty(), signatures: SignatureCheck::Off });
    };
    let end = end_at(&ledger, offset)?;
    let reader = Some(BufReader::with_capacity(64 * 1024, LedgerReader { ledger, offset }));
    Ok(LedgerLines { path, reader, end, signatures: SignatureCheck::Off })
}

/// Waits until the lines that are in a project's ledger are on disk. Whoever keeps what a ledger says calls this first: the process that wrote
/// the last line may have died before it had waited for it, and then a loss of power takes the line back.
///
/// # Errors
/// When the ledger cannot be opened, or the disk fails.
pub fn wait_for_lines(store: &Store, project: &ProjectId) -> Result<(), EvidenceError> {
    let path = store.ledger_path(project);
    if_exists(LedgerFile::open(&path))?.map_or(Ok(()), |ledger| sync_data(ledger.file(), &path))
}

impl LedgerLines {
    /// Returns the hash of the line that the iterator returned last; before that, the hash of the line that ends at the offset
    /// from which the iterator reads, or of no bytes for offset 0.
    pub(super) fn last_hash(&self) -> Digest {
        self.end.hash
    }

    fn read_next(&mut self) -> Result<Option<(u64, LedgerLine)>, EvidenceError> {
        let Some(reader) = &mut self.reader else { return Ok(None) };
        let mut bytes = Vec::new();
        let read = reader.by_ref().take(LONGEST_LINE + 1).read_until(b'\n', &mut bytes);
        read.map_err(|error| unread(error, &self.path))?;
        // What a process that died left of a line may begin with zero bytes too, but no line follows it.
        if is_taken_out(&bytes) && bytes.len() as u64 > LONGEST_LINE {
            return Err(self.refuse(LineProblem::SegmentGone));
        }
        if bytes.pop_if(|last| *last == b'\n').is_none() {
            if bytes.len() as u64 > LONGEST_LINE {
                return Err(self.refuse(LineProblem::TooLong(LONGEST_LINE)));
            }
            return Ok(None);
        }
        if bytes.contains(&0) && reader.fill_buf().map_err(|error| unread(error, &self.path))?.is_empty() {
            return Ok(None);
        }
        if is_taken_out(&bytes) {
            return Err(self.refuse(LineProblem::SegmentGone));
        }
        let line = parse_line(&bytes).map_err(|problem| self.refuse(problem))?;
        let expected = self.end.next_sequence();
        if line.sequence != expected {
            return Err(self.refuse(LineProblem::WrongSequence { expected, found: line.sequence }));
        }
        if line.previous != self.end.hash {
            return Err(self.refuse(LineProblem::BrokenChain));
        }
        self.signatures.check(&bytes, &line)?.map_err(|problem| self.refuse(problem))?;
        let length = self.end.length + bytes.len() as u64 + 1;
        self.end = ChainEnd { length, sequence: line.sequence, hash: Digest::of(&bytes) };
        Ok(Some((length, line)))
    }

    /// Refuses the line that ends at the offset from which lines are read.
    fn refuse_last(&self, problem: LineProblem) -> EvidenceError {
        EvidenceError::LedgerLine { path: self.path.clone(), line: self.end.sequence.0, problem }
    }

    fn refuse(&self, problem: LineProblem) -> EvidenceError {
        EvidenceError::LedgerLine { path: self.path.clone(), line: self.end.next_sequence().0, problem }
    }
}

/// Returns whether bytes were taken out of the file because a segment holds them. Damage seldom makes so many zero bytes.
fn is_taken_out(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0; 64])
}

/// Returns why a ledger could not be read: the error of its segment, or the system's.
fn unread(error: io::Error, path: &Path) -> EvidenceError {
    error.downcast::<EvidenceError>().unwrap_or_else(failed(FileOperation::Read, path))
}

impl SignatureCheck {
    /// Checks the signature of a line. The inner error is what is wrong with it.
    fn check(&mut self, bytes: &[u8], line: &LedgerLine) -> Result<Result<(), LineProblem>, EvidenceError> {
        let Self::On { store, project, keys } = self else { return Ok(Ok(())) };
        if let Some(keys) = keys
            && check_signature(bytes, line, project, keys).is_ok()
        {
            return Ok(Ok(()));
        }
        // Another process may have made a new key after the keys were read.
        let keys = keys.insert(read_key_ring(store)?);
        Ok(check_signature(bytes, line, project, keys))
    }
}

impl Iterator for LedgerLines {
    type Item = Result<(u64, LedgerLine), EvidenceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.read_next().transpose();
        if !matches!(next, Some(Ok(_))) {
            self.reader = None;
        }
        next
    }
}
