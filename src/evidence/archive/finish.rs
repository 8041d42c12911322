//! What a process left that died while it archived: what a line of the ledger names is brought to its end, the rest taken back.

use std::collections::BTreeMap;
use std::path::Path;

use crate::evidence::archive::{StoredArchive, list_archives};
use crate::evidence::changes::{remove_directory, remove_file};
use crate::evidence::files::{hash_file, if_there};
use crate::evidence::names::MANIFEST_NAME;
use crate::evidence::{EvidenceError, ProjectLock, read_lines};
use crate::model::{Digest, LedgerBody, PackedRun, RunId};

/// Does so where archiving was begun and not brought to its end; otherwise it is one look at the disk.
pub(in crate::evidence) fn finish_begun_archiving(lock: &ProjectLock) -> Result<(), EvidenceError> {
    let workplace = lock.store().archiving_directory(lock.project());
    if workplace.symlink_metadata().is_ok() { finish_archiving(lock).map(drop) } else { Ok(()) }
}

/// Removes directories of runs whose archive the ledger names and that is what it names, archives that no line names beside the
/// directory they were made of, and what was being written. Returns of how many runs something was removed.
///
/// Nothing is removed without its twin being what the ledger says: what differs is left for `verification` to name.
pub fn finish_archiving(lock: &ProjectLock) -> Result<usize, EvidenceError> {
    let (store, project) = (lock.store(), lock.project());
    let archives = list_archives(store, project)?;
    let beside = |archive: &&StoredArchive| store.run_directory(project, &archive.task, &archive.run_id).is_dir();
    let doubled: Vec<&StoredArchive> = archives.iter().filter(beside).collect();
    let mut finished = 0;
    if !doubled.is_empty() {
        let said = read_said(lock)?;
        for archive in doubled {
            let directory = store.run_directory(project, &archive.task, &archive.run_id);
            finished += usize::from(finish(archive, &directory, said.get(&archive.run_id))?);
        }
    }
    remove_directory(&store.archiving_directory(project))?;
    Ok(finished)
}

/// What the ledger says of a run.
struct Said {
    manifest_hash: Digest,
    packed: Option<PackedRun>,
}

fn read_said(lock: &ProjectLock) -> Result<BTreeMap<RunId, Said>, EvidenceError> {
    let mut said = BTreeMap::new();
    for line in read_lines(lock.store(), lock.project(), 0)? {
        match line?.1.body {
            LedgerBody::Run(record) => {
                said.insert(record.run_id, Said { manifest_hash: record.manifest_hash, packed: None });
            }
            LedgerBody::Archived(record) => {
                for run in record.runs {
                    let (run_id, manifest_hash) = (run.run_id.clone(), run.manifest_hash);
                    said.insert(run_id, Said { manifest_hash, packed: Some(run) });
                }
            }
            LedgerBody::Registered(_)
            | LedgerBody::Superseded(_)
            | LedgerBody::Phase(_)
            | LedgerBody::Override(_)
            | LedgerBody::Serving(_)
            | LedgerBody::Retest(_)
            | LedgerBody::Approval(_)
            | LedgerBody::TaskList(_)
            | LedgerBody::Violation(_)
            | LedgerBody::Pruned(_)
            | LedgerBody::Governance(_) => {}
        }
    }
    Ok(said)
}

/// Removes the directory or the archive of a run that has both; returns whether one was removed.
fn finish(archive: &StoredArchive, directory: &Path, said: Option<&Said>) -> Result<bool, EvidenceError> {
    let Some(said) = said else { return Ok(false) };
    if let Some(packed) = &said.packed {
        let is_named = hash_file(&archive.path)? == (packed.archive_bytes, packed.archive_hash);
        return if is_named { remove_directory(directory).map(|()| true) } else { Ok(false) };
    }
    let manifest = if_there(hash_file(&directory.join(MANIFEST_NAME)))?;
    let is_sealed = manifest.is_some_and(|(_, hash)| hash == said.manifest_hash);
    if is_sealed { remove_file(&archive.path).map(|()| true) } else { Ok(false) }
}
