//! Splits an SQL text into its words and signs, without comments and without what is quoted.

/// A part of an SQL text that may say what a statement does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SqlPart {
    /// A word that is not quoted, in lower case.
    Word(String),
    /// A text or a name in quotes.
    Quoted,
    /// Any other character that is no blank.
    Sign(char),
}

/// Returns the parts of an SQL text in their order. What is not closed goes to the end of the text.
pub fn sql_parts(text: &str) -> Vec<SqlPart> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("--") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            length_of_comment(rest)
        } else if let '\'' | '"' | '`' = first {
            parts.push(SqlPart::Quoted);
            length_of_quoted(rest, first)
        } else if let Some(length) = length_of_dollar_quoted(rest) {
            parts.push(SqlPart::Quoted);
            length
        } else if is_of_word(first) {
            let word = &rest[..rest.find(|character| !is_of_word(character)).unwrap_or(rest.len())];
            parts.push(SqlPart::Word(word.to_lowercase()));
            word.len()
        } else {
            if !first.is_whitespace() {
                parts.push(SqlPart::Sign(first));
            }
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    parts
}

fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Returns the length of the comment with which a text begins. The databases differ in whether comments stand in each other, so the
/// first end counts: what follows it is looked at rather than passed over.
fn length_of_comment(text: &str) -> usize {
    text[2..].find("*/").map_or(text.len(), |end| end + 4)
}

/// Returns the length of the quoted part with which a text begins. A doubled quote stands for one.
fn length_of_quoted(text: &str, quote: char) -> usize {
    let mut at = 1;
    while let Some(end) = text[at..].find(quote) {
        at += end + 1;
        if !text[at..].starts_with(quote) {
            return at;
        }
        at += 1;
    }
    text.len()
}

/// Returns the length of `$tag$…$tag$` with which a text begins; `None` if it begins with something else.
fn length_of_dollar_quoted(text: &str) -> Option<usize> {
    let tag = &text[..text.strip_prefix('$')?.find('$')? + 2];
    tag[1..tag.len() - 1].chars().all(is_of_word).then_some(())?;
    text[tag.len()..].find(tag).map(|end| end + 2 * tag.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_quoted_parts_are_no_words() {
        let words = |text: &str| {
            let words = sql_parts(text).into_iter().filter_map(|part| match part {
                SqlPart::Word(word) => Some(word),
                SqlPart::Quoted | SqlPart::Sign(_) => None,
            });
            words.collect::<Vec<_>>().join(" ")
        };
        for (text, expected) in [
            ("-- all quotes\nSELECT 1", "select 1"),
            ("/* a -- b */ Select 'it''s; delete' /* c", "select"),
            ("select \"delete\", `update` from $q$ delete $q$ where a = $1", "select from where a 1"),
            ("select é_1", "select é_1"),
            ("-- only", ""),
            ("'not closed", ""),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
        assert_eq!(sql_parts("a('b')").len(), 4);
    }
}
