//! The digest that identifies a set of inputs, to be stored and compared later. It is computed over a version and then
//! over named parts.
//!
//! The calling code chooses every name and word that is hashed. No word comes from `Debug` or from the name of a Rust item, so
//! a rename in the code changes no stored identity. When the way of writing changes, the version changes too: stored
//! identities then match nothing, so nothing that was stored with them is reused.

use sha2::{Digest as _, Sha256};

use crate::Digest;

/// Builds an identity by hashing its parts.
pub struct IdentityWriter(Sha256);

impl IdentityWriter {
    /// Starts an identity. `version` says what is identified and in which version of the way of writing, for example
    /// `proctor-inputs-v2`.
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
    use super::IdentityWriter;

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
