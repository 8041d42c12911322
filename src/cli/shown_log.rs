//! Escapes the bytes of a log for a terminal, piece by piece. Pure.

use proctor_model::shown_lines;

/// The number of bytes that the longest UTF-8 characters have.
const LONGEST_CHARACTER: usize = 4;

/// Escapes the pieces of a log. A character, or a line end of two characters, may be cut at the end of a piece: its
/// beginning waits for the next piece.
#[derive(Debug, Default)]
pub(crate) struct ShownLog {
    waiting: Vec<u8>,
}

impl ShownLog {
    /// Returns the text to show for the next piece of the log.
    pub(crate) fn next(&mut self, piece: &[u8]) -> String {
        self.waiting.extend_from_slice(piece);
        let rest = self.waiting.split_off(self.waiting.len() - cut_at_end(&self.waiting));
        let whole = std::mem::replace(&mut self.waiting, rest);
        escape(&whole)
    }

    /// Returns the text to show for what is left at the end of the log.
    pub(crate) fn end(self) -> String {
        escape(&self.waiting)
    }
}

/// Returns the number of bytes at the end that belong to an unfinished character or line end.
fn cut_at_end(bytes: &[u8]) -> usize {
    if bytes.last() == Some(&b'\r') {
        return 1;
    }
    let last = &bytes[bytes.len().saturating_sub(LONGEST_CHARACTER - 1)..];
    let is_cut = |count: &usize| match str::from_utf8(&last[last.len() - count..]) {
        Ok(_) => false,
        Err(error) => error.valid_up_to() == 0 && error.error_len().is_none(),
    };
    (1..=last.len()).rev().find(is_cut).unwrap_or(0)
}

/// Escapes what a terminal obeys or a person does not see. LF and tabs stay, and CR LF becomes LF; a byte that is not UTF-8 is
/// written as `\xNN`.
fn escape(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        shown.push_str(&shown_lines(&chunk.valid().replace("\r\n", "\n")));
        chunk.invalid().iter().for_each(|byte| shown.push_str(&format!("\\x{byte:02x}")));
    }
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert_eq, proptest};

    use super::*;

    fn shown(pieces: &[&[u8]]) -> String {
        let mut log = ShownLog::default();
        let mut text: String = pieces.iter().map(|piece| log.next(piece)).collect();
        text.push_str(&log.end());
        text
    }

    #[test]
    fn a_log_is_escaped_and_stays_readable() {
        assert_eq!(shown(&[b"one\r\n\ttwo \x1b[2J\rthree\n\xff"]), "one\n\ttwo \\u{1b}[2J\\rthree\n\\xff");
        assert_eq!(shown(&["\u{202e}✓".as_bytes()]), "\\u{202e}✓");
    }

    proptest! {
        #[test]
        fn where_a_log_is_cut_makes_no_difference(bytes in proptest::collection::vec(any::<u8>(), 0..60), text in "(\r|\n|é|🦀|\u{9b}|a){0,8}", at in 0_usize..90) {
            let whole = [text.as_bytes(), &bytes, text.as_bytes()].concat();
            let (first, second) = whole.split_at(at.min(whole.len()));
            prop_assert_eq!(shown(&[first, second]), shown(&[&whole]));
        }
    }
}
