//! Finds tests, marks that skip them, and suppressions in the lines of source files. What is found is a hint for a person, so a line is
//! read as a line: a mark in a string is named too.
//!
//! Compares the tests that runs on two commits' contents recorded. A record says which tests a tool collected, whatever the source files
//! look like: a test that a setting deselects is in no record, and one that was renamed is there under another name.

use std::collections::{BTreeMap, BTreeSet};

use crate::changes::{ChangeKind, ChangedFile, GateChange, shortened};
use proctor_model::{TestBody, has_word};

/// What silences a finding in source files, as linters and type checkers write it.
const SUPPRESSIONS: &str = "\
    noqa|type: ignore|mypy: ignore-errors|mypy: disable-error-code|pyright: ignore|pyright: basic|pylint: disable|\
    eslint-disable|@ts-ignore|@ts-nocheck|@ts-expect-error|nolint|[allow(|pragma: no cover|istanbul ignore|\
    c8 ignore|v8 ignore|biome-ignore|nosec|shellcheck disable|rubocop:disable|rubocop:todo|stylelint-disable|tslint:disable|\
    swiftlint:disable|prettier-ignore|rustfmt::skip|fmt: off|fmt: skip|NOSONAR|NOLINT|SuppressWarnings|noinspection|\
    phpstan-ignore|codespell:ignore";
/// Texts by which a test is left out, or all others are.
const SKIPS: &str = "\
    mark.skip|mark.xfail|pytest.skip(|pytest.xfail(|pytest.importorskip(|unittest.skip|SkipTest|expectedFailure|skipTest(|\
    collect_ignore|__test__ = False|__test__=False|pytest_collection_modifyitems|it.skip(|test.skip(|describe.skip(|it.todo(|\
    test.todo(|it.fails(|test.fails(|xit(|xtest(|xdescribe(|it.only(|test.only(|describe.only(|fit(|fdescribe(|\
    #[ignore|#[cfg(any())|#[cfg(false)|#[cfg(not(test))|t.Skip|b.Skip|xit \"|xit '|xdescribe \"|xcontext \"|xspecify \"|\
    pending \"|pending '|skip \"|skip '|@Disabled|@Ignore|(Skip = |(Skip=|markTestSkipped(|@tag :skip|XCTSkip";
/// The beginnings of the line by which Go builds a file only under a condition, and else leaves its tests out.
const GO_BUILDS: [&str; 2] = ["//go:build", "// +build"];
/// The endings of source files.
const SOURCES: &str = "\
    py pyi js jsx mjs cjs ts tsx mts cts rs go sh rb vue svelte java kt kts scala groovy php cs swift ex exs css scss c cc cpp h hpp";

/// Returns the lines that silence a finding and were not there before.
pub(super) fn find_suppressions(file: &ChangedFile<'_>) -> Vec<String> {
    added_lines(file).into_iter().filter(|line| SUPPRESSIONS.split('|').any(|mark| line.contains(mark))).map(shortened).collect()
}

/// Returns the lines that leave a test out and were not there before.
pub(super) fn find_skips(file: &ChangedFile<'_>) -> Vec<String> {
    let is_test_of_go = file.path.ends_with("_test.go");
    let is_left_out_of_build = |line: &str| is_test_of_go && GO_BUILDS.iter().any(|mark| line.starts_with(mark));
    let skips = |line: &&str| is_left_out_of_build(line) || SKIPS.split('|').any(|mark| is_word_at(line, mark));
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
    path.rsplit_once('.').is_some_and(|(_, ending)| has_word(SOURCES, ending))
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

/// The most tests of each kind that are named one by one.
const MOST_NAMED: usize = 100;

/// A test in the records of runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedTest {
    /// The tool's own id of the test.
    pub id: String,
    /// The test's file, or the name of its check where the record names no file.
    pub file: String,
    /// The mark of the test's source text; `None` if it is not known.
    pub body: Option<TestBody>,
    /// Whether it passed or failed: it was neither skipped nor expected to fail.
    pub has_run: bool,
}

