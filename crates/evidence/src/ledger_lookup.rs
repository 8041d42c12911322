//! Finding single lines of a ledger: the newest lines backwards from the end, and a line by its number. Every line that is
//! returned was checked: its place in the chain, and its signature.

use std::path::PathBuf;

use crate::files::if_exists;
use crate::keys::{KeyRing, read_key_ring};
use crate::ledger_file::LedgerFile;
use crate::ledger_tail::{ChainEnd, find_end, find_line_start, parse_line, read_line_before};
use crate::line_signature::check_signature;
use crate::{EvidenceError, LineProblem, Store};
use proctor_model::{Digest, LedgerLine, ProjectId, RunLine, Sequence};

/// A ledger that is open for reading single lines.
#[derive(Debug)]
pub struct LedgerLookup {
    path: PathBuf,
    project: ProjectId,
    /// `None` if the project has no ledger.
    file: Option<LedgerFile>,
    /// The last whole line.
    end: ChainEnd,
    keys: KeyRing,
}

/// The lines of a ledger from its end to its beginning. The iterator ends after the first error.
#[derive(Debug)]
pub struct NewestLines<'a> {
    ledger: &'a LedgerLookup,
    end: u64,
    /// The number and hash that the next line must have, which the line after it names; `None` before the first line.
    expected: Option<(Sequence, Digest)>,
}

impl LedgerLookup {
    /// Opens the ledger of a project.
    ///
    /// # Errors
    /// When the ledger or the store's keys cannot be read.
    pub fn open(store: &Store, project: &ProjectId) -> Result<Self, EvidenceError> {
        let path = store.ledger_path(project);
        let file = if_exists(LedgerFile::open(&path))?;
        let end = match &file {
            Some(file) => find_end(file)?.0,
            None => ChainEnd::empty(),
        };
        // The keys are read after the end of the ledger is known, so that the key of its last line is among them.
        Ok(Self { path, project: project.clone(), file, end, keys: read_key_ring(store)? })
    }

