//! Signs attestations with the store's key.

use crate::keys::find_or_make_signer;
use crate::signing::{Envelope, Signer};
use crate::{EvidenceError, Store};
use proctor_model::{Digest, Timestamp};

/// Signs with the key that the store uses now.
#[derive(Debug)]
pub struct Attestor {
    signer: Signer,
}

impl Attestor {
    /// Reads the store's key; makes it if the store has none.
    ///
    /// # Errors
    /// When the key cannot be read or made.
    pub fn open(store: &Store, now: Timestamp) -> Result<Self, EvidenceError> {
        Ok(Self { signer: find_or_make_signer(store, now)? })
    }

    /// Returns the id of the key.
    pub fn key(&self) -> Digest {
        self.signer.public().id()
    }

    /// Signs a statement. Returns a DSSE envelope as one line, with its line end. The same statement always gives the same line.
    pub fn sign(&self, statement: &[u8]) -> Vec<u8> {
        Envelope::sign(statement, &self.signer).to_line()
    }
}
