//! Parses JSON with comments and trailing commas, the format of `tsconfig.json`.

use serde_json::Value;

/// Parses a text; `None` if it is not JSON even without comments and trailing commas.
pub fn parse_jsonc(text: &str) -> Option<Value> {
    serde_json::from_str(&plain_json(text.trim_start_matches('\u{feff}'))).ok()
}

fn plain_json(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if first == '"' {
            let length = string_length(rest);
            plain.push_str(&rest[..length]);
            length
        } else if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else {
            if matches!(first, ']' | '}') {
                let kept = plain.trim_end();
                let kept = kept.strip_suffix(',').unwrap_or(kept).len();
                plain.truncate(kept);
            }
            plain.push(first);
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    plain
}

/// Returns the length of the string at the beginning of a text, including its quotes.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (offset, character) in text.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return offset + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::proptest;
    use serde_json::json;

    use super::*;

    #[test]
    fn comments_and_trailing_commas_do_not_matter() {
        let text = "\u{feff}{ // one\n \"a\": [1, 2, /* two */ ], \"b\": \"// no \\\" comment, ]\", }";
        assert_eq!(parse_jsonc(text), Some(json!({"a": [1, 2], "b": "// no \" comment, ]"})));
        assert_eq!(parse_jsonc("{"), None);
        assert_eq!(parse_jsonc(""), None);
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in ".*", comment in "[/*\"\\\\,}\\]a]{0,20}") {
            let _ = (parse_jsonc(&text), parse_jsonc(&comment));
        }
    }
}
