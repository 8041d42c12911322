//! The record of a key: its public half, the ledger lines after which it signs, and the previous key's consent.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::evidence::signing::{KeyFormatError, PublicKey, Signer, encode_pre_authentication};
use crate::model::{Digest, ProjectId, Sequence, Timestamp};

const SCHEMA: &str = "proctor-key-v1";
const PAYLOAD: &str = "application/vnd.proctor.key+json";

/// Why a key file is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyProblem {
    #[error(transparent)]
    Format(KeyFormatError),
    #[error("it holds another key than its record says")]
    AnotherKey,
    #[error("it is no record of a key ({0})")]
    Record(String),
    /// A record with a lower number is missing, or the number in the record differs from the number in the file's name.
    #[error("its number does not follow the one before")]
    Number,
}

/// The end of a ledger when a key took over. Lines up to this end were signed by the previous key, or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LedgerPosition {
    /// The sequence number of the last line; 0 if the ledger had no line.
    pub sequence: Sequence,
    /// The hash of the last line; if the ledger had no line, the hash of no bytes.
    pub hash: Digest,
}

/// The signed part of a key's record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct KeyStatement {
    pub(super) number: u32,
    pub(super) key_id: Digest,
    pub(super) public_key: String,
    pub(super) made: Timestamp,
    pub(super) previous: Option<Digest>,
    pub(super) ledgers: BTreeMap<ProjectId, LedgerPosition>,
}

/// The record of a key, which is the content of the file `key-<number>.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeyRecord {
    schema: String,
    pub(super) key: KeyStatement,
    /// The key's own signature of the statement.
    signature: String,
    /// The previous key's signature of the statement. `None` for the first key, and if the previous key was lost.
    endorsement: Option<String>,
}

impl KeyStatement {
    pub(super) fn sign(self, signer: &Signer, previous: Option<&Signer>) -> KeyRecord {
        let message = self.message();
        let sign = |signer: &Signer| STANDARD.encode(signer.sign(&message));
        let (signature, endorsement) = (sign(signer), previous.map(sign));
        KeyRecord { schema: SCHEMA.to_owned(), key: self, signature, endorsement }
    }

    fn message(&self) -> Vec<u8> {
        encode_pre_authentication(PAYLOAD, &serde_json::to_vec(self).expect("its keys are text"))
    }
}

impl KeyRecord {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(self).expect("its keys are text");
        bytes.push(b'\n');
        bytes
    }

    /// Parses a record and checks that its id belongs to its public key. Signatures are not checked.
    pub(super) fn parse(bytes: &[u8]) -> Result<(Self, PublicKey), KeyProblem> {
        let record: Self = serde_json::from_slice(bytes).map_err(|error| KeyProblem::Record(error.to_string()))?;
        if record.schema != SCHEMA {
            return Err(KeyProblem::Record(format!("its schema is `{}`", record.schema)));
        }
        let public = PublicKey::parse(&record.key.public_key).map_err(KeyProblem::Format)?;
        if public.id() == record.key.key_id { Ok((record, public)) } else { Err(KeyProblem::AnotherKey) }
    }

    /// Returns whether the record has a valid signature by `key`, which is the key that the record is about.
    pub(super) fn is_signed_by(&self, key: &PublicKey) -> bool {
        has_valid_signature(key, &self.key.message(), Some(&self.signature))
    }

    /// Returns whether the record has an endorsement (a signature by the previous key), valid or not.
    pub(super) fn is_endorsed(&self) -> bool {
        self.endorsement.is_some()
    }

    /// Returns whether the record has a valid endorsement by the previous key.
    pub(super) fn is_endorsed_by(&self, previous: &PublicKey) -> bool {
        has_valid_signature(previous, &self.key.message(), self.endorsement.as_ref())
    }
}

fn has_valid_signature(key: &PublicKey, message: &[u8], signature: Option<&String>) -> bool {
    signature.and_then(|text| STANDARD.decode(text).ok()).is_some_and(|signature| key.verifies(message, &signature))
}
