//! Finds out what failed tests have in common: the kind of the error, and the place in the project where it arose.

use crate::report::failed::first_line;
use proctor_model::TestFailure;

/// The cause of a failure. Failures with the same kind and place are shown as one group.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FailureCause {
    /// The name of the exception, the rule, or the words of the error.
    pub kind: String,
    /// The file and line where the error arose; `None` if it is not known, or if the kind alone is the cause.
    pub place: Option<String>,
}

/// Directories of installed packages. A place in them is not the project's own.
const INSTALLED: [&str; 3] = ["site-packages", "dist-packages", "node_modules"];

/// Returns the cause of a test's failure.
pub(super) fn of_test(failure: &TestFailure) -> FailureCause {
    let error = first_line(&failure.error);
    if error.starts_with("fixture '") && error.ends_with("' not found") {
        // pytest names the place of each test that asks for the fixture. The cause is the fixture alone.
        return FailureCause { kind: error, place: None };
    }
    let stack = failure.stack.as_deref().unwrap_or_default();
    let own_place = || failure.test_file.as_ref().zip(failure.line).map(|(file, line)| format!("{file}:{line}"));
    let (python, script) = (python_place(stack), script_place(stack, failure.test_file.as_deref()));
    let kind = python.kind.or_else(|| exception_name(&error)).unwrap_or_else(|| without_values(&error));
    FailureCause { kind, place: python.place.or(script).or_else(own_place) }
}

/// The kind and the place of an error, as far as the traceback of a Python test names them.
#[derive(Default)]
struct PythonPlace {
    kind: Option<String>,
    place: Option<String>,
}

/// Reads the lines `stock.py:40: KeyError` and `stock.py:40: in price`. The last such line with a file of the project is
/// the place of the error. The last such line of all names the exception.
fn python_place(stack: &str) -> PythonPlace {
    let mut found = PythonPlace::default();
    for line in stack.lines().filter(|line| !line.starts_with([' ', '>']) && !line.starts_with("E ")) {
        let Some((place, rest)) = line.split_once(": ") else { continue };
        let Some((file, number)) = place.rsplit_once(':') else { continue };
        if !file.ends_with(".py") || !is_number(number) {
            continue;
        }
        if is_name(rest) {
            found.kind = Some(rest.to_owned());
        }
        if is_own(file) {
            found.place = Some(place.to_owned());
        }
    }
    found
}

/// Reads the frames of JavaScript, `at price (/project/stock.ts:40:11)`. The first frame in a file of the project is the
/// place of the error. The project's directory is known from a frame of the test's own file.
fn script_place(stack: &str, test_file: Option<&str>) -> Option<String> {
    let frames = || stack.lines().filter_map(frame).filter(|(file, _)| !is_installed(file));
    let root = frames().find_map(|(file, _)| file.strip_suffix(test_file?));
    let (file, line) = frames().find(|(file, _)| root.is_none_or(|root| file.starts_with(root)))?;
    let file = root.and_then(|root| file.strip_prefix(root)).unwrap_or(file);
    Some(format!("{file}:{line}"))
}

/// Returns the file and line of a frame of JavaScript.
pub(super) fn frame(line: &str) -> Option<(&str, &str)> {
    let text = line.trim().strip_prefix("at ")?.trim_end_matches(')');
    let text = text.rsplit_once(['(', ' ']).map_or(text, |(_, path)| path);
    let (rest, column) = text.rsplit_once(':')?;
    let (file, number) = rest.rsplit_once(':')?;
    let file = file.strip_prefix("file://").unwrap_or(file);
    (is_number(column) && is_number(number) && !file.starts_with("node:")).then_some((file, number))
}

/// Returns whether a frame lies in an installed package.
pub(super) fn is_installed(file: &str) -> bool {
    file.split('/').any(|part| INSTALLED.contains(&part))
}

/// Returns whether a path of a traceback belongs to the project. pytest prints the project's own paths as relative ones.
fn is_own(file: &str) -> bool {
    !file.starts_with(['/', '.', '<']) && !is_installed(file)
}

/// Returns the name of the exception with which an error begins: `KeyError` of `KeyError: 'sku'`.
fn exception_name(error: &str) -> Option<String> {
    let name = error.split_once(": ").map_or(error, |(name, _)| name);
    is_name(name).then(|| name.to_owned())
}

/// Returns an error of Jest or Vitest without the values, which differ from test to test.
fn without_values(error: &str) -> String {
    error.split(" (expected ").next().unwrap_or(error).to_owned()
}

fn is_name(text: &str) -> bool {
    let mut characters = text.chars();
    let begins = characters.next().is_some_and(|first| first.is_alphabetic() || first == '_');
    begins && characters.all(|character| character.is_alphanumeric() || matches!(character, '_' | '.'))
}

pub(super) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(error: &str, stack: &str) -> (String, Option<String>) {
        let failure = TestFailure {
            test_name: "a".to_owned(),
            test_file: Some("tests/test_a.py".to_owned()),
            line: Some(9),
            error: error.to_owned(),
            stack: Some(stack.to_owned()),
            ..TestFailure::default()
        };
        let cause = of_test(&failure);
        (cause.kind, cause.place)
    }

    #[test]
    fn the_cause_is_the_exception_at_the_last_place_of_the_project() {
        let place = |place: &str| Some(place.to_owned());
        for (error, stack, kind, expected) in [
            ("KeyError: 'sku'", "tests/test_a.py:9: in test\nstock.py:40: KeyError", "KeyError", place("stock.py:40")),
            ("KeyError: 'a: b'", "stock.py:40: in price\nE   KeyError: 'a: b'", "KeyError", place("stock.py:40")),
            (
                "assert 1 == 2",
                "    def test\n>  assert 1 == 2\ntests/test_a.py:9: AssertionError",
                "AssertionError",
                place("tests/test_a.py:9"),
            ),
            (
                "json.decoder.JSONDecodeError: x",
                "load.py:3: \n/usr/lib/json/decoder.py:1: JSONDecodeError",
                "JSONDecodeError",
                place("load.py:3"),
            ),
            ("ValueError", "v/lib/site-packages/x.py:1: ValueError", "ValueError", place("tests/test_a.py:9")),
            ("fixture 'db' not found", "/project/tests/test_a.py:6", "fixture 'db' not found", None),
            ("it says nothing", "", "it says nothing", place("tests/test_a.py:9")),
        ] {
            assert_eq!(cause(error, stack), (kind.to_owned(), expected), "{error}");
        }
    }

    #[test]
    fn a_script_fails_at_the_first_frame_of_the_project() {
        let failure = TestFailure {
            test_file: Some("web/a.test.ts".to_owned()),
            error: "expect(received).toBe(expected) (expected 1, received 2)".to_owned(),
            stack: Some(
                "Error: x\n    at toBe (/p/node_modules/x.js:1:2)\n    at price (/p/web/stock.ts:40:11)\n    at /p/web/a.test.ts:3:4\n    at node:internal:1:2"
                    .to_owned(),
            ),
            ..TestFailure::default()
        };
        let cause = of_test(&failure);
        assert_eq!((&*cause.kind, cause.place.as_deref()), ("expect(received).toBe(expected)", Some("web/stock.ts:40")));
    }
}
