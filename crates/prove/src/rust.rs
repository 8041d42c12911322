//! Files of Rust, which can have source and tests: what of a text belongs to its tests, and which tests it has. Pure.

use std::ops::Range;

use crate::braces::{Token, end_of_group, joined, tokens_of};
use crate::touched::{TestInText, TestLanguage};

/// The end of an attribute that makes a function a test: `#[test]`, `#[tokio::test(…)]`, `#[rstest]`.
const TEST_ATTRIBUTES: &[&str] = &["test", "rstest", "test_case", "quickcheck"];
/// The beginnings of items that end with a semicolon, whatever brackets they have.
const WITH_SEMICOLON: &[&str] = &["use", "const", "static", "type"];

/// A text, divided into its code and what only tests have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DividedText {
    pub(crate) code: String,
    /// The items that only tests have, with their attributes and comments.
    pub(crate) tests: String,
    /// The words of further items in the code that depend on whether tests are built.
    pub(crate) more: String,
}

/// A text with the code of one side and the tests of the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MergedText {
    pub(crate) text: String,
    /// How many lines the code has. What stands behind them belongs to tests.
    pub(crate) code_lines: usize,
}

/// Divides a text into its code and its tests; `None` if its brackets do not match, because something in it was not understood then.
pub(crate) fn divided(text: &str) -> Option<DividedText> {
    let tokens = tokens_of(text, TestLanguage::Rust)?;
    if has_words(&tokens, &["#", "!", "[", "cfg", "(", "test", ")", "]"]) {
        return Some(DividedText { code: String::new(), tests: text.to_owned(), more: String::new() });
    }
    let (mut code, mut tests, mut from, mut position) = (String::new(), String::new(), 0, 0);
    let mut kept: Vec<usize> = Vec::new();
    while position < tokens.len() {
        let item = attributes_at(&tokens, position);
        let end = if item.start < item.end { end_of_item(&tokens, item.end) } else { position + 1 };
        let is_of_tests = attributes_of(&tokens[item.clone()])
            .iter()
            .any(|attribute| *attribute == ["cfg", "(", "test", ")"] || is_test(attribute));
        if !is_of_tests {
            // Brackets are left as a whole: a test module inside of a module of source stays with it.
            let end = if item.start < item.end { item.end } else { end_of_group(&tokens, position).max(position + 1) };
            kept.extend(position..end);
            position = end;
            continue;
        }
        let (begins, ends) = (with_comments(text, tokens[position].begins), tokens[end - 1].ends);
        code.push_str(&text[from.min(begins)..begins]);
        tests.push_str(&text[begins..ends]);
        tests.push('\n');
        (from, position) = (ends, end);
    }
    code.push_str(&text[from..]);
    let conditions = kept.into_iter().filter(|at| matches!(tokens[*at].text.as_str(), "cfg" | "cfg_attr"));
    let more = conditions.map(|at| {
        let end = (at..tokens.len()).find(|end| tokens[*end].text == "]").unwrap_or(tokens.len());
        let has = |wanted: &str| tokens[at..end].iter().any(|token| token.text == wanted);
        let item = if has("test") && !has("not") { &tokens[at..end_of_item(&tokens, end + 1)] } else { &[] };
        joined(item)
    });
    Some(DividedText { code, tests, more: more.collect() })
}

/// Returns a text with the code of `before` and the tests of `after`; `None` if neither has tests, or one cannot be read.
pub(crate) fn with_tests_of(before: &str, after: &str) -> Option<MergedText> {
    let (before, after) = (divided(before)?, divided(after)?);
    if before.tests.is_empty() && after.tests.is_empty() {
        return None;
    }
    let code = before.code.trim_end();
    Some(MergedText { text: format!("{code}\n{}", after.tests), code_lines: code.lines().count() })
}

/// Returns whether two texts differ in what only tests have, and not in their code.
pub(crate) fn only_tests_differ(before: &str, after: &str) -> bool {
    let (Some(before), Some(after)) = (divided(before), divided(after)) else { return false };
    let words = |text: &str| tokens_of(text, TestLanguage::Rust).map(|tokens| joined(&tokens));
    words(&before.code) == words(&after.code) && words(&before.tests) != words(&after.tests)
}

