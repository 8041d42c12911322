//! Bundles: files with attestations, for those who do not pass on git notes.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::changes::{create_shared_directory, create_shared_file, remove_file, sync_file, write_all};
use crate::keys::find_or_make_signer;
use crate::signing::{Envelope, Signer};
use crate::{EvidenceError, Store};
use proctor_model::{Digest, Timestamp};

/// The `schema` of a bundle: the name and version of its format.
const BUNDLE_SCHEMA: &str = "proctor-attestation-bundle-v1";

/// A bundle: one JSON document. A key that is not known is refused, because it could change what the others mean.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AttestationBundle {
    schema: String,
    envelopes: Vec<Envelope>,
}

/// Why a file is no bundle that can be read.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    #[error("it is no bundle of attestations")]
    Format(#[source] serde_json::Error),
    #[error("it has the format `{found}`, and only `{BUNDLE_SCHEMA}` is read")]
    Schema { found: String },
}

/// Writes attestations, each a line with an envelope, to a new file. A file that cannot be written as a whole is removed again.
///
/// # Errors
/// When the file exists, or cannot be written.
pub fn write_attestation_bundle(path: &Path, lines: &[Vec<u8>]) -> Result<(), EvidenceError> {
    write_whole(path, &attestation_bundle(lines))
}

/// Returns attestations, each a line with an envelope, as a bundle.
pub fn attestation_bundle(lines: &[Vec<u8>]) -> Vec<u8> {
    let envelopes = lines.iter().filter_map(|line| Envelope::parse(line)).collect();
    let bundle = AttestationBundle { schema: BUNDLE_SCHEMA.to_owned(), envelopes };
    let mut bytes = serde_json::to_vec(&bundle).expect("its keys are text");
    bytes.push(b'\n');
    bytes
}

/// Writes files into a new directory, for a program that signs them.
///
/// # Errors
/// When the directory exists, or cannot be written.
pub fn write_for_signing(directory: &Path, files: &[(&str, &[u8])]) -> Result<(), EvidenceError> {
    create_shared_directory(directory)?;
    files.iter().try_for_each(|(name, content)| write_whole(&directory.join(name), content))
}

/// Writes a new file. A file that cannot be written as a whole is removed again.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), EvidenceError> {
    let mut file = create_shared_file(path)?;
    let written = write_all(&mut file, path, bytes).and_then(|()| sync_file(&file, path));
    written.inspect_err(|_| remove_attestation_bundle(path))
}

/// Removes a bundle that was just written, because what it says was not attested.
pub fn remove_attestation_bundle(path: &Path) {
    // The error that is the reason for this is the one to report.
    let _stays = remove_file(path);
}

/// Returns the attestations of a bundle as a note has them: each envelope on a line. Nothing is checked by this.
///
/// # Errors
/// When the bytes are no bundle, or one of another format.
pub fn parse_attestation_bundle(bytes: &[u8]) -> Result<Vec<u8>, BundleError> {
    let bundle: AttestationBundle = serde_json::from_slice(bytes).map_err(BundleError::Format)?;
    if bundle.schema != BUNDLE_SCHEMA {
        return Err(BundleError::Schema { found: bundle.schema.chars().take(100).collect() });
    }
    Ok(bundle.envelopes.iter().flat_map(Envelope::to_line).collect())
}

// Signs attestations with the store's key.

/// Signs attestations with the key that the store uses now.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signing::Signer;

    #[test]
    fn a_bundle_has_the_lines_of_a_note_and_nothing_that_is_not_understood() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("bundle.json");
        let lines: Vec<Vec<u8>> = (1..=2).map(|seed| Envelope::sign(b"{}", &Signer::from_seed(&[seed; 32])).to_line()).collect();
        write_attestation_bundle(&path, &lines).unwrap();
        assert!(write_attestation_bundle(&path, &lines).is_err(), "a file that is there is not replaced");
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(parse_attestation_bundle(text.as_bytes()).unwrap(), lines.concat());
        for (from, to, expected) in [
            ("bundle-v1", "bundle-v2", "`proctor-attestation-bundle-v2`"),
            ("{\"schema\"", "{\"more\":1,\"schema\"", "unknown field `more`"),
            ("{\"schema\"", "{\"schema\":\"x\",\"schema\"", "duplicate field `schema`"),
            ("{\"payload\"", "{\"more\":1,\"payload\"", "unknown field `more`"),
            ("{\"payload\"", "{\"payload\":\"\",\"payload\"", "duplicate field `payload`"),
            ("]}\n", "]} x", "trailing characters"),
            ("]}\n", "", "EOF"),
        ] {
            assert!(text.contains(from), "{from}");
            let error = parse_attestation_bundle(text.replacen(from, to, 1).as_bytes()).unwrap_err();
            let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
            assert!(format!("{error}: {cause}").contains(expected), "{error}: {cause}");
        }
        remove_attestation_bundle(&path);
        assert!(!path.exists());
    }
}
