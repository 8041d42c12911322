//! Finds tests, marks that skip them, and suppressions in the lines of source files. What is found is a hint for a person, so a line is
//! read as a line: a mark in a string is named too.

use std::collections::{BTreeMap, BTreeSet};

use crate::changes::{ChangeKind, ChangedFile, GateChange, shortened};
use proctor_model::has_word;

/// What silences a finding in a comment or an attribute of a source file, in small letters: the words of linters and type checkers alone, and
/// words of the language where they are joined to a tool's name, as in `eslint-disable` and `type: ignore`.
const SUPPRESSIONS: &str = "\
    noqa|nosec|nosemgrep|nolint|nocheck|nocov|nosonar|noinspection|nowarn|no_type_check|no cover|suppress|-ignore|:ignore|: ignore|\
    istanbul ignore|8 ignore|diagnostic ignored|-disable|:disable|: disable|disable=|warning disable|:skip|: skip|: off|:todo|\
    -expect-error|[allow(|[expect(|, allow(|# mypy:|pyright: basic|/* eslint ";
/// The beginnings of comments and attributes.
const COMMENTS: [&str; 7] = ["#", "//", "/*", "<!--", "--", "@", "["];
/// Texts by which a test is left out, or all others are.
const SKIPS: &str = "\
    mark.skip|mark.xfail|pytest.skip(|pytest.xfail(|pytest.exit(|pytest.importorskip(|unittest.skip|SkipTest|expectedFailure|skipTest(|\
    collect_ignore|__test__ = False|__test__=False|pytest_collection_modifyitems|pytest_ignore_collect|def load_tests(|xit(|xtest(|\
    xdescribe(|fit(|fdescribe(|#[ignore|#[cfg(any())|#[cfg(false)|#[cfg(not(test))|t.Skip|b.Skip|func TestMain(|xit \"|xit '|\
    xdescribe \"|xcontext \"|xspecify \"|pending \"|pending '|skip \"|skip '|@Disabled|@Ignore|(Skip = |(Skip=|markTestSkipped(|@tag :skip|\
    @moduletag :skip|XCTSkip|GTEST_SKIP";
/// The same for texts that mean something else where they stand in no file of tests.
const SKIPS_OF_TESTS: &str = "\
    @skip|this.skip(|skip: true|only: true|ignore: true|todo: true|each([])|assumeTrue(|assumeFalse(|assumeThat(|DISABLED_|doctest::skip";
/// The functions of JavaScript that define a test or a group of tests, and the methods of them that leave it or all others out.
const DEFINING: &str = "\
    it test describe context suite specify Deno.test";
const LEAVING_OUT: &str = "\
    skip only todo fails failing fixme skipIf runIf todoIf ignore";
/// The beginnings of the line by which Go builds a file only under a condition, and else leaves its tests out.
const GO_BUILDS: [&str; 2] = ["//go:build", "// +build"];
/// The endings of source files.
const SOURCES: &str = "\
    py pyi js jsx mjs cjs ts tsx mts cts rs go sh rb vue svelte java kt kts scala groovy php cs swift ex exs css scss c cc cpp h hpp feature";

/// Returns the lines that silence a finding and were not there before.
pub(super) fn find_suppressions(file: &ChangedFile<'_>) -> Vec<String> {
    let is_one = |line: &str| {
        let line = line.to_ascii_lowercase();
        let comment = COMMENTS.iter().filter_map(|mark| line.find(mark)).min();
        comment.is_some_and(|start| SUPPRESSIONS.split('|').any(|mark| line[start..].contains(mark)))
    };
    added_lines(file).into_iter().filter(|(_, line)| is_one(line)).map(|(_, line)| shortened(line)).collect()
}

/// Returns the lines that leave a test out and were not there before. A test that is new is not left out by them, and one that moved with its
/// mark was before.
pub(super) fn find_skips(file: &ChangedFile<'_>, known: &KnownTests) -> Vec<String> {
    let text = file.after.unwrap_or_default();
    let tests = tests_of(file.path, text);
    let leaves_out = |number: usize, line: &str| {
        is_skip(file.path, text, (number, line)) && !known.explain(line, tests_at(&tests, text, number))
    };
    let found = added_lines(file).into_iter().filter(|(number, line)| leaves_out(*number, line));
    found.map(|(_, line)| shortened(line)).collect()
}

