//! The tokens of a text in JavaScript, TypeScript, Rust or Go. Layout and comments make no difference. Pure.

use crate::touched::TestLanguage;

/// A token, and where it begins and ends in the text, in bytes.
pub(crate) struct Token {
    pub(crate) text: String,
    pub(crate) begins: usize,
    pub(crate) ends: usize,
}

/// Words of JavaScript behind which a stroke begins a regular expression and divides nothing.
const BEFORE_PATTERN: &[&str] =
    &["return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "await", "yield", "else"];

/// Returns the tokens of a text without comments, and without commas and semicolons before a closing bracket. Texts in quotes have double
/// ones. `None` if its brackets do not fit: then something in it was not understood.
pub(crate) fn tokens_of(text: &str, language: TestLanguage) -> Option<Vec<Token>> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut open: Vec<char> = Vec::new();
    let mut at = 0;
    while let Some(character) = text[at..].chars().next() {
        let rest = &text[at..];
        if character.is_whitespace() {
            at += character.len_utf8();
        } else if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            at += end_of_comment(rest, language == TestLanguage::Rust)?;
        } else {
            let last = tokens.last().map(|token| token.text.as_str());
            let end = end_of_token(rest, character, language, last)?;
            let is_quoted = character == '"' || (matches!(character, '\'' | '`') && language != TestLanguage::Rust);
            let is_quoted = is_quoted && end > 1;
            let token = if is_quoted { format!("\"{}\"", &rest[1..end - 1]) } else { rest[..end].to_owned() };
            match token.as_str() {
                "(" | "[" | "{" => open.push(character),
                ")" | "]" | "}" => {
                    let fits = [('(', ')'), ('[', ']'), ('{', '}')].contains(&(open.pop()?, character));
                    tokens.pop_if(|last| fits && matches!(last.text.as_str(), "," | ";"));
                    if !fits {
                        return None;
                    }
                }
                _ => {}
            }
            // A formatter of JavaScript adds and removes the semicolons at the end of lines.
            if !(language == TestLanguage::Script && token == ";") {
                tokens.push(Token { text: token, begins: at, ends: at + end });
            }
            at += end;
        }
    }
    open.is_empty().then_some(tokens)
}

/// Returns the position behind the bracket that closes the one at `open`; the end if none does.
pub(crate) fn end_of_group(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0_usize;
    for (position, token) in tokens.iter().enumerate().skip(open) {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return position + 1;
        }
    }
    tokens.len()
}

/// Returns the texts of tokens as one text.
pub(crate) fn joined(tokens: &[Token]) -> String {
    tokens.iter().map(|token| token.text.as_str()).collect::<Vec<_>>().join("\u{1}")
}

