//! The tests of a file in JavaScript, TypeScript, Rust or Go, found by its words alone. Layout and comments make no difference.

use crate::touched::{TestInText, TestLanguage};

/// The calls that define a test, and those that define a group of tests, in JavaScript.
const TESTS: &[&str] = &["test", "it", "specify"];
const GROUPS: &[&str] = &["describe", "suite", "context"];

/// Returns the tests of a text in a language with braces. The name of a test in JavaScript has the names of its groups before it, each with ` > ` behind it.
pub fn tests_of(text: &str, language: TestLanguage) -> Vec<TestInText> {
    let tokens: Vec<String> = tokens_of(text, language).into_iter().map(|token| token.text).collect();
    match language {
        TestLanguage::Script => tests_of_script(&tokens, ""),
        TestLanguage::Python => Vec::new(),
        TestLanguage::Rust => tests_of_functions(&tokens, "fn", |name, before| {
            // The attribute ends right before the function and its qualifiers.
            let attributes = before.rsplitn(2, |token| matches!(token.as_str(), "}" | ";" | "{")).next().unwrap_or_default();
            !name.is_empty() && attributes.windows(2).any(|pair| pair[0] != "cfg" && is_test_attribute(pair))
        }),
        TestLanguage::Go => tests_of_functions(&tokens, "func", |name, _| {
            let rest = name.strip_prefix("Test").or_else(|| name.strip_prefix("Fuzz"));
            rest.is_some_and(|rest| !rest.starts_with(char::is_lowercase)) && name != "TestMain"
        }),
    }
}

/// Returns whether two tokens are the end of an attribute such as `#[test]` or `#[tokio::test(…)]`.
fn is_test_attribute(pair: &[String]) -> bool {
    matches!(pair[0].as_str(), "[" | ":") && matches!(pair[1].as_str(), "test" | "rstest" | "test_case" | "proptest")
}

fn tests_of_functions(tokens: &[String], word: &str, is_test: impl Fn(&str, &[String]) -> bool) -> Vec<TestInText> {
    let mut found = Vec::new();
    for position in 0..tokens.len() {
        let Some(name) = tokens.get(position + 1).filter(|_| tokens[position] == word) else { continue };
        if !is_test(name, &tokens[..position]) {
            continue;
        }
        let Some(open) = (position..tokens.len()).find(|at| tokens[*at] == "{") else { continue };
        let end = end_of_group(tokens, open);
        found.push(TestInText { name: name.clone(), text: tokens[position + 2..end].join("\u{1}"), is_sure: true });
    }
    found
}

fn tests_of_script(tokens: &[String], above: &str) -> Vec<TestInText> {
    let (mut found, mut position) = (Vec::new(), 0);
    while position < tokens.len() {
        let word = tokens[position].as_str();
        let is_test = TESTS.contains(&word);
        let is_property = position > 0 && tokens[position - 1] == ".";
        let call = (!is_property && (is_test || GROUPS.contains(&word))).then(|| title_of_call(tokens, position)).flatten();
        let Some((title, open)) = call else {
            position += 1;
            continue;
        };
        let end = end_of_group(tokens, open);
        let name = if above.is_empty() { title.clone() } else { format!("{above} > {title}") };
        if is_test {
            let text = [&tokens[position..=open], &tokens[(open + 2).min(end)..end]].concat();
            found.push(TestInText { name, text: text.join("\u{1}"), is_sure: true });
        } else {
            found.extend(tests_of_script(&tokens[open + 2..end], &name));
        }
        position = end;
    }
    found
}

