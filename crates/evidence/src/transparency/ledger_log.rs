//! A project's ledger as a transparency log: one entry for each ledger line. A Merkle tree over the entries gives the
//! log's signed head and the proofs about it.

use std::collections::BTreeMap;

use crate::keys::find_signer;
use crate::transparency::merkle::{MerkleTree, hash_entry};
use crate::transparency::{InclusionProof, LogCheckpoint, SignedCheckpoint};
use crate::{EvidenceError, Store, read_lines};
use proctor_model::{Digest, LedgerBody, ProjectId, RunId};

/// The transparency log of a project's ledger, held in memory.
#[derive(Debug, Clone)]
pub struct LedgerLog {
    project: ProjectId,
    tree: MerkleTree,
    /// For each run, the index of its ledger line in the log.
    runs: BTreeMap<RunId, u64>,
}

/// Reads a project's ledger as a log. The hash chain of its lines is checked, their signatures are not.
pub fn read_log(store: &Store, project: &ProjectId) -> Result<LedgerLog, EvidenceError> {
    let (mut hashes, mut runs) = (Vec::new(), BTreeMap::new());
    let mut lines = read_lines(store, project, 0)?;
    while let Some(line) = lines.next() {
        if let LedgerBody::Run(run) = line?.1.body {
            runs.insert(run.run_id, hashes.len() as u64);
        }
        hashes.push(lines.last_hash());
    }
    Ok(LedgerLog { runs, ..LedgerLog::from_hashes(project.clone(), hashes) })
}

pub(super) fn entry_from_line(line: Digest) -> Vec<u8> {
    line.hex().into_bytes()
}

impl LedgerLog {
    /// Builds the log of ledger lines with these hashes. This log does not know which lines are about runs.
    pub fn from_hashes(project: ProjectId, lines: Vec<Digest>) -> Self {
        let tree = MerkleTree::from_hashes(lines.iter().map(|line| hash_entry(&entry_from_line(*line))));
        Self { project, tree, runs: BTreeMap::new() }
    }

    /// Returns the id of the project whose ledger the log was made from.
    pub fn project(&self) -> &ProjectId {
        &self.project
    }

    /// Returns the number of entries, which is the number of ledger lines.
    pub fn size(&self) -> u64 {
        self.tree.size()
    }

    /// Returns the head that the log had when it had `size` entries, or `None` if the log is shorter.
    pub fn checkpoint_at(&self, size: u64) -> Option<LogCheckpoint> {
        let root = self.tree.root_at(size)?;
        Some(LogCheckpoint { project: self.project.clone(), size, root })
    }

    /// Returns the present head of the log, signed with the store's current key; `None` if the store has no key yet.
    pub fn sign_head(&self, store: &Store) -> Result<Option<SignedCheckpoint>, EvidenceError> {
        Ok(find_signer(store)?.map(|signer| self.head().sign(&signer)))
    }

    /// Returns the present head of the log, unsigned.
    pub fn head(&self) -> LogCheckpoint {
        self.checkpoint_at(self.size()).expect("it has its own size")
    }

    /// Returns whether the log of `earlier` is the beginning of this log: it is of the same project, and its root is
    /// the root that this log had with as many entries.
    pub fn extends(&self, earlier: &LogCheckpoint) -> bool {
        self.checkpoint_at(earlier.size).as_ref() == Some(earlier)
    }

    /// Returns the index of the log entry for the line that sealed a run; `None` if the ledger has no such line.
    pub fn index_of(&self, run_id: &RunId) -> Option<u64> {
        self.runs.get(run_id).copied()
    }

    /// Proves that a line is in the log of a checkpoint. Returns `None` if the line is not in that log, or that log has more
    /// entries than this one.
    pub fn prove_inclusion(&self, index: u64, checkpoint: &SignedCheckpoint) -> Option<InclusionProof> {
        let hashes = self.tree.prove_inclusion(index, checkpoint.checkpoint().size)?;
        Some(InclusionProof { index, hashes, checkpoint: checkpoint.clone() })
    }
}
