//! The signing keys of a store: made on first use, replaced by `proctor key rotate` (S4). Public keys are known for ever; the private
//! half of a replaced key is destroyed.
//!
//! `keys/` contains the record `key-<number>.json` of each key, and the private half `private-<id>.pem` of the key in use. A
//! key exists from the moment its record does. The record appears by one rename, after everything else is on disk.
//! Until then the private half has a temporary name, which is changed right after that, or by the next process that
//! needs the key. The key with the highest number is in use. Its record names the line of every ledger after which the
//! key took over, and is signed by the previous key, so that a key that another program added is detected. This file
//! also replaces the key, and finishes what a process that died left of that; `accepted` says which keys a reader elsewhere accepts.

mod accepted;
mod record;
mod ring;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::changes::{
    create_directories, make_private, open_or_create, remove_file, rename, rename_if_free, seal_files, sync_directory, sync_file,
    write_at, write_new,
};
use crate::error::failed;
use crate::files::{if_exists, list_directory, read_no_follow};
use crate::ledger_file::LedgerFile;
use crate::ledger_tail::{ChainEnd, find_end};
use crate::signing::{FILE_NAMESPACE, Signer, sign_for_ssh};
use crate::{EvidenceError, FileOperation, Ledger, ProjectLock, Store, list_projects, read_log, read_signed_lines};
use proctor_model::{Digest, KeyRecord, KeyStatement, LedgerPosition, ProjectId, Timestamp, ledger_name};

pub use accepted::{AcceptedKeys, AcceptedKeysError};
pub use record::KeyProblem;
use record::{record_to_bytes, sign_record};
pub use ring::{KeyRing, KnownKey, read_key_ring};
pub(super) use ring::{MissingKeySignature, key_files, number_from_record_name};

#[cfg(test)]
pub(super) use record::{message as record_message, sign_record as record_for_vectors};

/// The number of digits of a key's id in the names of its files.
const SHORT_ID: usize = 16;
/// The suffix of the temporary name under which a key's file is written.
const TEMPORARY_SUFFIX: &str = ".new";
const RANDOM_SOURCE: &str = "/dev/urandom";

/// Whether the previous key signs the record of its successor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endorsement {
    ByThePreviousKey,
    /// The previous key is lost and cannot sign. From then on, verification always reports that the new key is not
    /// endorsed.
    PreviousKeyIsLost,
}

/// Reads the private half of the key in use. Returns `None` if the store has no key.
pub(super) fn find_signer(store: &Store) -> Result<Option<Signer>, EvidenceError> {
    let ring = read_key_ring(store)?;
    ring.current().map(|key| read_signer(store, key)).transpose()
}

/// Returns the signature of a file's bytes by the key in use, as `ssh-keygen -Y verify -n` with [`FILE_NAMESPACE`] accepts it. Returns
/// `None` if the store has no key.
///
/// # Errors
/// When the key cannot be read.
pub fn sign_file(store: &Store, message: &[u8]) -> Result<Option<Vec<u8>>, EvidenceError> {
    Ok(find_signer(store)?.map(|signer| sign_for_ssh(message, FILE_NAMESPACE, &signer)))
}

/// Returns the key in use; makes the first key if the store has no key.
pub(super) fn find_or_make_signer(store: &Store, now: Timestamp) -> Result<Signer, EvidenceError> {
    match find_signer(store)? {
        Some(signer) => Ok(signer),
        None => {
            make_key(store, NewKey { number: 1, previous: None, made: now })?;
            // If another process made the first key at the same time, its key is used.
            let ring = read_key_ring(store)?;
            read_signer(store, ring.current().expect("a record was just made, or found in its place"))
        }
    }
}

pub(super) fn keys_directory(store: &Store) -> PathBuf {
    store.root().join("keys")
}

pub(super) fn private_name(id: Digest) -> String {
    format!("private-{}.pem", &id.hex()[..SHORT_ID])
}

pub(super) fn record_name(number: u32) -> String {
    format!("key-{number:04}.json")
}

/// Returns the temporary name of a private half, under which it is written before its record exists.
pub(super) fn temporary_private_name(id: Digest) -> String {
    format!(".{}{TEMPORARY_SUFFIX}", private_name(id))
}

