//! How a text is quoted for people: between double quotes, on one line, with what cannot be seen escaped.

use std::fmt::Write as _;

/// Returns a text between double quotes. Quotes, backslashes and control characters are escaped as in TOML and Rust.
pub fn in_quotes(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\0' => quoted.push_str("\\0"),
            character if character.is_control() => {
                write!(quoted, "\\u{{{:x}}}", u32::from(character)).expect("a string takes every text");
            }
            character => quoted.push(character),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::in_quotes;

    #[test]
    fn a_quoted_text_is_one_line_and_shows_its_quotes() {
        assert_eq!(in_quotes("plain 'text' ü"), "\"plain 'text' ü\"");
        assert_eq!(in_quotes("a\"b\\c\nd\te\r\0\u{1b}"), r#""a\"b\\c\nd\te\r\0\u{1b}""#);
    }
}
