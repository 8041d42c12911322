//! The tests of a file in Python, found by its words alone: no code is run. Layout, comments and the kind of quotes make no difference.

use std::collections::BTreeMap;

use proctor_model::has_word;

use crate::stubs::DefinedKind;
use crate::touched::TestInText;

/// Words that can stand before a colon at the beginning of a line and are no names.
const BEFORE_COLON: &str = "else try finally except";

/// A line of code, however many lines of text it has.
#[derive(PartialEq, Eq)]
struct LogicalLine {
    /// How many columns it is indented.
    indent: usize,
    tokens: Vec<String>,
}

/// Returns the tests of a text: functions whose names begin with `test`, also in classes.
pub fn tests_of(text: &str) -> Vec<TestInText> {
    let lines = logical_lines(text);
    let values =
        lines.iter().filter(|line| line.indent == 0 && line.tokens.get(1).is_some_and(|word| word == "=" || word == ":"));
    let values: BTreeMap<&String, &LogicalLine> = values.map(|line| (&line.tokens[0], line)).collect();
    let mut found = Vec::new();
    // The classes around the line, each with its indentation and whether pytest or unittest collects it.
    let mut around: Vec<(usize, String, bool)> = Vec::new();
    let mut decorators: Vec<&LogicalLine> = Vec::new();
    let mut position = 0;
    while let Some(line) = lines.get(position) {
        position += 1;
        while around.pop_if(|(indent, ..)| *indent >= line.indent).is_some() {}
        let words: Vec<&str> = line.tokens.iter().map(String::as_str).collect();
        let words = words.strip_prefix(&["async"]).unwrap_or(&words);
        match words {
            ["@", ..] => {
                decorators.push(line);
                continue;
            }
            ["class", name, rest @ ..] => {
                let is_collected = name.starts_with("Test") || rest.iter().any(|word| word.ends_with("TestCase"));
                around.push((line.indent, (*name).to_owned(), is_collected));
            }
            ["def", name, ..] => {
                let end = position + lines[position..].iter().take_while(|below| below.indent > line.indent).count();
                if name.starts_with("test") && (line.indent == 0 || !around.is_empty()) {
                    let classes = around.iter().map(|(_, name, _)| name.as_str());
                    let full = classes.chain([*name]).collect::<Vec<_>>().join("::");
                    // The rows of a parameter may be a value of the module.
                    let named = decorators.iter().flat_map(|line| &line.tokens).filter_map(|word| values.get(word).copied());
                    let body = named.chain(decorators.iter().copied()).chain([line]).chain(&lines[position..end]);
                    let is_sure = around.iter().all(|(.., is_collected)| *is_collected);
                    found.push(TestInText { name: full, text: text_of(body, line.indent, name), is_sure });
                }
                position = end;
            }
            _ => {}
        }
        decorators.clear();
    }
    found
}

/// Returns the functions, classes and values that a module defines, in the order of its text.
pub fn top_level_names(text: &str) -> Vec<(String, DefinedKind)> {
    let named = |line: &LogicalLine| -> Vec<(String, DefinedKind)> {
        let words: Vec<&str> = line.tokens.iter().map(String::as_str).collect();
        let one = |name: &str, kind| vec![(name.to_owned(), kind)];
        match words[..] {
            ["def", name, ..] | ["async", "def", name, ..] => one(name, DefinedKind::Function),
            ["class", name, ..] => one(name, DefinedKind::Class),
            // What a module imports can be imported from it.
            ["from", ..] => {
                let names = words.iter().position(|word| *word == "import").map_or(&[][..], |at| &words[at + 1..]);
                let last = names.split(|word| matches!(*word, "," | "(" | ")")).filter_map(<[&str]>::last);
                last.filter(|name| **name != "*").map(|name| ((*name).to_owned(), DefinedKind::Function)).collect()
            }
            [name, "=" | ":", second, ..] if second != "=" && name.chars().all(is_of_name) && !has_word(BEFORE_COLON, name) => {
                one(name, DefinedKind::Value)
            }
            _ => Vec::new(),
        }
    };
    logical_lines(text).iter().filter(|line| line.indent == 0).flat_map(named).collect()
}

/// Returns whether two pieces of code differ in layout and comments alone.
pub(crate) fn is_same_code(one: &str, other: &str) -> bool {
    logical_lines(one) == logical_lines(other)
}

/// Returns whether a name or a word can have a character.
pub(crate) fn is_of_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Returns the words of lines as one text, with the depth of each line and without the test's own name.
fn text_of<'l>(lines: impl Iterator<Item = &'l LogicalLine>, outer: usize, name: &str) -> String {
    let mut depths = vec![outer];
    let mut text = String::new();
    for line in lines {
        while depths.pop_if(|depth| *depth > line.indent).is_some() {}
        if depths.last().is_none_or(|depth| *depth < line.indent) {
            depths.push(line.indent);
        }
        text.push_str(&format!("{}:", depths.len()));
        let is_definition = line.tokens.iter().any(|word| word == "def");
        for token in line.tokens.iter().filter(|token| !(is_definition && *token == name)) {
            text.push_str(token);
            text.push('\u{1}');
        }
        text.push('\n');
    }
    text
}

