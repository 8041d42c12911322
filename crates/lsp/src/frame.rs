//! Messages on a stream: a head with `Content-Length`, an empty line, and as many bytes of JSON.

use std::fmt::Write as _;
use std::io::{self, BufRead, ErrorKind, Read as _, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// A larger message is not read.
const LARGEST: u64 = 64 << 20;
/// A longer head is none.
const LONGEST_HEAD: u64 = 4096;

/// Reads the next message; `None` at the end of the stream, `Some(Err)` for bytes that are no JSON.
///
/// # Errors
/// When the stream cannot be read, ends within a message, or has no message where one begins: what follows cannot be found then.
pub(crate) fn read_message(input: &mut impl BufRead) -> io::Result<Option<Result<Value, serde_json::Error>>> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if input.take(LONGEST_HEAD).read_line(&mut line)? == 0 {
            return if length.is_none() { Ok(None) } else { Err(ErrorKind::UnexpectedEof.into()) };
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').ok_or(ErrorKind::InvalidData)?;
        if name.eq_ignore_ascii_case("content-length") {
            length = Some(value.trim().parse::<u64>().map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?);
        }
    }
    let length = length.filter(|length| *length <= LARGEST).ok_or(ErrorKind::InvalidData)?;
    let mut bytes = Vec::new();
    if input.take(length).read_to_end(&mut bytes)? as u64 != length {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(serde_json::from_slice(&bytes)))
}

/// Writes one message.
///
/// # Errors
/// When the client is gone.
pub(crate) fn write_message(output: &mut impl Write, message: &Value) -> io::Result<()> {
    let text = message.to_string();
    write!(output, "Content-Length: {}\r\n\r\n{text}", text.len())?;
    output.flush()
}

// Paths as `file:` addresses (RFC 8089), and back.

/// Returns the path of an address on this machine; `None` for any other address.
pub(crate) fn path_of(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    let mut bytes = Vec::with_capacity(path.len());
    let mut left = path.as_bytes();
    while let [first, rest @ ..] = left {
        let code = || u8::from_str_radix(std::str::from_utf8(rest.get(..2)?).ok()?, 16).ok();
        match (*first, code()) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                left = &rest[2..];
            }
            (byte, _) => {
                bytes.push(byte);
                left = rest;
            }
        }
    }
    bytes.starts_with(b"/").then(|| PathBuf::from(std::ffi::OsStr::from_bytes(&bytes)))
}

/// Returns the address of an absolute path.
pub(crate) fn uri_of(path: &Path) -> String {
    let mut uri = String::from("file://");
    for byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            let _never_fails = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut stream = Vec::new();
        let messages = [json!({"id": 1, "method": "\u{e4}"}), json!([])];
        for message in &messages {
            write_message(&mut stream, message).expect("it is memory");
        }
        let mut input = stream.as_slice();
        for message in messages {
            assert_eq!(read_message(&mut input).expect("it is whole").map(|read| read.expect("it is JSON")), Some(message));
        }
        assert!(read_message(&mut input).expect("it ended between messages").is_none());
    }

    #[test]
    fn a_stream_without_a_message_is_an_error_and_wrong_json_is_not() {
        for wrong in
            ["x\r\n\r\n", "Content-Length: 5\r\n\r\nab", "Content-Length: -1\r\n\r\n", "A: b\r\n\r\n", "Content-Length: 1\r\n"]
        {
            assert!(read_message(&mut wrong.as_bytes()).is_err(), "{wrong}");
        }
        let huge = format!("Content-Length: {}\r\n\r\n", LARGEST + 1);
        assert!(read_message(&mut huge.as_bytes()).is_err());
        let mut input = "content-length: 2\r\nContent-Type: x\r\n\r\n{,Content-Length: 2\r\n\r\n{}".as_bytes();
        assert!(matches!(read_message(&mut input), Ok(Some(Err(_)))));
        assert!(matches!(read_message(&mut input), Ok(Some(Ok(_)))));
    }
}

#[cfg(test)]
mod uri_tests {
    use super::*;

    #[test]
    fn a_path_survives_its_address() {
        for path in ["/a/b.py", "/a b/\u{e4}%20.ts", "/[x]/(y).js"] {
            assert_eq!(path_of(&uri_of(Path::new(path))), Some(PathBuf::from(path)));
        }
        assert_eq!(path_of("file:///home/a%20b%2"), Some(PathBuf::from("/home/a b%2")));
        assert_eq!((path_of("untitled:1"), path_of("file://host/a")), (None, None));
    }
}
