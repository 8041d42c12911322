//! Turns the failures in a report into a form for people: name, file, line, first line of the message, whole text.

use std::path::PathBuf;

use crate::expectations::RaisedAt;
use crate::junit::{Element, Mark, MarkKind};
use crate::places::Place;
use crate::pytest::tally::Test;
use proctor_model::{TestCase, TestFailure, TestOutcome};

/// Messages that say nothing useful. The failure's text says more.
const EMPTY_MESSAGES: &[&str] = &["", "collection failure", "internal error"];

/// The beginning of the message about a missing fixture. The name of the fixture stands in the failure's text.
const MISSING_FIXTURE: &str = "failed on setup with \"file ";

const MISSING_MODULE: &str = "ModuleNotFoundError: No module named '";

/// Returns a failed test's name and the first line of its message.
pub(super) fn headline(test: &Test) -> String {
    let error = marks(test).next().map(error_line).unwrap_or_default();
    format!("{}: {error}", test.name())
}

/// Converts a failed test of pytest into an entry of proctor's report.
pub(super) fn failure(test: &Test, place: Place<'_>) -> TestFailure {
    let element = test.element();
    let stack =
        marks(test).map(|mark| if mark.text.is_empty() { &mark.message } else { &mark.text }).cloned().collect::<Vec<_>>();
    let stack = stack.join("\n\n");
    let (test_file, line) = location(element, &stack, place);
    let error = marks(test).next().map(error_line).unwrap_or_default();
    let (expected, received) = compared(&error).map_or((None, None), |(expected, received)| (Some(expected), Some(received)));
    TestFailure {
        test_name: test.name(),
        report_name: test.node_id.is_some().then(|| test.junit_name()),
        test_file,
        error,
        expected,
        received,
        stack: (!stack.is_empty()).then_some(stack),
        line,
        column: None,
    }
}

/// Reads `assert 404 == 200`. In its own differences, pytest takes the left side for what is there and the right side for what is
/// expected.
fn compared(error: &str) -> Option<(String, String)> {
    let rest = error.strip_prefix("AssertionError: ").unwrap_or(error).strip_prefix("assert ")?;
    let is_plain =
        rest.matches(" == ").count() == 1 && ![" and ", " or ", " not ", " in "].iter().any(|word| rest.contains(word));
    let (received, expected) = rest.split_once(" == ").filter(|_| is_plain)?;
    // A value that pytest has shortened is not the value.
    let is_whole = |value: &str| !value.is_empty() && !value.contains("...");
    (is_whole(received) && is_whole(expected)).then(|| (expected.trim().to_owned(), received.trim().to_owned()))
}

/// Converts a test, failed or not, into an entry of the test results in the evidence.
pub(super) fn case(test: &Test) -> TestCase {
    let element = test.element();
    TestCase {
        title: element.name.clone(),
        ancestor_titles: if element.class.is_empty() { Vec::new() } else { vec![element.class.clone()] },
        full_name: test.name(),
        report_name: test.node_id.is_some().then(|| test.junit_name()),
        test_file: None,
        status: test.outcome,
        expected_to_fail: test.outcome == TestOutcome::Skipped
            && test.elements.iter().flat_map(|element| &element.marks).any(|mark| mark.is_expected),
        duration_us: test.elements.iter().filter_map(|element| element.duration).reduce(u64::saturating_add),
        body: None,
        failure_messages: test
            .elements
            .iter()
            .flat_map(|element| &element.marks)
            .map(mark_text)
            .filter(|said| !said.is_empty())
            .collect(),
    }
}

/// Returns what a mark says: the whole text of a failure, and the reason of a skip without the place that pytest puts before it.
fn mark_text(mark: &Mark) -> String {
    match mark.kind {
        MarkKind::Skipped if mark.is_expected && mark.message.is_empty() => "expected to fail".to_owned(),
        MarkKind::Skipped if mark.is_expected => format!("expected to fail: {}", mark.message),
        MarkKind::Skipped | MarkKind::Retried => mark.message.clone(),
        MarkKind::Failure | MarkKind::Error if mark.text.is_empty() => mark.message.clone(),
        MarkKind::Failure | MarkKind::Error => mark.text.clone(),
    }
}

