//! Compares runs that others attested with what a run in this directory would see. Whether they prove the content is judged by
//! `proctor gate`; whose word counts, too.

use std::path::Path;

use crate::error::ProjectError;
use crate::gate::runs_on_tree;
use crate::known::likeness::EnvironmentHere;
use crate::known::sees_nothing_else;
use crate::known_trees::{scan_again, scan_once};
use crate::request::ProjectSettings;
use crate::store_reader::StoreReader;
use proctor_evidence::ClaimedEnvironment;
use proctor_model::{Digest, GateClaim, GatePolicy, KnownCondition, OverallResult, Plan, ProjectId, RunConditions, TreeDigest};
use proctor_plan::spec::plan_digest;

/// A run of another store, as a trusted key attested it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherStoresRun {
    pub claim: GateClaim,
    /// What it was made with; `None` if it does not say.
    pub environment: Option<ClaimedEnvironment>,
}

impl StoreReader {
    /// Compares attested runs with what a run of the plan in the project at `root` would see now. Returns on what the likeness rests.
    ///
    /// # Errors
    /// When the project's files or ledger cannot be read. The inner error says for people what differs.
    pub fn compare_attested(
        &mut self,
        (project, root, tree): (&ProjectId, &Path, TreeDigest),
        (plan, settings, gate): (&Plan, &ProjectSettings, &GatePolicy),
        runs: &[&OtherStoresRun],
    ) -> Result<Result<KnownCondition, String>, ProjectError> {
        let index = match self.last_tree.as_ref().filter(|(of, _)| of == root) {
            Some((_, before)) => scan_again(before, settings, root)?,
            None => scan_once(&self.store, settings, Some(project), root)?,
        };
        if index.digest() != tree {
            return Ok(Err("the files change just now".to_owned()));
        }
        let (own, _) = runs_on_tree(&self.store, &mut self.index, project, tree)?;
        if let Some(red) = own.iter().find(|run| run.overall_result == Some(OverallResult::Failed)) {
            return Ok(Err(format!("a run on just these files failed: {}", red.run_id)));
        }
        let here = EnvironmentHere::look(&self.store, &self.ambient, (root, plan, &index));
        let compared = sees_nothing_else((plan, &index), settings, gate).and_then(|()| {
            let mut condition = KnownCondition::EqualTools;
            for run in runs {
                if here.compare_run(run, plan_digest(plan))? == KnownCondition::EqualLockFiles {
                    condition = KnownCondition::EqualLockFiles;
                }
            }
            Ok(condition)
        });
        Ok(compared)
    }
}

impl EnvironmentHere<'_> {
    /// Compares every environment in which a check of the run had its result.
    fn compare_run(&self, run: &OtherStoresRun, plan: Digest) -> Result<KnownCondition, String> {
        let claim = &run.claim;
        let named = |why: String| format!("{}: {why}", claim.run);
        if claim.plan != Some(plan) {
            return Err(named("it ran by other rules".to_owned()));
        }
        let mut results = claim.checks.iter().flatten().filter_map(|check| check.result.as_ref());
        if results.any(|result| result.origin.as_ref() != Some(&claim.origin)) {
            return Err(named("it took results of other runs".to_owned()));
        }
        let conditions: &RunConditions =
            claim.origin.conditions.as_ref().ok_or_else(|| named("it does not say in which environment it ran".to_owned()))?;
        self.compare_with_told(conditions, run.environment.as_ref()).map_err(named)
    }
}
