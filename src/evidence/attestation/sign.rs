//! Signs attestations with the store's key.

use std::path::Path;

use serde_json::{Value, json};

use crate::evidence::changes::{create_shared_file, sync_file, write_all};
use crate::evidence::keys::find_or_make_signer;
use crate::evidence::signing::{Envelope, Signer};
use crate::evidence::{EvidenceError, Store};
use crate::model::{Digest, Timestamp};

/// The `schema` of a bundle: the name and version of its format.
const BUNDLE_SCHEMA: &str = "proctor-attestation-bundle-v1";

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

/// Writes envelopes to a new file: one JSON document with all of them.
///
/// # Errors
/// When the file exists, or cannot be written.
pub fn write_attestation_bundle(path: &Path, lines: &[Vec<u8>]) -> Result<(), EvidenceError> {
    let envelopes: Vec<Value> = lines.iter().filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let bundle = json!({ "schema": BUNDLE_SCHEMA, "envelopes": envelopes });
    let mut bytes = serde_json::to_vec(&bundle).expect("its keys are text");
    bytes.push(b'\n');
    let mut file = create_shared_file(path)?;
    write_all(&mut file, path, &bytes)?;
    sync_file(&file, path)
}
