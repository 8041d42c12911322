//! Writing a project's ledger: lines are only appended, each with one write and one sync, and each names the hash of
//! the line before it.

use std::path::{Path, PathBuf};

use nix::unistd::geteuid;

use crate::changes::{open_or_create, sync_data, sync_directory, sync_file, truncate, write_at, write_new};
use crate::keys;
use crate::ledger_file::LedgerFile;
use crate::ledger_lookup::LedgerLookup;
use crate::ledger_tail::{ChainEnd, find_end};
use crate::line_signature::sign_line;
use crate::retention::finish_last_pruning;
use crate::signing::Signer;
use crate::{EvidenceError, ProjectLock};
use proctor_model::{Asker, Digest, LEDGER_SCHEMA, LedgerBody, LedgerLine, Sequence, Timestamp};

/// A project's ledger, open for appending. It holds the project's lock.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    file: LedgerFile,
    end: ChainEnd,
    torn_line_file: Option<PathBuf>,
    finished_prunings: usize,
    health: LedgerHealth,
    /// The signing key; `None` until it is needed. It cannot change while the lock is held, because changing the key
    /// needs the locks of all projects.
    signer: Option<Signer>,
    /// The time of the last line. No line is dated before the one before it, even if the clock was set back meanwhile.
    last_time: Option<Timestamp>,
    lock: ProjectLock,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LedgerHealth {
    Sound,
    /// A write or sync failed, so the content on disk is unknown. A later successful sync would not prove that the bytes of
    /// the failed write are on disk.
    Failed,
}

impl Ledger {
    /// Opens the ledger of the locked project and creates it if it is missing. An incomplete last line is cut off and
    /// kept in a file beside the ledger. If the last line prunes runs, their remains are removed first. So no line ever
    /// follows an unfinished pruning. If the key was replaced after the last line and no line says so yet, it is written.
    pub fn open(lock: &ProjectLock) -> Result<Self, EvidenceError> {
        let path = lock.store().ledger_path(lock.project());
        let is_new = !path.exists();
        let file = LedgerFile::of(open_or_create(&path)?, &path);
        if is_new {
            sync_directory(&lock.store().ledger_directory())?;
        }
        let (end, last) = find_end(&file)?;
        let torn = cut_torn_line(&file, &end)?;
        let ended = last.as_ref().map_or(Ok(0), |last| finish_last_pruning(lock, last))?;
        // The ledger of a purged project gets no further line.
        let is_purged = last.as_ref().is_some_and(|last| matches!(last.body, LedgerBody::Purged(_)));
        let mut ledger = Self {
            path,
            file,
            end,
            torn_line_file: torn,
            finished_prunings: ended,
            health: LedgerHealth::Sound,
            signer: None,
            last_time: last.map(|last| last.time),
            lock: lock.clone(),
        };
        if ledger.end.sequence.0 > 0
            && !is_purged
            && let Some(record) = keys::replacement_for_next_line(lock.store(), lock.project(), &ledger.end)?
        {
            let made = record.key.made;
            ledger.append(LedgerBody::KeyReplaced(Box::new(record)), &this_process(), made)?;
        }
        Ok(ledger)
    }

    /// Reads the signing key, so that a lost key is found before a run does its work and not when it is sealed. The first key is made if
    /// the store has no key.
    ///
    /// # Errors
    /// When the private half of the key in use is gone, or is another key's.
    pub fn read_signing_key(&mut self, now: Timestamp) -> Result<(), EvidenceError> {
        self.signer(now).map(drop)
    }

    /// Returns the signing key. The first key is made if the store has no key.
    pub(super) fn signer(&mut self, now: Timestamp) -> Result<&Signer, EvidenceError> {
        if self.signer.is_none() {
            self.signer = Some(keys::find_or_make_signer(self.lock.store(), now)?);
        }
        Ok(self.signer.as_ref().expect("it was just set"))
    }