/// The tests that runs on one commit's content had.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordedTests {
    pub tests: Vec<RecordedTest>,
    /// Whether the records list every test that was collected.
    pub is_complete: bool,
}

impl RecordedTest {
    /// Returns its id without the file.
    fn name(&self) -> &str {
        self.id.strip_prefix(&self.file).and_then(|rest| rest.strip_prefix("::")).unwrap_or(&self.id)
    }

    /// Returns what a test keeps when it is moved to another file, or when a parameter has another value.
    fn title(&self) -> &str {
        let title = self.id.rsplit("::").next().unwrap_or(&self.id);
        title.split_once('[').map_or(title, |(title, _)| title)
    }
}

/// Returns the changes with the tests that ran on the trusted content, and that the judged content's runs did not collect or did not run.
/// A test that ran on the trusted content is gone by the records and not by the source text.
pub fn with_recorded_tests(changes: Vec<GateChange>, before: &RecordedTests, now: &RecordedTests) -> Vec<GateChange> {
    let is_recorded = |change: &GateChange| {
        before.tests.iter().any(|test| test.has_run && test.file == change.file && test.title() == change.what)
    };
    let is_known_better = |change: &GateChange| change.kind == ChangeKind::TestGone && now.is_complete && is_recorded(change);
    let mut found: Vec<GateChange> = changes.into_iter().filter(|change| !is_known_better(change)).collect();
    let [gone, skipped] = lost_tests(before, now);
    found.extend(of_tests(ChangeKind::TestGone, &gone, "ran on the trusted content, and is not collected any more"));
    found.extend(of_tests(ChangeKind::TestSkipped, &skipped, "ran on the trusted content, and is skipped or expected to fail"));
    found.sort();
    found.dedup();
    found
}

/// Returns the tests that ran before, and now are not collected; and those that now are not run. A renamed test is neither.
pub fn lost_tests<'t>(before: &'t RecordedTests, now: &RecordedTests) -> [Vec<&'t RecordedTest>; 2] {
    let present: BTreeMap<&str, bool> = now.tests.iter().fold(BTreeMap::new(), |mut present, test| {
        *present.entry(test.id.as_str()).or_default() |= test.has_run;
        present
    });
    let known: BTreeSet<&str> = before.tests.iter().map(|test| test.id.as_str()).collect();
    let mut fresh: Vec<&RecordedTest> =
        now.tests.iter().filter(|test| test.has_run && !known.contains(test.id.as_str())).collect();
    let ran: BTreeMap<&str, &RecordedTest> =
        before.tests.iter().filter(|test| test.has_run).map(|test| (test.id.as_str(), test)).collect();
    let (mut gone, mut skipped) = (Vec::new(), Vec::new());
    for test in ran.into_values() {
        match present.get(test.id.as_str()) {
            Some(true) => {}
            Some(false) => skipped.push(test),
            None => gone.push(test),
        }
    }
    // A new test stands for one that is gone, and for no second one. The same text says more than the same title.
    let is_same_text = |one: &RecordedTest, other: &RecordedTest| one.body.is_some() && one.body == other.body;
    let is_same_title = |one: &RecordedTest, other: &RecordedTest| one.title() == other.title();
    for is_same in [&is_same_text as &dyn Fn(&RecordedTest, &RecordedTest) -> bool, &is_same_title] {
        gone.retain(|test| match fresh.iter().position(|fresh| is_same(test, fresh)) {
            Some(place) => {
                fresh.swap_remove(place);
                false
            }
            None => true,
        });
    }
    if !now.is_complete {
        gone.clear();
    }
    [gone, skipped]
}

