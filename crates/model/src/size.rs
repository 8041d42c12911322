//! Sizes in bytes as people write them: `500MB`, `4GiB`.
//!
//! Percent-encoding, by which addresses and queries write bytes that have a meaning of their own there (RFC 3986, 2.1).

use std::fmt;

use serde::{Deserialize, Serialize};

/// The units of a size with their number of bytes. The largest come first, because `Display` takes the first unit that
/// fits.
const UNITS: &[(&str, u64)] = &[
    ("TiB", 1 << 40),
    ("TB", 1_000_000_000_000),
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("kB", 1_000),
    ("B", 1),
];

/// A number of bytes, which is written with a unit, such as `500MB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct ByteSize(pub u64);

impl ByteSize {
    /// Parses a size. The text must be a whole number followed by one of the units `B`, `kB`, `MB`, `GB`, `TB`, `KiB`, `MiB`,
    /// `GiB`, `TiB`; otherwise, or if the size does not fit into 64 bits, the result is `None`.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.find(|character: char| !character.is_ascii_digit())?;
        let (number, unit) = text.split_at(digits);
        let number: u64 = number.parse().ok()?;
        let (_, length) = UNITS.iter().find(|(name, _)| *name == unit)?;
        number.checked_mul(*length).map(Self)
    }
}

/// Writes the size as `proctor.toml` has it: in the largest unit that leaves a whole number.
impl fmt::Display for ByteSize {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits = |length: u64| self.0 > 0 && self.0.is_multiple_of(length);
        let (unit, length) = UNITS.iter().find(|(_, length)| fits(*length)).copied().unwrap_or(("B", 1));
        write!(formatter, "{}{unit}", self.0 / length)
    }
}

/// Returns the bytes that a percent-encoded text stands for: `%40` is `@`. None: a `%` is not followed by two hexadecimal digits.
pub fn decode_percent(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut left = text.bytes();
    while let Some(byte) = left.next() {
        match byte {
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let (high, low) = (digit(left.next())?, digit(left.next())?);
                bytes.push(u8::try_from(high * 16 + low).ok()?);
            }
            _ => bytes.push(byte),
        }
    }
    Some(bytes)
}

/// Returns the bytes percent-encoded, except letters, digits, `-`, `.`, `_`, `~` and the bytes of `kept`.
pub fn encode_percent(bytes: &[u8], kept: &str) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        let is_plain = byte.is_ascii_alphanumeric() || b"-._~".contains(byte) || kept.as_bytes().contains(byte);
        if is_plain {
            text.push(char::from(*byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::*;

    #[test]
    fn a_size_needs_a_number_and_a_unit() {
        for (text, bytes) in [("4GiB", 4 << 30), ("500MB", 500_000_000), ("64KiB", 65_536), ("3kB", 3000), ("0B", 0)] {
            assert_eq!(ByteSize::parse(text), Some(ByteSize(bytes)), "{text}");
        }
        for bad in ["", "4", "GiB", "4 GiB", "-4GiB", "1.5GiB", "4G", "4gib", "4KB", "99999999999999999999B", "99999999999TiB"] {
            assert_eq!(ByteSize::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_longest_exact_unit_is_shown() {
        let shown = |bytes: u64| ByteSize(bytes).to_string();
        assert_eq!([shown(0), shown(1500), shown(1 << 32), shown(2_000_000)], ["0B", "1500B", "4GiB", "2MB"]);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(bytes in any::<u64>()) {
            assert_eq!(ByteSize::parse(&ByteSize(bytes).to_string()), Some(ByteSize(bytes)));
        }
    }

    #[test]
    fn encoded_bytes_are_decoded_and_anything_else_stays() {
        assert_eq!(decode_percent("a%40b%2Fc+d"), Some(b"a@b/c+d".to_vec()));
        assert_eq!(decode_percent("%ff"), Some(vec![0xff]));
        for wrong in ["%", "%4", "%4x", "a%\u{e9}1"] {
            assert_eq!(decode_percent(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_encoded_is_decoded_to_the_same_bytes() {
        assert_eq!(encode_percent("a b/\u{e9}~".as_bytes(), "/"), "a%20b/%C3%A9~");
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(decode_percent(&encode_percent(&all, "")), Some(all));
    }
}
