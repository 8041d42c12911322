//! Command lines as lists of words: splits a text that needs no shell, and quotes words for people and for a shell.

use std::borrow::Cow;

/// Splits a text into words as a shell would, without expanding anything; `None` if a quote is not closed.
pub fn split_words(text: &str) -> Option<Vec<String>> {
    shlex::split(text)
}

/// Joins words to a text that a shell splits into the same words; `None` if a word contains NUL, which no argument can
/// contain.
pub fn join_words<'w>(words: impl IntoIterator<Item = &'w str>) -> Option<String> {
    shlex::try_join(words).ok()
}

/// Quotes a word for a shell. A word with a NUL is returned unchanged.
pub fn quote_word(word: &str) -> String {
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), Cow::into_owned)
}

/// Returns whether a list of words has a word. Long lists of words are one text, with a space between two words.
pub fn has_word(words: &str, word: &str) -> bool {
    !word.is_empty() && words.split(' ').any(|known| known == word)
}

/// Returns whether a word assigns a variable: `NAME=value`.
pub fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| is_variable_name(name))
}

/// Returns whether a text can be the name of a variable: ASCII letters, digits and `_`, not beginning with a digit.
pub fn is_variable_name(name: &str) -> bool {
    let begins_right = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    begins_right && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
