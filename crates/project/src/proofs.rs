//! The answers of `proctor prove` that a project's ledger holds.

use crate::error::ProjectError;
use crate::evidence::{Evidence, HeldLedger};
use crate::request::ProjectScope;
use crate::store_reader::StoreReader;
use proctor_evidence::LedgerLookup;
use proctor_model::{LedgerBody, ProjectId, ProofRecord, Timestamp, TreeDigest};

impl Evidence {
    /// Writes an answer of `proctor prove` to the ledger.
    ///
    /// # Errors
    /// When the ledger or the index cannot be written.
    pub fn record_proof(&mut self, held: &mut HeldLedger, scope: &ProjectScope, proof: ProofRecord) -> Result<(), ProjectError> {
        self.append(&mut held.ledger, scope, LedgerBody::Proof(Box::new(proof)))
    }
}

impl StoreReader {
    /// Returns the answers of `proctor prove` that a project's ledger holds about a tree, newest first, with their times. Each line's
    /// signature and its place in the chain are checked. Only the last `most` lines are read.
    ///
    /// # Errors
    /// When the ledger cannot be read, or a line is not as proctor wrote it.
    pub fn proofs_on_tree(
        &self,
        project: &ProjectId,
        tree: TreeDigest,
        most: usize,
    ) -> Result<Vec<(Timestamp, ProofRecord)>, ProjectError> {
        self.proofs(project, most, |proof| proof.tree_digest == tree, usize::MAX)
    }

    /// Returns the last answer of `proctor prove` that a project's ledger holds, with its time. Only the last `most` lines are read.
    ///
    /// # Errors
    /// As [`Self::proofs_on_tree`].
    pub fn last_proof(&self, project: &ProjectId, most: usize) -> Result<Option<(Timestamp, ProofRecord)>, ProjectError> {
        Ok(self.proofs(project, most, |_| true, 1)?.pop())
    }

    fn proofs(
        &self,
        project: &ProjectId,
        most: usize,
        is_wanted: impl Fn(&ProofRecord) -> bool,
        wanted: usize,
    ) -> Result<Vec<(Timestamp, ProofRecord)>, ProjectError> {
        let ledger = LedgerLookup::open(&self.store, project)?;
        let mut found = Vec::new();
        for line in ledger.newest().take(most) {
            let line = line?;
            if let LedgerBody::Proof(proof) = line.body
                && is_wanted(&proof)
            {
                found.push((line.time, *proof));
                if found.len() == wanted {
                    break;
                }
            }
        }
        Ok(found)
    }
}