/// Returns the modules that a collection error names as missing, and whether it contains no other error (R7).
///
/// Every exception in the text counts. With `try: import a; except ImportError: import b`, both modules are missing.
pub(super) fn missing_modules(test: &Test) -> (Vec<String>, bool) {
    let exceptions: Vec<&str> = marks(test).flat_map(|mark| exception_lines(mark.text.lines())).collect();
    let names: Vec<String> = exceptions.iter().filter_map(|line| missing_module(line)).collect();
    let only_those = !names.is_empty() && names.len() == exceptions.len();
    (names, only_those)
}

fn missing_module(exception: &str) -> Option<String> {
    let (name, rest) = exception.strip_prefix(MISSING_MODULE)?.split_once('\'')?;
    let is_whole = rest.is_empty() || (rest.starts_with("; '") && rest.ends_with("' is not a package"));
    is_whole.then(|| name.to_owned())
}

fn marks(test: &Test) -> impl Iterator<Item = &Mark> {
    test.elements.iter().flat_map(|element| &element.marks).filter(|mark| mark.kind != MarkKind::Skipped)
}

/// Returns the files of the project in a test's tracebacks, as absolute paths.
pub(super) fn traced_files(test: &Test, place: Place<'_>) -> Vec<PathBuf> {
    let lines = marks(test).flat_map(|mark| mark.text.lines());
    let mut files: Vec<PathBuf> = lines
        .filter_map(traceback_place)
        .filter(|(path, _)| Place::is_own(&place.within_project(path)))
        .map(|(path, _)| place.absolute(path))
        .collect();
    files.sort_unstable();
    files.dedup();
    files
}

fn error_line(mark: &Mark) -> String {
    let message = mark.message.lines().next().unwrap_or_default().trim();
    if let Some(error) = doctest_error(&mark.message) {
        return error;
    }
    if message.contains(MISSING_FIXTURE)
        && let Some(line) = mark.text.lines().find_map(|line| line.strip_prefix("E "))
    {
        return line.trim().to_owned();
    }
    if !EMPTY_MESSAGES.contains(&message) {
        return message.to_owned();
    }
    // A traceback names its exception in the last line. Another text says in the first line what is wrong, and below it what to do.
    let mut told = mark.text.lines().map(str::trim).filter(|line| !line.is_empty());
    let fallback = || if mark.text.contains("Traceback") { told.next_back() } else { told.next() };
    exception_lines(mark.text.lines()).last().or_else(fallback).unwrap_or(message).to_owned()
}

/// Returns what a doctest expected and got, or its exception. pytest's message begins with the source lines, each with its number.
fn doctest_error(message: &str) -> Option<String> {
    let last = message.trim_end().lines().next_back()?;
    if !last.ends_with(": DocTestFailure") && !last.ends_with(": UnexpectedException") {
        return None;
    }
    if let Some(error) = message.lines().find_map(|line| line.strip_prefix("UNEXPECTED EXCEPTION: ")) {
        return Some(error.trim().to_owned());
    }
    let below = |heading: &str| {
        let lines = message.lines().skip_while(|line| *line != heading).skip(1).take_while(|line| line.starts_with("    "));
        lines.map(str::trim).collect::<Vec<_>>().join(" ")
    };
    let (expected, received) = (below("Expected:"), below("Got:"));
    let quoted = |text: String| if text.is_empty() { "nothing".to_owned() } else { format!("`{text}`") };
    (!expected.is_empty() || !received.is_empty()).then(|| format!("expected {}, got {}", quoted(expected), quoted(received)))
}

