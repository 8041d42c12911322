//! Counts the places in `src/` that name a tool. Adding a tool may touch its row in `crates/model/src/tool.rs`, its row in
//! `crates/tools/src/table.rs`, its own folder, and at most one more place.

use std::collections::BTreeSet;

use proctor_model::Tool;

use crate::common::{SourceFile, production_lines, program_files};

/// The most places that may name a tool. A folder below `crates/tools/src/` is one place.
const MOST_PLACES: usize = 4;

/// The directory with a folder for each tool, or for several tools whose output is read in the same way.
const FOLDERS: &str = "crates/tools/src/";

/// Names of tools that are ordinary words too, the name of a hook of git, or of a package that proctor itself uses. Of these, only
/// `Tool::NAME` is counted.
const COMMON_WORDS: &[&str] = &["compile", "generic", "playwright", "pre-commit", "review"];

/// Files that decide nothing about a tool: words that agents write, one row of options for each test runner, and the programs of
/// toolchains.
const NO_DECISIONS: &[&str] =
    &["crates/app/src/hook/claim", "crates/evidence/src/report/failed/rerun_options", "crates/sandbox/src/toolchains.rs"];

#[test]
fn a_tool_is_named_in_at_most_four_places() {
    let decides = |file: &SourceFile| !is_for_tests(&file.path) && !NO_DECISIONS.iter().any(|other| file.path.starts_with(other));
    let files: Vec<SourceFile> = program_files().into_iter().filter(decides).collect();
    for tool in Tool::ALL {
        let places: BTreeSet<&str> = files.iter().filter(|file| names_tool(file, tool)).map(|file| place(&file.path)).collect();
        for row in ["crates/model/src/tool.rs", "crates/tools/src/table.rs"] {
            assert!(places.contains(row), "{tool:?} has no row in {row}");
        }
        assert!(
            places.len() <= MOST_PLACES,
            "{tool:?} is named in {} places: let its rows in `model/tool.rs` and `tools/table.rs` say what the others ask: {places:#?}",
            places.len()
        );
    }
}

#[test]
fn names_of_tools_are_found_in_code_and_not_in_sentences() {
    let names = |path: &str, text: &str| names_tool(&SourceFile { path: path.to_owned(), text: text.to_owned() }, Tool::Jest);
    for text in
        ["if tool == Tool::Jest {", "f(\"jest\")", "[\"a b\", \"node_modules/.bin/jest\"]", "&[\"\\\"\", \"jest.config.*\"]"]
    {
        assert!(names("src/a.rs", text), "{text}");
    }
    for text in [
        "Tool::Jester",
        "\"install jest first\"",
        "// \"jest\"",
        "f(\"a\") // Tool::Jest",
        "\"jester\"",
        "jest(\"x\")",
        "#[cfg(test)]\nmod tests {\n    const A: &str = \"jest\";\n}",
    ] {
        assert!(!names("src/a.rs", text), "{text}");
    }
    assert!(names("crates/plan/src/config/default.toml", "[policy.jest]"));
    assert_eq!(
        [place("crates/tools/src/jest/mod.rs"), place("crates/tools/src/table.rs")],
        ["crates/tools/src/jest", "crates/tools/src/table.rs"]
    );
}

/// Returns whether a file is compiled for tests alone, or holds data for tests.
fn is_for_tests(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_test = name == "tests.rs" || name.ends_with("_tests.rs") || path.contains("/tests/");
    let is_material = ["samples.rs", "testing.rs", "fixture_claims.rs"].contains(&name);
    is_test || is_material || path.contains("/golden/") || path.contains("/snapshots/")
}

/// Returns the place that a file belongs to: all files of a folder of `crates/tools/src/` are one place.
fn place(path: &str) -> &str {
    let folder = path.strip_prefix(FOLDERS).and_then(|rest| rest.split_once('/')).map(|(folder, _)| folder);
    folder.map_or(path, |folder| &path[..FOLDERS.len() + folder.len()])
}

/// Returns whether a file names a tool: in code by its variant or its word, in a table of settings by its word.
fn names_tool(file: &SourceFile, tool: Tool) -> bool {
    let word = Some(tool.word()).filter(|word| !COMMON_WORDS.contains(word));
    if file.path.ends_with(".toml") {
        return word.is_some_and(|word| file.text.contains(&format!("[policy.{word}]")));
    }
    let variant = format!("Tool::{tool:?}");
    let names = |(_, line): &(usize, &str)| {
        let (code, literals) = split(line);
        let is_said = |literal: &String| !literal.contains(' ') && word.is_some_and(|word| has_word(literal, word));
        has_word(&code, &variant) || literals.iter().any(is_said)
    };
    file.path.ends_with(".rs") && production_lines(&file.text).iter().any(names)
}

/// Returns whether a text contains a word with neither letter nor digit on either side.
fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(start, _)| {
        let (before, after) = (text[..start].chars().next_back(), text[start + word.len()..].chars().next());
        [before, after].into_iter().flatten().all(|character| !character.is_alphanumeric())
    })
}

/// Splits a line of Rust into its code without comments and literals, and its literals. A literal that goes on in the
/// next line is prose and is left out.
fn split(line: &str) -> (String, Vec<String>) {
    let (mut code, mut literals) = (String::new(), Vec::new());
    let mut open: Option<String> = None;
    let line = line.replace("'\"'", "' '");
    let mut rest = line.chars().peekable();
    while let Some(character) = rest.next() {
        match (&mut open, character) {
            (Some(literal), '\\') => literal.extend(rest.next()),
            (Some(_), '"') => literals.extend(open.take()),
            (Some(literal), _) => literal.push(character),
            (None, '"') => open = Some(String::new()),
            (None, '/') if rest.peek() == Some(&'/') => break,
            (None, _) => code.push(character),
        }
    }
    (code, literals)
}
