//! Ed25519 keys, and the forms in which people and other programs keep them.
//!
//! A private key is written as PKCS#8 version 1. OpenSSL 3.0, Python's `cryptography` and Node 20 refuse version 2,
//! which also contains the public key. Both the private and the public form are a fixed prefix and 32 bytes (RFC 8410,
//! sections 4 and 7), so no library for ASN.1 is needed.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};

use proctor_model::Digest;

const PRIVATE_PREFIX: [u8; 16] = [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
const PUBLIC_PREFIX: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
const PRIVATE_LABEL: &str = "PRIVATE KEY";
const PUBLIC_LABEL: &str = "PUBLIC KEY";
/// The name of the algorithm Ed25519 in all formats of OpenSSH.
pub(super) const SSH_ALGORITHM: &str = "ssh-ed25519";

/// The digests of keys, signatures and messages that this process found to fit. The newest line of a ledger and the seal of its rows are
/// asked about again and again, a check takes fifty times as long as a digest, and what fits once fits for ever.
static FOUND_RIGHT: Mutex<BTreeSet<Digest>> = Mutex::new(BTreeSet::new());
/// At most this many digests are kept (about 200 kB). Then they are forgotten.
const MOST_FOUND: usize = 4096;

fn found_right() -> MutexGuard<'static, BTreeSet<Digest>> {
    FOUND_RIGHT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why a text could not be read as a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyFormatError {
    #[error("it is no Ed25519 private key in PKCS#8 version 1, written as PEM")]
    Private,
    #[error("it is no Ed25519 public key: PEM (`-----BEGIN PUBLIC KEY-----`) or a line `ssh-ed25519 …` is expected")]
    Public,
}

/// A private key. `Debug` does not show it, and it is wiped from memory when it is dropped.
pub(crate) struct Signer {
    key: SigningKey,
    public: PublicKey,
}

/// The public half of a key, which verifies signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey {
    key: VerifyingKey,
    id: Digest,
}

impl Signer {
    /// Makes the private key that RFC 8032 derives from 32 secret bytes. The same bytes always give the same key.
    pub(crate) fn from_seed(seed: &[u8; 32]) -> Self {
        let key = SigningKey::from_bytes(seed);
        let public = PublicKey::from_verifying_key(key.verifying_key());
        Self { key, public }
    }

    pub(crate) fn parse(pem: &str) -> Result<Self, KeyFormatError> {
        let der = decode_pem(pem, PRIVATE_LABEL).ok_or(KeyFormatError::Private)?;
        let seed = der.strip_prefix(&PRIVATE_PREFIX).and_then(|seed| <[u8; 32]>::try_from(seed).ok());
        seed.map(|seed| Self::from_seed(&seed)).ok_or(KeyFormatError::Private)
    }

    pub(crate) fn to_pem(&self) -> String {
        encode_pem(PRIVATE_LABEL, &[PRIVATE_PREFIX.as_slice(), self.key.as_bytes()].concat())
    }

    pub(crate) fn public(&self) -> &PublicKey {
        &self.public
    }

    pub(crate) fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.key.sign(message).to_bytes()
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Signer({})", self.public.id.short())
    }
}

impl PublicKey {
    fn from_verifying_key(key: VerifyingKey) -> Self {
        let hex: String = key.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        let canonical = format!(r#"{{"keytype":"ed25519","keyval":{{"public":"{hex}"}},"scheme":"ed25519"}}"#);
        Self { id: Digest::of(canonical.as_bytes()), key }
    }

    /// Parses a public key: PEM, or a line in OpenSSH's form, also one from an `allowed_signers` file.
    pub fn parse(text: &str) -> Result<Self, KeyFormatError> {
        let bytes = decode_pem(text, PUBLIC_LABEL)
            .and_then(|der| der.strip_prefix(&PUBLIC_PREFIX).map(<[u8]>::to_vec))
            .or_else(|| text.lines().find_map(read_ssh_line));
        bytes.and_then(|bytes| Self::from_bytes(&bytes)).ok_or(KeyFormatError::Public)
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes = <[u8; 32]>::try_from(bytes).ok()?;
        VerifyingKey::from_bytes(&bytes).ok().map(Self::from_verifying_key)
    }

    /// Returns the key's id as securesystemslib computes it: the SHA-256 of its canonical JSON. Envelopes name it as
    /// `keyid`.
    pub fn id(&self) -> Digest {
        self.id
    }

    pub(crate) fn as_bytes(&self) -> &[u8; 32] {
        self.key.as_bytes()
    }

    /// Returns the key as PEM, for OpenSSL and most libraries.
    pub fn to_pem(&self) -> String {
        encode_pem(PUBLIC_LABEL, &[PUBLIC_PREFIX.as_slice(), self.key.as_bytes()].concat())
    }

    /// Returns the key as a line in OpenSSH's form, without a comment.
    pub fn to_ssh_line(&self) -> String {
        format!("{SSH_ALGORITHM} {}", STANDARD.encode(self.ssh_blob()))
    }

    /// Returns the key as OpenSSH encodes it in binary messages (RFC 8709).
    pub(super) fn ssh_blob(&self) -> Vec<u8> {
        [ssh_string(SSH_ALGORITHM.as_bytes()), ssh_string(self.key.as_bytes())].concat()
    }

    /// Returns whether the signature is this key's signature of the message. Signatures that could fit several
    /// messages, such as those by weak keys, are refused.
    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let Ok(signature) = <[u8; 64]>::try_from(signature) else { return false };
        let question = Digest::of(&[self.key.as_bytes(), signature.as_slice(), message].concat());
        if found_right().contains(&question) {
            return true;
        }
        let is_right = self.key.verify_strict(message, &Signature::from_bytes(&signature)).is_ok();
        if is_right {
            let mut found = found_right();
            if found.len() >= MOST_FOUND {
                found.clear();
            }
            found.insert(question);
        }
        is_right
    }
}

