//! Turns the failures in a report into a form for people: name, file, line, first line of the message, whole text.

use crate::interpret::Exited;
use crate::node_tests::tally::{BrokenFile, Test};
use crate::places::Place;
use proctor_model::{TestCase, TestFailure, Tool};

/// The first line of Jest's message about a file that could not be loaded, or whose hook threw an error.
const SUITE_HEADING: &str = "Test suite failed to run";

/// The words before the name of a missing module, and the character after it.
const MISSING_MODULE: &[(&str, char)] = &[
    ("Cannot find module '", '\''),
    ("Cannot find package '", '\''),
    ("Failed to load url ", ' '),
    ("Failed to resolve import \"", '"'),
];

/// The labels of Jest's matchers: before the expected value, and before the received one.
const LABELS: &[(&str, &str)] = &[
    ("Expected: ", "Received: "),
    ("Expected length: ", "Received length: "),
    ("Expected substring: ", "Received string: "),
    ("Expected pattern: ", "Received string: "),
    ("Expected value: ", "Received array: "),
    ("Expected value: ", "Received value: "),
    ("Expected number of calls: ", "Received number of calls: "),
    ("Expected message: ", "Received message: "),
    ("Expected substring: ", "Received message: "),
    ("Expected constructor: ", "Received constructor: "),
    ("Expected path: ", "Received path: "),
];

/// The words between the received and the expected value in Vitest's sentences.
const SENTENCES: &[&str] = &[
    " to be greater than or equal to ",
    " to be less than or equal to ",
    " to be greater than ",
    " to be less than ",
    " to have a length of ",
    " to deeply equal ",
    " to strictly equal ",
    " to equal ",
    " to include ",
    " to contain ",
    " to match ",
    " to be close to ",
    " to be ",
];

/// Returns a failed test's name and the first line of its message.
pub(super) fn headline(test: &Test, exited: &Exited<'_>) -> String {
    format!("{}: {}", name(test, exited), error_of(test))
}

/// Returns the name of a test file that failed as a whole, and the line that names the problem.
pub(super) fn file_headline(file: &BrokenFile) -> String {
    format!("{}: {}", file.file, telling_line(&file.message))
}

/// Converts a failed test of Jest or Vitest into an entry of proctor's report.
pub(super) fn of_test(test: &Test, exited: &Exited<'_>) -> TestFailure {
    let stack = test.messages.join("\n\n");
    let message = test.messages.first().map(String::as_str).unwrap_or_default();
    let (line, column) =
        place_in(&stack, &test.file, exited.place).map_or((test.line, test.column), |(line, column)| (Some(line), Some(column)));
    let (expected, received) = values_of(test, message, exited).map_or((None, None), |(one, other)| (Some(one), Some(other)));
    TestFailure {
        test_name: name(test, exited),
        report_name: Some(full_name(test)),
        test_file: Some(test.file.clone()),
        error: error_of(test),
        expected,
        received,
        line,
        column,
        stack: (!stack.is_empty()).then_some(stack),
    }
}

/// Converts a test file that failed as a whole into an entry of proctor's report.
pub(super) fn of_file(file: &BrokenFile, place: Place<'_>) -> TestFailure {
    let seen = place_in(&file.message, &file.file, place);
    TestFailure {
        test_name: file.file.clone(),
        test_file: Some(file.file.clone()),
        error: telling_line(&file.message).to_owned(),
        line: seen.map(|(line, _)| line),
        column: seen.map(|(_, column)| column),
        stack: (!file.message.is_empty()).then(|| file.message.clone()),
        ..TestFailure::default()
    }
}

/// Converts a test, failed or not, into an entry of the test results in the evidence.
pub(super) fn case(test: &Test, exited: &Exited<'_>) -> TestCase {
    TestCase {
        title: test.title.clone(),
        ancestor_titles: test.ancestors.clone(),
        full_name: name(test, exited),
        report_name: Some(full_name(test)),
        test_file: Some(test.file.clone()),
        status: test.outcome,
        expected_to_fail: false,
        duration_us: test.duration,
        failure_messages: test.messages.clone(),
        body: None,
    }
}

