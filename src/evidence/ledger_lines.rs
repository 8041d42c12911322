//! Reading a ledger from front to back: strict, in order, and without the lock.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::PathBuf;

use crate::evidence::error::failed;
use crate::evidence::files::{if_exists, open_no_follow};
use crate::evidence::ledger_tail::{ChainEnd, LONGEST_LINE, end_at, parse_line};
use crate::evidence::{EvidenceError, FileOperation, LineProblem, Store};
use crate::model::{Digest, LedgerLine, ProjectId};

/// The lines of a ledger from an offset on, each with the offset after it. The iterator ends after the first error.
#[derive(Debug)]
pub struct LedgerLines {
    path: PathBuf,
    reader: Option<BufReader<File>>,
    end: ChainEnd,
}

/// Reads a project's ledger from `offset` on. A line must end at this offset; 0 is the beginning.
///
/// A ledger that does not exist has no lines. A torn last line is not returned, because it was never committed.
pub fn read_lines(store: &Store, project: &ProjectId, offset: u64) -> Result<LedgerLines, EvidenceError> {
    let path = store.ledger_path(project);
    let Some(mut file) = if_exists(open_no_follow(&path))? else {
        if offset > 0 {
            return Err(EvidenceError::LedgerOffset { path, offset });
        }
        return Ok(LedgerLines { path, reader: None, end: ChainEnd::empty() });
    };
    let end = end_at(&file, &path, offset)?;
    file.seek(SeekFrom::Start(offset)).map_err(failed(FileOperation::Read, &path))?;
    Ok(LedgerLines { path, reader: Some(BufReader::with_capacity(64 * 1024, file)), end })
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
        read.map_err(failed(FileOperation::Read, &self.path))?;
        if bytes.pop_if(|last| *last == b'\n').is_none() {
            if bytes.len() as u64 > LONGEST_LINE {
                return Err(self.refuse(LineProblem::TooLong(LONGEST_LINE)));
            }
            return Ok(None);
        }
        if bytes.contains(&0) && reader.fill_buf().map_err(failed(FileOperation::Read, &self.path))?.is_empty() {
            return Ok(None);
        }
        let line = parse_line(&bytes).map_err(|problem| self.refuse(problem))?;
        let expected = self.end.next_sequence();
        if line.sequence != expected {
            return Err(self.refuse(LineProblem::WrongSequence { expected, found: line.sequence }));
        }
        if line.previous != self.end.hash {
            return Err(self.refuse(LineProblem::BrokenChain));
        }
        let length = self.end.length + bytes.len() as u64 + 1;
        self.end = ChainEnd { length, sequence: line.sequence, hash: Digest::of(&bytes) };
        Ok(Some((length, line)))
    }

    fn refuse(&self, problem: LineProblem) -> EvidenceError {
        EvidenceError::LedgerLine { path: self.path.clone(), line: self.end.next_sequence().0, problem }
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
