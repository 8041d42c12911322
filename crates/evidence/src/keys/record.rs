//! Reading, signing and checking the record of a key.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::signing::{KeyFormatError, PublicKey, Signer, encode_pre_authentication};
use proctor_model::{KeyRecord, KeyStatement};

/// The version of the records that are written. Its ledgers are named by the hashes of the projects' ids.
const SCHEMA: &str = "proctor-key-v2";
/// An earlier version, which is read for ever. Its ledgers are named by the projects' ids.
const EARLIER_SCHEMA: &str = "proctor-key-v1";
const PAYLOAD: &str = "application/vnd.proctor.key+json";

/// Why a key file is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyProblem {
    #[error(transparent)]
    Format(KeyFormatError),
    #[error("it holds another key than its record says")]
    AnotherKey,
    /// The private half of the key in use is not there.
    #[error("the private half of the key in use is gone, and nothing can be signed without it")]
    Gone,
    #[error("it is no record of a key ({0})")]
    Record(String),
    /// A record with a lower number is missing, or the number in the record differs from the number in the file's name.
    #[error("its number does not follow the one before")]
    Number,
}

/// Makes the record of a key. `previous` is the key before, if it can still sign.
pub(crate) fn sign_record(statement: KeyStatement, signer: &Signer, previous: Option<&Signer>) -> KeyRecord {
    let message = message(&statement);
    let sign = |signer: &Signer| STANDARD.encode(signer.sign(&message));
    let (signature, endorsement) = (sign(signer), previous.map(sign));
    KeyRecord {
        schema: SCHEMA.to_owned(),
        key: statement,
        signature,
        endorsement,
        checkpoints: std::collections::BTreeMap::new(),
    }
}

/// Returns a record as the content of its file.
pub(super) fn record_to_bytes(record: &KeyRecord) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(record).expect("its keys are text");
    bytes.push(b'\n');
    bytes
}

/// Parses a record and checks that its id belongs to its public key. Signatures are not checked.
pub(super) fn parse_record(bytes: &[u8]) -> Result<(KeyRecord, PublicKey), KeyProblem> {
    let record: KeyRecord = serde_json::from_slice(bytes).map_err(|error| KeyProblem::Record(error.to_string()))?;
    if ![SCHEMA, EARLIER_SCHEMA].contains(&record.schema.as_str()) {
        return Err(KeyProblem::Record(format!("its schema is `{}`", record.schema)));
    }
    let public = PublicKey::parse(&record.key.public_key).map_err(KeyProblem::Format)?;
    if public.id() == record.key.key_id { Ok((record, public)) } else { Err(KeyProblem::AnotherKey) }
}

/// Returns whether rotations of this version of the record are also told by a line of each ledger.
pub(super) fn is_in_ledgers(record: &KeyRecord) -> bool {
    record.schema == SCHEMA
}

/// Returns whether the record has a valid signature by `key`, which is the key that the record is about.
pub(super) fn is_signed_by(record: &KeyRecord, key: &PublicKey) -> bool {
    has_valid_signature(key, &message(&record.key), Some(&record.signature))
}

/// Returns whether the record has a valid endorsement, which is a signature by the key before.
pub(super) fn is_endorsed_by(record: &KeyRecord, previous: &PublicKey) -> bool {
    has_valid_signature(previous, &message(&record.key), record.endorsement.as_ref())
}

pub(crate) fn message(statement: &KeyStatement) -> Vec<u8> {
    encode_pre_authentication(PAYLOAD, &serde_json::to_vec(statement).expect("its keys are text"))
}

fn has_valid_signature(key: &PublicKey, message: &[u8], signature: Option<&String>) -> bool {
    signature.and_then(|text| STANDARD.decode(text).ok()).is_some_and(|signature| key.verifies(message, &signature))
}
