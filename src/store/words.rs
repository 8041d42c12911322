//! Values to columns and back. What a column holds is what the value is in JSON, without quotes where it is a word.

use std::path::PathBuf;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::store::IndexError;

/// Returns an enum's word, an identifier's or a digest's text.
pub(super) fn to_word(value: &impl Serialize) -> String {
    let json = serde_json::to_value(value).expect("our own values have a JSON form");
    json.as_str().map_or_else(|| json.to_string(), str::to_owned)
}

/// Returns a value as JSON text.
pub(super) fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("our own values have a JSON form")
}

/// SQLite's integers are signed; the bits are kept.
pub(super) fn to_integer(number: u64) -> i64 {
    number.cast_signed()
}

/// Returns the number [`to_integer`] was given.
pub(super) fn from_integer(integer: i64) -> u64 {
    integer.cast_unsigned()
}

/// Reads columns of one file; a value that is not what it should be is named with the file.
#[derive(Debug, Clone)]
pub(super) struct Reader {
    pub(super) path: PathBuf,
}

impl Reader {
    /// Reads a word.
    pub(super) fn word<T: DeserializeOwned>(&self, kind: &'static str, word: String) -> Result<T, IndexError> {
        serde_json::from_value(serde_json::Value::String(word.clone())).map_err(|_| self.refuse(kind, word))
    }

    /// Reads a word that may be missing.
    pub(super) fn optional_word<T: DeserializeOwned>(
        &self,
        kind: &'static str,
        word: Option<String>,
    ) -> Result<Option<T>, IndexError> {
        word.map(|word| self.word(kind, word)).transpose()
    }

    /// Reads JSON text.
    pub(super) fn json<T: DeserializeOwned>(&self, kind: &'static str, text: String) -> Result<T, IndexError> {
        serde_json::from_str(&text).map_err(|_| self.refuse(kind, text))
    }

    fn refuse(&self, kind: &'static str, value: String) -> IndexError {
        IndexError::Value { path: self.path.clone(), kind, value }
    }
}