/// Returns whether a file in the keys directory has the temporary name under which a record or a private half is
/// written. A process that dies may leave such a file.
pub(super) fn is_temporary_key_file(name: &str) -> bool {
    let id = name.strip_prefix('.').and_then(|name| name.strip_suffix(TEMPORARY_SUFFIX));
    let id = id.map(|id| id.strip_prefix("private-").and_then(|id| id.strip_suffix(".pem")).unwrap_or(id));
    id.is_some_and(|id| id.len() == SHORT_ID && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn temporary_private_path(store: &Store, id: Digest) -> PathBuf {
    keys_directory(store).join(temporary_private_name(id))
}

fn private_path(store: &Store, id: Digest) -> PathBuf {
    keys_directory(store).join(private_name(id))
}

fn record_path(store: &Store, number: u32) -> PathBuf {
    keys_directory(store).join(record_name(number))
}

/// Reads the private half of a key and checks that it belongs to the key's record.
pub(super) fn read_signer(store: &Store, key: &KnownKey) -> Result<Signer, EvidenceError> {
    let path = private_path(store, key.id());
    if path.symlink_metadata().is_err() {
        rename_private_half(store, key.id())?;
    }
    let refuse = |problem| EvidenceError::Key { path: path.clone(), problem };
    let bytes = if_exists(read_no_follow(&path))?.ok_or_else(|| refuse(KeyProblem::Gone))?;
    let text = String::from_utf8(bytes).unwrap_or_default();
    let signer = Signer::parse(&text).map_err(|error| refuse(KeyProblem::Format(error)))?;
    if signer.public() == key.public() { Ok(signer) } else { Err(refuse(KeyProblem::AnotherKey)) }
}

/// What a new key is made from.
struct NewKey {
    number: u32,
    /// The id of the key that is replaced, and its private half if it can sign; `None` for the first key.
    previous: Option<(Digest, Option<Signer>)>,
    made: Timestamp,
}

/// Makes a key from 32 random bytes. If another process made a key with the same number first, the new one is
/// discarded, which is no error.
fn make_key(store: &Store, new: NewKey) -> Result<(), EvidenceError> {
    let NewKey { number, previous, made } = new;
    let directory = keys_directory(store);
    create_directories(&directory)?;
    make_private(&directory)?;
    let signer = Signer::from_seed(&random_seed()?);
    let positions = ledger_positions(store)?;
    let checkpoints = if previous.is_some() {
        last_checkpoints(store, &positions, previous.as_ref().and_then(|(_, signer)| signer.as_ref()).unwrap_or(&signer))?
    } else {
        BTreeMap::new()
    };
    let statement = KeyStatement {
        number,
        key_id: signer.public().id(),
        public_key: signer.public().to_ssh_line(),
        made,
        previous: previous.as_ref().map(|(id, _)| *id),
        ledgers: positions.iter().map(|(project, position)| (ledger_name(project), *position)).collect(),
    };
    let record = sign_record(statement, &signer, previous.as_ref().and_then(|(_, signer)| signer.as_ref()));
    let record = KeyRecord { checkpoints, ..record };
    let private = temporary_private_path(store, signer.public().id());
    sync_file(&write_new(&private, signer.to_pem().as_bytes())?, &private)?;
    let new = directory.join(format!(".{}{TEMPORARY_SUFFIX}", &signer.public().id().hex()[..SHORT_ID]));
    write_new(&new, &record_to_bytes(&record))?;
    seal_files(std::slice::from_ref(&new))?;
    sync_directory(&directory)?;
    if rename_if_free(&new, &record_path(store, number))? {
        sync_directory(&directory)?;
        return rename_private_half(store, signer.public().id());
    }
    // The new key never signed anything, so its files can be removed.
    remove_file(&new)?;
    remove_file(&private)
}

/// Returns the head of every ledger that has lines, signed for the last time by the key that is replaced.
fn last_checkpoints(
    store: &Store,
    positions: &BTreeMap<ProjectId, LedgerPosition>,
    signer: &Signer,
) -> Result<BTreeMap<ProjectId, String>, EvidenceError> {
    let with_lines = positions.iter().filter(|(_, position)| position.sequence.0 > 0);
    with_lines.map(|(project, _)| Ok((project.clone(), read_log(store, project)?.head().sign(signer).to_text()))).collect()
}

/// Gives the private half of a key that has a record its final name. Another process may have done so before, which is
/// no error.
fn rename_private_half(store: &Store, id: Digest) -> Result<(), EvidenceError> {
    if if_exists(rename(&temporary_private_path(store, id), &private_path(store, id)))?.is_some() {
        sync_directory(&keys_directory(store))?;
    }
    Ok(())
}

fn random_seed() -> Result<[u8; 32], EvidenceError> {
    let source = Path::new(RANDOM_SOURCE);
    let mut seed = [0_u8; 32];
    let mut file = File::open(source).map_err(failed(FileOperation::Open, source))?;
    file.read_exact(&mut seed).map_err(failed(FileOperation::Read, source))?;
    Ok(seed)
}

/// Returns the number and hash of the last line of every ledger. A damaged ledger is left out, because it must not prevent
/// lines of other ledgers from being signed.
fn ledger_positions(store: &Store) -> Result<BTreeMap<ProjectId, LedgerPosition>, EvidenceError> {
    let mut positions = BTreeMap::new();
    for project in list_projects(store)? {
        let path = store.ledger_path(&project);
        let Some(ledger) = if_exists(LedgerFile::open(&path))? else { continue };
        if let Ok((end, _)) = find_end(&ledger) {
            positions.insert(project, LedgerPosition { sequence: end.sequence, hash: end.hash });
        }
    }
    Ok(positions)
}

// Replacing the signing key, so that a process that dies at any point of it leaves nothing that the next writer does not finish.
//
// The rename of the new key's record is the commit. The record has everything the replaced key has to say: its endorsement, and
// its last checkpoint of every ledger. After it, each ledger gets a line of kind `keyReplaced`, signed by the new key, and the private
// half of the replaced key is overwritten and removed. Whoever opens a ledger next does what is left of the two.

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

#[cfg(test)]
mod tests;
