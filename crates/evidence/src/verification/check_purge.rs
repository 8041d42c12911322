//! Judges what is left of a project that a person removed with its evidence (`proctor service remove --purge`).

use crate::verification::check_ledger::ParsedLedger;
use crate::verification::store_paths::relative;
use crate::verification::{FaultKind, UnfinishedKind, UnfinishedWork, VerificationResult};
use crate::{Store, StoredRun, list_runs};
use proctor_model::{LedgerBody, ProjectId, PruneReason};

impl VerificationResult {
    /// Counts the runs that purges removed. If the ledger's last line purges the project and its directory is still there, a
    /// process died while it removed it: then the links in it lead nowhere, which is unfinished work and no fault.
    pub(super) fn note_purge(&mut self, store: &Store, project: &ProjectId, read: &ParsedLedger, is_busy: bool) {
        let pruned = read.lines.iter().flat_map(|(_, line)| line.body.pruned_runs());
        self.purged = pruned.filter(|run| run.why == PruneReason::Purged).count() as u64;
        let directory = store.project_directory(project);
        let Some(purge) = read.last().filter(|line| matches!(line.body, LedgerBody::Purged(_))) else { return };
        let is_named = |run: &StoredRun| purge.body.pruned_runs().iter().any(|pruned| pruned.run_id == run.run_id);
        // A run that the line does not name began after the purge.
        let is_over = list_runs(store, project, None).is_ok_and(|runs| runs.iter().any(|run| !is_named(run)));
        if is_over || directory.symlink_metadata().is_err() {
            return;
        }
        self.faults.retain(|fault| !matches!(fault.kind, FaultKind::LatestWrong | FaultKind::NameWrong));
        if !is_busy {
            let detail = "the project was removed with its evidence".to_owned();
            self.unfinished.push(UnfinishedWork::new(UnfinishedKind::Purging, relative(store, &directory), detail));
        }
    }
}
