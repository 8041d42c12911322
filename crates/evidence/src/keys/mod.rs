//! The signing keys of a store: made on first use, replaced by `proctor key rotate` (S4). Public keys are known for ever; the private
//! half of a replaced key is destroyed.
//!
//! `keys/` contains the record `key-<number>.json` of each key, and the private half `private-<id>.pem` of the key in use. A
//! key exists from the moment its record does. The record appears by one rename, after everything else is on disk.
//! Until then the private half has a temporary name, which is changed right after that, or by the next process that
//! needs the key. The key with the highest number is in use. Its record names the line of every ledger after which the
//! key took over, and is signed by the previous key, so that a key that another program added is detected. `rotation` replaces
//! the key, and finishes what a process that died left of that; `accepted` says which keys a reader elsewhere accepts.

mod accepted;
mod record;
mod ring;
mod rotation;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::changes::{
    create_directories, make_private, remove_file, rename, rename_if_free, seal_files, sync_directory, sync_file, write_new,
};
use crate::error::failed;
use crate::files::{if_exists, read_no_follow};
use crate::ledger_file::LedgerFile;
use crate::ledger_tail::find_end;
use crate::signing::Signer;
use crate::{EvidenceError, FileOperation, Store, list_projects, read_log};
use proctor_model::{Digest, KeyRecord, KeyStatement, LedgerPosition, ProjectId, Timestamp, ledger_name};

pub use accepted::{AcceptedKeys, AcceptedKeysError};
pub use record::KeyProblem;
pub use ring::{KeyRing, KnownKey, read_key_ring};
pub(super) use ring::{MissingKeySignature, key_files, number_from_record_name};
pub use rotation::{can_endorse, rotate_key};
pub(super) use rotation::{replacement_for_next_line, retired_private_halves};

#[cfg(test)]
pub(super) use record::{message as record_message, sign_record as record_for_vectors};
use record::{record_to_bytes, sign_record};

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

#[cfg(test)]
mod tests;