/// Returns the exceptions in a traceback, which pytest writes as `E   Name: message`. Deeper indented lines are source
/// code or continuations.
pub(super) fn exception_lines<'a>(lines: impl Iterator<Item = &'a str>) -> impl Iterator<Item = &'a str> {
    lines.filter_map(|line| line.strip_prefix("E   ")).filter(|rest| !rest.starts_with(' ') && !rest.is_empty())
}

fn location(element: &Element, stack: &str, place: Place<'_>) -> (Option<String>, Option<u64>) {
    let mut seen: Vec<(String, u64)> = stack
        .lines()
        .filter_map(|line| syntax_error_place(line).or_else(|| traceback_place(line)))
        .map(|(path, line)| (place.within_project(path), line))
        .filter(|(path, _)| Place::is_own(path))
        .collect();
    let named = element.file.as_deref().map(|file| place.within_project(file));
    // The test's own file is the one that matches the beginning of its class name. The place of a failed fixture may be
    // in another file.
    let own = named.or_else(|| seen.iter().map(|(path, _)| path).find(|path| is_of_class(path, &element.class)).cloned());
    match own {
        Some(file) => {
            let line = seen.iter().rev().find(|(path, _)| *path == file).map(|(_, line)| *line);
            (Some(file), line)
        }
        None => seen.pop().map_or((None, None), |(path, line)| (Some(path), Some(line))),
    }
}

fn is_of_class(path: &str, class: &str) -> bool {
    let Some(module) = path.strip_suffix(".py").map(|stem| stem.replace('/', ".")) else { return false };
    // Class names are relative to pytest's root, and paths are relative to the project's root. So either one may have
    // an additional prefix.
    let fits = |class: &str| module == class || module.ends_with(&format!(".{class}"));
    !class.is_empty()
        && class.char_indices().filter(|(_, dot)| *dot == '.').map(|(end, _)| &class[..end]).chain([class]).any(fits)
}

// Reads `tests/test_a.py:4: AssertionError`, `tests/test_a.py:4: in test_x`, and `/project/test_a.py:6` for a missing
// fixture.
fn traceback_place(line: &str) -> Option<(&str, u64)> {
    let (start, rest) = line.split_once(".py:")?;
    if start.is_empty() || start.starts_with([' ', '>', '<']) {
        return None;
    }
    let digits = rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len());
    let (number, rest) = rest.split_at(digits);
    (rest.is_empty() || rest.starts_with(':')).then_some(())?;
    Some((&line[..start.len() + ".py".len()], number.parse().ok()?))
}

// Reads `E     File "/project/test_a.py", line 1`: the file with the syntax error, which may be another file than the
// test's.
fn syntax_error_place(line: &str) -> Option<(&str, u64)> {
    let (path, number) = line.strip_prefix("E     File \"")?.split_once("\", line ")?;
    Some((path, number.trim().parse().ok()?))
}

