//! The signature of a ledger line. It is the last key of the line's JSON, and signs the bytes that the line would have
//! without the signature.
//!
//! The bytes are used as they are in the file, so that a line can be verified by every version of proctor, and by hand
//! with a text editor and OpenSSL.

use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::keys::{KeyRing, find_signer, read_key_ring};
use crate::signing::{PublicKey, Signer, encode_pre_authentication};
use crate::{EvidenceError, LineProblem, Store};
use proctor_model::{Digest, LedgerLine, ProjectId};

const PAYLOAD: &str = "application/vnd.proctor.ledger-line+json";
const DIGESTS: &str = "application/vnd.proctor.secret-of-digests";
const KEY: &str = ",\"signature\":\"";
const END: &str = "\"}";

/// Signs a line that does not yet have a signature.
pub(super) fn sign_line(unsigned: &[u8], signer: &Signer) -> String {
    STANDARD.encode(signer.sign(&encode_pre_authentication(PAYLOAD, unsigned)))
}

/// Returns whether the line ends with a signature of the line by this key.
pub(super) fn is_line_signed(line: &[u8], key: &PublicKey) -> bool {
    let text = std::str::from_utf8(line).ok().and_then(|text| text.strip_suffix(END));
    let parts = text.and_then(|text| text.rsplit_once(KEY));
    let decoded = parts.and_then(|(rest, signature)| Some((rest, STANDARD.decode(signature).ok()?)));
    decoded.is_some_and(|(rest, signature)| {
        key.verifies(&encode_pre_authentication(PAYLOAD, format!("{rest}}}").as_bytes()), &signature)
    })
}

/// Says what is wrong with the signature of a line that is not by the key that was in force: by which known key it is, if by any.
pub(super) fn describe_wrong_signature(line: &[u8], expected: &PublicKey, known: &[&PublicKey]) -> String {
    let by = known.iter().find(|key| is_line_signed(line, key));
    let found = by.map(|key| format!(", and key {} signed it, which was not in force at that line", key.id().short()));
    format!("key {} is expected{}", expected.id().short(), found.unwrap_or_default())
}

/// Checks that the key that was in use signed a line of a project's ledger. A line that is older than the store's first key has
/// no signature.
pub(super) fn check_signature(bytes: &[u8], line: &LedgerLine, project: &ProjectId, keys: &KeyRing) -> Result<(), LineProblem> {
    match (keys.key_for_line(project, line.sequence), &line.signature) {
        (None, None) => Ok(()),
        (None, Some(_)) => Err(LineProblem::WrongSignature { key: "none".to_owned() }),
        (Some(key), None) => Err(LineProblem::Unsigned { key: key.id().short() }),
        (Some(key), Some(_)) if is_line_signed(bytes, key.public()) => Ok(()),
        (Some(key), Some(_)) => Err(LineProblem::WrongSignature { key: key.id().short() }),
    }
}

// Signatures with which proctor recognises what it wrote itself into files that are no evidence, for example the index.

/// Signs and verifies with the keys of a store. The public keys are read once, and again when a signature is not by one of them.
#[derive(Debug)]
pub struct OwnSignatures {
    store: Store,
    /// The type of what is signed, so that a signature of something else never fits.
    payload_type: &'static str,
    keys: Mutex<Option<KeyRing>>,
}

impl OwnSignatures {
    pub fn new(store: &Store, payload_type: &'static str) -> Self {
        Self { store: store.clone(), payload_type, keys: Mutex::new(None) }
    }

    /// Signs bytes with the key in use. Returns `None` if the store has no key.
    ///
    /// # Errors
    /// When the key cannot be read.
    pub fn sign(&self, bytes: &[u8]) -> Result<Option<String>, EvidenceError> {
        let signer = find_signer(&self.store)?;
        Ok(signer.map(|signer| STANDARD.encode(signer.sign(&encode_pre_authentication(self.payload_type, bytes)))))
    }

    /// Returns whether one of the store's keys signed the bytes; false if the keys cannot be read.
    pub fn verifies(&self, bytes: &[u8], signature: &str) -> bool {
        let Ok(signature) = STANDARD.decode(signature) else { return false };
        let message = encode_pre_authentication(self.payload_type, bytes);
        // The key in use is the last one, and most signatures are by it.
        let is_by = |ring: &KeyRing| ring.keys().iter().rev().any(|key| key.public().verifies(&message, &signature));
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if keys.as_ref().is_some_and(is_by) {
            return true;
        }
        *keys = read_key_ring(&self.store).ok();
        keys.as_ref().is_some_and(is_by)
    }
}

/// Returns the store's secret with which a digest begins that is told to others, and that is made from what may be short and secret itself:
/// without it, every value could be tried. It follows from the key in use, is never written anywhere, and is another one once the key is
/// replaced. `None` if there is no key, or it cannot be read.
pub fn secret_of_digests(store: &Store) -> Option<Digest> {
    let signature = OwnSignatures::new(store, DIGESTS).sign(&[]).ok()??;
    Some(Digest::of(signature.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_signed_as_it_stands() {
        let signer = Signer::from_seed(&[5; 32]);
        let unsigned = br#"{"sequence":1,"body":{"kind":"x","signature":null}}"#;
        let signature = sign_line(unsigned, &signer);
        let line = format!("{},\"signature\":\"{signature}\"}}", std::str::from_utf8(&unsigned[..unsigned.len() - 1]).unwrap());
        assert!(is_line_signed(line.as_bytes(), signer.public()));
        assert!(!is_line_signed(line.replace(":1,", ":2,").as_bytes(), signer.public()));
        assert!(!is_line_signed(line.replace(",\"body", ", \"body").as_bytes(), signer.public()));
        assert!(!is_line_signed(unsigned, signer.public()));
        assert!(!is_line_signed(line.as_bytes(), Signer::from_seed(&[6; 32]).public()));
    }
}
