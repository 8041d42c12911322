//! Whether a test failed because something that it expects was not so, or because of another error. Pure.

use std::collections::BTreeSet;

use crate::touched::TestLanguage;

/// Why a test failed, as far as its message says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureClass {
    /// An assertion of the test, or an expectation of its runner.
    Assertion,
    /// A recorded file differs from what the code makes.
    Snapshot,
    /// Another error, such as a `TypeError`, a time-out, or an error of a fixture.
    OtherError,
}

/// The words by which libraries for recorded files name them in their messages.
const OF_SNAPSHOTS: &[&str] = &["snapshot", "[- snapshot]", "toMatchFileSnapshot", "__snapshots__", ".approved."];
/// What messages of failed expectations begin with or contain.
const BEGINS: &[&str] = &[
    "assert ",
    "assert(",
    "AssertionError",
    "Failed: DID NOT RAISE",
    "Failed: DID NOT WARN",
    "DID NOT RAISE",
    "assertion failed",
    "assertion `",
    "Error: expect(",
    "expect(",
    "Expected values",
    "Expected ",
    "expected ",
    "The expression evaluated to a falsy value",
    "The input did not match",
    "Missing expected",
    "Got unwanted",
];
const CONTAINS: &[&str] = &["ERR_ASSERTION", "AssertionError [", "JestAssertionError"];

/// The texts of a failure.
#[derive(Debug, Clone, Copy)]
pub struct FailureText<'a> {
    pub language: TestLanguage,
    /// The first line of the error.
    pub error: &'a str,
    /// Everything that the tool says.
    pub stack: &'a str,
    /// Whether the error was raised outside of the test itself, in a fixture.
    pub is_of_fixture: bool,
}

/// Returns why a test failed. `is_source` says whether a path of the project is a file of source: an assertion there is none of the test.
/// `writes_recorded` says whether the change writes recorded files.
pub fn classify(text: FailureText<'_>, is_source: &dyn Fn(&str) -> bool, writes_recorded: bool) -> FailureClass {
    let error = text.error.trim().trim_start_matches("Uncaught ");
    let short = error.strip_prefix("builtins.").unwrap_or(error);
    let begins = BEGINS.iter().any(|words| short.starts_with(words)) || is_failed_by_call(short);
    let is_go = text.language == TestLanguage::Go;
    let is_expected = begins
        || CONTAINS.iter().any(|words| short.contains(words) || text.stack.contains(words))
        || (is_go && !text.stack.contains("panic:") && text.stack.contains("_test.go:"))
        || text.stack.contains("assertion `")
        || text.stack.contains("assertion failed");
    if text.is_of_fixture || !is_expected {
        return FailureClass::OtherError;
    }
    if raised_in(text.stack).is_some_and(|path| is_source(&path)) {
        return FailureClass::OtherError;
    }
    let is_recorded = || OF_SNAPSHOTS.iter().any(|words| short.contains(words) || text.stack.contains(words));
    if writes_recorded && is_recorded() { FailureClass::Snapshot } else { FailureClass::Assertion }
}

/// Returns whether a message is that of `pytest.fail`, which is no time-out.
fn is_failed_by_call(error: &str) -> bool {
    error.strip_prefix("Failed: ").is_some_and(|rest| !rest.starts_with("Timeout"))
}

/// Returns the file in which an error was raised: the last place that a traceback of Python names, or the first of other languages.
fn raised_in(stack: &str) -> Option<String> {
    let of_python = stack.lines().rev().find_map(|line| {
        let (path, rest) = line.trim().split_once(".py:")?;
        let number = rest.split(':').next()?;
        let is_place = !path.is_empty() && !path.contains(' ') && number.chars().all(|digit| digit.is_ascii_digit());
        is_place.then(|| format!("{path}.py"))
    });
    let of_rust = || {
        let (_, rest) = stack.split_once("panicked at ")?;
        let path = rest.split(':').next()?;
        path.ends_with(".rs").then(|| path.to_owned())
    };
    let of_script = || {
        stack.lines().map(str::trim).filter(|line| line.starts_with("at ") || line.starts_with('❯')).find_map(|line| {
            let place = line.rsplit(['(', ' ']).next()?.trim_end_matches(')').trim_start_matches("file://");
            let mut parts = place.rsplitn(3, ':');
            let (_, _, path) = (parts.next()?, parts.next()?, parts.next()?);
            let is_of_library = path.contains("node_modules") || path.starts_with("node:");
            (!is_of_library).then(|| path.to_owned())
        })
    };
    of_python.or_else(of_rust).or_else(of_script)
}

