//! The signing keys of a store: made on first use, replaced by `proctor key rotate`, never deleted (S4).
//!
//! `keys/` contains two files for each key: its private half `private-<id>.pem` and its record `key-<number>.json`. A
//! key exists from the moment its record does. The record appears by one rename, after everything else is on disk.
//! Until then the private half has a temporary name, which is changed right after that, or by the next process that
//! needs the key. The key with the highest number is in use. Its record names the line of every ledger after which the
//! key took over, and is signed by the previous key, so that a key that another program added is detected.

mod record;
mod ring;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::evidence::changes::{
    create_directories, make_private, remove_file, rename, rename_if_free, seal_files, sync_directory, sync_file, write_new,
};
use crate::evidence::error::failed;
use crate::evidence::files::{if_exists, read_no_follow};
use crate::evidence::ledger_file::LedgerFile;
use crate::evidence::ledger_tail::find_end;
use crate::evidence::signing::Signer;
use crate::evidence::{EvidenceError, FileOperation, ProjectLock, Store, list_projects, read_signed_lines};
use crate::model::{Digest, ProjectId, Timestamp};

pub use record::{KeyProblem, KeyRecord, LedgerPosition};
pub use ring::{KeyRing, KnownKey, read_key_ring};
pub(super) use ring::{MissingKeySignature, key_files, number_from_record_name};

use record::KeyStatement;

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
            make_key(store, None, 1, now)?;
            // If another process made the first key at the same time, its key is used.
            let ring = read_key_ring(store)?;
            read_signer(store, ring.current().expect("a record was just made, or found in its place"))
        }
    }
}

/// Makes a new key that replaces the one in use. `locks` must contain the locks of all projects, so that no process is
/// about to sign with the old key.
///
/// The record of the new key names the last line of every ledger. A ledger that is damaged now would have another last line after
/// it was put back from a backup, and its lines would no longer fit the keys. So every ledger is read and checked first.
///
/// # Errors
/// When a ledger cannot be read or was changed, a project is not locked, or a key cannot be read or written. Nothing is changed
/// then.
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
    for project in &locked {
        read_signed_lines(store, project, 0, |_| true)?.try_for_each(|line| line.map(drop))?;
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
    let bytes = read_no_follow(&path)?;
    let text = String::from_utf8(bytes).unwrap_or_default();
    let signer = Signer::parse(&text).map_err(|error| refuse(KeyProblem::Format(error)))?;
    if signer.public() == key.public() { Ok(signer) } else { Err(refuse(KeyProblem::AnotherKey)) }
}

/// Makes a key from 32 random bytes. If another process made a key with the same number first, the new one is
/// discarded, which is no error.
fn make_key(store: &Store, previous: Option<(Digest, Option<Signer>)>, number: u32, now: Timestamp) -> Result<(), EvidenceError> {
    let directory = keys_directory(store);
    create_directories(&directory)?;
    make_private(&directory)?;
    let signer = Signer::from_seed(&random_seed()?);
    let statement = KeyStatement {
        number,
        key_id: signer.public().id(),
        public_key: signer.public().to_ssh_line(),
        made: now,
        previous: previous.as_ref().map(|(id, _)| *id),
        ledgers: ledger_positions(store)?,
    };
    let record = statement.sign(&signer, previous.as_ref().and_then(|(_, signer)| signer.as_ref()));
    let private = temporary_private_path(store, signer.public().id());
    sync_file(&write_new(&private, signer.to_pem().as_bytes())?, &private)?;
    let new = directory.join(format!(".{}{TEMPORARY_SUFFIX}", &signer.public().id().hex()[..SHORT_ID]));
    write_new(&new, &record.to_bytes())?;
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