/// Returns the name of the missing module if the message says that a test file could not be loaded because of one (R7).
pub(super) fn missing_module(message: &str) -> Option<String> {
    MISSING_MODULE.iter().find_map(|(before, after)| {
        let (_, rest) = message.split_once(before)?;
        let name = rest.lines().next()?.split(*after).next()?;
        (!name.is_empty()).then(|| name.to_owned())
    })
}

/// Returns a test's name as the tool shows it: the file, the `describe` blocks and the title. Jest puts `›` between them and
/// Vitest `>`.
fn name(test: &Test, exited: &Exited<'_>) -> String {
    let separator = if exited.action.tool == Tool::Vitest { " > " } else { " › " };
    let file = exited.place.within_directory(&test.file);
    let titles = titles_below(file, &test.ancestors).iter().chain([&test.title]).map(String::as_str);
    std::iter::once(file).chain(titles).collect::<Vec<_>>().join(separator)
}

/// Returns the titles of the `describe` blocks. In the report about types (`--typecheck`), Vitest puts the file before them, but it does
/// not print it twice.
pub(super) fn titles_below<'t>(file: &str, ancestors: &'t [String]) -> &'t [String] {
    match ancestors {
        [first, rest @ ..] if first == file => rest,
        all => all,
    }
}

/// Returns a test's name in the tool's report, which is also what the option `-t` compares with.
fn full_name(test: &Test) -> String {
    let titles = test.ancestors.iter().chain([&test.title]).map(String::as_str);
    titles.collect::<Vec<_>>().join(" ")
}

fn error_of(test: &Test) -> String {
    let message = test.messages.first().map(String::as_str).unwrap_or_default();
    let first = message.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("it says nothing");
    let first = first.strip_prefix("Error: ").unwrap_or(first);
    // Jest quotes what was thrown if it is no error, as its own text about a time-out: `thrown: "Exceeded timeout …`.
    let first = first.strip_prefix("thrown: \"").map_or(first, |quoted| quoted.trim_end_matches('"'));
    match (only_value(message, "Expected: "), only_value(message, "Received: ")) {
        (Some(expected), Some(received)) => format!("{first} (expected {expected}, received {received})"),
        _ => first.to_owned(),
    }
}

/// Returns the expected and the received value. Vitest shortens them in its sentence (`{ id: 7, …(2) }`) and prints the difference only
/// below the test's name in its output.
fn values_of(test: &Test, message: &str, exited: &Exited<'_>) -> Option<(String, String)> {
    let found = compared(message);
    if !found.as_ref().is_some_and(|(expected, received)| [expected, received].iter().any(|value| value.contains("…("))) {
        return found;
    }
    let name = name(test, exited);
    let is_heading = |line: &str| line.trim_start().starts_with("FAIL ") && line.trim_end().ends_with(&name);
    let below = exited.stderr.lines().skip_while(|line| !is_heading(line)).skip(1);
    let printed: Vec<&str> = below.take_while(|line| !line.trim_start().starts_with("FAIL ")).collect();
    of_difference(&printed.join("\n")).or_else(|| found.filter(|(expected, received)| expected != received))
}

/// Returns the expected and the received value, if the message has each of them in one way only.
fn compared(message: &str) -> Option<(String, String)> {
    labelled(message).or_else(|| of_sentence(message)).or_else(|| of_difference(message))
}

/// Reads the values behind Jest's labels.
fn labelled(message: &str) -> Option<(String, String)> {
    LABELS.iter().find_map(|(expected, received)| Some((only_value(message, expected)?, only_value(message, received)?)))
}

/// Reads `AssertionError: expected 404 to be 200 // Object.is equality`, as Vitest writes it: the received value comes first.
fn of_sentence(message: &str) -> Option<(String, String)> {
    let first = message.lines().map(str::trim).find(|line| !line.is_empty())?;
    let (_, rest) = first.split_once("expected ").filter(|(before, _)| before.is_empty() || before.ends_with("Error: "))?;
    let rest = rest.split(" // ").next().unwrap_or(rest);
    let ways = SENTENCES.iter().filter(|words| rest.matches(**words).count() == 1);
    let (received, expected) = ways.filter_map(|words| rest.split_once(words)).next()?;
    Some((expected.trim().to_owned(), received.trim().to_owned()))
}

