//! Whether a test failed because something that it expects was not so, or because of another error. Pure.

use std::collections::BTreeSet;

use proctor_model::Tool;
use proctor_tools::is_expectation;

use crate::python::is_of_name;

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
const OF_SNAPSHOTS: &[&str] = &["snapshot", "Snapshot", ".approved."];
/// A snapshot that stands in the test itself.
const INLINE: &str = "toMatchInlineSnapshot";

/// Returns why a test failed, by the first line of the error and everything that the tool says. `code` is what stands in the file of tests
/// where the error was raised; `None` if that is not known. `writes_recorded` says whether the change writes recorded files.
pub fn classify(tool: Tool, (error, stack): (&str, &str), code: Option<&str>, writes_recorded: bool) -> FailureClass {
    if !is_expectation(tool, error, stack, code) {
        return FailureClass::OtherError;
    }
    let says = |words: &str| error.contains(words) || stack.contains(words);
    let is_recorded = || OF_SNAPSHOTS.iter().any(|words| says(words)) && !says(INLINE);
    if writes_recorded && is_recorded() { FailureClass::Snapshot } else { FailureClass::Assertion }
}

/// Returns whether a text names one of these words, each as a whole word.
pub fn names_one_of(text: &str, names: &BTreeSet<String>) -> bool {
    text.split(|character| !is_of_name(character)).any(|word| names.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(tool: Tool, error: &str, stack: &str, writes_recorded: bool) -> FailureClass {
        classify(tool, (error, stack), None, writes_recorded)
    }

    #[test]
    fn an_expectation_of_the_test_is_told_from_another_error() {
        let failed = class(Tool::Pytest, "assert 1 == 2", "tests/test_a.py:3: AssertionError", false);
        assert_eq!(failed, FailureClass::Assertion);
        assert_eq!(class(Tool::Pytest, "AttributeError: no attribute", "", false), FailureClass::OtherError);
    }

    #[test]
    fn a_recorded_file_counts_only_where_the_change_wrote_one() {
        for (tool, error, stack) in [
            (Tool::Pytest, "AssertionError: assert [+ received] == [- snapshot]", ""),
            (Tool::Jest, "expect(received).toMatchSnapshot()", "- Snapshot  - 1"),
        ] {
            assert_eq!(class(tool, error, stack, true), FailureClass::Snapshot);
            assert_eq!(class(tool, error, stack, false), FailureClass::Assertion);
        }
        let inline = class(Tool::Jest, "expect(received).toMatchInlineSnapshot(snapshot)", "Snapshot: 1", true);
        assert_eq!(inline, FailureClass::Assertion);
    }

    #[test]
    fn only_whole_words_are_names() {
        let names = BTreeSet::from(["vat".to_owned()]);
        assert!(names_one_of("cannot import name 'vat' from 'shop'", &names));
        assert!(!names_one_of("cannot import name 'vatican'", &names));
    }
}
