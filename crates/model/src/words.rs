//! Command lines as lists of words: splits a text that needs no shell, and quotes words for people and for a shell.

use std::borrow::Cow;

use crate::is_hidden_character;

/// Splits a text into words as a shell would, without expanding anything; `None` if a quote is not closed.
pub fn split_words(text: &str) -> Option<Vec<String>> {
    shlex::split(text)
}

/// Joins words to a text that a shell splits into the same words; `None` if a word contains NUL, which no argument can
/// contain.
pub fn join_words<'w>(words: impl IntoIterator<Item = &'w str>) -> Option<String> {
    shlex::try_join(words).ok()
}

/// Quotes a word for a shell. A word with a NUL is returned unchanged.
pub fn quote_word(word: &str) -> String {
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), Cow::into_owned)
}

/// Returns whether a list of words has a word. Long lists of words are one text, with a space between two words.
pub fn has_word(words: &str, word: &str) -> bool {
    !word.is_empty() && words.split(' ').any(|known| known == word)
}

/// Returns whether a word assigns a variable: `NAME=value`.
pub fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| is_variable_name(name))
}

/// Returns whether a text can be the name of a variable: ASCII letters, digits and `_`, not beginning with a digit.
pub fn is_variable_name(name: &str) -> bool {
    let begins_right = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    begins_right && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

// Quotes texts for messages that people read.

/// Returns a text as a JSON string literal on one line. TOML reads the literal as the same text.
///
/// JSON allows DEL (U+007F), the control characters U+0080 to U+009F and invisible characters without an escape. This
/// function escapes them, because a terminal may act on them or show nothing, and TOML does not allow DEL. Characters
/// above U+FFFF stay: JSON and TOML escape them in different ways.
pub fn quoted_text(text: &str) -> String {
    let literal = serde_json::to_string(text).expect("a text is JSON");
    let is_escaped = |character: char| is_hidden_character(character) && u32::from(character) <= 0xffff;
    if !literal.contains(is_escaped) {
        return literal;
    }
    let escaped = |character: char| format!("\\u{:04x}", u32::from(character));
    literal.chars().map(|character| if is_escaped(character) { escaped(character) } else { character.to_string() }).collect()
}

#[cfg(test)]
mod tests {
    use super::quoted_text;

    #[test]
    fn a_quoted_text_is_one_line_without_control_characters_and_is_read_as_the_same_text() {
        assert_eq!(quoted_text("plain \u{e4}"), "\"plain \u{e4}\"");
        assert_eq!(quoted_text("a\"b\\c\n\u{1b}\u{7f}\u{9b}"), r#""a\"b\\c\n\u001b\u007f\u009b""#);
        assert_eq!(quoted_text("a\u{202e}b\u{e0041}"), "\"a\\u202eb\u{e0041}\"");
        let everything: String = (0..0x300).filter_map(char::from_u32).collect();
        let quoted = quoted_text(&everything);
        assert!(!quoted.contains(char::is_control));
        assert_eq!(serde_json::from_str::<String>(&quoted).unwrap(), everything);
        let document: std::collections::BTreeMap<String, String> = toml::from_str(&format!("text = {quoted}")).unwrap();
        assert_eq!(document["text"], everything);
    }
}
