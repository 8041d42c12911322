//! `SHA256SUMS`: the digests of a run's files in the format of coreutils, so that `sha256sum -c SHA256SUMS` verifies a run.

use std::collections::BTreeMap;

use proctor_model::Digest;

/// Returns the manifest of these files: one line each, sorted by name.
///
/// A name with a backslash, a newline or a carriage return is escaped, and its line begins with a backslash (coreutils manual,
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

/// Parses a manifest, or returns `None` unless it is byte for byte what [`render_manifest`] writes.
pub(super) fn parse_manifest(bytes: &[u8]) -> Option<BTreeMap<Vec<u8>, Digest>> {
    let mut files = BTreeMap::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\n")?;
        let (line, is_escaped) = line.strip_prefix(b"\\").map_or((line, false), |rest| (rest, true));
        let (hex, rest) = line.split_at_checked(64)?;
        let name = rest.strip_prefix(b"  ")?;
        let name = if is_escaped { unescape(name)? } else { name.to_vec() };
        files.insert(name, Digest::try_from(String::from_utf8(hex.to_vec()).ok()?).ok()?);
    }
    (render_manifest(&files) == bytes).then_some(files)
}

fn unescape(name: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::with_capacity(name.len());
    let mut bytes = name.iter();
    while let Some(byte) = bytes.next() {
        plain.push(match byte {
            b'\\' => match bytes.next()? {
                b'\\' => b'\\',
                b'n' => b'\n',
                b'r' => b'\r',
                _ => return None,
            },
            other => *other,
        });
    }
    Some(plain)
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
        assert_eq!(parse_manifest(expected.as_bytes()), Some(files));
    }

    #[test]
    fn text_in_any_other_form_is_not_a_manifest() {
        let hex = Digest::of(b"").hex();
        assert_eq!(parse_manifest(b""), Some(BTreeMap::new()));
        for bad in [
            format!("{hex}  a"),
            format!("{hex} a\n"),
            format!("{hex} *a\n"),
            format!("{hex}  b\n{hex}  a\n"),
            format!("{hex}  a\n{hex}  a\n"),
            format!("\\{hex}  a\n"),
            format!("\\{hex}  a\\x\n"),
            format!("{}  a\n", hex.to_uppercase()),
            "short\n".to_owned(),
            format!("{hex}  a\n\n"),
        ] {
            assert_eq!(parse_manifest(bad.as_bytes()), None, "{bad:?}");
        }
    }
}
