//! A ledger, read as the log it is.

use std::collections::BTreeMap;

use crate::evidence::keys::find_signer;
use crate::evidence::transparency::merkle::{MerkleTree, hash_entry};
use crate::evidence::transparency::{Checkpoint, LogProof, Progress, SignedCheckpoint};
use crate::evidence::{EvidenceError, Store, read_lines};
use crate::model::{Digest, LedgerBody, ProjectId, RunId};

/// A project's log.
#[derive(Debug, Clone)]
pub struct LedgerLog {
    project: ProjectId,
    lines: Vec<Digest>,
    tree: MerkleTree,
    /// The index of every run's line.
    runs: BTreeMap<RunId, u64>,
}

/// Reads a project's ledger as a log. Its lines must be chained; whether they are signed is not looked at.
pub fn read_log(store: &Store, project: &ProjectId) -> Result<LedgerLog, EvidenceError> {
    let (mut hashes, mut runs) = (Vec::new(), BTreeMap::new());
    let mut lines = read_lines(store, project, 0)?;
    while let Some(line) = lines.next() {
        if let LedgerBody::Run(run) = line?.1.body {
            runs.insert(run.run_id, hashes.len() as u64);
        }
        hashes.push(lines.last_hash());
    }
    Ok(LedgerLog { runs, ..LedgerLog::of(project.clone(), hashes) })
}

/// Returns the entry of a line, given the line's hash.
pub(super) fn entry_of(line: Digest) -> Vec<u8> {
    line.hex().into_bytes()
}

impl LedgerLog {
    /// Makes the log of lines, given their hashes.
    pub fn of(project: ProjectId, lines: Vec<Digest>) -> Self {
        let tree = MerkleTree::of(lines.iter().map(|line| hash_entry(&entry_of(*line))));
        Self { project, lines, tree, runs: BTreeMap::new() }
    }

    /// Returns whose it is.
    pub fn project(&self) -> &ProjectId {
        &self.project
    }

    /// Returns how many entries it has.
    pub fn size(&self) -> u64 {
        self.tree.size()
    }

    /// Returns the head it had when it had so many entries; none where it never did.
    pub fn checkpoint_at(&self, size: u64) -> Option<Checkpoint> {
        let root = self.tree.root_at(size)?;
        Some(Checkpoint { project: self.project.clone(), size, root })
    }

    /// Returns its head, signed with the key in use; none where there is no key yet.
    pub fn sign_head(&self, store: &Store) -> Result<Option<SignedCheckpoint>, EvidenceError> {
        Ok(find_signer(store)?.map(|signer| self.head().sign(&signer)))
    }

    /// Returns its head.
    pub fn head(&self) -> Checkpoint {
        self.checkpoint_at(self.size()).expect("it has its own size")
    }

    /// Returns whether it begins with the log that a checkpoint is the head of.
    pub fn goes_on_from(&self, earlier: &Checkpoint) -> bool {
        self.checkpoint_at(earlier.size).as_ref() == Some(earlier)
    }

    /// Returns the index of the line about a run.
    pub fn index_of(&self, run_id: &RunId) -> Option<u64> {
        self.runs.get(run_id).copied()
    }

    /// Shows that a line is in the log of a checkpoint; none where it is not.
    pub fn prove_line(&self, index: u64, checkpoint: &SignedCheckpoint) -> Option<LogProof> {
        let hashes = self.tree.prove_inclusion(index, checkpoint.checkpoint().size)?;
        Some(LogProof { index, hashes, checkpoint: checkpoint.clone() })
    }

    /// Shows that the log of a checkpoint begins with the first `old` entries; none where it is shorter.
    pub fn prove_progress(&self, old: u64, checkpoint: &SignedCheckpoint) -> Option<Progress> {
        let hashes = self.tree.prove_consistency(old, checkpoint.checkpoint().size)?;
        Some(Progress { old, hashes, checkpoint: checkpoint.clone() })
    }

    pub(super) fn tree(&self) -> &MerkleTree {
        &self.tree
    }

    /// Returns the entries from one index to before another.
    pub(super) fn entries(&self, start: u64, end: u64) -> impl Iterator<Item = Vec<u8>> {
        let index = |index: u64| usize::try_from(index).expect("a log in memory");
        self.lines[index(start)..index(end)].iter().map(|line| entry_of(*line))
    }
}
