//! A mark of a test's source text, by which a test is known again after it was renamed.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The first 64 bits of the SHA-256 of a test's own source text, in which its name stands for nothing: 16 hexadecimal digits. Two tests
/// with one mark have the same text but for their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TestBody(pub u64);

/// The error for a text that is not 16 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no mark of a test's text: 16 hexadecimal digits")]
pub struct TestBodyError(pub String);

impl TryFrom<String> for TestBody {
    type Error = TestBodyError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_hex = text.len() == 16 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let bits = u64::from_str_radix(&text, 16).ok().filter(|_| is_hex);
        bits.map(Self).ok_or(TestBodyError(text))
    }
}

impl From<TestBody> for String {
    fn from(body: TestBody) -> Self {
        body.to_string()
    }
}

impl fmt::Display for TestBody {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_sixteen_digits() {
        let body = TestBody(0x0012_ab00_0000_00ff);
        let text = serde_json::to_string(&body).unwrap();
        assert_eq!((text.as_str(), serde_json::from_str(&text).ok()), ("\"0012ab00000000ff\"", Some(body)));
        for wrong in ["", "12ab", "0012AB00000000FF", "0012ab00000000f", "+012ab00000000ff", "é012ab00000000f"] {
            assert!(TestBody::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
    }
}
