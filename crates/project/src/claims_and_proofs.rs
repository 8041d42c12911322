//! Claims of agents that the verdict contradicts, and answers of `proctor prove`: they are lines of the ledger.

use std::path::Path;
use std::time::Duration;

use crate::checked_index::{apply_written, catch_up};
use crate::error::ProjectError;
use crate::evidence::{Evidence, HeldLedger, lock_within};
use crate::repaired_index::open_index;
use crate::request::ProjectScope;
use crate::store_reader::StoreReader;
use proctor_evidence::{Ledger, LedgerLookup, Store};
use proctor_model::{ClaimRecord, LedgerBody, ProjectId, ProofRecord, Sequence, Timestamp, TreeDigest};
use proctor_sandbox::process::clock;

/// How many lines of a ledger are searched for claims, from its end.
const SEARCHED_LINES: usize = 500;

/// Records in the ledger that an agent made a claim that the verdict contradicts. A claim that the last line already records is not
/// recorded again.
///
/// # Errors
///
/// When another process locks the project's evidence for longer than `wait`, or the ledger or the index cannot be written.
pub fn record_claim(state_root: &Path, scope: &ProjectScope, claim: ClaimRecord, wait: Duration) -> Result<(), ProjectError> {
    let store = Store::open(state_root)?;
    let lock = lock_within(&store, &scope.project, wait)?;
    let mut index = open_index(&store)?.index;
    let mut ledger = Ledger::open(&lock)?;
    catch_up(&store, &mut index, &scope.project)?;
    let last = LedgerLookup::open(&store, &scope.project)?.newest().next();
    if let Some(Ok(line)) = last
        && line.body == LedgerBody::Claim(claim.clone())
    {
        return Ok(());
    }
    let line = ledger.append(LedgerBody::Claim(claim), &scope.asker, clock::now())?;
    apply_written(&store, &mut index, &scope.project, &[(ledger.length(), line)])
}

impl StoreReader {
    /// Returns the claims that a project's ledger records after a run's line, newest first, with their times. Each line's signature and
    /// its place in the chain are checked. Older lines are not read.
    ///
    /// # Errors
    /// When the ledger cannot be read, or a line is not as proctor wrote it.
    pub fn refuted_claims(&self, project: &ProjectId, after: Sequence) -> Result<Vec<(Timestamp, ClaimRecord)>, ProjectError> {
        let ledger = LedgerLookup::open(&self.store, project)?;
        let mut claims = Vec::new();
        for line in ledger.newest().take(SEARCHED_LINES) {
            let line = line?;
            if line.sequence <= after {
                break;
            }
            if let LedgerBody::Claim(record) = line.body {
                claims.push((line.time, record));
            }
        }
        Ok(claims)
    }
}

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