/// Returns whether a line of a source file leaves tests out.
fn is_skip(path: &str, text: &str, (number, line): (usize, &str)) -> bool {
    let marks = |list: &'static str| list.split('|').any(|mark| is_word_at(line, mark));
    marks(SKIPS)
        || (is_file_of_tests(path) && marks(SKIPS_OF_TESTS))
        || (path.ends_with("_test.go") && GO_BUILDS.iter().any(|mark| line.starts_with(mark)))
        || (line.contains("parametrize(") && line.contains("[])"))
        || is_left_out_in_javascript(line)
        || (line.starts_with("#[cfg(") && line != "#[cfg(test)]" && is_above_test(text, number))
}

/// Returns whether a line has a mark that is not the end of a longer word: `exit(` is no `xit(`.
fn is_word_at(line: &str, mark: &str) -> bool {
    line.match_indices(mark).any(|(place, _)| !line[..place].ends_with(|one: char| one.is_alphanumeric() || one == '_'))
}

/// Returns whether a line calls a method such as `it.skip`, or `test.describe.only`.
fn is_left_out_in_javascript(line: &str) -> bool {
    let calls = line.split(|one: char| !one.is_alphanumeric() && one != '_' && one != '.');
    calls.filter_map(|call| call.split_once('.')).any(|(name, rest)| {
        let methods = rest.strip_prefix("test.").filter(|_| name == "Deno").unwrap_or(rest);
        (has_word(DEFINING, name) || methods != rest) && methods.split('.').any(|method| has_word(LEAVING_OUT, method))
    })
}

/// Returns whether an attribute of Rust, by the number of its line, stands above a test or a module of tests, which other conditions than
/// `test` can leave out.
fn is_above_test(text: &str, number: usize) -> bool {
    let mut before = "";
    for line in text.lines().skip(number).map(str::trim) {
        if !line.starts_with("#[") {
            return rust_test(line, before).is_some();
        }
        before = line;
    }
    false
}

/// Returns the lines that the file has more often than before, with their numbers and without the white space around them: what was only
/// moved is not new.
fn added_lines<'a>(file: &ChangedFile<'a>) -> Vec<(usize, &'a str)> {
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
    let lines = after.lines().map(str::trim).enumerate();
    lines.filter(|(_, line)| !line.is_empty() && !is_known(line)).collect()
}

fn is_source(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, ending)| has_word(SOURCES, ending))
}

/// Returns whether a path looks like that of a file of tests, by its names.
fn is_file_of_tests(path: &str) -> bool {
    let mut words = path.split(|one: char| !one.is_ascii_alphanumeric());
    let is_one = |word: &str| {
        ["Test", "Tests", "Spec"].iter().any(|end| word.ends_with(end)) || has_word("test tests spec specs e2e feature", word)
    };
    words.any(is_one)
}

/// Returns whether tools collect the tests of a new file of this path.
fn is_collected(path: &str) -> bool {
    match path.rsplit('/').next().unwrap_or(path).rsplit_once('.') {
        Some((stem, "py")) => stem.starts_with("test") || stem.ends_with("test") || stem.ends_with("tests"),
        Some((_, "rs")) => true,
        Some(_) | None => is_file_of_tests(path),
    }
}

/// A test by its source: its name, its text without white space and without the name, and the number of its first line.
struct SourceTest {
    name: String,
    body: String,
    line: usize,
}

/// The tests of changed files in one commit, by name and by text.
#[derive(Default)]
pub(super) struct KnownTests {
    names: BTreeSet<String>,
    bodies: BTreeSet<String>,
    /// The lines that leave tests out, with the names of these.
    skips: BTreeSet<(String, Vec<String>)>,
}

