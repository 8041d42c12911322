//! Removes terminal control sequences from a tool's output. People are shown the cleaned text; the logs keep every byte (E12).

use proctor_model::StreamExcerpt;

const ESCAPE: char = '\u{1b}';

/// Returns an excerpt as text without control sequences and with `\n` line ends.
pub(super) fn plain_text(excerpt: &StreamExcerpt) -> String {
    let text = excerpt.text();
    if has_control(&text) { strip(&text) } else { text }
}

/// Returns `text` without CSI and OSC sequences and without carriage returns before line ends.
pub(super) fn strip(text: &str) -> String {
    if !has_control(text) {
        return text.to_owned();
    }
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            ESCAPE => skip_sequence(&mut characters),
            '\r' if characters.peek() == Some(&'\n') => {}
            other => plain.push(other),
        }
    }
    plain
}

fn has_control(text: &str) -> bool {
    text.contains([ESCAPE, '\r'])
}

fn skip_sequence(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match characters.peek() {
        Some('[') => {
            characters.next();
            // ECMA-48: a CSI sequence ends with a byte from 0x40 to 0x7e. If the line ends before such a byte, the sequence was
            // cut off.
            while let Some(next) = characters.peek() {
                let ends = matches!(next, '\u{40}'..='\u{7e}');
                if *next == '\n' {
                    return;
                }
                characters.next();
                if ends {
                    return;
                }
            }
        }
        Some(']') => {
            // An OSC sequence ends with BEL or with ESC `\`. A backslash alone is part of its text.
            let mut previous = ']';
            while let Some(&next) = characters.peek() {
                if next == '\n' {
                    return;
                }
                characters.next();
                if next == '\u{7}' || (previous == ESCAPE && next == '\\') {
                    return;
                }
                previous = next;
            }
        }
        Some('\n') | None => {}
        Some(_) => {
            characters.next();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_links_and_carriage_returns_are_taken_out() {
        assert_eq!(strip("\u{1b}[96ma.ts\u{1b}[0m:\u{1b}[93m2\u{1b}[0m\r\n"), "a.ts:2\n");
        assert_eq!(strip("\u{1b}]8;;http://x\u{1b}\\rule\u{1b}]8;;\u{7}"), "rule");
        assert_eq!(strip("\u{1b}]8;;file:///a\\b\u{1b}\\rule\u{1b}]8;;\u{7}"), "rule", "a backslash alone ends nothing");
        assert_eq!(strip("plain [x] text"), "plain [x] text");
        assert_eq!(strip("cut \u{1b}[3\nnext"), "cut \nnext");
    }
}
