//! Every key there ever was, in order, and which of them signs what.

use std::path::PathBuf;

use crate::evidence::files::{list, read_plain};
use crate::evidence::keys::{KeyProblem, KeyRecord, LedgerPosition, keys_directory};
use crate::evidence::signing::PublicKey;
use crate::evidence::{EvidenceError, Store};
use crate::model::{Digest, ProjectId, Sequence, Timestamp};

/// A key whose record is there.
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

/// Reads the keys of a store. Whether they signed each other is not looked at: verification does that.
pub fn read_key_ring(store: &Store) -> Result<KeyRing, EvidenceError> {
    let mut keys = Vec::new();
    for (number, path) in key_files(store)? {
        let refuse = |problem| EvidenceError::Key { path: path.clone(), problem };
        let (record, public) = KeyRecord::parse(&read_plain(&path)?).map_err(refuse)?;
        if record.key.number != number || number as usize != keys.len() + 1 {
            return Err(refuse(KeyProblem::Number));
        }
        keys.push(KnownKey { record, public });
    }
    Ok(KeyRing { keys })
}

/// Returns the records of keys by number, in order.
pub(in crate::evidence) fn key_files(store: &Store) -> Result<Vec<(u32, PathBuf)>, EvidenceError> {
    let entries = list(&keys_directory(store))?;
    let numbered = |entry: std::fs::DirEntry| Some((number_of_record(entry.file_name().to_str()?)?, entry.path()));
    let mut files: Vec<_> = entries.into_iter().filter_map(numbered).collect();
    files.sort();
    Ok(files)
}

/// Returns the number of a record by its file's name.
pub(in crate::evidence) fn number_of_record(name: &str) -> Option<u32> {
    name.strip_prefix("key-")?.strip_suffix(".json")?.parse().ok()
}

impl KnownKey {
    /// Returns the key that verifies.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// Returns its id.
    pub fn id(&self) -> Digest {
        self.public.id()
    }

    /// Returns its number, from 1.
    pub fn number(&self) -> u32 {
        self.record.key.number
    }

    /// Returns when it was made.
    pub fn made(&self) -> Timestamp {
        self.record.key.made
    }

    /// Returns after which line of a project's ledger it took over; none where there was no ledger yet.
    pub fn took_over_after(&self, project: &ProjectId) -> Option<LedgerPosition> {
        self.record.key.ledgers.get(project).copied()
    }

    /// Returns the projects whose ledgers it knows the ends of.
    pub fn projects(&self) -> impl Iterator<Item = (&ProjectId, &LedgerPosition)> {
        self.record.key.ledgers.iter()
    }
}

impl KeyRing {
    /// Returns the keys, oldest first.
    pub fn keys(&self) -> &[KnownKey] {
        &self.keys
    }

    /// Returns the key in use.
    pub fn current(&self) -> Option<&KnownKey> {
        self.keys.last()
    }

    /// Returns the number the next key gets.
    pub fn next_number(&self) -> u32 {
        u32::try_from(self.keys.len()).expect("keys are few") + 1
    }

    /// Returns the key that must have signed a line; none where it was written before there was one.
    pub fn key_of(&self, project: &ProjectId, sequence: Sequence) -> Option<&KnownKey> {
        let took_over = |key: &&KnownKey| key.took_over_after(project).map_or(0, |position| position.sequence.0) < sequence.0;
        self.keys.iter().rev().find(took_over)
    }

    /// Returns the keys whose record the key itself did not sign, and those that the one before did not endorse.
    pub(in crate::evidence) fn unproven(&self) -> Vec<(&KnownKey, Unproven)> {
        let mut unproven = Vec::new();
        for (position, key) in self.keys.iter().enumerate() {
            let previous = position.checked_sub(1).map(|before| &self.keys[before]);
            if !key.record.is_signed_by(&key.public) {
                unproven.push((key, Unproven::BySelf));
            }
            let is_endorsed = match previous {
                Some(previous) => key.record.is_endorsed_by(&previous.public),
                None => !key.record.is_endorsed(),
            };
            if !is_endorsed || key.record.key.previous != previous.map(KnownKey::id) {
                unproven.push((key, Unproven::ByPrevious));
            }
        }
        unproven
    }
}

/// Who did not sign a key's record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::evidence) enum Unproven {
    /// The key itself.
    BySelf,
    /// The key before it.
    ByPrevious,
}
