//! Finds tests, marks that skip them, and suppressions in the lines of source files. What is found is a hint for a person, so a line is
//! read as a line: a mark in a string is named too.

use std::collections::{BTreeMap, BTreeSet};

use crate::changes::{ChangeKind, ChangedFile, GateChange, shortened};

/// What silences a finding in source files, as linters and type checkers write it.
const SUPPRESSIONS: &str = "\
    noqa|type: ignore|mypy: ignore-errors|mypy: disable-error-code|pyright: ignore|pyright: basic|pylint: disable|\
    eslint-disable|@ts-ignore|@ts-nocheck|@ts-expect-error|nolint|[allow(|pragma: no cover|istanbul ignore|\
    c8 ignore|v8 ignore|biome-ignore|nosec|shellcheck disable|rubocop:disable";
/// What leaves a test out, or leaves out all others.
const SKIPS: &str = "\
    mark.skip|mark.xfail|pytest.skip(|pytest.xfail(|pytest.importorskip(|unittest.skip|expectedFailure|skipTest(|\
    collect_ignore|__test__ = False|pytest_collection_modifyitems|it.skip(|test.skip(|describe.skip(|it.todo(|\
    test.todo(|it.fails(|test.fails(|xit(|xtest(|xdescribe(|it.only(|test.only(|describe.only(|fit(|fdescribe(|\
    #[ignore|t.Skip";
/// The endings of source files.
const SOURCES: &str = "\
    py pyi js jsx mjs cjs ts tsx mts cts rs go sh rb vue svelte";

/// Returns the lines that silence a finding and were not there before.
pub(super) fn find_suppressions(file: &ChangedFile<'_>) -> Vec<String> {
    added_lines(file).into_iter().filter(|line| SUPPRESSIONS.split('|').any(|mark| line.contains(mark))).map(shortened).collect()
}

/// Returns the lines that leave a test out and were not there before.
pub(super) fn find_skips(file: &ChangedFile<'_>) -> Vec<String> {
    let skips = |line: &&str| SKIPS.split('|').any(|mark| is_word_at(line, mark));
    added_lines(file).into_iter().filter(skips).map(shortened).collect()
}

/// Returns whether a line has a mark that is not the end of a longer word: `exit(` is no `xit(`.
fn is_word_at(line: &str, mark: &str) -> bool {
    line.match_indices(mark).any(|(place, _)| !line[..place].ends_with(|one: char| one.is_alphanumeric() || one == '_'))
}

/// Returns the lines that the file has more often than before, without the white space around them: what was only moved is not new.
fn added_lines<'a>(file: &ChangedFile<'a>) -> Vec<&'a str> {
    let (Some(after), true) = (file.after, is_source(file.path)) else { return Vec::new() };
    let mut known: BTreeMap<&str, u32> = BTreeMap::new();
    file.before.unwrap_or_default().lines().for_each(|line| *known.entry(line.trim()).or_default() += 1);
    let mut is_known = |line: &str| match known.get_mut(line) {
        Some(left) if *left > 0 => {
            *left -= 1;
            true
        }
        Some(_) | None => false,
    };
    after.lines().map(str::trim).filter(|line| !line.is_empty() && !is_known(line)).collect()
}

fn is_source(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, ending)| SOURCES.split(' ').any(|one| one == ending))
}

/// A test by its source: its name, and its text without white space and without the name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct SourceTest {
    name: String,
    body: String,
}

/// Returns the tests of changed files that are in none of them any more. A test that was moved or renamed, and has the same text, is not gone.
pub(super) fn find_gone_tests(files: &[ChangedFile<'_>]) -> Vec<GateChange> {
    let now: Vec<SourceTest> = files.iter().flat_map(|file| tests_of(file.path, file.after.unwrap_or_default())).collect();
    let (names, bodies): (BTreeSet<&str>, BTreeSet<&str>) =
        (now.iter().map(|test| test.name.as_str()).collect(), now.iter().map(|test| test.body.as_str()).collect());
    let is_gone =
        |test: &SourceTest| !names.contains(test.name.as_str()) && (test.body.is_empty() || !bodies.contains(test.body.as_str()));
    let gone = |file: &ChangedFile<'_>| {
        let before = tests_of(file.path, file.before.unwrap_or_default());
        // A file of which one commit has no text says nothing of its tests.
        let path = file.path.to_owned();
        let gone = before.into_iter().filter(|test| is_gone(test)).map(|test| test.name);
        gone.map(move |name| GateChange { kind: ChangeKind::TestGone, file: path.clone(), what: name }).collect::<Vec<_>>()
    };
    files.iter().flat_map(gone).collect()
}

/// Returns the tests that a source file defines. A test's text goes to the next definition of a test, or to the end.
fn tests_of(path: &str, text: &str) -> Vec<SourceTest> {
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    let name_in: fn(&str, &str) -> Option<String> = match ending {
        "py" => |line, _| python_test(line),
        "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" => |line, _| javascript_test(line),
        "rs" => rust_test,
        "go" => |line, _| go_test(line),
        _ => return Vec::new(),
    };
    let (mut tests, mut before): (Vec<SourceTest>, &str) = (Vec::new(), "");
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(name) = name_in(line, before) {
            tests.push(SourceTest { name, body: String::new() });
        } else if let Some(test) = tests.last_mut().filter(|_| !line.starts_with(['@', '#'])) {
            test.body.extend(line.split_whitespace());
        }
        before = line;
    }
    tests
}

fn identifier(text: &str) -> Option<String> {
    let end = text.find(|one: char| !one.is_alphanumeric() && one != '_').unwrap_or(text.len());
    (end > 0).then(|| text[..end].to_owned())
}

fn python_test(line: &str) -> Option<String> {
    let rest = line.strip_prefix("async ").unwrap_or(line).strip_prefix("def ")?;
    identifier(rest).filter(|name| name.starts_with("test"))
}

fn javascript_test(line: &str) -> Option<String> {
    let rest = line.strip_prefix("it").or_else(|| line.strip_prefix("test"))?;
    let (marks, rest) = rest.split_once('(')?;
    if !marks.is_empty() && !marks.starts_with('.') {
        return None;
    }
    let quote = rest.chars().next().filter(|one| matches!(one, '"' | '\'' | '`'))?;
    let name = rest[1..].split(quote).next()?;
    Some(name.to_owned())
}

fn rust_test(line: &str, before: &str) -> Option<String> {
    let is_marked = before.starts_with("#[")
        && (before.contains("test") || before.starts_with("#[ignore") || before.starts_with("#[should_panic"));
    let (_, rest) = line.split_once("fn ")?;
    if is_marked { identifier(rest) } else { None }
}

fn go_test(line: &str) -> Option<String> {
    identifier(line.strip_prefix("func ")?).filter(|name| name.starts_with("Test") || name.starts_with("Fuzz"))
}
