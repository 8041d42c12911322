//! Makes texts that do not come from proctor safe to show: characters that a terminal obeys, or that a person does not
//! see, are written as escapes.
//!
//! Names of files, messages of tools and the like come from code that may be hostile. A raw ESC can paint over the
//! screen, a bidirectional control can turn a name around, and an invisible character can hide words from the person
//! but not from a program.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Returns a text as one line. Hidden characters, line ends and tabs become escapes: `\n`, `\t`, `\r`, `\u{1b}`.
///
/// A backslash stays as it is, so the result is for people and cannot be read back.
pub fn shown_line(text: &str) -> Cow<'_, str> {
    escape(text, &[])
}

/// Returns a text of several lines. Line ends and tabs stay; all other hidden characters become escapes.
pub fn shown_lines(text: &str) -> Cow<'_, str> {
    escape(text, &['\n', '\t'])
}

/// Returns a JSON document in which no hidden character stands as itself. Hidden characters inside of strings become
/// the escapes of JSON (`\u009b`), which every reader of JSON reads as the same text. Line ends and tabs stay, because
/// in JSON they only stand between the values.
pub fn shown_json(document: &str) -> Cow<'_, str> {
    if !has_hidden(document, &['\n', '\t', '\r']) {
        return Cow::Borrowed(document);
    }
    let mut shown = String::with_capacity(document.len() + 64);
    for_each(document, |character, is_hidden| {
        if !is_hidden || matches!(character, '\n' | '\t' | '\r') {
            return shown.push(character);
        }
        let mut units = [0; 2];
        for unit in character.encode_utf16(&mut units) {
            write!(shown, "\\u{unit:04x}").expect("a text takes every text");
        }
    });
    Cow::Owned(shown)
}

/// Returns whether a text has a character that [`shown_line`] writes as an escape.
pub fn has_hidden_characters(text: &str) -> bool {
    has_hidden(text, &[])
}

/// Returns the escape of a character, as [`shown_line`] writes it.
pub fn escaped_character(character: char) -> String {
    match character {
        '\n' => "\\n".to_owned(),
        '\t' => "\\t".to_owned(),
        '\r' => "\\r".to_owned(),
        other => format!("\\u{{{:x}}}", u32::from(other)),
    }
}

fn escape<'t>(text: &'t str, kept: &[char]) -> Cow<'t, str> {
    if !has_hidden(text, kept) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for_each(text, |character, is_hidden| {
        if is_hidden && !kept.contains(&character) {
            shown.push_str(&escaped_character(character));
        } else {
            shown.push(character);
        }
    });
    Cow::Owned(shown)
}

fn has_hidden(text: &str, kept: &[char]) -> bool {
    // Most texts are printable ASCII, and long logs are read here: bytes are compared before characters are decoded.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~') || kept.contains(&char::from(byte))) {
        return false;
    }
    let mut found = false;
    for_each(text, |character, is_hidden| found |= is_hidden && !kept.contains(&character));
    found
}

/// Calls `see` with each character of a text, and whether the character is hidden at its place.
fn for_each(text: &str, mut see: impl FnMut(char, bool)) {
    let mut before = None;
    for character in text.chars() {
        // Tools print symbols such as a check mark with the selector of their emoji form. The symbol is seen, so one
        // selector behind it hides nothing. Behind any other character, or repeated, selectors can carry a hidden text.
        let selects_form = matches!(character, '\u{fe0e}' | '\u{fe0f}') && before.is_some_and(is_symbol);
        see(character, is_hidden_character(character) && !selects_form);
        before = Some(character);
    }
}

fn is_symbol(character: char) -> bool {
    matches!(character, '\u{203c}'..='\u{3299}' | '\u{1f000}'..='\u{1faff}') && !is_hidden_character(character)
}