impl KnownTests {
    pub(super) fn of<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let mut known = Self::default();
        for (path, text) in files {
            let tests = tests_of(path, text);
            let lines = text.lines().map(str::trim).enumerate().filter(|_| !tests.is_empty());
            let skips = lines.filter(|(number, line)| is_skip(path, text, (*number, line)));
            known.skips.extend(skips.map(|(number, line)| (line.to_owned(), names_of(tests_at(&tests, text, number)))));
            for test in tests {
                known.names.insert(test.name);
                known.bodies.insert(test.body);
            }
        }
        known
    }

    fn has(&self, test: &SourceTest) -> bool {
        self.names.contains(&test.name) || (!test.body.is_empty() && self.bodies.contains(&test.body))
    }

    /// Returns whether a line leaves out nothing but tests that were not there, or that such a line left out before.
    fn explain(&self, line: &str, tests: &[SourceTest]) -> bool {
        let is_new = !tests.is_empty() && !tests.iter().any(|test| self.has(test));
        is_new || self.skips.contains(&(line.to_owned(), names_of(tests)))
    }
}

fn names_of(tests: &[SourceTest]) -> Vec<String> {
    tests.iter().map(|test| test.name.clone()).collect()
}

/// Returns the tests that a line is about: the one that it stands in or above, or else all of the file.
fn tests_at<'a>(tests: &'a [SourceTest], text: &str, number: usize) -> &'a [SourceTest] {
    let line = text.lines().nth(number).unwrap_or_default();
    let of_line = match () {
        () if line.trim_start().starts_with(['@', '#']) => tests.iter().find(|test| test.line > number),
        () if line.starts_with(char::is_whitespace) || tests.iter().any(|test| test.line == number) => {
            tests.iter().rfind(|test| test.line <= number)
        }
        () => None,
    };
    of_line.map_or(tests, std::slice::from_ref)
}

/// Returns the tests of changed files that are in none of them any more. A test that was moved or renamed, and has the same text, is not gone.
pub(super) fn find_gone_tests(files: &[ChangedFile<'_>]) -> Vec<GateChange> {
    let collected = files.iter().filter(|file| file.is_there.0 || is_collected(file.path));
    let now = KnownTests::of(collected.map(|file| (file.path, file.after.unwrap_or_default())));
    let gone = |file: &ChangedFile<'_>| {
        let before = tests_of(file.path, file.before.unwrap_or_default());
        // A file of which one commit has no text says nothing of its tests.
        let path = file.path.to_owned();
        let gone = before.into_iter().filter(|test| !now.has(test)).map(|test| test.name).chain(find_gone_classes(file));
        gone.map(move |name| GateChange { kind: ChangeKind::TestGone, file: path.clone(), what: name }).collect::<Vec<_>>()
    };
    files.iter().flat_map(gone).collect()
}

/// Returns the classes of a Python file that pytest does not collect any more because they have other names.
fn find_gone_classes(file: &ChangedFile<'_>) -> Vec<String> {
    let classes = |text: Option<&str>| -> BTreeSet<String> {
        let names = text.unwrap_or_default().lines().filter_map(|line| line.trim().strip_prefix("class "));
        names.filter(|_| file.path.ends_with(".py")).map(str::to_owned).collect()
    };
    let (before, after) = (classes(file.before), classes(file.after));
    let is_renamed = after.difference(&before).any(|name| !name.contains("Test"));
    let gone = before.difference(&after).filter(|name| is_renamed && name.starts_with("Test"));
    gone.filter_map(|name| identifier(name)).collect()
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
    for (number, line) in text.lines().map(str::trim).enumerate().filter(|(_, line)| !line.is_empty()) {
        if let Some(name) = name_in(line, before) {
            tests.push(SourceTest { name, body: String::new(), line: number });
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
    if let Some(module) = line.strip_prefix("mod ").and_then(identifier).filter(|name| name.contains("test")) {
        return Some(format!("mod {module}"));
    }
    let is_marked = before.starts_with("#[")
        && (before.contains("test") || before.starts_with("#[ignore") || before.starts_with("#[should_panic"));
    let (_, rest) = line.split_once("fn ")?;
    if is_marked { identifier(rest) } else { None }
}

fn go_test(line: &str) -> Option<String> {
    identifier(line.strip_prefix("func ")?)
        .filter(|name| name != "TestMain" && (name.starts_with("Test") || name.starts_with("Fuzz")))
}
