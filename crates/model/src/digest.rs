//! SHA-256 digests, always written as 64 lower-case hexadecimal digits (G3).
//!
//! The digest that identifies a set of inputs, to be stored and compared later. It is computed over a version and then
//! over named parts.
//!
//! The calling code chooses every name and word that is hashed. No word comes from `Debug` or from the name of a Rust item, so
//! a rename in the code changes no stored identity. When the way of writing changes, the version changes too: stored
//! identities then match nothing, so nothing that was stored with them is reused.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// A SHA-256 digest: 32 bytes, written as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

/// The error for a text that is not 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a SHA-256 digest: 64 lower-case hexadecimal digits are expected")]
pub struct DigestError(pub String);

impl Digest {
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Returns the digest of all bytes that the hasher was given.
    pub fn from_hasher(hasher: Sha256) -> Self {
        Self(hasher.finalize().into())
    }

    /// Returns a digest that was computed before, from its 32 bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    pub fn hex(&self) -> String {
        self.to_string()
    }

    /// Returns the first 8 hexadecimal digits, for display.
    pub fn short(&self) -> String {
        self.to_string()[..8].to_owned()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> String {
        digest.to_string()
    }
}

impl TryFrom<String> for Digest {
    type Error = DigestError;
    fn try_from(text: String) -> Result<Self, DigestError> {
        let mut bytes = [0_u8; 32];
        let is_hex = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        if !is_hex {
            return Err(DigestError(text));
        }
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).expect("hexadecimal digits are ASCII");
            *byte = u8::from_str_radix(pair, 16).expect("the digits were checked");
        }
        Ok(Self(bytes))
    }
}

/// Builds an identity by hashing its parts.
pub struct IdentityWriter(Sha256);

impl IdentityWriter {
    /// Starts an identity. `version` says what is identified and in which version of the way of writing, for example
    /// `proctor-inputs-v3`.
    pub fn new(version: &str) -> Self {
        Self(Sha256::new()).part("version", version.as_bytes())
    }

    /// Adds a part. Name and bytes are each preceded by their length, so different lists of parts never produce the
    /// same bytes.
    #[must_use]
    pub fn part(mut self, name: &str, bytes: &[u8]) -> Self {
        for text in [name.as_bytes(), bytes] {
            self.0.update((text.len() as u64).to_le_bytes());
            self.0.update(text);
        }
        self
    }

    /// Adds the number of texts and then each text, so that two consecutive lists cannot be confused.
    #[must_use]
    pub fn list<'a>(self, name: &str, texts: impl ExactSizeIterator<Item = &'a [u8]>) -> Self {
        let counted = self.part(name, texts.len().to_string().as_bytes());
        texts.fold(counted, |writer, text| writer.part(name, text))
    }

    /// Adds a number, or the word `none`.
    #[must_use]
    pub fn number(self, name: &str, number: Option<u64>) -> Self {
        let text = number.map_or_else(|| "none".to_owned(), |number| number.to_string());
        self.part(name, text.as_bytes())
    }

    /// Returns the digest of the version and all added parts.
    pub fn digest(self) -> Digest {
        Digest::from_hasher(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{IdentityWriter, *};

    #[test]
    fn a_digest_round_trips_as_lower_case_hex() {
        let digest = Digest::of(b"");
        assert_eq!(digest.hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(Digest::try_from(digest.hex()), Ok(digest));
        assert!(Digest::try_from(digest.hex().to_uppercase()).is_err());
        assert!(Digest::try_from("e3b0".to_owned()).is_err());
    }

    #[test]
    fn parts_cannot_be_moved_into_one_another() {
        let of = |parts: &[(&str, &str)]| {
            let writer = IdentityWriter::new("v");
            parts.iter().fold(writer, |writer, (name, text)| writer.part(name, text.as_bytes())).digest()
        };
        assert_ne!(of(&[("a", "bc")]), of(&[("ab", "c")]));
        assert_ne!(of(&[("a", "b"), ("c", "d")]), of(&[("a", "bcd")]));
        let lists = |one: &[&'static str], two: &[&'static str]| {
            let bytes = |texts: &[&'static str]| texts.iter().map(|text| text.as_bytes()).collect::<Vec<_>>();
            IdentityWriter::new("v").list("x", bytes(one).into_iter()).list("x", bytes(two).into_iter()).digest()
        };
        assert_ne!(lists(&["a"], &[]), lists(&[], &["a"]));
    }
}
