//! Makes output safe to display: removes escape sequences and control characters.
//!
//! The log keeps every byte. No words of the output may get lost. So if an escape sequence never ends, only its first
//! characters are removed.

/// The longest recognised escape sequence that contains a string (a title, a link), in characters.
const LONGEST_STRING: usize = 4096;

/// Returns the text without escape sequences (ECMA-48), and without control characters except newline and tab.
///
/// A single carriage return becomes a newline, so that progress lines which overwrite each other stay readable.
pub fn plain_text(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        match character {
            '\u{1b}' => rest = after_escape(rest),
            '\u{9b}' => rest = after_control_sequence(rest),
            '\r' if rest.as_str().starts_with('\n') => {}
            '\r' => plain.push('\n'),
            '\n' | '\t' => plain.push(character),
            _ if character.is_control() => {}
            _ => plain.push(character),
        }
    }
    plain
}

/// Returns the text after an escape sequence. The argument is the text after its ESC.
fn after_escape(after: std::str::Chars<'_>) -> std::str::Chars<'_> {
    let mut rest = after.clone();
    match rest.next() {
        Some('[') => after_control_sequence(rest),
        Some(']' | 'P' | 'X' | '^' | '_') => after_string(rest),
        // ESC, intermediate characters and one final character, for example to choose a character set.
        Some(' '..='/') => {
            let mut end = rest.clone();
            while let Some(' '..='/') = end.clone().next() {
                end.next();
            }
            match end.next() {
                Some('0'..='~') => end,
                Some(_) | None => rest,
            }
        }
        Some('0'..='~') => rest,
        Some(_) | None => after,
    }
}

/// Returns the text after a control sequence (`[31m`). The argument is the text after `ESC [`.
fn after_control_sequence(after: std::str::Chars<'_>) -> std::str::Chars<'_> {
    let mut rest = after.clone();
    while let Some(character) = rest.next() {
        match character {
            ' '..='?' => {}
            '@'..='~' => return rest,
            _ => return after,
        }
    }
    after
}

/// Returns the text after a string sequence (a title, a link), which ends with BEL, ST or ESC `\`. If no end follows on the line
/// within the longest length, only the introducer is removed.
fn after_string(after: std::str::Chars<'_>) -> std::str::Chars<'_> {
    let mut rest = after.clone();
    for _ in 0..LONGEST_STRING {
        match rest.next() {
            Some('\u{7}' | '\u{9c}') => return rest,
            Some('\u{1b}') if rest.as_str().starts_with('\\') => {
                rest.next();
                return rest;
            }
            Some('\n') | None => return after,
            Some(_) => {}
        }
    }
    after
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    use super::plain_text;

    #[test]
    fn colours_titles_links_and_bells_are_gone_and_words_stay() {
        let cases = [
            ("\u{1b}[1m\u{1b}[31mFAILED\u{1b}[0m tests/a.py", "FAILED tests/a.py"),
            ("\u{1b}[38;2;1;2;3mred\u{1b}[39m", "red"),
            ("\u{9b}31mred", "red"),
            ("\u{1b}]0;title\u{7}text", "text"),
            ("\u{1b}]8;;file:///a\u{1b}\\a.py\u{1b}]8;;\u{1b}\\:3", "a.py:3"),
            ("a\u{1b}(Bb", "ab"),
            ("bell\u{7} null\0 delete\u{7f}", "bell null delete"),
            ("one\r\ntwo\tthree", "one\ntwo\tthree"),
            ("10 %\r20 %\r\n", "10 %\n20 %\n"),
            ("Grüße – 漢字 🦀", "Grüße – 漢字 🦀"),
        ];
        for (raw, plain) in cases {
            assert_eq!(plain_text(raw), plain, "{raw:?}");
        }
    }

    #[test]
    fn a_sequence_that_never_ends_hides_nothing() {
        assert_eq!(plain_text("\u{1b}]0;assert 1 == 2\nFAILED"), "0;assert 1 == 2\nFAILED");
        assert_eq!(plain_text("\u{1b}[31"), "31");
        assert_eq!(plain_text("\u{1b}[3\u{e9}FAILED"), "3\u{e9}FAILED");
        assert_eq!(plain_text("end\u{1b}"), "end");
        let long = format!("\u{1b}]{}\u{7}", "x".repeat(10_000));
        assert_eq!(plain_text(&long).len(), 10_000);
    }

    proptest! {
        #[test]
        fn plain_text_has_no_control_characters_and_is_stable(text in any::<String>()) {
            let plain = plain_text(&text);
            prop_assert!(plain.chars().all(|character| !character.is_control() || character == '\n' || character == '\t'));
            prop_assert_eq!(plain_text(&plain), plain);
        }
    }
}
