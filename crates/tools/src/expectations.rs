//! What test runners write where an expectation of a test failed, and not another error. Each runner's own words stand in its folder.

use crate::table::row_of;
use proctor_model::Tool;

/// How the messages of a test runner are read.
pub(super) struct Expectations {
    /// Beginnings of the messages of failed expectations.
    pub(super) begins: &'static [&'static str],
    /// Texts in a message with such a beginning that show another error all the same.
    pub(super) except: &'static [&'static str],
    /// Beginnings of the code that raised the error, where the message does not say it: `assert!(a, "too large")` of Rust says `too large`.
    pub(super) code: &'static [&'static str],
    /// Finds where the error was raised.
    pub(super) place: fn(&str) -> Option<RaisedAt>,
    /// Whether a message without a place is no expectation.
    pub(super) needs_place: bool,
}

pub(super) const NONE: Expectations = Expectations { begins: &[], except: &[], code: &[], place: |_| None, needs_place: false };

/// A place in a file as a runner names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RaisedAt {
    /// The path as the runner writes it.
    pub path: String,
    /// The line, starting at 1.
    pub line: usize,
    /// The column, starting at 1, in characters.
    pub column: usize,
}

/// Returns whether the messages of a tool say that an expectation of a test failed.
pub fn tells_expectations(tool: Tool) -> bool {
    row_of(tool).expectations.is_some()
}

/// Returns where an error was raised, by the text that a runner printed of it.
pub fn raised_at(tool: Tool, stack: &str) -> Option<RaisedAt> {
    (row_of(tool).expectations.as_ref()?.place)(stack)
}

/// Returns whether a failed test says that an expectation of it failed. `error` is the line that says most, `stack` all that the runner
/// printed, `code` what stands in the file where the error was raised.
pub fn is_expectation(tool: Tool, error: &str, stack: &str, code: Option<&str>) -> bool {
    let Some(known) = &row_of(tool).expectations else { return false };
    let first = stack.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let lines = [error.trim(), first];
    let begins = |words: &&str| lines.iter().any(|line| line.strip_prefix("builtins.").unwrap_or(line).starts_with(words));
    let says = known.begins.iter().any(begins);
    let is_coded = code.is_some_and(|code| known.code.iter().any(|words| code.starts_with(words)));
    let is_excepted = known.except.iter().any(|words| error.contains(words) || stack.contains(words));
    (says || is_coded) && !is_excepted && (!known.needs_place || (known.place)(stack).is_some())
}

/// Finds the first entry of a stack of JavaScript outside of installed packages.
pub(super) fn first_frame(stack: &str) -> Option<RaisedAt> {
    stack.lines().find_map(|line| {
        let text = line.trim().trim_end_matches(')');
        let text = text.rsplit_once(['(', ' ']).map_or(text, |(_, place)| place);
        let place = place_of(text.strip_prefix("file://").unwrap_or(text))?;
        let is_own = place.path.contains('/') && !place.path.contains("node_modules/") && !place.path.starts_with("node:");
        is_own.then_some(place)
    })
}

/// Reads `src/lib.rs:12:66`.
pub(super) fn place_of(text: &str) -> Option<RaisedAt> {
    let mut parts = text.trim().trim_end_matches(':').rsplitn(3, ':');
    let (column, line) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    Some(RaisedAt { path: parts.next()?.to_owned(), line, column })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expectation_of_each_runner_is_told_from_another_error() {
        let jest = "Error: expect(received).toBe(expected)\n\nExpected: 1\n    at Object.toBe (/p/src/a.test.js:4:17)";
        let panic = "thread 'a' panicked at src/lib.rs:12:9:\nassertion `left == right` failed";
        for (tool, error, stack, code, expected) in [
            (Tool::Pytest, "assert 1 == 2", "tests/test_a.py:3: AssertionError", None, true),
            (Tool::Pytest, "AssertionError: assert 1 == 2", "", None, true),
            (Tool::Pytest, "Failed: DID NOT RAISE <class 'ValueError'>", "", None, true),
            (Tool::Pytest, "Failed: no", "", None, true),
            (Tool::Pytest, "Failed: Timeout >1.0s", "", None, false),
            (Tool::Pytest, "TypeError: quote() got an unexpected keyword argument 'vat'", "", None, false),
            (Tool::Pytest, "ValueError: no", "def test_a():\n    assert f()", None, false),
            (Tool::Jest, "expect(received).toBe(expected)", jest, None, true),
            (Tool::Jest, "TypeError: label is not a function", "TypeError: label is not a function", None, false),
            (
                Tool::Jest,
                "expect(received).toThrow()",
                "expect(received).toThrow()\n\nMatcher error: received value",
                None,
                false,
            ),
            (Tool::Jest, "Exceeded timeout of 5000 ms for a test.", "thrown: \"Exceeded", None, false),
            (Tool::Vitest, "AssertionError: expected 1 to be 2 // Object.is equality", "", None, true),
            (Tool::Vitest, "Test timed out in 5000ms.", "Error: Test timed out in 5000ms.", None, false),
            (Tool::NodeTest, "404 !== 200", "AssertionError: 404 !== 200", None, true),
            (Tool::NodeTest, "no", "TypeError: no", None, false),
            (Tool::Playwright, "Error: expect(received).toBe(expected)", "", None, true),
            (Tool::Playwright, "Test timeout of 30000ms exceeded.", "", None, false),
            (Tool::CargoTest, "assertion `left == right` failed: left: 1", panic, None, true),
            (Tool::CargoTest, "too large", "thread 'a' panicked at src/lib.rs:12:9:\ntoo large", Some("assert!(a, "), true),
            (Tool::CargoTest, "called `Option::unwrap()` on a `None` value", "", Some("unwrap()"), false),
            (Tool::CargoTest, "test did not panic as expected", "note: test did not panic as expected", None, true),
            (Tool::GoTest, "got 1", "    a_test.go:7: got 1", None, true),
            (Tool::GoTest, "panic: runtime error", "    a_test.go:7: got 1\npanic: runtime error", None, false),
            (Tool::GoTest, "it has no result; its process ended", "", None, false),
            (Tool::GoTest, "a_test.go:7: calls F", "    a_test.go:7: calls F\nit has no result; its process ended", None, false),
            (
                Tool::GoTest,
                "a_test.go:7: x",
                "    a_test.go:7: x\n    testing.go:1: race detected during execution of test",
                None,
                false,
            ),
            (Tool::Mocha, "AssertionError: no", "", None, false),
        ] {
            assert_eq!(is_expectation(tool, error, stack, code), expected, "{tool:?} {error}");
        }
        let place = |tool, text| raised_at(tool, text).map(|place| (place.path, place.line, place.column));
        assert_eq!(place(Tool::Jest, jest), Some(("/p/src/a.test.js".to_owned(), 4, 17)));
        let installed = "x\n    at a (/p/node_modules/y.js:1:2)\n    at b (node:internal/x:1:2)\n    file:///p/b.mjs:3:4";
        assert_eq!(place(Tool::NodeTest, installed), Some(("/p/b.mjs".to_owned(), 3, 4)));
        assert_eq!(place(Tool::CargoTest, panic), Some(("src/lib.rs".to_owned(), 12, 9)));
        assert_eq!(
            place(Tool::Pytest, "tests/test_a.py:3: \nshop/vat.py:9: AssertionError"),
            Some(("shop/vat.py".to_owned(), 9, 1))
        );
    }
}
