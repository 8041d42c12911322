//! All keys that a store ever had, in order, and which of them has to sign a given line.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::files::{list_directory, read_no_follow};
use crate::keys::record::{is_endorsed_by, is_in_ledgers, is_signed_by, parse_record};
use crate::keys::{KeyProblem, keys_directory};
use crate::signing::PublicKey;
use crate::{EvidenceError, Store};
use proctor_model::{Digest, KeyRecord, LedgerPosition, ProjectId, Sequence, Timestamp};

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
        let (record, public) = parse_record(&read_no_follow(&path)?).map_err(refuse)?;
        if record.key.number != number || number as usize != keys.len() + 1 {
            return Err(refuse(KeyProblem::Number));
        }
        keys.push(KnownKey { record, public });
    }
    Ok(KeyRing { keys })
}

/// Returns the paths of all key records with their numbers, in ascending order.
pub(crate) fn key_files(store: &Store) -> Result<Vec<(u32, PathBuf)>, EvidenceError> {
    let entries = list_directory(&keys_directory(store))?;
    let numbered = |entry: std::fs::DirEntry| Some((number_from_record_name(entry.file_name().to_str()?)?, entry.path()));
    let mut files: Vec<_> = entries.into_iter().filter_map(numbered).collect();
    files.sort();
    Ok(files)
}

pub(crate) fn number_from_record_name(name: &str) -> Option<u32> {
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
        self.record.took_over_after(project)
    }

    /// Returns the key's record.
    pub fn record(&self) -> &KeyRecord {
        &self.record
    }

    /// Returns whether each ledger that had lines when this key took over has a line that says so. This is not so for keys that
    /// an earlier version of proctor made.
    pub(crate) fn is_in_ledgers(&self) -> bool {
        is_in_ledgers(&self.record) && self.number() > 1
    }
}

impl KeyRing {
    /// Builds a ring from key records, oldest first. Signatures are not checked.
    ///
    /// # Errors
    /// When a record is invalid, or its number does not follow the one before.
    pub(crate) fn from_records<'a>(records: impl Iterator<Item = &'a [u8]>) -> Result<Self, KeyProblem> {
        let mut keys = Vec::new();
        for bytes in records {
            let (record, public) = parse_record(bytes)?;
            if record.key.number as usize != keys.len() + 1 {
                return Err(KeyProblem::Number);
            }
            keys.push(KnownKey { record, public });
        }
        Ok(Self { keys })
    }

    /// Returns the records as an export has them: a line of compact JSON for each key, oldest first, without the checkpoints of
    /// other projects than `project`; without it, of none.
    pub fn to_lines(&self, project: Option<&ProjectId>) -> String {
        let line = |key: &KnownKey| {
            let record = match project {
                Some(project) => key.record.for_project(project),
                None => KeyRecord { checkpoints: BTreeMap::new(), ..key.record.clone() },
            };
            serde_json::to_string(&record).expect("its keys are text") + "\n"
        };
        self.keys.iter().map(line).collect()
    }

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

    /// Returns the keys that may have signed a checkpoint of the first `size` lines: the one in force at the last of these lines, and
    /// every later one. A key that was replaced before that line signs nothing any more.
    pub(crate) fn keys_for_checkpoint(&self, project: &ProjectId, size: u64) -> &[KnownKey] {
        let from = self.key_for_line(project, Sequence(size)).map_or(1, KnownKey::number) as usize;
        &self.keys[(from - 1).min(self.keys.len())..]
    }

    /// Returns the keys up to this number: those that existed when the key with this number was in use.
    pub(super) fn up_to(&self, number: usize) -> Self {
        Self { keys: self.keys[..number.min(self.keys.len())].to_vec() }
    }

    /// Returns every project of which a key record says that it had a ledger.
    pub fn known_projects(&self) -> BTreeSet<ProjectId> {
        let named = |key: &KnownKey| {
            let earlier = key.record.key.ledgers.keys().filter_map(|name| ProjectId::try_from(name.as_str()).ok());
            earlier.chain(key.record.checkpoints.keys().cloned()).collect::<Vec<_>>()
        };
        let with_lines = |project: &ProjectId| self.knows_lines_of(project).is_some();
        self.keys.iter().flat_map(named).filter(with_lines).collect()
    }

    /// Returns the newest key that took over after a line of this project's ledger, and the number of that line.
    pub(crate) fn knows_lines_of(&self, project: &ProjectId) -> Option<(&KnownKey, u64)> {
        let position = |key: &KnownKey| key.took_over_after(project).map_or(0, |position| position.sequence.0);
        self.keys.iter().rev().map(|key| (key, position(key))).find(|(_, line)| *line > 0)
    }

    /// Returns these keys and those of `later` that follow them, each proven by the key before.
    pub(super) fn extended_by(&self, later: &Self) -> Self {
        let mut ring = self.clone();
        for key in later.keys.iter().skip(self.keys.len()) {
            ring.keys.push(key.clone());
            if !ring.is_proven(ring.keys.len() - 1) {
                ring.keys.pop();
                break;
            }
        }
        ring
    }

    /// Returns whether the key at this position (the first one has 0) signed its own record.
    pub(super) fn is_signed(&self, position: usize) -> bool {
        is_signed_by(&self.keys[position].record, &self.keys[position].public)
    }

    /// Returns whether the record at this position names the key before it.
    pub(super) fn names_the_key_before(&self, position: usize) -> bool {
        let previous = position.checked_sub(1).map(|before| self.keys[before].id());
        self.keys[position].record.key.previous == previous
    }

    /// Returns whether the record at this position is signed by its key, and endorsed by the key before.
    pub(super) fn is_proven(&self, position: usize) -> bool {
        let previous = position.checked_sub(1).map(|before| &self.keys[before].public);
        let is_endorsed = previous.is_none_or(|previous| is_endorsed_by(&self.keys[position].record, previous));
        self.is_signed(position) && self.names_the_key_before(position) && is_endorsed
    }

    /// Returns the keys whose record has no valid signature by the key itself, or no valid endorsement by the previous key.
    /// The record of the first key must have no endorsement.
    pub(crate) fn missing_signatures(&self) -> Vec<(&KnownKey, MissingKeySignature)> {
        let mut unproven = Vec::new();
        for (position, key) in self.keys.iter().enumerate() {
            let previous = position.checked_sub(1).map(|before| &self.keys[before]);
            if !is_signed_by(&key.record, &key.public) {
                unproven.push((key, MissingKeySignature::Own));
            }
            let is_endorsed = match previous {
                Some(previous) => is_endorsed_by(&key.record, &previous.public),
                None => key.record.endorsement.is_none(),
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
pub(crate) enum MissingKeySignature {
    /// The signature of the record by the key itself.
    Own,
    /// The endorsement, which is the signature of the record by the previous key.
    Endorsement,
}
