//! Replacing the signing key, so that a process that dies at any point of it leaves nothing that the next writer does not finish.
//!
//! The rename of the new key's record is the commit. The record has everything the replaced key has to say: its endorsement, and
//! its last checkpoint of every ledger. After it, each ledger gets a line of kind `keyReplaced`, signed by the new key, and the private
//! half of the replaced key is overwritten and removed. Whoever opens a ledger next does what is left of the two.

use std::fs::File;
use std::path::PathBuf;

use crate::changes::{open_or_create, remove_file, sync_directory, sync_file, write_at};
use crate::error::failed;
use crate::files::list_directory;
use crate::keys::{
    Endorsement, KeyRing, KnownKey, NewKey, keys_directory, make_key, private_name, read_key_ring, read_signer,
    temporary_private_name,
};
use crate::ledger_tail::ChainEnd;
use crate::{EvidenceError, FileOperation, Ledger, ProjectLock, Store, list_projects, read_signed_lines};
use proctor_model::{KeyRecord, ProjectId, Timestamp};

/// Returns whether the private half of the key in use is there and fits its record, so that it can sign the record of a new key.
///
/// # Errors
/// When the records of the keys cannot be read.
pub fn can_endorse(store: &Store) -> Result<bool, EvidenceError> {
    Ok(read_key_ring(store)?.current().is_some_and(|key| read_signer(store, key).is_ok()))
}

/// Makes a new key that replaces the one in use. `locks` must contain the locks of all projects, so that no process is
/// about to sign with the old key, and the caller keeps new projects from being registered.
///
/// The record of the new key names the last line of every ledger. A ledger that is damaged now would have another last line after
/// it was put back from a backup, and its lines would no longer fit the keys. So every ledger is read and checked first.
///
/// # Errors
/// When a ledger cannot be read or was changed, a project is not locked, or a key cannot be read or written. If the key was not
/// replaced by then, nothing is changed.
pub fn rotate_key(
    store: &Store,
    locks: &[ProjectLock],
    endorsement: Endorsement,
    now: Timestamp,
) -> Result<KnownKey, EvidenceError> {
    let locked: Vec<_> = locks.iter().map(ProjectLock::project).collect();
    if let Some(project) = list_projects(store)?.into_iter().find(|project| !locked.contains(&project)) {
        return Err(EvidenceError::NotRecovered { project });
    }
    let mut made = now;
    for project in &locked {
        for line in read_signed_lines(store, project, 0, |_| true)? {
            // No line of a ledger is dated before the one before it, and the line about the key has the key's date.
            made = made.max(line?.1.time);
        }
    }
    let ring = read_key_ring(store)?;
    let previous = match (ring.current(), endorsement) {
        (Some(key), Endorsement::ByThePreviousKey) => Some((key.id(), Some(read_signer(store, key)?))),
        (Some(key), Endorsement::PreviousKeyIsLost) => Some((key.id(), None)),
        (None, _) => None,
    };
    make_key(store, NewKey { number: ring.next_number(), previous, made })?;
    // Opening a ledger writes the line about the new key, and destroys the private half of the one before.
    for lock in locks {
        drop(Ledger::open(lock)?);
    }
    let ring = read_key_ring(store)?;
    destroy_retired(store, &ring)?;
    Ok(ring.current().expect("a record was just made").clone())
}

/// Returns the record of the key in use if the next line of this ledger has to be the one that tells of it.
/// Destroys private halves of replaced keys that are still there.
pub(crate) fn replacement_for_next_line(
    store: &Store,
    project: &ProjectId,
    end: &ChainEnd,
) -> Result<Option<KeyRecord>, EvidenceError> {
    let ring = read_key_ring(store)?;
    destroy_retired(store, &ring)?;
    let replaced = ring.current().filter(|key| key.is_in_ledgers() && end.sequence.0 > 0);
    let is_next = |key: &&KnownKey| {
        key.took_over_after(project).is_some_and(|position| (position.sequence, position.hash) == (end.sequence, end.hash))
    };
    Ok(replaced.filter(is_next).map(|key| key.record().for_project(project)))
}

/// Returns the files of `keys/` that have private halves of replaced keys.
pub(crate) fn retired_private_halves(store: &Store, ring: &KeyRing) -> Result<Vec<PathBuf>, EvidenceError> {
    let Some((current, replaced)) = ring.keys().split_last() else { return Ok(Vec::new()) };
    let is_private = |name: &String| name.contains("private-");
    let names: Vec<String> = list_directory(&keys_directory(store))?
        .iter()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(is_private)
        .collect();
    let has_current = [private_name(current.id()), temporary_private_name(current.id())].iter().any(|name| names.contains(name));
    // Without the private half of the key in use, the records may have been put back from an older backup.
    if !has_current {
        return Ok(Vec::new());
    }
    let retired = replaced.iter().flat_map(|key| [private_name(key.id()), temporary_private_name(key.id())]);
    Ok(retired.filter(|name| names.contains(name)).map(|name| keys_directory(store).join(name)).collect())
}

/// Overwrites and removes the private halves of replaced keys. None of them ever signs anything again.
fn destroy_retired(store: &Store, ring: &KeyRing) -> Result<(), EvidenceError> {
    let retired = retired_private_halves(store, ring)?;
    for path in &retired {
        let metadata = path.symlink_metadata().map_err(failed(FileOperation::Read, path))?;
        if metadata.is_file() {
            let file: File = open_or_create(path)?;
            write_at(&file, path, &vec![0; usize::try_from(metadata.len().min(4096)).expect("it is small")], 0)?;
            sync_file(&file, path)?;
        }
        remove_file(path)?;
    }
    if retired.is_empty() { Ok(()) } else { sync_directory(&keys_directory(store)) }
}