/// Returns whether a text names one of these words, each as a whole word.
pub fn names_one_of(text: &str, names: &BTreeSet<String>) -> bool {
    let is_of_word = |character: char| character.is_alphanumeric() || character == '_';
    text.split(|character: char| !is_of_word(character)).any(|word| names.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(language: TestLanguage, error: &str, stack: &str) -> FailureClass {
        let text = FailureText { language, error, stack, is_of_fixture: false };
        classify(text, &|path| path.starts_with("shop/") || path.starts_with("src/"), false)
    }

    #[test]
    fn an_expectation_of_the_test_is_told_from_another_error() {
        use FailureClass::{Assertion, OtherError};
        for (language, error, stack, expected) in [
            (TestLanguage::Python, "assert 1 == 2", "tests/test_a.py:3: AssertionError", Assertion),
            (TestLanguage::Python, "AssertionError: assert 1 == 2", "", Assertion),
            (TestLanguage::Python, "AssertionError: too large", "tests/test_a.py:3: \nshop/vat.py:9: AssertionError", OtherError),
            (TestLanguage::Python, "Failed: DID NOT RAISE <class 'ValueError'>", "tests/test_a.py:3: Failed", Assertion),
            (TestLanguage::Python, "Failed: no", "", Assertion),
            (TestLanguage::Python, "Failed: Timeout >1.0s", "", OtherError),
            (TestLanguage::Python, "TypeError: quote() got an unexpected keyword argument 'vat'", "", OtherError),
            (TestLanguage::Python, "AttributeError: no attribute", "", OtherError),
            (TestLanguage::Script, "AssertionError: expected 1 to be 2 // Object.is equality", "❯ test/a.test.ts:3:5", Assertion),
            (
                TestLanguage::Script,
                "Error: expect(received).toBe(expected)",
                "at Object.<anonymous> (test/a.test.js:3:5)",
                Assertion,
            ),
            (TestLanguage::Script, "TypeError: x is not a function", "at Object.<anonymous> (test/a.test.js:3:5)", OtherError),
            (
                TestLanguage::Script,
                "Expected values to be strictly equal:",
                "at TestContext.<anonymous> (file:///a/t.mjs:1:2)",
                Assertion,
            ),
            (TestLanguage::Rust, "assertion `left == right` failed", "panicked at tests/a.rs:3:5:", Assertion),
            (TestLanguage::Rust, "assertion `left == right` failed", "panicked at src/lib.rs:3:5:", OtherError),
            (TestLanguage::Go, "got 1", "    a_test.go:5: got 1", Assertion),
            (TestLanguage::Go, "panic: boom", "panic: boom\n a_test.go:5", OtherError),
        ] {
            assert_eq!(class(language, error, stack), expected, "{error} {stack}");
        }
        let fixture = FailureText { language: TestLanguage::Python, error: "assert 1", stack: "", is_of_fixture: true };
        assert_eq!(classify(fixture, &|_| false, false), OtherError);
    }

    #[test]
    fn a_recorded_file_counts_only_where_the_change_wrote_one() {
        let text = FailureText {
            language: TestLanguage::Python,
            error: "AssertionError: assert [+ received] == [- snapshot]",
            stack: "",
            is_of_fixture: false,
        };
        assert_eq!(classify(text, &|_| false, true), FailureClass::Snapshot);
        assert_eq!(classify(text, &|_| false, false), FailureClass::Assertion);
    }

    #[test]
    fn only_whole_words_are_names() {
        let names = BTreeSet::from(["vat".to_owned()]);
        assert!(names_one_of("cannot import name 'vat' from 'shop'", &names));
        assert!(!names_one_of("cannot import name 'vatican'", &names));
    }
}
