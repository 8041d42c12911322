//! Notices that a person approved something in another process, by the new lines of the project's ledger.
//!
//! The ledger is watched as a file, so only writing to this project's ledger wakes the watcher's thread. Only new lines are
//! read. The ledger is never locked: a line that is not complete yet is read when its writer closes the file.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use crate::watch::worker::Worker;
use proctor_model::{ApprovalReason, ApprovingLine, LedgerLine, WatchHint};

/// The most bytes of new lines that are searched for an approval. If there are more, one is assumed to be among them.
const MOST_READ: u64 = 16 << 20;

/// A ledger, and how much of it was searched for approvals.
#[derive(Debug)]
pub(super) struct FollowedLedger {
    path: PathBuf,
    /// The offset after the last line that was searched.
    searched: u64,
}

/// Returns the length of a file; 0 if there is none.
pub(super) fn length_of(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

impl Worker {
    /// Begins to look for approvals in the lines of a ledger after its first `length` bytes.
    pub(super) fn follow_ledger(&mut self, path: PathBuf, length: u64) {
        self.ledger = Some(FollowedLedger { path, searched: length });
        self.watch_ledger();
    }

    /// Watches the ledger, and reads what was written before the watch was there. Without a watch, the ledger is read at
    /// every poll and sweep.
    pub(super) fn watch_ledger(&mut self) {
        if let Some(ledger) = &self.ledger {
            self.places.watch_besides(&ledger.path);
        }
        self.read_ledger();
    }

    /// Handles an event of the ledger. Returns whether the path is that of the ledger.
    pub(super) fn note_ledger(&mut self, path: &Path) -> bool {
        let is_ledger = self.ledger.as_ref().is_some_and(|ledger| ledger.path == path);
        if is_ledger {
            self.read_ledger();
        }
        is_ledger
    }

    /// Reads the new lines of the ledger, and sends a hint if a person approved something in them.
    pub(super) fn read_ledger(&mut self) {
        // A ledger that cannot be read now is read again at the next event. A run would report the reason.
        if self.ledger.as_mut().is_some_and(|ledger| ledger.search().unwrap_or(false)) {
            self.send_hint(WatchHint::Approved);
        }
    }
}

impl FollowedLedger {
    /// Searches the new complete lines. Returns whether a person approved something in them.
    fn search(&mut self) -> io::Result<bool> {
        let length = length_of(&self.path);
        if length <= self.searched {
            // A line that was never committed is cut off when the ledger is opened. The line after it begins there.
            self.searched = length;
            return Ok(false);
        }
        if length - self.searched > MOST_READ {
            self.searched = length;
            return Ok(true);
        }
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.searched))?;
        let mut bytes = Vec::new();
        file.take(length - self.searched).read_to_end(&mut bytes)?;
        let complete = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |position| position + 1);
        self.searched += complete as u64;
        Ok(bytes[..complete].split(|byte| *byte == b'\n').any(is_approval_by_person))
    }
}

/// Returns whether a line of a ledger is an approval by a person. A line that cannot be read is none.
fn is_approval_by_person(line: &[u8]) -> bool {
    let Ok(line) = serde_json::from_slice::<LedgerLine>(line) else { return false };
    match line.body.approving() {
        Some(ApprovingLine::Approved(record)) => record.reason == ApprovalReason::Person,
        Some(ApprovingLine::Registered(_)) | None => false,
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test writes a ledger")]
mod tests {
    use std::collections::BTreeMap;
    use std::io::Write as _;

    use super::*;
    use proctor_model::testing::ledger_line;
    use proctor_model::{
        ApprovalRecord, ApprovalTerms, Digest, ExpectedOutput, LedgerBody, PlanTerms, Serving, ServingRecord, TaskId,
    };

    fn line(sequence: u64, body: LedgerBody) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(&ledger_line(sequence, body)).expect("JSON");
        bytes.push(b'\n');
        bytes
    }

    fn terms() -> PlanTerms {
        PlanTerms {
            actions: BTreeMap::new(),
            timeout_ms: None,
            success: Vec::new(),
            failure: Vec::new(),
            expected_output: ExpectedOutput::default(),
            pass_rate_basis_points: None,
            expected_failing_tests: Vec::new(),
            required_evidence: Vec::new(),
            task_status_lock: false,
            judged: None,
            dependencies: Vec::new(),
            strictness: Vec::new(),
            debt: Vec::new(),
            approval: ApprovalTerms::default(),
            settings: None,
            in_front: None,
        }
    }

    fn approval(sequence: u64, reason: ApprovalReason) -> Vec<u8> {
        let record = ApprovalRecord {
            task: TaskId::default_task(),
            file: "proctor.toml".to_owned(),
            plan_digest: Digest::of(b"plan"),
            reason,
            weakened: Vec::new(),
            terms: terms(),
            protected: None,
            signature: None,
        };
        line(sequence, LedgerBody::Approval(Box::new(record)))
    }

    #[test]
    fn only_a_persons_approval_in_new_complete_lines_is_found_and_only_once() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("ledger.jsonl");
        fs::write(&path, approval(1, ApprovalReason::Person)).expect("it is written");
        let mut ledger = FollowedLedger { searched: length_of(&path), path: path.clone() };
        let mut found = || ledger.search().expect("a readable file");
        assert!(!found(), "it was there before");
        let add = |bytes: &[u8]| {
            let mut file = fs::OpenOptions::new().append(true).open(&path).expect("it is there");
            file.write_all(bytes).expect("it is written");
        };
        add(&line(2, LedgerBody::Serving(ServingRecord { serving: Serving::Served })));
        add(&approval(3, ApprovalReason::WeakensNothing));
        assert!(!found(), "no person approved anything");
        let whole = approval(4, ApprovalReason::Person);
        add(&whole[..20]);
        assert!(!found(), "the line is not complete");
        add(&whole[20..]);
        assert!(found() && !found());
        // A line that was not committed is cut off, and another one takes its place.
        let length = length_of(&path);
        add(b"{\"schema\":");
        assert!(!found());
        fs::OpenOptions::new().write(true).open(&path).expect("it is there").set_len(length).expect("it is cut off");
        assert!(!found());
        add(b"no ledger line\n");
        assert!(!found());
        add(&approval(5, ApprovalReason::Person));
        assert!(found());
    }
}