fn logical_lines(text: &str) -> Vec<LogicalLine> {
    let characters: Vec<char> = text.chars().collect();
    let (mut lines, mut tokens) = (Vec::new(), Vec::new());
    let (mut at, mut depth, mut indent, mut is_at_start) = (0, 0_usize, 0, true);
    while let Some(&character) = characters.get(at) {
        if is_at_start && depth == 0 && matches!(character, ' ' | '\t') {
            indent += if character == '\t' { 8 } else { 1 };
            at += 1;
            continue;
        }
        is_at_start = false;
        match character {
            '\n' => {
                if depth == 0 {
                    if !tokens.is_empty() {
                        lines.push(LogicalLine { indent, tokens: std::mem::take(&mut tokens) });
                    }
                    (indent, is_at_start) = (0, true);
                }
                at += 1;
            }
            '#' => at += characters[at..].iter().take_while(|character| **character != '\n').count(),
            '\\' if characters.get(at + 1) == Some(&'\n') => at += 2,
            _ if character.is_whitespace() => at += 1,
            _ => {
                let (token, end) = token_at(&characters, at);
                match token.as_str() {
                    "(" | "[" | "{" => depth += 1,
                    ")" | "]" | "}" => {
                        depth = depth.saturating_sub(1);
                        tokens.pop_if(|last: &mut String| last == ",");
                    }
                    _ => {}
                }
                tokens.push(token);
                at = end;
            }
        }
    }
    if !tokens.is_empty() {
        lines.push(LogicalLine { indent, tokens });
    }
    lines
}

/// Returns the token that begins at a position, and the position behind it.
fn token_at(characters: &[char], start: usize) -> (String, usize) {
    let word = characters[start..].iter().take_while(|character| is_of_name(**character)).count();
    let quote = characters.get(start + word).copied();
    let is_prefix = word <= 2 && characters[start..start + word].iter().all(|character| "rRbBuUfFtT".contains(*character));
    if is_prefix && let Some(quote @ ('"' | '\'')) = quote {
        let prefix: String = characters[start..start + word].iter().collect();
        return string_at(characters, start + word, quote, &prefix.to_lowercase().replace('u', ""));
    }
    let end = start + word.max(1);
    (characters[start..end].iter().collect(), end)
}

/// Returns the text in quotes that begins at a position, with one kind of quotes where that is the same text.
fn string_at(characters: &[char], start: usize, quote: char, prefix: &str) -> (String, usize) {
    let is_triple = characters.get(start + 1) == Some(&quote) && characters.get(start + 2) == Some(&quote);
    let length = if is_triple { 3 } else { 1 };
    let closing = vec![quote; length];
    let ends = |at: usize| characters[at..].starts_with(&closing) || (!is_triple && characters[at] == '\n');
    let mut at = start + length;
    while at < characters.len() && !ends(at) {
        at += if characters[at] == '\\' { 2 } else { 1 };
    }
    let inner: String = characters[(start + length).min(characters.len())..at.min(characters.len())].iter().collect();
    let end = (at + length).min(characters.len());
    let is_plain = !inner.contains(['"', '\'', '\\']);
    let quotes = if is_plain { "\"".repeat(length) } else { quote.to_string().repeat(length) };
    (format!("{prefix}{quotes}{inner}{quotes}"), end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names(text: &str) -> Vec<String> {
        tests_of(text).into_iter().map(|test| test.name).collect()
    }

    #[test]
    fn functions_and_methods_are_found_with_their_classes() {
        let text = "import x\ndef helper(): pass\n@mark(\n  1)\ndef test_a():\n    def test_inner(): pass\n    assert 1\nclass TestB:\n    async def test_c(self):\n        assert 1\n    class TestD:\n        def test_e(self): assert 1\nclass Mixin:\n    def test_f(self): pass\ndef test_g(): '''def test_h(): pass'''\n";
        assert_eq!(names(text), ["test_a", "TestB::test_c", "TestB::TestD::test_e", "Mixin::test_f", "test_g"]);
        let sure: Vec<bool> = tests_of(text).into_iter().map(|test| test.is_sure).collect();
        assert_eq!(sure, [true, true, true, false, true]);
    }

    #[test]
    fn layout_comments_and_quotes_make_no_difference_and_everything_else_does() {
        let one = |text: &str| tests_of(text).remove(0).text;
        let text = one("def test_a():\n    x = f('a', 1)  # why\n    if x:\n        assert x == 'b'\n");
        assert_eq!(text, one("def test_a():\n  # c\n  x = f(\n    \"a\",\n    1,\n  )\n\n  if x:\n    assert x == \"b\"\n"));
        assert_eq!(
            text,
            one("def test_b():\n    x = f('a', 1)\n    if x:\n        assert x == 'b'\n"),
            "its name is not its text"
        );
        assert_ne!(text, one("def test_a():\n    x = f('a', 2)\n    if x:\n        assert x == 'b'\n"));
        assert_ne!(text, one("def test_a():\n    x = f('a', 1)\n    if x:\n        pass\n    assert x == 'b'\n"));
        let rows = |rows: &str| {
            one(&format!("ROWS = [\n    {rows}\n]\nOTHER = {rows}\n@mark.parametrize('n', ROWS)\ndef test_a(n):\n    assert n\n"))
        };
        assert_eq!(rows("1, 2"), rows("1,  2,  # two"));
        assert_ne!(rows("1, 2"), rows("1, 2, 3"), "a row that a module's value has");
        let apart = |rows: &str| one(&format!("ROWS = [{rows}]\n@mark\ndef test_a(n):\n    assert n in ROWS\n"));
        assert_eq!(apart("1"), apart("1, 2"), "only what a decorator names makes cases");
        assert_ne!(text, one("@mark\ndef test_a():\n    x = f('a', 1)\n    if x:\n        assert x == 'b'\n"));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_fail(text in "[a-z \n\t()\\[\\]{},:#\"'\\\\@=_]{0,200}") {
            let _found = tests_of(&text);
            let _found = tests_of(&format!("def test_a():\n {text}"));
        }
    }
}
