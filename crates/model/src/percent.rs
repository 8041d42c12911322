//! Percent-encoding, by which addresses and queries write bytes that have a meaning of their own there (RFC 3986, 2.1).

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
    use super::*;

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
