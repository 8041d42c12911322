//! Paths as `file:` addresses (RFC 8089), and back.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

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
