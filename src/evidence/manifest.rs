//! `SHA256SUMS`: the digests of a run's files in the format of coreutils, so that `sha256sum -c SHA256SUMS` verifies a run.

use std::collections::BTreeMap;

use crate::model::Digest;

/// Returns the manifest of files by name: one line each, sorted by name.
///
/// A name with a backslash, a newline or a carriage return is escaped and its line begins with a backslash (coreutils manual,
/// "md5sum invocation").
pub(super) fn render_manifest(files: &BTreeMap<Vec<u8>, Digest>) -> Vec<u8> {
    let mut text = Vec::new();
    for (name, digest) in files {
        let escaped = escape(name);
        if escaped.len() != name.len() {
            text.push(b'\\');
        }
        text.extend_from_slice(digest.hex().as_bytes());
        text.extend_from_slice(b"  ");
        text.extend_from_slice(&escaped);
        text.push(b'\n');
    }
    text
}

fn escape(name: &[u8]) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(name.len());
    for byte in name {
        match byte {
            b'\\' => escaped.extend_from_slice(b"\\\\"),
            b'\n' => escaped.extend_from_slice(b"\\n"),
            b'\r' => escaped.extend_from_slice(b"\\r"),
            other => escaped.push(*other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_sorted_and_odd_names_escaped() {
        let digest = Digest::of(b"");
        let names: [&[u8]; 4] = [b"b", b"a b", b"c\nd\r", b"e\\f"];
        let files = names.into_iter().map(|name| (name.to_vec(), digest)).collect();
        let hex = digest.hex();
        let expected = format!("{hex}  a b\n{hex}  b\n\\{hex}  c\\nd\\r\n\\{hex}  e\\\\f\n");
        assert_eq!(String::from_utf8(render_manifest(&files)).unwrap(), expected);
    }
}
