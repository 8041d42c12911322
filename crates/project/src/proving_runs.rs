//! Reads what `proctor attest` tells of the runs that prove a commit.

use std::path::Path;

use crate::error::ProjectError;
use crate::store_reader::StoreReader;
use proctor_evidence::{LedgerLookup, NamedTests, named_tests};
use proctor_model::{GateClaim, ProjectId, RunId, RunLine, RunRecord, TreeDigest};

/// A sealed run of this store on which a judgement of `proctor gate` rests.
#[derive(Debug, Clone)]
pub struct ProvingRun {
    /// The run, as it was judged.
    pub claim: GateClaim,
    pub record: RunRecord,
    pub tests: NamedTests,
}

impl StoreReader {
    /// Returns the runs with these ids among those on a tree that `proctor gate` judges in this directory, newest first.
    ///
    /// # Errors
    /// When a ledger, the index or a run's signed statements cannot be read, or are not as proctor wrote them.
    pub fn proving_runs(&mut self, root: &Path, tree: TreeDigest, runs: &[&RunId]) -> Result<Vec<ProvingRun>, ProjectError> {
        let own = self.find_project(root)?;
        let others = self.projects_of_repository(root)?;
        let claims = self.claims_on_tree(own.as_ref(), (&others, root), tree)?.claims;
        let projects: Vec<ProjectId> = own.into_iter().chain(others).collect();
        let mut found = Vec::new();
        for claim in claims.into_iter().filter(|claim| runs.contains(&&claim.run)) {
            let Some((project, record)) = self.sealed_run(&projects, &claim.run)? else { continue };
            let tests = named_tests(&self.store, &project, &record).map_err(ProjectError::Evidence)?;
            found.push(ProvingRun { claim, record, tests });
        }
        Ok(found)
    }

    /// Returns the ledger's record of a sealed run, and the project that it belongs to.
    fn sealed_run(&self, projects: &[ProjectId], run: &RunId) -> Result<Option<(ProjectId, RunRecord)>, ProjectError> {
        for project in projects {
            let ledger = LedgerLookup::open(&self.store, project).map_err(ProjectError::Evidence)?;
            for line in ledger.newest() {
                let line = line.map_err(ProjectError::Evidence)?;
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
