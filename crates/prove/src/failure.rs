//! Whether a test failed because something that it expects was not so, or because of another error. Pure.

use std::collections::BTreeSet;

use proctor_model::Tool;
use proctor_tools::is_expectation;

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

/// The texts of a failure.
#[derive(Debug, Clone, Copy)]
pub struct FailureText<'a> {
    pub tool: Tool,
    /// The first line of the error.
    pub error: &'a str,
    /// Everything that the tool says.
    pub stack: &'a str,
    /// What stands in the file of tests where the error was raised; `None` if that is not known.
    pub code: Option<&'a str>,
    /// Whether the error was raised outside of the test itself: in a fixture, or in source.
    pub is_outside: bool,
}

/// Returns why a test failed. An assertion that failed in source is no assertion of the test. `writes_recorded` says whether the change
/// writes recorded files.
pub fn classify(text: FailureText<'_>, writes_recorded: bool) -> FailureClass {
    if text.is_outside || !is_expectation(text.tool, text.error, text.stack, text.code) {
        return FailureClass::OtherError;
    }
    let says = |words: &str| text.error.contains(words) || text.stack.contains(words);
    let is_recorded = || OF_SNAPSHOTS.iter().any(|words| says(words)) && !says(INLINE);
    if writes_recorded && is_recorded() { FailureClass::Snapshot } else { FailureClass::Assertion }
}

/// Returns whether a text names one of these words, each as a whole word.
pub fn names_one_of(text: &str, names: &BTreeSet<String>) -> bool {
    let is_of_word = |character: char| character.is_alphanumeric() || character == '_';
    text.split(|character: char| !is_of_word(character)).any(|word| names.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text<'a>(tool: Tool, error: &'a str, stack: &'a str) -> FailureText<'a> {
        FailureText { tool, error, stack, code: None, is_outside: false }
    }

    #[test]
    fn an_expectation_of_the_test_is_told_from_another_error() {
        let failed = text(Tool::Pytest, "assert 1 == 2", "tests/test_a.py:3: AssertionError");
        assert_eq!(classify(failed, false), FailureClass::Assertion);
        assert_eq!(classify(FailureText { is_outside: true, ..failed }, false), FailureClass::OtherError);
        assert_eq!(classify(text(Tool::Pytest, "AttributeError: no attribute", ""), false), FailureClass::OtherError);
    }

    #[test]
    fn a_recorded_file_counts_only_where_the_change_wrote_one() {
        let pytest = text(Tool::Pytest, "AssertionError: assert [+ received] == [- snapshot]", "");
        let jest = text(Tool::Jest, "expect(received).toMatchSnapshot()", "- Snapshot  - 1");
        for failed in [pytest, jest] {
            assert_eq!(classify(failed, true), FailureClass::Snapshot);
            assert_eq!(classify(failed, false), FailureClass::Assertion);
        }
        let inline = text(Tool::Jest, "expect(received).toMatchInlineSnapshot(snapshot)", "Snapshot: 1");
        assert_eq!(classify(inline, true), FailureClass::Assertion);
    }

    #[test]
    fn only_whole_words_are_names() {
        let names = BTreeSet::from(["vat".to_owned()]);
        assert!(names_one_of("cannot import name 'vat' from 'shop'", &names));
        assert!(!names_one_of("cannot import name 'vatican'", &names));
    }
}
