//! Judges the remains of a run that the ledger calls pruned. Either the removal was interrupted, or another program put
//! the files there.

use std::path::Path;

use crate::manifest::parse_manifest;
use crate::names::MANIFEST_NAME;
use crate::verification::check_ledger::ParsedLedger;
use crate::verification::check_run::{DIRECTORY_MODE, SEALED_MODE, check_access, check_file};
use crate::verification::check_store::relative;
use crate::verification::inspect::{InspectedDirectory, InspectedEntry};
use crate::verification::{EvidenceFault, FaultKind, UnfinishedKind, UnfinishedWork, VerificationResult};
use crate::{Store, StoredRun, list_runs};
use proctor_model::{LedgerBody, ProjectId, PruneReason, PrunedRun};

#[derive(Debug, PartialEq, Eq)]
pub(super) enum PrunedRemainder {
    /// A process died while it pruned the run; the next process that writes evidence removes the rest.
    Unfinished(UnfinishedWork),
    /// The run should be gone, and no interrupted removal explains the remains.
    Fault(EvidenceFault),
}

/// Judges the remains of a run that the ledger calls pruned. `last` is the run's entry in the ledger's last line, or
/// `None` if the last line does not prune this run. Only with such an entry may remains exist, because the removal is
/// finished before a later line is written.
///
/// If somebody puts back a sealed run unchanged while the pruning line is still the last one, the run passes as
/// unfinished work. That is harmless: the run's verdict is in the ledger as before, and the next process that writes
/// evidence removes the run.
pub(super) fn check_pruned(found: &InspectedDirectory, base: &Path, owner: u32, last: Option<&PrunedRun>) -> PrunedRemainder {
    let why = match last {
        None => "its directory should be gone",
        Some(_) if !is_private(found, base, owner) => "it is not as it was sealed: its permissions were changed",
        Some(run) if !has_only_sealed_files(found, owner, run) => "it is not what was sealed, and should be gone",
        Some(_) => {
            let detail = format!("{} files are left", found.entries.len());
            return PrunedRemainder::Unfinished(UnfinishedWork::new(UnfinishedKind::Pruning, base, detail));
        }
    };
    PrunedRemainder::Fault(EvidenceFault::new(FaultKind::RunPruned, base, why))
}

fn is_private(found: &InspectedDirectory, base: &Path, owner: u32) -> bool {
    found.access.is_some_and(|access| check_access(base, access, DIRECTORY_MODE, owner).is_empty())
}

/// Returns whether every file was sealed with the run. The manifest is removed last, so a directory without a manifest
/// must be empty.
fn has_only_sealed_files(found: &InspectedDirectory, owner: u32, run: &PrunedRun) -> bool {
    if found.entries.is_empty() {
        return true;
    }
    let manifest = found.file(MANIFEST_NAME).filter(|file| file.hashed.sha256 == run.manifest_hash);
    let Some(listed) = manifest.and_then(|file| parse_manifest(file.content.as_deref()?)) else { return false };
    found.entries.iter().all(|(name, entry)| match entry {
        InspectedEntry::File(file) => {
            let is_manifest = name.as_slice() == MANIFEST_NAME.as_bytes();
            let is_listed = is_manifest || listed.get(name) == Some(&file.hashed.sha256);
            is_listed && check_file(Path::new(""), file, SEALED_MODE, Some(owner)).is_empty()
        }
        InspectedEntry::SymbolicLink(_)
        | InspectedEntry::Directory(_)
        | InspectedEntry::Other
        | InspectedEntry::Unreadable(_) => false,
    })
}

// Judges what is left of a project that a person removed with its evidence (`proctor service remove --purge`).

impl VerificationResult {
    /// Counts the runs that purges removed. If the ledger's last line purges the project and its directory is still there, a
    /// process died while it removed it: then the links in it lead nowhere, which is unfinished work and no fault.
    pub(super) fn note_purge(&mut self, store: &Store, project: &ProjectId, read: &ParsedLedger, is_busy: bool) {
        let pruned = read.lines.iter().flat_map(|(_, line)| line.body.pruned_runs());
        self.purged = pruned.filter(|run| run.why == PruneReason::Purged).count() as u64;
        let directory = store.project_directory(project);
        let Some(purge) = read.last().filter(|line| matches!(line.body, LedgerBody::Purged(_))) else { return };
        let is_named = |run: &StoredRun| purge.body.pruned_runs().iter().any(|pruned| pruned.run_id == run.run_id);
        // A run that the purge's ledger line does not name began after the purge, which was over by then.
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