/// Reads a difference of several lines: below `- Expected` and `+ Received`, `-` stands before the expected lines and `+` before the
/// received ones.
fn of_difference(message: &str) -> Option<(String, String)> {
    let mut lines = message.lines().skip_while(|line| !line.trim_start().starts_with("- Expected"));
    lines.next()?;
    let legend = lines.next().filter(|line| line.trim_start().starts_with("+ Received"))?;
    let indent = legend.len() - legend.trim_start().len();
    let body: Vec<&str> =
        lines.take_while(|line| !["at ", "❯ "].iter().any(|place| line.trim_start().starts_with(place))).collect();
    let of = |sign: char| -> String {
        let marked = body.iter().filter_map(|line| line.get(indent..)?.strip_prefix(sign));
        marked.map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
    };
    let (expected, received) = (of('-'), of('+'));
    (!expected.is_empty() && !received.is_empty()).then_some((expected, received))
}

// Values of several lines, and two values with one label, are ignored, because reading them would be a guess.
fn only_value(message: &str, label: &str) -> Option<String> {
    let mut values = message.lines().filter_map(|line| line.trim_start().strip_prefix(label));
    match (values.next(), values.next()) {
        (Some(value), None) => Some(value.trim().to_owned()),
        (Some(_) | None, _) => None,
    }
}

fn telling_line(message: &str) -> &str {
    let lines = || message.lines().map(str::trim).filter(|line| !line.is_empty() && !line.contains(SUITE_HEADING));
    lines().find(|line| line.starts_with("SyntaxError: ")).or_else(|| lines().next()).unwrap_or("it says nothing")
}

// Reads `at Object.toBe (/project/a.test.js:4:17)`, `at /project/a.test.js:5:17` and `at
// file:///project/a.test.js:5:17`.
fn place_in(stack: &str, file: &str, place: Place<'_>) -> Option<(u64, u64)> {
    stack.lines().find_map(|line| {
        let text = line.trim().trim_end_matches(')');
        let text = text.rsplit_once(['(', ' ']).map_or(text, |(_, path)| path);
        let (rest, column) = text.rsplit_once(':')?;
        let (path, number) = rest.rsplit_once(':')?;
        let path = path.strip_prefix("file://").unwrap_or(path);
        (place.within_project(path) == file).then(|| Some((number.parse().ok()?, column.parse().ok()?))).flatten()
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn what_was_expected_and_what_came_is_read_where_the_message_has_each_once() {
        let of = |message: &str| compared(message).map(|(expected, received)| format!("{expected} / {received}"));
        for (message, seen) in [
            ("expect(received).toBe(expected)\n\nExpected: 200\nReceived: 404\n", Some("200 / 404")),
            ("Expected length: 3\nReceived length: 2\nReceived array: [1, 2]", Some("3 / 2")),
            ("Expected substring: \"a\"\nReceived string:    \"b\"", Some("\"a\" / \"b\"")),
            ("Expected substring: \"a\"\nReceived string: \"b\"", Some("\"a\" / \"b\"")),
            ("AssertionError: expected 404 to be 200 // Object.is equality", Some("200 / 404")),
            ("AssertionError: expected [ 1 ] to deeply equal [ 2 ]", Some("[ 2 ] / [ 1 ]")),
            (
                "- Expected  - 1\n+ Received  + 1\n\n  Object {\n-   \"a\": 1,\n+   \"a\": 2,\n  }\n    at x (a.js:1:2)",
                Some("\"a\": 1, / \"a\": 2,"),
            ),
            ("Expected: 1\nReceived: 2\nExpected: 3", None),
            ("it was expected to be better", None),
            ("Error: boom", None),
        ] {
            assert_eq!(of(message).as_deref(), seen, "{message}");
        }
    }

    #[test]
    fn a_failure_has_its_line_and_column() {
        let place = Place { root: Path::new("/project"), directory: Path::new("") };
        let stack = "Error: x\n    at f (/project/node_modules/y.js:1:2)\n    at Object.toBe (/project/a.test.js:15:23)";
        assert_eq!(place_in(stack, "a.test.js", place), Some((15, 23)));
        assert_eq!(place_in("at file:///project/a.test.js:5:17", "a.test.js", place), Some((5, 17)));
        assert_eq!(place_in("at /elsewhere/a.test.js:5:17", "a.test.js", place), None);
    }
}