/// Returns the title of the test or group whose call begins at a position, and where its opening bracket is: `it("…"`, `it.only("…"`,
/// `it.each([…])("…"`.
fn title_of_call(tokens: &[String], start: usize) -> Option<(String, usize)> {
    let mut at = start + 1;
    while tokens.get(at).is_some_and(|token| token == ".") {
        at += 2;
        // `each` is called with its rows first.
        if tokens.get(at - 1).is_some_and(|word| matches!(word.as_str(), "each" | "for")) {
            at = match tokens.get(at).map(String::as_str) {
                Some("(") => end_of_group(tokens, at),
                Some(_) => at + 1,
                None => return None,
            };
        }
    }
    let title = tokens.get(at + 1).filter(|_| tokens.get(at).is_some_and(|token| token == "("))?;
    let inner = title.strip_prefix('"')?.strip_suffix('"')?;
    Some((inner.replace("\\\"", "\"").replace("\\'", "'"), at))
}

/// Returns the position behind the bracket that closes the one at `open`; the end if none does.
fn end_of_group(tokens: &[String], open: usize) -> usize {
    let mut depth = 0_usize;
    for (position, token) in tokens.iter().enumerate().skip(open) {
        match token.as_str() {
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

/// A token, and where it begins and ends in the text, in bytes.
struct Token {
    text: String,
    begins: usize,
    ends: usize,
}

/// Returns the tokens of a text without comments, and without commas and semicolons before a closing bracket. Texts in quotes have double
/// ones.
fn tokens_of(text: &str, language: TestLanguage) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut at = 0;
    while let Some(character) = text[at..].chars().next() {
        let rest = &text[at..];
        let length = character.len_utf8();
        if character.is_whitespace() {
            at += length;
        } else if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            at += rest.find("*/").map_or(rest.len(), |end| end + 2);
        } else {
            let (token, end) = token_at(rest, character, language);
            if matches!(token.as_str(), ")" | "]" | "}") {
                tokens.pop_if(|last| matches!(last.text.as_str(), "," | ";"));
            }
            // A formatter of JavaScript adds and removes the semicolons at the end of lines.
            if !(language == TestLanguage::Script && token == ";") {
                tokens.push(Token { text: token, begins: at, ends: at + end });
            }
            at += end;
        }
    }
    tokens
}

/// Returns the first token of a text, and how many bytes it has.
fn token_at(rest: &str, character: char, language: TestLanguage) -> (String, usize) {
    let is_of_word = |character: char| character.is_alphanumeric() || matches!(character, '_' | '$');
    if language == TestLanguage::Rust
        && character == 'r'
        && let Some(end) = end_of_raw_string(rest)
    {
        return (rest[..end].to_owned(), end);
    }
    // A character of Rust or a lifetime: `'a'`, `'\n'`, `'a`.
    if language == TestLanguage::Rust && character == '\'' {
        let inner: Vec<char> = rest.chars().skip(1).take(2).collect();
        let is_character = inner.first() == Some(&'\\') || inner.get(1) == Some(&'\'');
        let end = if is_character { quoted_end(rest, '\'') } else { 1 };
        return (rest[..end].to_owned(), end);
    }
    match character {
        '"' | '\'' | '`' => {
            let end = quoted_end(rest, character);
            let inner = rest[1..end].strip_suffix(character).unwrap_or(&rest[1..end]);
            (format!("\"{inner}\""), end)
        }
        _ if is_of_word(character) => {
            let end = rest.find(|character| !is_of_word(character)).unwrap_or(rest.len());
            (rest[..end].to_owned(), end)
        }
        _ => (character.to_string(), character.len_utf8()),
    }
}

fn quoted_end(rest: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, character) in rest.char_indices().skip(1) {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if character == quote => return at + 1,
            '\n' if quote == '\'' => return at,
            _ => {}
        }
    }
    rest.len()
}

fn end_of_raw_string(rest: &str) -> Option<usize> {
    let hashes = rest[1..].chars().take_while(|character| *character == '#').count();
    let inner = rest[1 + hashes..].strip_prefix('"')?;
    let closing = format!("\"{}", "#".repeat(hashes));
    Some(inner.find(&closing).map_or(rest.len(), |end| 2 + hashes + end + closing.len()))
}