/// Returns how many bytes a comment has. Comments of Rust can lie in each other.
fn end_of_comment(rest: &str, may_nest: bool) -> Option<usize> {
    let (mut depth, mut at) = (0_usize, 0);
    loop {
        let inner = &rest[at..];
        if inner.starts_with("/*") && (may_nest || depth == 0) {
            depth += 1;
            at += 2;
        } else if inner.starts_with("*/") {
            depth -= 1;
            at += 2;
        } else {
            at += inner.chars().next()?.len_utf8();
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

/// Returns how many bytes the first token of a text has. `last` is the token before it.
fn end_of_token(rest: &str, character: char, language: TestLanguage, last: Option<&str>) -> Option<usize> {
    let is_of_word = |character: char| character.is_alphanumeric() || matches!(character, '_' | '$');
    let raw =
        || rest.strip_prefix(['b', 'c']).map_or_else(|| end_of_raw_string(rest), |inner| Some(1 + end_of_raw_string(inner)?));
    match (language, character) {
        (TestLanguage::Rust, 'r' | 'b' | 'c') if raw().is_some() => raw(),
        // A character of Rust or a lifetime: `'a'`, `'\n'`, `'a`.
        (TestLanguage::Rust, '\'') => {
            let inner: Vec<char> = rest.chars().skip(1).take(2).collect();
            let is_character = inner.first() == Some(&'\\') || inner.get(1) == Some(&'\'');
            if is_character { quoted_end(rest, '\'') } else { Some(1) }
        }
        (TestLanguage::Script, '`') => template_end(rest),
        (TestLanguage::Go, '`') => rest[1..].find('`').map(|end| end + 2),
        // The text of an element of JSX can have a quote alone: it's one.
        (TestLanguage::Script, '"' | '\'') => quoted_end(rest, character).filter(|end| is_one_line(&rest[..*end])).or(Some(1)),
        (_, '"' | '\'') => quoted_end(rest, character),
        // `{...all} />` ends an element of JSX.
        (TestLanguage::Script, '/') if begins_pattern(last) && !(last == Some("}") && rest.starts_with("/>")) => {
            pattern_end(rest).or(Some(1))
        }
        _ if is_of_word(character) => Some(rest.find(|character| !is_of_word(character)).unwrap_or(rest.len())),
        _ => Some(character.len_utf8()),
    }
}

/// Returns whether a stroke behind a token begins a regular expression.
fn begins_pattern(last: Option<&str>) -> bool {
    last.is_none_or(|last| BEFORE_PATTERN.contains(&last) || (last.len() == 1 && "(,=:[!&|?{};+-*%>~^".contains(last)))
}

/// Returns whether a text in quotes goes on in another line only behind a backslash.
fn is_one_line(text: &str) -> bool {
    !text.replace("\\\n", "").contains('\n')
}

fn quoted_end(rest: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    for (at, character) in rest.char_indices().skip(1) {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if character == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// Returns how many bytes a template of JavaScript has: between `${` and `}` stands code, also with templates.
fn template_end(rest: &str) -> Option<usize> {
    let mut at = 1;
    loop {
        let inner = &rest[at..];
        match inner.chars().next()? {
            '\\' => at += 1 + inner.chars().nth(1)?.len_utf8(),
            '`' => return Some(at + 1),
            '$' if inner.starts_with("${") => {
                let mut depth = 1_usize;
                at += 2;
                while depth > 0 {
                    let code = &rest[at..];
                    let character = code.chars().next()?;
                    match character {
                        '{' => depth += 1,
                        '}' => depth -= 1,
                        _ => {}
                    }
                    at += match character {
                        '`' => template_end(code)?,
                        '"' | '\'' => quoted_end(code, character)?,
                        _ => character.len_utf8(),
                    };
                }
            }
            other => at += other.len_utf8(),
        }
    }
}

/// Returns how many bytes a regular expression of JavaScript has, without its flags.
fn pattern_end(rest: &str) -> Option<usize> {
    let (mut is_escaped, mut is_in_class) = (false, false);
    for (at, character) in rest.char_indices().skip(1) {
        match character {
            '\n' => return None,
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '[' => is_in_class = true,
            ']' => is_in_class = false,
            '/' if !is_in_class => return Some(at + 1),
            _ => {}
        }
    }
    None
}

fn end_of_raw_string(rest: &str) -> Option<usize> {
    let hashes = rest.strip_prefix('r')?.chars().take_while(|character| *character == '#').count();
    let inner = rest[1 + hashes..].strip_prefix('"')?;
    let closing = format!("\"{}", "#".repeat(hashes));
    Some(2 + hashes + inner.find(&closing)? + closing.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str, language: TestLanguage) -> Option<Vec<String>> {
        tokens_of(text, language).map(|tokens| tokens.into_iter().map(|token| token.text).collect())
    }

    #[test]
    fn texts_patterns_and_comments_hide_their_brackets() {
        use TestLanguage::{Go, Rust, Script};
        for (text, language, expected) in [
            ("f(/[/\"')]/g, a / b)", Script, Some(vec!["f", "(", "/[/\"')]/", "g", ",", "a", "/", "b", ")"])),
            ("`a ${f({b: `}`})} (`", Script, Some(vec!["\"a ${f({b: `}`})} (\""])),
            ("'it\\'s (' // )\n", Script, Some(vec!["\"it\\'s (\""])),
            ("{ a; }", Script, Some(vec!["{", "a", "}"])),
            (
                "f('{', b\"}\", r#\"\"(\"#, 'a) /* /* ( */ */",
                Rust,
                Some(vec!["f", "(", "'{'", ",", "b", "\"}\"", ",", "r#\"\"(\"#", ",", "'", "a", ")"]),
            ),
            ("x := `}` + \"`\"", Go, Some(vec!["x", ":", "=", "\"}\"", "+", "\"`\""])),
            ("f(]", Script, None),
            ("f(", Go, None),
            ("'open", Go, None),
            (
                "<p a='b' {...c} />{d}</p> it's\n(e)",
                Script,
                Some(vec![
                    "<", "p", "a", "=", "\"b\"", "{", ".", ".", ".", "c", "}", "/", ">", "{", "d", "}", "<", "/", "p", ">", "it",
                    "'", "s", "(", "e", ")",
                ]),
            ),
        ] {
            let expected = expected.map(|words| words.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(words(text, language), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_fail(text in "[a-zé \n(){}\\[\\],;'\"`/*#.r$\\\\]{0,200}") {
            for language in [TestLanguage::Script, TestLanguage::Rust, TestLanguage::Go] {
                let _found = tokens_of(&text, language);
            }
        }
    }
}