/// Returns the place in which an error was raised: the last one that a traceback names.
pub(super) fn raised_at(stack: &str) -> Option<RaisedAt> {
    stack.lines().rev().find_map(|line| {
        let (path, rest) = line.trim().split_once(".py:")?;
        let line = rest.split(':').next()?.parse().ok()?;
        (!path.is_empty() && !path.contains(' ')).then(|| RaisedAt { path: format!("{path}.py"), line, column: 1 })
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use proctor_model::TestOutcome;

    fn place() -> Place<'static> {
        Place { root: Path::new("/project"), directory: Path::new("") }
    }

    fn failed(class: &str, name: &str, message: &str, text: &str) -> Test {
        let mark = Mark { kind: MarkKind::Error, message: message.to_owned(), text: text.to_owned(), is_expected: false };
        let element = Element { class: class.to_owned(), name: name.to_owned(), marks: vec![mark], ..Element::default() };
        Test { elements: vec![element], outcome: TestOutcome::Error, node_id: None }
    }

    #[test]
    fn a_doctest_says_what_it_expected_and_not_the_number_of_its_first_line() {
        for (message, expected) in [
            ("002 \n003     >>> f()\nExpected:\n    2\nGot:\n    1\n\n/p/m.py:3: DocTestFailure", Some("expected `2`, got `1`")),
            (
                "009 \n010     >>> g()\nUNEXPECTED EXCEPTION: KeyError('x')\nTraceback (most recent call last):\n\n/p/m.py:10: UnexpectedException",
                Some("KeyError('x')"),
            ),
            (
                "002 \n003     >>> f()\nExpected nothing\nGot:\n    1\n\n/p/m.py:3: DocTestFailure",
                Some("expected nothing, got `1`"),
            ),
            ("assert 1 == 2", None),
        ] {
            assert_eq!(doctest_error(message).as_deref(), expected, "{message}");
        }
    }

    #[test]
    fn a_failure_points_at_the_test_not_at_the_library_it_went_through() {
        let text = "tests/test_a.py:4: in test_x\n    helper()\nlib/helper.py:9: in helper\n    raise ValueError\n/usr/lib/python3/x.py:1: in y\nE   ValueError";
        let failure = failure(&failed("tests.test_a.TestX", "test_x", "ValueError", text), place());
        assert_eq!((failure.test_file.as_deref(), failure.line), (Some("tests/test_a.py"), Some(4)));
        assert_eq!(failure.test_name, "tests.test_a.TestX::test_x");
        assert_eq!(failure.stack.as_deref(), Some(text));
    }

    #[test]
    fn a_plain_comparison_says_what_was_expected() {
        let of = |error: &str| compared(error).map(|(expected, received)| format!("{received} is not {expected}"));
        assert_eq!(of("assert 404 == 200").as_deref(), Some("404 is not 200"));
        assert_eq!(of("AssertionError: assert 'a' == 'b'").as_deref(), Some("'a' is not 'b'"));
        for error in
            ["assert False", "assert a == b == c", "assert (1 == 2 or 3)", "ValueError: 1 == 2", "assert 'aaa...' == 'b'"]
        {
            assert_eq!(of(error), None, "{error}");
        }
    }

    #[test]
    fn a_fixture_that_fails_elsewhere_is_where_it_failed() {
        let failure = failure(&failed("test_a", "test_x", "failed on setup with \"X\"", "conftest.py:3: X"), place());
        assert_eq!((failure.test_file.as_deref(), failure.line), (Some("conftest.py"), Some(3)));
    }

    #[test]
    fn a_syntax_error_points_at_the_broken_file() {
        let text = "/usr/lib/ast.py:50: in parse\nE     File \"/project/src/m.py\", line 7\nE       def (:\nE   SyntaxError: invalid syntax";
        let test = failed("", "test_a", "collection failure", text);
        assert_eq!(headline(&test), "test_a: SyntaxError: invalid syntax");
        let failure = failure(&test, place());
        assert_eq!((failure.test_file.as_deref(), failure.line), (Some("src/m.py"), Some(7)));
        assert_eq!(missing_modules(&test), (vec![], false));
    }

    #[test]
    fn only_a_text_whose_every_exception_is_a_missing_module_counts_as_one() {
        let modules = |text: &str| missing_modules(&failed("", "test_a", "collection failure", text));
        let line = "E   ModuleNotFoundError: No module named 'a.b'";
        assert_eq!(modules(line), (vec!["a.b".to_owned()], true));
        assert_eq!(modules(&format!("{line}; 'a' is not a package")), (vec!["a.b".to_owned()], true));
        assert_eq!(modules(&format!("{line}\nE   ModuleNotFoundError: No module named 'c'")).0, ["a.b", "c"]);
        assert!(!modules(&format!("E   RuntimeError: x\n{line}")).1, "a message that quotes such a line is another error");
        assert!(!modules("E   ImportError: cannot import name 'x' from 'a' (/project/a.py)").1);
        assert!(!modules("").1);
    }
}