/// Returns a text of Rust without the modules that only tests have.
fn code_of_rust(text: &str) -> String {
    let tokens = tokens_of(text, TestLanguage::Rust);
    let (mut code, mut from, mut position) = (String::new(), 0, 0);
    let mark = ["#", "[", "cfg", "(", "test", ")", "]"];
    while position < tokens.len() {
        let words = tokens[position..].iter().map(|token| token.text.as_str());
        let is_module = words.clone().take(mark.len()).eq(mark) && words.skip(mark.len()).take(3).any(|word| word == "mod");
        if !is_module {
            position += 1;
            continue;
        }
        let texts: Vec<String> = tokens.iter().map(|token| token.text.clone()).collect();
        let closing = texts[position..].iter().position(|word| word == "{" || word == ";").map(|at| position + at);
        let end = closing.map_or(tokens.len(), |at| if texts[at] == "{" { end_of_group(&texts, at) } else { at + 1 });
        let (begins, ends) = (tokens[position].begins, tokens[end - 1].ends);
        code.push_str(&text[from..begins]);
        (from, position) = (ends, end);
    }
    code.push_str(&text[from..]);
    code
}

/// Returns whether two files of Rust differ outside of their test modules.
pub fn rust_code_differs(before: &str, after: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        tokens_of(&code_of_rust(text), TestLanguage::Rust).into_iter().map(|token| token.text).collect()
    };
    words(before) != words(after)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names(text: &str, language: TestLanguage) -> Vec<String> {
        tests_of(text, language).into_iter().map(|test| test.name).collect()
    }

    #[test]
    fn tests_are_found_in_each_language() {
        let script = "import { test } from 'x';\ndescribe('quotes', () => {\n  it(\"adds\", async () => { expect(1).toBe(1); });\n  describe.only('deep', () => { it.each([[1, 2]])('row %i', () => {}) });\n});\ntest.skip(`t`, () => {});\n/x/.test('no');\n// it('not', …)\n";
        assert_eq!(names(script, TestLanguage::Script), ["quotes > adds", "quotes > deep > row %i", "t"]);
        let rust = "fn helper() {}\n#[cfg(test)]\nmod tests {\n  use super::*;\n  #[test]\n  fn adds() { assert!(true); }\n  fn not() {}\n  #[tokio::test]\n  async fn waits() { let c = '{'; let s = r#\"}\"#; }\n}\n";
        assert_eq!(names(rust, TestLanguage::Rust), ["adds", "waits"]);
        let go = "package a\nfunc TestAdds(t *testing.T) { x := `}` }\nfunc Testing() {}\nfunc helper() {}\n";
        assert_eq!(names(go, TestLanguage::Go), ["TestAdds"]);
    }

    #[test]
    fn layout_makes_no_difference_and_everything_else_does() {
        let one = |text: &str| tests_of(text, TestLanguage::Script).remove(0).text;
        let text = one("it('a', () => {\n  expect(f('x')).toBe(1);\n});");
        assert_eq!(text, one("it(\"other name\", () => {\n    // why\n    expect(\n      f(\"x\"),\n    ).toBe(1)\n})"));
        assert_ne!(text, one("it('a', () => {\n  expect(f('x')).toBe(2);\n});"));
    }

    #[test]
    fn a_change_of_tests_in_a_file_of_rust_is_none_of_its_code() {
        let before = "pub fn a() -> u8 { 1 }\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn old() {}\n}\n";
        let after =
            "pub fn a() -> u8 { 2 }\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn new() { assert_eq!(super::a(), 2); }\n}\n";
        assert!(rust_code_differs(before, after));
        assert!(!rust_code_differs(before, &before.replace("fn old() {}", "fn old() { assert!(true); }")));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_fail(text in "[a-zé \n(){}\\[\\],;'\"`/*#.r\\\\]{0,200}") {
            for language in [TestLanguage::Script, TestLanguage::Rust, TestLanguage::Go] {
                let _found = tests_of(&text, language);
            }
            let _found = rust_code_differs(&text, &format!("#[cfg(test)] mod a {{ {text}"));
            let _found = tests_of(&format!("it('a', {text}"), TestLanguage::Script);
        }
    }
}
