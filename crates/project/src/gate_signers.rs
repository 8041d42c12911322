//! Whose signed statements about a commit count: this store's own keys, and the keys of the policy's file of signers.

use std::path::Path;

use crate::error::ProjectError;
use crate::known::{environment, told_environment};
use crate::store_reader::StoreReader;
use proctor_evidence::{ClaimedEnvironment, KeyRing, KnownKey, LedgerLookup, NamedTests, PublicKey, named_tests, read_key_ring};
use proctor_model::{AllowedSigner, ClaimSigner, Digest, GateClaim, ProjectId, RunId, RunLine, RunRecord, Timestamp, TreeDigest};
use proctor_plan::spec::StatementSigners;

/// The keys whose statements count.
#[derive(Debug)]
pub struct GateSigners {
    own: KeyRing,
    allowed: StatementSigners,
}

impl StoreReader {
    /// Returns the keys whose statements count: those of this store, and `allowed`, the keys of the policy's file
    /// ([`proctor_plan::spec::statement_signers`]).
    ///
    /// # Errors
    /// When the store's keys cannot be read.
    pub fn gate_signers(&self, allowed: StatementSigners) -> Result<GateSigners, ProjectError> {
        Ok(GateSigners { own: read_key_ring(&self.store)?, allowed })
    }
}

impl GateSigners {
    /// Returns the keys of a file that a person named, and no others.
    pub fn only(allowed: StatementSigners) -> Self {
        Self { own: KeyRing::default(), allowed }
    }

    /// Returns whose word a statement is that was signed by the key with this id ([`PublicKey::id`]), about runs of which the last one
    /// ended at `latest_end`. A key that was replaced counts for runs that ended before the next key was made. Of the keys of this store
    /// the store alone says when that was, also if the file of signers names them. The caller has checked the signature with
    /// [`Self::key`].
    pub fn signer(&self, key: Digest, latest_end: Timestamp) -> ClaimSigner {
        let not_allowed = ClaimSigner::NotAllowed { key: key.hex() };
        if self.own.keys().iter().any(|own| own.id() == key) {
            return if self.own.was_in_use(key, latest_end) { ClaimSigner::OwnStore } else { not_allowed };
        }
        let is_replaced = self.allowed.replaced.get(&key).is_some_and(|replaced| latest_end >= *replaced);
        match self.named(key).filter(|_| !is_replaced) {
            Some(signer) => ClaimSigner::Allowed { name: signer.principals.clone() },
            None => not_allowed,
        }
    }

    /// Returns the owner's name of a key that the file names and that is in use `now`; `None` if there is no such key. A key of this store
    /// counts only if it is named there, because whoever changes how a commit is judged must not be who accepts that.
    pub fn named_signer(&self, key: Digest, now: Timestamp) -> Option<String> {
        let is_in_use =
            !matches!(self.signer(key, now), ClaimSigner::NotAllowed { .. }) && !self.allowed.replaced.contains_key(&key);
        self.named(key).filter(|_| is_in_use).map(|signer| signer.principals.clone())
    }

    fn named(&self, key: Digest) -> Option<&AllowedSigner> {
        self.allowed.keys.iter().find(|signer| PublicKey::parse(&signer.key).is_ok_and(|parsed| parsed.id() == key))
    }

    /// Returns the public key with an id, among the keys whose statements count; `None` if none has it.
    pub fn key(&self, id: Digest) -> Option<PublicKey> {
        let own = self.own.keys().iter().map(KnownKey::public).find(|key| key.id() == id).cloned();
        own.or_else(|| {
            self.allowed.keys.iter().filter_map(|signer| PublicKey::parse(&signer.key).ok()).find(|parsed| parsed.id() == id)
        })
    }
}

// Reads what `proctor attest` tells of the runs that prove a commit.

/// A sealed run of this store on which a judgement of `proctor gate` rests.
#[derive(Debug, Clone)]
pub struct ProvingRun {
    /// The run, as it was judged.
    pub claim: GateClaim,
    pub record: RunRecord,
    pub tests: NamedTests,
    /// What it was made with; `None` if it cannot be told.
    pub environment: Option<ClaimedEnvironment>,
}

impl StoreReader {
    /// Returns the runs with these ids among those on a tree that `proctor gate` judges in this directory, newest first.
    ///
    /// # Errors
    /// When a ledger, the index or a run's signed statements cannot be read, or are not as proctor wrote them.
    pub fn proving_runs(&mut self, root: &Path, tree: TreeDigest, runs: &[&RunId]) -> Result<Vec<ProvingRun>, ProjectError> {
        let own = self.find_project(root)?;
        let others = self.projects_with_content(root, tree)?;
        let claims = self.claims_on_tree(own.as_ref(), (&others, root), tree)?.claims;
        let projects: Vec<ProjectId> = own.into_iter().chain(others).collect();
        let mut found = Vec::new();
        for claim in claims.into_iter().filter(|claim| runs.contains(&&claim.run)) {
            let Some((project, record)) = self.sealed_run(&projects, &claim.run)? else { continue };
            let tests = named_tests(&self.store, &project, &record)?;
            let environment = self.told_environment(&project, &record)?;
            found.push(ProvingRun { claim, record, tests, environment });
        }
        Ok(found)
    }

    fn told_environment(&self, project: &ProjectId, record: &RunRecord) -> Result<Option<ClaimedEnvironment>, ProjectError> {
        let Some(known) = self.index.project(project)? else { return Ok(None) };
        let (Some(conditions), Some(environment)) = (&record.conditions, environment(&self.store, project, record)) else {
            return Ok(None);
        };
        Ok(told_environment(&self.store, (Path::new(&known.root.path), &self.ambient), (conditions, &environment.components)))
    }

    /// Returns the ledger's record of a sealed run, and the project that it belongs to.
    fn sealed_run(&self, projects: &[ProjectId], run: &RunId) -> Result<Option<(ProjectId, RunRecord)>, ProjectError> {
        for project in projects {
            let ledger = LedgerLookup::open(&self.store, project)?;
            for line in ledger.newest() {
                let line = line?;
                if let Some(RunLine::Sealed(record)) = line.body.about_runs()
                    && record.run_id == *run
                {
                    return Ok(Some((project.clone(), record.clone())));
                }
            }
        }
        Ok(None)
    }
}