/// Returns whether a terminal may obey the character, or a person may not see it: control characters (also U+007F to
/// U+009F), bidirectional and other format controls, invisible letters and fillers, variation selectors, tags,
/// private-use characters and noncharacters (Unicode 17: `Cc`, `Cf` without the visible signs of Arabic numbers, `Co`,
/// `Zl`, `Zp`, `Default_Ignorable_Code_Point`, `Noncharacter_Code_Point`, and the blank of Braille).
pub fn is_hidden_character(character: char) -> bool {
    if character.is_control() {
        return true;
    }
    matches!(
        character,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{70f}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{e000}'..='\u{f8ff}'
            | '\u{fdd0}'..='\u{fdef}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{110bd}'
            | '\u{110cd}'
            | '\u{13430}'..='\u{1343f}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
            | '\u{f0000}'..='\u{10ffff}'
    ) || u32::from(character) & 0xfffe == 0xfffe
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    use super::*;

    #[test]
    fn what_is_hidden_is_written_and_what_is_seen_stays() {
        for (text, shown) in [
            ("plain", "plain"),
            ("Grüße – 漢字 🦀 ✓ ✗ … · → │", "Grüße – 漢字 🦀 ✓ ✗ … · → │"),
            ("שלום مرحبا", "שלום مرحبا"),
            ("\u{2714}\u{fe0f} \u{26a0}\u{fe0f}", "\u{2714}\u{fe0f} \u{26a0}\u{fe0f}"),
            ("\u{2714}\u{fe0f}\u{fe0f}", "\u{2714}\u{fe0f}\\u{fe0f}"),
            ("a\u{fe0f}b\u{fe00}", "a\\u{fe0f}b\\u{fe00}"),
            ("\u{1b}[2J\u{7f}\u{9b}1A\0", "\\u{1b}[2J\\u{7f}\\u{9b}1A\\u{0}"),
            ("one\ntwo\tthree\rfour", "one\\ntwo\\tthree\\rfour"),
            ("a\u{202e}b\u{2066}c\u{200f}\u{61c}", "a\\u{202e}b\\u{2066}c\\u{200f}\\u{61c}"),
            ("a\u{200b}b\u{200d}c\u{2060}\u{feff}\u{ad}\u{34f}", "a\\u{200b}b\\u{200d}c\\u{2060}\\u{feff}\\u{ad}\\u{34f}"),
            ("\u{e0041}\u{e007f}\u{e0100}", "\\u{e0041}\\u{e007f}\\u{e0100}"),
            ("\u{e000}\u{f8ff}\u{f0000}\u{10ffff}", "\\u{e000}\\u{f8ff}\\u{f0000}\\u{10ffff}"),
            ("\u{2028}\u{2029}\u{3164}\u{ffa0}\u{1160}\u{ffff}", "\\u{2028}\\u{2029}\\u{3164}\\u{ffa0}\\u{1160}\\u{ffff}"),
        ] {
            assert_eq!(shown_line(text), shown, "{text:?}");
            assert_eq!(has_hidden_characters(text), text != shown, "{text:?}");
        }
        assert_eq!(shown_lines("one\n\ttwo\r\n\u{1b}c"), "one\n\ttwo\\r\n\\u{1b}c");
    }

    proptest! {
        #[test]
        fn nothing_hidden_is_left_and_nothing_is_escaped_twice(text in any::<String>()) {
            let shown = shown_line(&text).into_owned();
            prop_assert!(!has_hidden_characters(&shown));
            prop_assert_eq!(&shown_line(&shown), &shown);
            prop_assert!(!shown.contains(char::is_control));
        }

        #[test]
        fn a_document_of_json_stays_the_same_value(text in any::<String>(), hidden in "[\u{80}-\u{9f}\u{202e}\u{e0001}\u{feff}]{0,4}") {
            let value = serde_json::json!({ "text": format!("{hidden}{text}{hidden}") });
            let written = serde_json::to_string_pretty(&value).expect("a value can be written");
            let shown = shown_json(&written);
            prop_assert!(!has_hidden(&shown, &['\n']));
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).expect("still JSON"), value);
        }
    }
}