/// Returns the changes that name these tests. Of too many, the last change tells the number.
fn of_tests(kind: ChangeKind, tests: &[&RecordedTest], how: &str) -> Vec<GateChange> {
    let change =
        |test: &&RecordedTest| GateChange { kind, file: test.file.clone(), what: format!("`{}` {how}", shortened(test.name())) };
    let mut named: Vec<GateChange> = tests.iter().take(MOST_NAMED).map(change).collect();
    if let Some(first) = tests.get(MOST_NAMED) {
        let more = tests.len() - MOST_NAMED;
        named.push(GateChange { kind, file: first.file.clone(), what: format!("and {more} more tests {how}") });
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tests(of: &[(&str, u64, bool)]) -> RecordedTests {
        let test = |(id, body, has_run): &(&str, u64, bool)| RecordedTest {
            id: (*id).to_owned(),
            file: id.split_once("::").map_or("unit", |(file, _)| file).to_owned(),
            body: (*body != 0).then_some(TestBody(*body)),
            has_run: *has_run,
        };
        RecordedTests { tests: of.iter().map(test).collect(), is_complete: true }
    }

    fn compared(before: &[(&str, u64, bool)], now: &[(&str, u64, bool)]) -> Vec<String> {
        with_recorded_tests(Vec::new(), &tests(before), &tests(now)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_test_that_is_not_collected_or_not_run_any_more_is_named() {
        let before = [("a.py::test_a", 1, true), ("a.py::T::test_b", 2, true), ("a.py::test_old", 3, false), ("adds", 0, true)];
        assert_eq!(compared(&before, &before), [""; 0]);
        let found = compared(&before, &[("a.py::test_a", 1, false), ("a.py::test_new", 5, true)]);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].starts_with("a test is gone from `a.py`: `T::test_b` ran"), "{found:?}");
        assert!(found[1].starts_with("a test is gone from `unit`: `adds` ran"), "{found:?}");
        assert!(found[2].starts_with("a test is left out in `a.py`: `test_a` ran"), "{found:?}");
    }

    #[test]
    fn a_test_that_was_renamed_moved_or_given_another_parameter_is_not_gone_and_stands_for_one() {
        for (before, now) in [
            (("a.py::test_a", 1, true), ("a.py::test_z", 1, true)),
            (("a.py::test_a", 1, true), ("b.py::test_a", 2, true)),
            (("a.py::test_a[1]", 1, true), ("a.py::test_a[2]", 2, true)),
        ] {
            assert_eq!(compared(&[before], &[now]), [""; 0], "{before:?} {now:?}");
            assert_eq!(compared(&[before, ("a.py::test_a[9]", 1, true)], &[now]).len(), 1, "{before:?} {now:?}");
            assert_eq!(compared(&[before], &[(now.0, now.1, false)]).len(), 1, "one that is skipped stands for none");
        }
    }

    #[test]
    fn records_decide_about_the_tests_that_ran_and_a_list_that_lacks_tests_says_of_none_that_it_is_gone() {
        let source = |file: &str| GateChange { kind: ChangeKind::TestGone, file: file.to_owned(), what: "test_b".to_owned() };
        let (before, mut now) = (tests(&[("a.py::test_b", 1, true)]), tests(&[("a.py::test_z", 1, true)]));
        let changes = || vec![source("a.py"), source("b.py")];
        assert_eq!(with_recorded_tests(changes(), &before, &now), [source("b.py")]);
        let skipped = tests(&[("a.py::test_b", 1, false)]);
        assert_eq!(
            with_recorded_tests(changes(), &skipped, &now),
            changes(),
            "of a test that did not run the record knows nothing"
        );
        now.is_complete = false;
        assert_eq!(with_recorded_tests(changes(), &before, &now), changes());
        now.tests.clear();
        assert_eq!(with_recorded_tests(Vec::new(), &before, &now), []);
        let many: Vec<(String, u64, bool)> = (0..150).map(|number| (format!("a.py::test_{number}"), 0, true)).collect();
        let many: Vec<(&str, u64, bool)> = many.iter().map(|(id, body, ran)| (id.as_str(), *body, *ran)).collect();
        let found = compared(&many, &[]);
        assert_eq!(found.len(), MOST_NAMED + 1);
        assert!(found.iter().any(|change| change.contains("and 50 more tests")), "{found:?}");
    }
}
