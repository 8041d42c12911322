//! Which keys a verifier accepts: those of a store, those of `proctor key export`, or one key alone together with the history of keys that
//! an export carries.

use crate::keys::{KeyProblem, KeyRing, KnownKey};
use crate::signing::{KeyFormatError, PublicKey};
use crate::transparency::SignedCheckpoint;
use proctor_model::{Digest, ProjectId, Sequence};

/// The keys whose signatures count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AcceptedKeys {
    /// Every key with its record. A line counts only if the key that was in force at that line signed it.
    History(KeyRing),
    /// One key without its history, so it is not known since when and until when it signed.
    Single(PublicKey),
}

/// Why a text has no keys that can be accepted, or a history does not belong to the accepted keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AcceptedKeysError {
    #[error(transparent)]
    Format(KeyFormatError),
    #[error("a record of a key in it cannot be used: {0}")]
    Record(KeyProblem),
    #[error("the record of key {0} is not signed by that key, or not by the key before")]
    Unproven(u32),
    #[error("the history of keys does not have the accepted key {0}")]
    OtherKeys(String),
    #[error("key {0} of the history is not the accepted one")]
    Differs(u32),
}

/// The beginning of a line with a key record in a file of keys.
const RECORD_START: &str = "{\"schema\":\"proctor-key-";

impl AcceptedKeys {
    /// Reads what `proctor key export` printed, a public key in PEM, or a line of an `allowed_signers` file. If there are key records
    /// (lines that begin with `{`, perhaps after `# `), they are the history of keys.
    ///
    /// # Errors
    /// When there is no key in it, or a record is wrong.
    pub fn parse(text: &str) -> Result<Self, AcceptedKeysError> {
        let records =
            text.lines().map(|line| line.strip_prefix("# ").unwrap_or(line)).filter(|line| line.starts_with(RECORD_START));
        let ring = KeyRing::from_records(records.map(str::as_bytes)).map_err(AcceptedKeysError::Record)?;
        if ring.keys().is_empty() {
            return PublicKey::parse(text).map(Self::Single).map_err(AcceptedKeysError::Format);
        }
        // A reader that accepts the file accepts its keys. A key that was lost endorsed nothing, and a wrong endorsement does not count.
        let is_wrong = |position: &usize| {
            let key = &ring.keys()[*position];
            !ring.is_proven(*position) && (key.record().endorsement.is_some() || !ring.is_signed(*position))
        };
        match (0..ring.keys().len()).find(is_wrong) {
            Some(position) => Err(AcceptedKeysError::Unproven(ring.keys()[position].number())),
            None => Ok(Self::History(ring)),
        }
    }

    /// Returns these keys together with those that follow from them by a history that came with the evidence. A later key counts if the
    /// key before endorsed it; an earlier one if the later one names it.
    ///
    /// # Errors
    /// When the history is another one.
    pub fn with_history(&self, carried: &KeyRing) -> Result<Self, AcceptedKeysError> {
        let ring = match self {
            Self::History(known) => {
                let other = known.keys().iter().zip(carried.keys()).find(|(known, carried)| known.id() != carried.id());
                if let Some((known, _)) = other {
                    return Err(AcceptedKeysError::Differs(known.number()));
                }
                known.extended_by(carried)
            }
            Self::Single(key) => {
                let found = carried.keys().iter().position(|carried| carried.public() == key);
                let position = found.ok_or_else(|| AcceptedKeysError::OtherKeys(key.id().short()))?;
                // The record of a key is signed by the key and names the key before, so all earlier ones follow from it.
                let is_linked = |at: &usize| carried.is_signed(*at) && carried.names_the_key_before(*at);
                if let Some(broken) = (0..=position).find(|at| !is_linked(at)) {
                    return Err(AcceptedKeysError::Unproven(carried.keys()[broken].number()));
                }
                carried.up_to(position + 1).extended_by(carried)
            }
        };
        Ok(Self::History(ring))
    }

    /// Returns the key that has to have signed a line; `None` if the line is older than the first key.
    pub(crate) fn key_for_line(&self, project: &ProjectId, sequence: Sequence) -> Option<&PublicKey> {
        match self {
            Self::History(ring) => ring.key_for_line(project, sequence).map(KnownKey::public),
            Self::Single(key) => Some(key),
        }
    }

    /// Returns the accepted key with an id.
    pub fn find(&self, id: Digest) -> Option<&PublicKey> {
        self.all().into_iter().find(|key| key.id() == id)
    }

    /// Returns every key, newest first.
    pub(crate) fn all(&self) -> Vec<&PublicKey> {
        match self {
            Self::History(ring) => ring.keys().iter().rev().map(KnownKey::public).collect(),
            Self::Single(key) => vec![key],
        }
    }

