//! The keys that sign: made on first use, replaced by `proctor key rotate`, never deleted (S4).
//!
//! `keys/` holds for every key its private half, `private-<id>.pem`, and its record, `key-<number>.json`. The record is what makes it a
//! key: it appears by one rename when everything else is on disk, the private half under a name that is changed right behind that, or by
//! whoever needs it first. The last one is in use. It says after which line of every ledger the
//! key took over, and is signed by the key before, so that a key that somebody else slipped in shows.

mod record;
mod ring;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::evidence::changes::{
    create_directories, keep_private, remove_file, rename, rename_to_free, seal_files, sync_directory, sync_file, write_new,
};
use crate::evidence::error::failed;
use crate::evidence::files::{if_there, open_plain, read_plain};
use crate::evidence::ledger_tail::find_end;
use crate::evidence::signing::Signer;
use crate::evidence::{EvidenceError, FileOperation, ProjectLock, Store, list_projects};
use crate::model::{Digest, ProjectId, Timestamp};

pub use record::{KeyProblem, KeyRecord, LedgerPosition};
pub use ring::{KeyRing, KnownKey, read_key_ring};
pub(super) use ring::{Unproven, key_files, number_of_record};

use record::KeyStatement;

/// How many digits of a key's id are in the names of its files.
const SHORT_ID: usize = 16;
/// How the names of files end that are not the key's yet.
const UNFINISHED: &str = ".new";
const RANDOM_SOURCE: &str = "/dev/urandom";

/// What becomes of the key before when a new one is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endorsement {
    /// It signs the new one's record.
    ByThePreviousKey,
    /// It is lost and cannot: verification will say so for ever.
    PreviousKeyIsLost,
}

/// Returns the key that signs, if one was made.
pub(super) fn find_signer(store: &Store) -> Result<Option<Signer>, EvidenceError> {
    let ring = read_key_ring(store)?;
    ring.current().map(|key| read_signer(store, key)).transpose()
}

/// Returns the key that signs, making the first one where there is none.
pub(super) fn signer(store: &Store, now: Timestamp) -> Result<Signer, EvidenceError> {
    match find_signer(store)? {
        Some(signer) => Ok(signer),
        None => {
            make_key(store, None, 1, now)?;
            // Another process may have been the first: then it is that one's key.
            let ring = read_key_ring(store)?;
            read_signer(store, ring.current().expect("a record was just made, or found in its place"))
        }
    }
}

/// Makes a new key and lets it take over. The locks are those of every project, so that nobody is about to sign with the one before.
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
    let ring = read_key_ring(store)?;
    let previous = match (ring.current(), endorsement) {
        (Some(key), Endorsement::ByThePreviousKey) => Some((key.id(), Some(read_signer(store, key)?))),
        (Some(key), Endorsement::PreviousKeyIsLost) => Some((key.id(), None)),
        (None, _) => None,
    };
    make_key(store, previous, ring.next_number(), now)?;
    let ring = read_key_ring(store)?;
    Ok(ring.current().expect("a record was just made").clone())
}

/// Returns the directory of the keys.
pub(super) fn keys_directory(store: &Store) -> PathBuf {
    store.root().join("keys")
}

/// Returns the name of the private half of a key.
pub(super) fn private_name(id: Digest) -> String {
    format!("private-{}.pem", &id.hex()[..SHORT_ID])
}

/// Returns the name of the record of the key with a number.
pub(super) fn record_name(number: u32) -> String {
    format!("key-{number:04}.json")
}

/// Returns the name of the private half of a key as long as the key may not have a record.
pub(super) fn unplaced_name(id: Digest) -> String {
    format!(".{}{UNFINISHED}", private_name(id))
}

/// Returns whether a file among the keys is one that a process may have died over: half of a key that nothing was signed with, or the
/// private half of one whose record is there.
pub(super) fn is_unfinished(name: &str) -> bool {
    let id = name.strip_prefix('.').and_then(|name| name.strip_suffix(UNFINISHED));
    let id = id.map(|id| id.strip_prefix("private-").and_then(|id| id.strip_suffix(".pem")).unwrap_or(id));
    id.is_some_and(|id| id.len() == SHORT_ID && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn unplaced_path(store: &Store, id: Digest) -> PathBuf {
    keys_directory(store).join(unplaced_name(id))
}

fn private_path(store: &Store, id: Digest) -> PathBuf {
    keys_directory(store).join(private_name(id))
}

fn record_path(store: &Store, number: u32) -> PathBuf {
    keys_directory(store).join(record_name(number))
}

/// Reads the private half of a key.
pub(super) fn read_signer(store: &Store, key: &KnownKey) -> Result<Signer, EvidenceError> {
    let path = private_path(store, key.id());
    if path.symlink_metadata().is_err() {
        place_private_half(store, key.id())?;
    }
    let refuse = |problem| EvidenceError::Key { path: path.clone(), problem };
    let bytes = read_plain(&path)?;
    let text = String::from_utf8(bytes).unwrap_or_default();
    let signer = Signer::parse(&text).map_err(|error| refuse(KeyProblem::Format(error)))?;
    if signer.public() == key.public() { Ok(signer) } else { Err(refuse(KeyProblem::AnotherKey)) }
}

/// Makes a key of 32 random bytes. That another process made one of the same number meanwhile is no error.
fn make_key(store: &Store, previous: Option<(Digest, Option<Signer>)>, number: u32, now: Timestamp) -> Result<(), EvidenceError> {
    let directory = keys_directory(store);
    create_directories(&directory)?;
    keep_private(&directory)?;
    let signer = Signer::of_seed(&random_seed()?);
    let statement = KeyStatement {
        number,
        key_id: signer.public().id(),
        public_key: signer.public().to_ssh_line(),
        made: now,
        previous: previous.as_ref().map(|(id, _)| *id),
        ledgers: ledger_positions(store)?,
    };
    let record = statement.sign(&signer, previous.as_ref().and_then(|(_, signer)| signer.as_ref()));
    let private = unplaced_path(store, signer.public().id());
    sync_file(&write_new(&private, signer.to_pem().as_bytes())?, &private)?;
    let new = directory.join(format!(".{}{UNFINISHED}", &signer.public().id().hex()[..SHORT_ID]));
    write_new(&new, &record.to_bytes())?;
    seal_files(std::slice::from_ref(&new))?;
    sync_directory(&directory)?;
    if rename_to_free(&new, &record_path(store, number))? {
        sync_directory(&directory)?;
        return place_private_half(store, signer.public().id());
    }
    // Nothing was ever signed with it.
    remove_file(&new)?;
    remove_file(&private)
}

/// Gives the private half of a key that has a record its name. That somebody else did so meanwhile is no error.
fn place_private_half(store: &Store, id: Digest) -> Result<(), EvidenceError> {
    if if_there(rename(&unplaced_path(store, id), &private_path(store, id)))?.is_some() {
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

/// Returns where every ledger ends. One that cannot be read is left out: it must not keep the others from being signed.
fn ledger_positions(store: &Store) -> Result<BTreeMap<ProjectId, LedgerPosition>, EvidenceError> {
    let mut positions = BTreeMap::new();
    for project in list_projects(store)? {
        let path = store.ledger_path(&project);
        let Some(file) = if_there(open_plain(&path))? else { continue };
        if let Ok((end, _)) = find_end(&file, &path) {
            positions.insert(project, LedgerPosition { sequence: end.sequence, hash: end.hash });
        }
    }
    Ok(positions)
}

#[cfg(test)]
mod tests;
