//! Signatures with which proctor recognises what it wrote itself into files that are no evidence, for example the index.

use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::keys::{KeyRing, find_signer, read_key_ring};
use crate::signing::encode_pre_authentication;
use crate::{EvidenceError, Store};

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

    /// Returns whether one of the store's keys signed the bytes. If the keys cannot be read, nobody can say so, and the answer
    /// is no.
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
