//! All keys that a store ever had, in order, and which of them has to sign a given line.

use std::path::PathBuf;

use crate::evidence::files::{list_directory, read_no_follow};
use crate::evidence::keys::{KeyProblem, KeyRecord, LedgerPosition, keys_directory};
use crate::evidence::signing::PublicKey;
use crate::evidence::{EvidenceError, Store};
use crate::model::{Digest, ProjectId, Sequence, Timestamp};

/// A public key of the store, with its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownKey {
    record: KeyRecord,
    public: PublicKey,
}

/// Every key of a store, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyRing {
    keys: Vec<KnownKey>,
}

/// Reads the keys of a store. Their signatures are not checked here; verification does that.
pub fn read_key_ring(store: &Store) -> Result<KeyRing, EvidenceError> {
    let mut keys = Vec::new();
    for (number, path) in key_files(store)? {
        let refuse = |problem| EvidenceError::Key { path: path.clone(), problem };
        let (record, public) = KeyRecord::parse(&read_no_follow(&path)?).map_err(refuse)?;
        if record.key.number != number || number as usize != keys.len() + 1 {
            return Err(refuse(KeyProblem::Number));
        }
        keys.push(KnownKey { record, public });
    }
    Ok(KeyRing { keys })
}

/// Returns the paths of all key records with their numbers, in ascending order.
pub(in crate::evidence) fn key_files(store: &Store) -> Result<Vec<(u32, PathBuf)>, EvidenceError> {
    let entries = list_directory(&keys_directory(store))?;
    let numbered = |entry: std::fs::DirEntry| Some((number_from_record_name(entry.file_name().to_str()?)?, entry.path()));
    let mut files: Vec<_> = entries.into_iter().filter_map(numbered).collect();
    files.sort();
    Ok(files)
}

pub(in crate::evidence) fn number_from_record_name(name: &str) -> Option<u32> {
    name.strip_prefix("key-")?.strip_suffix(".json")?.parse().ok()
}

impl KnownKey {
    /// Returns the public key, with which signatures by this key are checked.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// Returns the key's id (see [`PublicKey::id`]).
    pub fn id(&self) -> Digest {
        self.public.id()
    }

    /// Returns the key's number; the first key has 1.
    pub fn number(&self) -> u32 {
        self.record.key.number
    }

    pub fn made(&self) -> Timestamp {
        self.record.key.made
    }

    /// Returns the end of a project's ledger when this key took over, or `None` if there was no ledger yet or it was damaged.
    pub fn took_over_after(&self, project: &ProjectId) -> Option<LedgerPosition> {
        self.record.key.ledgers.get(project).copied()
    }

    /// Returns the ends of all ledgers that existed when this key took over.
    pub fn projects(&self) -> impl Iterator<Item = (&ProjectId, &LedgerPosition)> {
        self.record.key.ledgers.iter()
    }
}

impl KeyRing {
    /// Returns the keys, oldest first.
    pub fn keys(&self) -> &[KnownKey] {
        &self.keys
    }

    /// Returns the key in use, which is the newest one.
    pub fn current(&self) -> Option<&KnownKey> {
        self.keys.last()
    }

    /// Returns whether the store has a key with this id, and had not replaced it yet at a time: a key that was replaced may be in
    /// other hands since.
    pub fn was_in_use(&self, id: Digest, at: Timestamp) -> bool {
        let Some(place) = self.keys.iter().position(|key| key.id() == id) else { return false };
        self.keys.get(place + 1).is_none_or(|next| at < next.made())
    }

    /// Returns the number that the next new key gets: one more than that of the newest key.
    pub fn next_number(&self) -> u32 {
        u32::try_from(self.keys.len()).expect("keys are few") + 1
    }

    /// Returns the key that has to have signed a line, or `None` if the line is older than the first key.
    pub fn key_for_line(&self, project: &ProjectId, sequence: Sequence) -> Option<&KnownKey> {
        let took_over = |key: &&KnownKey| key.took_over_after(project).map_or(0, |position| position.sequence.0) < sequence.0;
        self.keys.iter().rev().find(took_over)
    }

    /// Returns the keys whose record has no valid signature by the key itself, or no valid endorsement by the previous key.
    /// The record of the first key must have no endorsement.
    pub(in crate::evidence) fn missing_signatures(&self) -> Vec<(&KnownKey, MissingKeySignature)> {
        let mut unproven = Vec::new();
        for (position, key) in self.keys.iter().enumerate() {
            let previous = position.checked_sub(1).map(|before| &self.keys[before]);
            if !key.record.is_signed_by(&key.public) {
                unproven.push((key, MissingKeySignature::Own));
            }
            let is_endorsed = match previous {
                Some(previous) => key.record.is_endorsed_by(&previous.public),
                None => !key.record.is_endorsed(),
            };
            if !is_endorsed || key.record.key.previous != previous.map(KnownKey::id) {
                unproven.push((key, MissingKeySignature::Endorsement));
            }
        }
        unproven
    }
}

/// Which signature of a key's record is missing or wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::evidence) enum MissingKeySignature {
    /// The signature of the record by the key itself.
    Own,
    /// The endorsement, which is the signature of the record by the previous key.
    Endorsement,
}