/// Returns bytes with their length in front, as all binary formats of OpenSSH have them (RFC 4251, section 5).
pub(super) fn ssh_string(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).expect("what is put into a signature is short");
    [length.to_be_bytes().as_slice(), bytes].concat()
}

fn read_ssh_line(line: &str) -> Option<Vec<u8>> {
    let mut words = line.split_whitespace().skip_while(|word| *word != SSH_ALGORITHM);
    let blob = STANDARD.decode(words.nth(1)?).ok()?;
    blob.strip_prefix(ssh_string(SSH_ALGORITHM.as_bytes()).as_slice())?.strip_prefix(&32_u32.to_be_bytes()).map(<[u8]>::to_vec)
}

fn encode_pem(label: &str, der: &[u8]) -> String {
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", STANDARD.encode(der))
}

fn decode_pem(text: &str, label: &str) -> Option<Vec<u8>> {
    let (_, rest) = text.split_once(&format!("-----BEGIN {label}-----"))?;
    let (body, _) = rest.split_once(&format!("-----END {label}-----"))?;
    STANDARD.decode(body.split_whitespace().collect::<String>()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The secret key of RFC 8032, section 7.1, test 1.
    const SEED: [u8; 32] = [
        0x9d, 0x61, 0xb1, 0x9d, 0xef, 0xfd, 0x5a, 0x60, 0xba, 0x84, 0x4a, 0xf4, 0x92, 0xec, 0x2c, 0xc4, 0x44, 0x49, 0xc5, 0x69,
        0x7b, 0x32, 0x69, 0x19, 0x70, 0x3b, 0xac, 0x03, 0x1c, 0xae, 0x7f, 0x60,
    ];

    #[test]
    fn a_key_has_the_public_half_the_rfc_says_and_round_trips_in_every_form() {
        let signer = Signer::from_seed(&SEED);
        let expected = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
        let hex: String = signer.public().key.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, expected);
        // RFC 8410, section 10.3 shows this form with another seed.
        assert_eq!(Signer::parse(&signer.to_pem()).unwrap().public(), signer.public());
        let public = signer.public();
        assert_eq!(PublicKey::parse(&public.to_pem()).as_ref(), Ok(public));
        assert_eq!(PublicKey::parse(&public.to_ssh_line()).as_ref(), Ok(public));
        let allowed = format!("# who\nproctor namespaces=\"x\" {} comment\n", public.to_ssh_line());
        assert_eq!(PublicKey::parse(&allowed).as_ref(), Ok(public));
        for bad in ["", "ssh-ed25519", "ssh-ed25519 AAAA", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"] {
            assert_eq!(PublicKey::parse(bad), Err(KeyFormatError::Public), "{bad}");
        }
        assert_eq!(Signer::parse(&public.to_pem()).map(|_| ()), Err(KeyFormatError::Private));
        assert!(!format!("{signer:?}").contains("9d61"));
    }

    #[test]
    fn only_the_message_that_was_signed_verifies() {
        let signer = Signer::from_seed(&SEED);
        let signature = signer.sign(b"message");
        // The second answer is remembered, and holds for this message, signature and key alone.
        assert!(signer.public().verifies(b"message", &signature) && signer.public().verifies(b"message", &signature));
        assert!(!signer.public().verifies(b"Message", &signature));
        assert!(!signer.public().verifies(b"message", &signature[1..]));
        assert!(!Signer::from_seed(&[7; 32]).public().verifies(b"message", &signature));
        let mut changed = signature;
        changed[63] ^= 1;
        assert!(!signer.public().verifies(b"message", &changed));
    }
}
