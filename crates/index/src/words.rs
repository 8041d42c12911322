//! Converts values to columns of the index and back. A column holds the value's JSON. A value that is one word is
//! stored without quotes.

use std::path::PathBuf;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::IndexError;

/// Returns the text that a column stores for a value: the word of an enum, an identifier or a digest.
pub(super) fn to_word(value: &impl Serialize) -> String {
    let json = serde_json::to_value(value).expect("our own values have a JSON form");
    json.as_str().map_or_else(|| json.to_string(), str::to_owned)
}

pub(super) fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("our own values have a JSON form")
}

/// Returns the signed integer with the same bits, because SQLite's integers are signed.
pub(super) fn to_integer(number: u64) -> i64 {
    number.cast_signed()
}

/// Returns the unsigned number that [`to_integer`] turned into this integer.
pub(super) fn from_integer(integer: i64) -> u64 {
    integer.cast_unsigned()
}

/// Parses the columns of the index file at `path`. An unexpected value becomes an error that names the file.
#[derive(Debug, Clone)]
pub(super) struct ColumnReader {
    pub(super) path: PathBuf,
}

impl ColumnReader {
    pub(super) fn word<T: DeserializeOwned>(&self, kind: &'static str, word: String) -> Result<T, IndexError> {
        serde_json::from_value(serde_json::Value::String(word.clone())).map_err(|_| self.refuse(kind, word))
    }

    pub(super) fn optional_word<T: DeserializeOwned>(
        &self,
        kind: &'static str,
        word: Option<String>,
    ) -> Result<Option<T>, IndexError> {
        word.map(|word| self.word(kind, word)).transpose()
    }

    pub(super) fn json<T: DeserializeOwned>(&self, kind: &'static str, text: String) -> Result<T, IndexError> {
        serde_json::from_str(&text).map_err(|_| self.refuse(kind, text))
    }

    /// Returns the error about bytes that proctor does not write.
    pub(super) fn unreadable(&self, kind: &'static str) -> IndexError {
        self.refuse(kind, "other bytes".to_owned())
    }

    fn refuse(&self, kind: &'static str, value: String) -> IndexError {
        IndexError::Value { path: self.path.clone(), kind, value }
    }
}
