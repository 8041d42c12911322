//! Finishes interrupted archiving: completes it for runs whose archive a ledger line names, and undoes it for all other runs.

use std::collections::BTreeMap;
use std::path::Path;

use crate::archive::{StoredArchive, list_archives};
use crate::changes::{remove_directory, remove_file};
use crate::files::{SizeAndDigest, hash_file, if_exists};
use crate::names::MANIFEST_NAME;
use crate::{EvidenceError, ProjectLock, read_lines};
use proctor_model::{Digest, PackedRun, RunId, RunLine};

/// Finishes archiving if the archiving directory shows that it was interrupted. Otherwise this costs one system call.
pub(crate) fn finish_interrupted_archiving(lock: &ProjectLock) -> Result<(), EvidenceError> {
    let workplace = lock.store().archiving_directory(lock.project());
    if workplace.symlink_metadata().is_ok() { finish_archiving(lock).map(drop) } else { Ok(()) }
}

/// Finishes or undoes the archiving of each run that has both a directory and an archive, and removes archives that
/// were being written. Returns how many runs it dealt with.
///
/// If the ledger names the archive, the run's directory is removed, but only if the archive has the hash that the
/// ledger records. If the ledger does not name the archive, the archive is removed, but only if the manifest in the
/// directory has the recorded hash. If the hash differs, both are kept, and `verification` reports it.
pub fn finish_archiving(lock: &ProjectLock) -> Result<usize, EvidenceError> {
    let (store, project) = (lock.store(), lock.project());
    let archives = list_archives(store, project)?;
    let has_directory = |archive: &&StoredArchive| store.run_directory(project, &archive.task, &archive.run_id).is_dir();
    let doubled: Vec<&StoredArchive> = archives.iter().filter(has_directory).collect();
    let mut finished = 0;
    if !doubled.is_empty() {
        let recorded = read_recorded_hashes(lock)?;
        for archive in doubled {
            let directory = store.run_directory(project, &archive.task, &archive.run_id);
            finished += usize::from(finish_one(archive, &directory, recorded.get(&archive.run_id))?);
        }
    }
    remove_directory(&store.archiving_directory(project))?;
    Ok(finished)
}

/// The hashes that the ledger records for a run: of the manifest and, if the run was archived, of the archive.
struct RecordedHashes {
    manifest_hash: Digest,
    packed: Option<PackedRun>,
}

fn read_recorded_hashes(lock: &ProjectLock) -> Result<BTreeMap<RunId, RecordedHashes>, EvidenceError> {
    let mut recorded = BTreeMap::new();
    for line in read_lines(lock.store(), lock.project(), 0)? {
        match line?.1.body.about_runs() {
            Some(RunLine::Sealed(record)) => {
                let hashes = RecordedHashes { manifest_hash: record.manifest_hash, packed: None };
                recorded.insert(record.run_id.clone(), hashes);
            }
            Some(RunLine::Archived(record)) => {
                for run in &record.runs {
                    let hashes = RecordedHashes { manifest_hash: run.manifest_hash, packed: Some(run.clone()) };
                    recorded.insert(run.run_id.clone(), hashes);
                }
            }
            Some(RunLine::Superseded(_) | RunLine::Pruned(_)) | None => {}
        }
    }
    Ok(recorded)
}

/// Removes the directory or the archive of a run that has both; returns whether one was removed.
fn finish_one(archive: &StoredArchive, directory: &Path, recorded: Option<&RecordedHashes>) -> Result<bool, EvidenceError> {
    let Some(recorded) = recorded else { return Ok(false) };
    if let Some(packed) = &recorded.packed {
        let is_named = hash_file(&archive.path)? == SizeAndDigest { bytes: packed.archive_bytes, sha256: packed.archive_hash };
        return if is_named { remove_directory(directory).map(|()| true) } else { Ok(false) };
    }
    let manifest = if_exists(hash_file(&directory.join(MANIFEST_NAME)))?;
    let is_sealed = manifest.is_some_and(|manifest| manifest.sha256 == recorded.manifest_hash);
    if is_sealed { remove_file(&archive.path).map(|()| true) } else { Ok(false) }
}
