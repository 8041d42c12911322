//! Quotes texts for messages that people read.

/// Returns a text as a JSON string literal on one line. TOML reads the literal as the same text.
///
/// JSON allows DEL (U+007F) and the control characters U+0080 to U+009F without an escape. This function escapes them,
/// because a terminal may act on them and TOML does not allow DEL.
pub fn quoted_text(text: &str) -> String {
    let literal = serde_json::to_string(text).expect("a text is JSON");
    if !literal.contains(char::is_control) {
        return literal;
    }
    let escaped = |character: char| format!("\\u{:04x}", u32::from(character));
    literal.chars().map(|character| if character.is_control() { escaped(character) } else { character.to_string() }).collect()
}

#[cfg(test)]
mod tests {
    use super::quoted_text;

    #[test]
    fn a_quoted_text_is_one_line_without_control_characters_and_is_read_as_the_same_text() {
        assert_eq!(quoted_text("plain \u{e4}"), "\"plain \u{e4}\"");
        assert_eq!(quoted_text("a\"b\\c\n\u{1b}\u{7f}\u{9b}"), r#""a\"b\\c\n\u001b\u007f\u009b""#);
        let everything: String = (0..0x300).filter_map(char::from_u32).collect();
        let quoted = quoted_text(&everything);
        assert!(!quoted.contains(char::is_control));
        assert_eq!(serde_json::from_str::<String>(&quoted).unwrap(), everything);
        let document: std::collections::BTreeMap<String, String> = toml::from_str(&format!("text = {quoted}")).unwrap();
        assert_eq!(document["text"], everything);
    }
}