    /// Returns whether a key signed a checkpoint that signed checkpoints of this length.
    pub(crate) fn have_signed(&self, signed: &SignedCheckpoint) -> bool {
        match self {
            Self::History(ring) => {
                let checkpoint = signed.checkpoint();
                let keys = ring.keys_for_checkpoint(&checkpoint.project, checkpoint.size);
                keys.iter().any(|key| signed.is_signed_by(key.public()))
            }
            Self::Single(key) => signed.is_signed_by(key),
        }
    }

    /// Returns which signature is expected, in words for a fault.
    pub(crate) fn expectation(&self) -> String {
        match self {
            Self::History(ring) => {
                format!("one of the {} known keys is expected that was in use at its last line or later", ring.keys().len())
            }
            Self::Single(key) => format!("key {} is expected", key.id().short()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestStore, now};
    use crate::{Endorsement, read_key_ring, read_log, rotate_key};
    use proctor_model::OverallStatus;

    /// Returns a store with a run by each of four keys.
    fn four_keys() -> (TestStore, KeyRing) {
        let test = TestStore::new();
        test.run(1, &[], OverallStatus::Success);
        for number in 2..=4 {
            let lock = test.lock();
            rotate_key(&test.store, std::slice::from_ref(&lock), Endorsement::ByThePreviousKey, now()).unwrap();
            drop(lock);
            test.run(number, &[], OverallStatus::Success);
        }
        let ring = read_key_ring(&test.store).unwrap();
        (test, ring)
    }

    #[test]
    fn any_one_key_and_the_history_give_all_keys_and_their_ranges() {
        let (test, ring) = four_keys();
        let carried = KeyRing::from_records(ring.to_lines(None).lines().map(str::as_bytes)).unwrap();
        for key in ring.keys() {
            let accepted = AcceptedKeys::Single(key.public().clone()).with_history(&carried).unwrap();
            for sequence in 1..=7 {
                let expected = ring.key_for_line(&test.project, Sequence(sequence)).map(KnownKey::public);
                assert_eq!(accepted.key_for_line(&test.project, Sequence(sequence)), expected, "line {sequence}");
            }
        }
        let before = AcceptedKeys::History(carried.up_to(1));
        assert_eq!(before.with_history(&carried).unwrap().all().len(), 4);
        let longer = AcceptedKeys::History(carried.clone());
        assert_eq!(longer.with_history(&carried.up_to(2)).unwrap(), longer, "an old export takes no key away");
        let (_other, other) = four_keys();
        assert_eq!(longer.with_history(&other), Err(AcceptedKeysError::Differs(1)));
        let foreign = AcceptedKeys::Single(other.keys()[0].public().clone()).with_history(&carried);
        assert!(matches!(foreign, Err(AcceptedKeysError::OtherKeys(_))));
    }

    #[test]
    fn a_history_that_was_changed_gives_no_later_key() {
        let (_test, ring) = four_keys();
        let changed = ring.to_lines(None).replacen("\"number\":3", "\"number\":3 ", 1);
        assert_eq!(AcceptedKeys::parse(&changed).map(|keys| keys.all().len()), Ok(4), "only its spaces are other ones");
        let text = ring.to_lines(None);
        let sequences: Vec<_> = text.match_indices("\"sequence\":").map(|(at, _)| at).collect();
        for at in sequences {
            let changed = format!("{}\"sequence\":9{}", &text[..at], &text[at + "\"sequence\":".len()..]);
            assert!(matches!(AcceptedKeys::parse(&changed), Err(AcceptedKeysError::Unproven(_))), "{changed}");
            let carried = KeyRing::from_records(changed.lines().map(str::as_bytes)).unwrap();
            // A change of the first record makes the whole history worthless, of a later one what follows it.
            let from_first = AcceptedKeys::Single(ring.keys()[0].public().clone()).with_history(&carried);
            assert!(from_first.is_err() || from_first.is_ok_and(|keys| keys.all().len() < 4));
        }
    }

    #[test]
    fn a_retired_key_signs_no_checkpoint_of_lines_after_its_own() {
        let (test, ring) = four_keys();
        let accepted = AcceptedKeys::History(ring.clone());
        let records = ring.keys().iter().filter_map(|key| key.record().checkpoints.get(&test.project));
        let last: Vec<_> = records.map(|text| SignedCheckpoint::parse(text.as_bytes()).unwrap()).collect();
        assert_eq!(last.len(), 3, "every retired key has a last checkpoint");
        assert!(last.iter().all(|signed| accepted.have_signed(signed)));
        let signer = crate::signing::Signer::from_seed(&[9; 32]);
        let log = read_log(&test.store, &test.project).unwrap();
        assert!(!accepted.have_signed(&log.head().sign(&signer)));
        assert_eq!(ring.keys_for_checkpoint(&test.project, 1).len(), 4);
        assert_eq!(ring.keys_for_checkpoint(&test.project, log.size()).len(), 1);
    }
}