    /// Returns the lines from the newest to the first.
    pub fn newest(&self) -> NewestLines<'_> {
        NewestLines { ledger: self, end: self.end.length, expected: None }
    }

    /// Returns the number that the next run's id holds: one more than the last run's, and 1 for the first. If the last run's line is not
    /// as proctor wrote it, this is the number of the next line, because no run has a higher one.
    pub fn next_run_number(&self) -> u64 {
        for line in self.newest() {
            let Ok(line) = line else { return self.end.next_sequence().0 };
            match line.body.about_runs() {
                Some(RunLine::Sealed(record)) => return record.run_id.number() + 1,
                Some(RunLine::Superseded(record)) => return record.run_id.number() + 1,
                Some(RunLine::Pruned(_) | RunLine::Archived(_)) | None => {}
            }
        }
        1
    }

    /// Returns the line with this number; `None` if the ledger has no such line. Checked are the line's signature, that it names
    /// the hash of the line before it, and that the line after it names its hash. The newest line has no line after it.
    ///
    /// # Errors
    /// When the ledger cannot be read, or the line is not as proctor wrote it.
    pub fn find(&self, sequence: Sequence) -> Result<Option<LedgerLine>, EvidenceError> {
        Ok(self.find_with_end(sequence)?.map(|(_, line)| line))
    }

    /// Returns the line with this number and the offset at which it ends, from which the lines after it can be read. Checked is
    /// what [`Self::find`] checks.
    ///
    /// # Errors
    /// As for [`Self::find`].
    pub fn find_with_end(&self, sequence: Sequence) -> Result<Option<(u64, LedgerLine)>, EvidenceError> {
        let Some(file) = &self.file else { return Ok(None) };
        let Some(end) = self.find_end_of(file, sequence)? else { return Ok(None) };
        let bytes = read_line_before(file, end)?;
        let line = self.checked(&bytes, sequence)?;
        let start = end - bytes.len() as u64 - 1;
        let before = if start == 0 { Vec::new() } else { read_line_before(file, start)? };
        if line.previous != Digest::of(&before) {
            return Err(self.refuse(sequence, LineProblem::BrokenChain));
        }
        if end < self.end.length {
            let after = self.line_from(file, end)?;
            let next = Sequence(sequence.0 + 1);
            if self.parsed(&after, next)?.previous != Digest::of(&bytes) {
                return Err(self.refuse(next, LineProblem::BrokenChain));
            }
        }
        Ok(Some((end, line)))
    }

    /// Returns the offset at which the line with this number ends; `None` if the number is beyond the last line. Lines are in the
    /// order of their numbers, so the place is halved again and again.
    fn find_end_of(&self, file: &LedgerFile, sequence: Sequence) -> Result<Option<u64>, EvidenceError> {
        if sequence == self.end.sequence && sequence.0 > 0 {
            return Ok(Some(self.end.length));
        }
        if sequence.0 == 0 || sequence > self.end.sequence {
            return Ok(None);
        }
        let (mut from, mut until) = (0, self.end.length);
        let mut nearest = self.end.sequence;
        while from < until {
            let start = find_line_start(file, from + (until - from) / 2 + 1)?.max(from);
            let bytes = self.line_from(file, start)?;
            let end = start + bytes.len() as u64 + 1;
            let found = self.parsed(&bytes, sequence)?.sequence;
            nearest = found;
            match found.cmp(&sequence) {
                std::cmp::Ordering::Equal => return Ok(Some(end)),
                std::cmp::Ordering::Less => from = end,
                std::cmp::Ordering::Greater => until = start,
            }
        }
        // Every number from 1 to that of the last line has a line.
        Err(self.refuse(sequence, LineProblem::WrongSequence { expected: sequence, found: nearest }))
    }

    /// Returns the line that starts at an offset, without its newline.
    fn line_from(&self, file: &LedgerFile, start: u64) -> Result<Vec<u8>, EvidenceError> {
        const CHUNK: u64 = 8 * 1024;
        let mut bytes: Vec<u8> = Vec::new();
        loop {
            let at = start + bytes.len() as u64;
            let size = usize::try_from(CHUNK.min(self.end.length - at)).expect("a chunk is small");
            let mut chunk = vec![0; size];
            file.read_exact_at(&mut chunk, at)?;
            match chunk.iter().position(|byte| *byte == b'\n') {
                Some(newline) => {
                    bytes.extend_from_slice(&chunk[..newline]);
                    return Ok(bytes);
                }
                // The whole lines end in a newline, so there is one before the end.
                None if size == 0 => return Ok(bytes),
                None => bytes.extend_from_slice(&chunk),
            }
        }
    }

    fn parsed(&self, bytes: &[u8], sequence: Sequence) -> Result<LedgerLine, EvidenceError> {
        parse_line(bytes).map_err(|problem| self.refuse(sequence, problem))
    }

    fn checked(&self, bytes: &[u8], sequence: Sequence) -> Result<LedgerLine, EvidenceError> {
        let line = self.parsed(bytes, sequence)?;
        check_signature(bytes, &line, &self.project, &self.keys).map_err(|problem| self.refuse(line.sequence, problem))?;
        Ok(line)
    }

    fn refuse(&self, sequence: Sequence, problem: LineProblem) -> EvidenceError {
        EvidenceError::LedgerLine { path: self.path.clone(), line: sequence.0, problem }
    }
}

impl NewestLines<'_> {
    fn read_next(&mut self) -> Result<Option<LedgerLine>, EvidenceError> {
        let (Some(file), true) = (&self.ledger.file, self.end > 0) else { return Ok(None) };
        let bytes = read_line_before(file, self.end)?;
        let expected = self.expected;
        let line = self.ledger.checked(&bytes, expected.map_or(Sequence(0), |(sequence, _)| sequence))?;
        if let Some((sequence, hash)) = expected {
            if line.sequence != sequence {
                let problem = LineProblem::WrongSequence { expected: sequence, found: line.sequence };
                return Err(self.ledger.refuse(sequence, problem));
            }
            if Digest::of(&bytes) != hash {
                return Err(self.ledger.refuse(Sequence(sequence.0 + 1), LineProblem::BrokenChain));
            }
        }
        self.end -= bytes.len() as u64 + 1;
        self.expected = Some((Sequence(line.sequence.0.saturating_sub(1)), line.previous));
        Ok(Some(line))
    }
}

impl Iterator for NewestLines<'_> {
    type Item = Result<LedgerLine, EvidenceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.read_next().transpose();
        if !matches!(next, Some(Ok(_))) {
            self.end = 0;
        }
        next
    }
}

#[cfg(test)]
mod tests;
