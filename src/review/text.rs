//! From bytes to the text that is read.

/// The most bytes of a review that are read; one that is longer has no verdict.
pub const OUTPUT_CAP: usize = 1024 * 1024;

/// What looks like nothing beside white space: people see none of it.
const INVISIBLE: &[char] = &['\0', '\u{200b}', '\u{200c}', '\u{200d}', '\u{2060}', '\u{feff}'];

/// Returns the text of a review with its line ends as LF and without one byte order mark; none where it is not UTF-8. No case and no
/// character is folded.
pub(super) fn decode(bytes: &[u8]) -> Option<String> {
    let text = str::from_utf8(bytes).ok()?;
    Some(normalise(text))
}

/// Does the same to what is no text, or not all of it: only to look for rejections.
pub(super) fn decode_lossily(bytes: &[u8]) -> String {
    normalise(&String::from_utf8_lossy(&bytes[..bytes.len().min(OUTPUT_CAP)]))
}

fn normalise(text: &str) -> String {
    text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n")
}

/// Returns whether nobody would see anything of it.
pub(super) fn is_blank(text: &str) -> bool {
    text.chars().all(|one| one.is_whitespace() || INVISIBLE.contains(&one))
}