/// Returns the tests of a text, each with the modules of the text before its name; `None` if it cannot be read.
pub(crate) fn tests_of(text: &str) -> Option<Vec<TestInText>> {
    let tokens = tokens_of(text, TestLanguage::Rust)?;
    let mut found = Vec::new();
    let mut around: Vec<(usize, &str)> = Vec::new();
    let mut position = 0;
    while position < tokens.len() {
        around.retain(|(end, _)| *end > position);
        let attributes = attributes_at(&tokens, position);
        let words = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
        if words(position) == "mod" && words(position + 2) == "{" {
            around.push((end_of_group(&tokens, position + 2), words(position + 1)));
            position += 3;
        } else if attributes_of(&tokens[attributes.clone()]).iter().any(|attribute| is_test(attribute)) {
            let end = end_of_item(&tokens, attributes.end);
            let function = (attributes.end..end).find(|at| words(*at) == "fn");
            if let Some(at) = function {
                let name = around.iter().map(|(_, name)| *name).chain([words(at + 1)]).collect::<Vec<_>>().join("::");
                // A macro puts the name in.
                let name = if name.contains('$') { String::new() } else { name };
                let text = joined(&tokens[attributes.start..at]) + "\u{1}" + &joined(&tokens[(at + 2).min(end)..end]);
                found.push(TestInText { name, text, is_sure: true });
            }
            position = end;
        } else {
            position = attributes.end.max(position + 1);
        }
    }
    Some(found)
}

/// Returns the examples in the comments of a text, which `cargo test` runs too.
pub(crate) fn examples_of(text: &str) -> Vec<String> {
    let comments = text.lines().filter_map(|line| line.trim().strip_prefix("///").or_else(|| line.trim().strip_prefix("//!")));
    let (mut examples, mut open) = (Vec::new(), None::<String>);
    for line in comments.map(str::trim) {
        match (&mut open, line.starts_with("```")) {
            (None, true) => open = Some(String::new()),
            (Some(_), true) => examples.extend(open.take()),
            (Some(example), false) => example.push_str(line),
            (None, false) => {}
        }
    }
    examples
}

/// Returns the names that Rust's harness can give to a test in a file: the modules that the path of the file says, and its name.
pub(crate) fn names_by_path(file: &str, name: &str) -> Vec<String> {
    let stem = file.strip_suffix(".rs").unwrap_or(file);
    let parts: Vec<&str> = stem.split('/').collect();
    let source = parts.iter().rposition(|part| *part == "src");
    let tests = parts.iter().rposition(|part| *part == "tests");
    let with = |modules: &[&str]| {
        let modules: Vec<&str> = modules.iter().copied().filter(|module| *module != "mod").collect();
        modules.into_iter().chain([name]).collect::<Vec<_>>().join("::")
    };
    match (source, tests) {
        (Some(source), _) => match &parts[source + 1..] {
            ["lib" | "main"] | ["bin", _] | ["bin", _, "main"] => vec![name.to_owned()],
            modules => vec![with(modules)],
        },
        // A file of `tests` is a program of its own, or a module of another one there.
        (None, Some(tests)) => match &parts[tests + 1..] {
            [one] if *one != "main" => vec![name.to_owned(), with(&[one])],
            [_, "main"] | ["main"] => vec![name.to_owned()],
            modules => vec![with(modules), with(&modules[modules.len().min(1)..])],
        },
        (None, None) => vec![name.to_owned()],
    }
}

/// Returns where the attributes are that begin at a position.
fn attributes_at(tokens: &[Token], start: usize) -> Range<usize> {
    let mut end = start;
    while has_words(&tokens[end.min(tokens.len())..], &["#", "["]) {
        end = end_of_group(tokens, end + 1);
    }
    start..end
}

/// Returns the words of each attribute, without `#`, `[` and `]`.
fn attributes_of(tokens: &[Token]) -> Vec<Vec<&str>> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at + 1 < tokens.len() {
        let end = end_of_group(tokens, at + 1);
        found.push(tokens[at + 2..(end - 1).max(at + 2)].iter().map(|token| token.text.as_str()).collect());
        at = end;
    }
    found
}

/// Returns whether an attribute makes a function a test.
fn is_test(attribute: &[&str]) -> bool {
    let path = attribute.split(|word| *word == "(").next().unwrap_or_default();
    path.last().is_some_and(|word| TEST_ATTRIBUTES.contains(word)) && path.first() != Some(&"cfg")
}

/// Returns the position behind the item that begins at a position: behind its block, or its semicolon.
fn end_of_item(tokens: &[Token], start: usize) -> usize {
    let first = tokens[start.min(tokens.len())..]
        .iter()
        .map(|token| token.text.as_str())
        .find(|word| !matches!(*word, "pub" | "crate" | "(" | ")"));
    let needs_semicolon = first.is_some_and(|word| WITH_SEMICOLON.contains(&word));
    let mut at = start;
    while at < tokens.len() {
        match tokens[at].text.as_str() {
            ";" => return at + 1,
            "{" if !needs_semicolon => return end_of_group(tokens, at),
            "(" | "[" | "{" => at = end_of_group(tokens, at),
            _ => at += 1,
        }
    }
    tokens.len()
}

fn has_words(tokens: &[Token], words: &[&str]) -> bool {
    tokens.len() >= words.len() && tokens.iter().zip(words).all(|(token, word)| token.text == *word)
}

