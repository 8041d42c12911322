//! Whether a test failed because something that it expects was not so, or because of another error. Pure.

use std::collections::BTreeSet;

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
const OF_SNAPSHOTS: &[&str] = &["snapshot", "[- snapshot]", "__snapshots__", ".approved."];
/// What messages of failed expectations begin with.
const BEGINS: &[&str] =
    &["assert ", "assert(", "AssertionError", "Failed: DID NOT RAISE", "Failed: DID NOT WARN", "DID NOT RAISE"];

/// The texts of a failure.
#[derive(Debug, Clone, Copy)]
pub struct FailureText<'a> {
    /// The first line of the error.
    pub error: &'a str,
    /// Everything that the tool says.
    pub stack: &'a str,
    /// Whether the error was raised outside of the test itself, in a fixture.
    pub is_of_fixture: bool,
}

/// Returns why a test failed. `is_source` says whether a path of the project is source: an assertion that failed in source is no assertion
/// of the test.
/// `writes_recorded` says whether the change writes recorded files.
pub fn classify(text: FailureText<'_>, is_source: &dyn Fn(&str) -> bool, writes_recorded: bool) -> FailureClass {
    let error = text.error.trim();
    let short = error.strip_prefix("builtins.").unwrap_or(error);
    let is_expected = BEGINS.iter().any(|words| short.starts_with(words)) || is_failed_by_call(short);
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

/// Returns the file in which an error was raised: the last place that a traceback names.
fn raised_in(stack: &str) -> Option<String> {
    stack.lines().rev().find_map(|line| {
        let (path, rest) = line.trim().split_once(".py:")?;
        let number = rest.split(':').next()?;
        let is_place = !path.is_empty() && !path.contains(' ') && number.chars().all(|digit| digit.is_ascii_digit());
        is_place.then(|| format!("{path}.py"))
    })
}

/// Returns whether a text names one of these words, each as a whole word.
pub fn names_one_of(text: &str, names: &BTreeSet<String>) -> bool {
    let is_of_word = |character: char| character.is_alphanumeric() || character == '_';
    text.split(|character: char| !is_of_word(character)).any(|word| names.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(error: &str, stack: &str) -> FailureClass {
        let text = FailureText { error, stack, is_of_fixture: false };
        classify(text, &|path| path.starts_with("shop/") || path.starts_with("src/"), false)
    }

    #[test]
    fn an_expectation_of_the_test_is_told_from_another_error() {
        use FailureClass::{Assertion, OtherError};
        for (error, stack, expected) in [
            ("assert 1 == 2", "tests/test_a.py:3: AssertionError", Assertion),
            ("AssertionError: assert 1 == 2", "", Assertion),
            ("AssertionError: too large", "tests/test_a.py:3: \nshop/vat.py:9: AssertionError", OtherError),
            ("Failed: DID NOT RAISE <class 'ValueError'>", "tests/test_a.py:3: Failed", Assertion),
            ("Failed: no", "", Assertion),
            ("Failed: Timeout >1.0s", "", OtherError),
            ("TypeError: quote() got an unexpected keyword argument 'vat'", "", OtherError),
            ("AttributeError: no attribute", "", OtherError),
        ] {
            assert_eq!(class(error, stack), expected, "{error} {stack}");
        }
        let fixture = FailureText { error: "assert 1", stack: "", is_of_fixture: true };
        assert_eq!(classify(fixture, &|_| false, false), OtherError);
    }

    #[test]
    fn a_recorded_file_counts_only_where_the_change_wrote_one() {
        let text = FailureText { error: "AssertionError: assert [+ received] == [- snapshot]", stack: "", is_of_fixture: false };
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
