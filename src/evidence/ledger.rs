//! Writing a project's ledger: append-only, one write and one sync per line, each line naming the hash of the one before.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::evidence::changes::{cut, open_lasting, sync_content, sync_directory, sync_file, write_at, write_new};
use crate::evidence::error::failed;
use crate::evidence::keys;
use crate::evidence::ledger_tail::{ChainEnd, find_end};
use crate::evidence::line_signature::sign_line;
use crate::evidence::retention::end_pruning;
use crate::evidence::signing::Signer;
use crate::evidence::{EvidenceError, FileOperation, ProjectLock};
use crate::model::{Asker, Digest, LEDGER_SCHEMA, LedgerBody, LedgerLine, Sequence, Timestamp};

/// A project's ledger, open for appending. It keeps the project's lock.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    file: File,
    end: ChainEnd,
    torn: Option<PathBuf>,
    ended: usize,
    health: Health,
    /// The key, once a line was to be signed. It stays the right one as long as the lock is held: who changes keys holds every lock.
    signer: Option<Signer>,
    lock: ProjectLock,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    Sound,
    /// A write or sync failed. What is on disk is unknown, and a later sync may succeed without having written anything.
    Failed,
}

impl Ledger {
    /// Opens the ledger of the locked project, creating it where it is missing. A torn last line is cut off and kept aside, and what
    /// the last line prunes is removed, so that no line is ever written behind a pruning that is not at its end.
    pub fn open(lock: &ProjectLock) -> Result<Self, EvidenceError> {
        let path = lock.store().ledger_path(lock.project());
        let is_new = !path.exists();
        let file = open_lasting(&path)?;
        if is_new {
            sync_directory(&lock.store().ledger_directory())?;
        }
        let (end, last) = find_end(&file, &path)?;
        let torn = cut_torn_line(&file, &path, &end)?;
        let ended = last.map_or(Ok(0), |last| end_pruning(lock, &last))?;
        Ok(Self { path, file, end, torn, ended, health: Health::Sound, signer: None, lock: lock.clone() })
    }

    /// Takes over the key that was read while the run went on.
    pub(super) fn use_signer(&mut self, signer: Option<Signer>) {
        self.signer = self.signer.take().or(signer);
    }

    /// Returns the key that signs; it is made where there is none.
    pub(super) fn signer(&mut self, now: Timestamp) -> Result<&Signer, EvidenceError> {
        if self.signer.is_none() {
            self.signer = Some(keys::signer(self.lock.store(), now)?);
        }
        Ok(self.signer.as_ref().expect("it was just set"))
    }

    /// Appends a line and waits until it is on disk: the commit point of whatever it records.
    pub fn append(&mut self, body: LedgerBody, asker: &Asker, now: Timestamp) -> Result<LedgerLine, EvidenceError> {
        if self.health == Health::Failed {
            return Err(EvidenceError::LedgerFailed { path: self.path.clone() });
        }
        let length = self.file.metadata().map_err(failed(FileOperation::Read, &self.path))?.len();
        if length != self.end.length {
            return Err(EvidenceError::LedgerChanged { path: self.path.clone() });
        }
        let mut line = LedgerLine {
            schema: LEDGER_SCHEMA.to_owned(),
            sequence: self.end.next_sequence(),
            previous: self.end.hash,
            time: now,
            asker: asker.clone(),
            body,
            signature: None,
        };
        let unsigned = self.encode(&line)?;
        line.signature = Some(sign_line(&unsigned, self.signer(now)?));
        let mut bytes = self.encode(&line)?;
        let hash = Digest::of(&bytes);
        bytes.push(b'\n');
        self.write_durably(&bytes)?;
        self.end = ChainEnd { length: length + bytes.len() as u64, sequence: line.sequence, hash };
        Ok(line)
    }

    /// Returns the sequence of the last line; none for an empty ledger.
    pub fn last_sequence(&self) -> Option<Sequence> {
        (self.end.sequence.0 > 0).then_some(self.end.sequence)
    }

    /// Returns the sequence the next line gets; a new run's id carries it.
    pub fn next_sequence(&self) -> Sequence {
        self.end.next_sequence()
    }

    /// Returns the hash of the last line; of nothing for an empty ledger.
    pub fn last_hash(&self) -> Digest {
        self.end.hash
    }

    /// Returns the ledger's length in bytes, which is the offset after its last line.
    pub fn length(&self) -> u64 {
        self.end.length
    }

    /// Returns the file a torn last line was put aside to when the ledger was opened.
    pub fn torn(&self) -> Option<&Path> {
        self.torn.as_deref()
    }

    /// Returns how many directories were removed when the ledger was opened, because a process had died that pruned them.
    pub fn ended_prunings(&self) -> usize {
        self.ended
    }

    fn encode(&self, line: &LedgerLine) -> Result<Vec<u8>, EvidenceError> {
        let named = |source| EvidenceError::Encode { name: self.path.display().to_string(), source };
        serde_json::to_vec(line).map_err(named)
    }

    fn write_durably(&mut self, bytes: &[u8]) -> Result<(), EvidenceError> {
        let written = write_at(&self.file, &self.path, bytes, self.end.length);
        let synced = written.and_then(|()| sync_content(&self.file, &self.path));
        if synced.is_err() {
            self.health = Health::Failed;
            // Nobody may read a line whose commit was reported as failed. If this fails too, the next opening still sees
            // either a torn line, which it cuts, or a whole one, which then stands: the caller's recovery handles both.
            let _ = cut(&self.file, &self.path, self.end.length);
        }
        synced
    }
}

fn cut_torn_line(file: &File, path: &Path, end: &ChainEnd) -> Result<Option<PathBuf>, EvidenceError> {
    let total = file.metadata().map_err(failed(FileOperation::Read, path))?.len();
    if total == end.length {
        return Ok(None);
    }
    let mut torn = vec![0_u8; usize::try_from(total - end.length).expect("a torn line is not longer than the longest line")];
    file.read_exact_at(&mut torn, end.length).map_err(failed(FileOperation::Read, path))?;
    let aside = free_name(path, end.next_sequence());
    sync_file(&write_new(&aside, &torn)?, &aside)?;
    cut(file, path, end.length)?;
    sync_file(file, path)?;
    Ok(Some(aside))
}

/// Returns `<id>.torn-<sequence>`, with a number behind it where a line of that sequence was torn before.
fn free_name(ledger: &Path, sequence: Sequence) -> PathBuf {
    let first = ledger.with_extension(format!("torn-{}", sequence.0));
    let numbered = (2_u32..).map(|number| ledger.with_extension(format!("torn-{}-{number}", sequence.0)));
    std::iter::once(first).chain(numbered).find(|path| path.symlink_metadata().is_err()).expect("numbers do not run out")
}

#[cfg(test)]
mod tests;