/// Returns where the comments begin that belong to the item at a position: a comment for nothing would not compile.
fn with_comments(text: &str, begins: usize) -> usize {
    let mut start = text[..begins].rfind('\n').map_or(0, |end| end + 1);
    if !text[start..begins].trim().is_empty() {
        return begins;
    }
    while start > 0 {
        let above = text[..start - 1].rfind('\n').map_or(0, |end| end + 1);
        if !text[above..start].trim().starts_with("///") {
            break;
        }
        start = above;
    }
    start
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BEFORE: &str = "pub fn a() -> u8 { 1 }\n\n/// Tests.\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn old() {}\n}\n";
    const AFTER: &str = "pub fn a() -> u8 { 2 }\n\n#[cfg(test)]\nuse std::{fs, io};\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn new() { assert_eq!(super::a(), 2); }\n}\n";

    #[test]
    fn a_file_keeps_its_tests_and_gets_its_code_back() {
        let merged = with_tests_of(BEFORE, AFTER).expect("tests");
        assert!(merged.text.starts_with("pub fn a() -> u8 { 1 }\n#[cfg(test)]\nuse std::{fs, io};\n"), "{}", merged.text);
        assert!(
            merged.text.contains("fn new()") && !merged.text.contains("old") && !merged.text.contains("///"),
            "{}",
            merged.text
        );
        assert_eq!(merged.code_lines, 1);
        assert_eq!(with_tests_of("fn a() {}", "fn a() { }"), None);
        assert!(only_tests_differ(BEFORE, &BEFORE.replace("fn old() {}", "fn old() { assert!(true); }")));
        assert!(!only_tests_differ(BEFORE, AFTER) && !only_tests_differ("// a\nfn b() {}", "fn b() {}"));
        let top = divided("fn a() {}\n#[test]\nfn b() {}\n#[derive(Debug)]\nstruct C { d: u8 }\n").expect("readable");
        assert_eq!((top.tests.as_str(), top.more.as_str()), ("#[test]\nfn b() {}\n", ""));
        for amid in [
            "mod a { #[cfg(test)] fn b() {} }",
            "#[cfg(any(test, unix))] fn b() {}",
            "#[cfg_attr(test, derive(Debug))] struct A;",
        ] {
            assert!(!divided(amid).expect("readable").more.is_empty(), "{amid}");
        }
        assert!(divided("#![cfg(test)]\nfn a() {}").expect("readable").code.is_empty());
    }

    #[test]
    fn tests_have_their_modules_and_the_attributes_are_part_of_them() {
        let text = "fn helper() {}\n#[cfg(test)]\nmod tests {\n  use super::*;\n  #[test]\n  #[should_panic]\n  fn adds() { assert!(true); }\n  fn not() {}\n  mod deep { #[tokio::test]\n  async fn waits() { let c = '{'; let s = r#\"}\"#; } }\n}\n#[rstest]\n#[case(1)]\nfn top() {}\nproptest! { #[test] fn inner(a in 0..1) {} }\nmacro_rules! m { ($n:ident) => { #[test] fn $n() {} } }";
        let names: Vec<String> = tests_of(text).expect("readable").into_iter().map(|test| test.name).collect();
        assert_eq!(names, ["tests::adds", "tests::deep::waits", "top", "inner", ""]);
        let one = |text: &str| tests_of(text).expect("readable").remove(0).text;
        assert_eq!(one("#[test]\nfn a() { b(1,) }"), one("#[test] fn other() {\n b(1) // c\n}"));
        assert_ne!(one("#[test]\nfn a() { b(1) }"), one("#[test]\n#[ignore]\nfn a() { b(1) }"));
        assert_eq!(examples_of("//! ```\n//! a();\n//! ```\n/// b\nfn c() {}"), ["a();"]);
    }

    #[test]
    fn a_test_is_named_by_the_path_of_its_file() {
        for (file, expected) in [
            ("src/lib.rs", &["t::a"][..]),
            ("crates/x/src/main.rs", &["t::a"]),
            ("src/bin/tool.rs", &["t::a"]),
            ("src/rates/low.rs", &["rates::low::t::a"]),
            ("src/rates/mod.rs", &["rates::t::a"]),
            ("src/rates/tests.rs", &["rates::tests::t::a"]),
            ("tests/api.rs", &["t::a", "api::t::a"]),
            ("tests/api/main.rs", &["t::a"]),
            ("tests/api/more.rs", &["api::more::t::a", "more::t::a"]),
        ] {
            assert_eq!(names_by_path(file, "t::a"), expected, "{file}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_fail(text in "[a-zé \n(){}\\[\\],;'\"#!/]{0,120}") {
            for text in [text.clone(), format!("#[cfg(test)] mod a {{ {text}"), format!("#[test] {text}"), format!("#[{text}")] {
                let _found = (tests_of(&text), divided(&text), with_tests_of(&text, &text), examples_of(&text));
            }
        }
    }
}
