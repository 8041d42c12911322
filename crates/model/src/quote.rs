//! Quotes texts for messages that people read.

use crate::is_hidden_character;

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