    /// Appends a line and waits until it is on disk. From then on, the result that the line records is committed.
    pub fn append(&mut self, body: LedgerBody, asker: &Asker, now: Timestamp) -> Result<LedgerLine, EvidenceError> {
        if self.health == LedgerHealth::Failed {
            return Err(EvidenceError::LedgerFailed { path: self.path.clone() });
        }
        let length = self.file.length()?;
        if length != self.end.length {
            return Err(EvidenceError::LedgerChanged { path: self.path.clone() });
        }
        let mut line = LedgerLine {
            schema: LEDGER_SCHEMA.to_owned(),
            sequence: self.end.next_sequence(),
            previous: self.end.hash,
            time: self.last_time.map_or(now, |last| last.max(now)),
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
        self.last_time = Some(line.time);
        Ok(line)
    }

    /// Returns the sequence number of the next line.
    pub fn next_sequence(&self) -> Sequence {
        self.end.next_sequence()
    }

    /// Returns the number that the next run's id holds ([`LedgerLookup::next_run_number`]).
    ///
    /// # Errors
    /// When the ledger or the store's keys cannot be read.
    pub fn next_run_number(&self) -> Result<u64, EvidenceError> {
        Ok(LedgerLookup::open(self.lock.store(), self.lock.project())?.next_run_number())
    }

    /// Returns the hash of the last line; for an empty ledger, the hash of no bytes.
    pub fn last_hash(&self) -> Digest {
        self.end.hash
    }

    /// Returns the ledger's length in bytes, which is the offset after its last line.
    pub fn length(&self) -> u64 {
        self.end.length
    }

    pub(super) fn ledger_file(&self) -> &LedgerFile {
        &self.file
    }

    /// Returns the file with the incomplete last line, if one was cut off when the ledger was opened.
    pub fn torn_line_file(&self) -> Option<&Path> {
        self.torn_line_file.as_deref()
    }

    /// Returns how many pruned runs were removed when the ledger was opened, because the process that pruned them had
    /// died.
    pub fn finished_prunings(&self) -> usize {
        self.finished_prunings
    }

    fn encode(&self, line: &LedgerLine) -> Result<Vec<u8>, EvidenceError> {
        let encode_error = |source| EvidenceError::Encode { name: self.path.display().to_string(), source };
        serde_json::to_vec(line).map_err(encode_error)
    }

    /// Waits until the lines that an earlier process wrote are on disk. It may have died before it had waited for its last one.
    pub(super) fn sync(&self) -> Result<(), EvidenceError> {
        sync_data(self.file.file(), &self.path)
    }

    fn write_durably(&mut self, bytes: &[u8]) -> Result<(), EvidenceError> {
        let written = write_at(self.file.file(), &self.path, bytes, self.end.length);
        let synced = written.and_then(|()| sync_data(self.file.file(), &self.path));
        if synced.is_err() {
            self.health = LedgerHealth::Failed;
            // Nobody may read a line whose commit was reported as failed. If this truncation fails too, the next
            // opening finds either a torn line, which it cuts off, or a whole line, which is then valid. The caller's
            // recovery handles both.
            let _ = truncate(self.file.file(), &self.path, self.end.length);
        }
        synced
    }
}

/// Returns this process as the one that asked for a line, where no command is known.
fn this_process() -> Asker {
    Asker { pid: std::process::id(), uid: geteuid().as_raw(), executable: None, terminal: None }
}

fn cut_torn_line(ledger: &LedgerFile, end: &ChainEnd) -> Result<Option<PathBuf>, EvidenceError> {
    let (file, path) = (ledger.file(), ledger.path());
    let total = ledger.length()?;
    if total == end.length {
        return Ok(None);
    }
    let mut torn = vec![0_u8; usize::try_from(total - end.length).expect("a torn line is not longer than the longest line")];
    ledger.read_exact_at(&mut torn, end.length)?;
    let aside = free_torn_name(path, end.next_sequence());
    sync_file(&write_new(&aside, &torn)?, &aside)?;
    truncate(file, path, end.length)?;
    sync_file(file, path)?;
    Ok(Some(aside))
}

/// Returns a free path for an incomplete last line: `<id>.torn-<sequence>`, with a number behind it if that name is
/// taken.
fn free_torn_name(ledger: &Path, sequence: Sequence) -> PathBuf {
    let first = ledger.with_extension(format!("torn-{}", sequence.0));
    let numbered = (2_u32..).map(|number| ledger.with_extension(format!("torn-{}-{number}", sequence.0)));
    std::iter::once(first).chain(numbered).find(|path| path.symlink_metadata().is_err()).expect("numbers do not run out")
}

#[cfg(test)]
mod tests;
