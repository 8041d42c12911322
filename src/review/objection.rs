//! Finds where a review says not to merge, in other words than those of the verdict line. Pure.

use crate::review::html::without_code_spans;
use crate::review::quoting::MarkdownLine;

/// Phrases that say not to merge, in lower case. A review may write them in upper case, too.
const OBJECTIONS: &[&str] = &[
    "do not merge",
    "don't merge",
    "not ready to merge",
    "not yet ready to merge",
    "not ready for merge",
    "not ready to be merged",
];
/// The value of a verdict line that asks for fixes first.
const WITH_FIXES: &str = "with fixes";

/// Returns whether a line outside of quotations says not to merge, or to merge with fixes only.
///
/// Emphasis, line ends and the kind of apostrophe make no difference, and code spans are quotations. `With fixes` counts
/// where it is written as a value, with a capital letter or behind a colon: "it comes with fixes" is no objection.
pub(super) fn says_not_to_merge(lines: &[MarkdownLine<'_>]) -> bool {
    let outside = lines.iter().filter(|line| !line.is_quoted).map(|line| without_code_spans(line.text));
    let text = outside.collect::<Vec<_>>().join("\n").replace('\u{2019}', "'");
    let bare: String = text.chars().filter(|one| !matches!(one, '*' | '_' | '~')).collect();
    let words = bare.split_whitespace().collect::<Vec<_>>().join(" ");
    let lower = words.to_ascii_lowercase();
    OBJECTIONS.iter().any(|objection| has_words(&lower, objection)) || has_value(&words, &lower)
}

/// Returns whether a text has these words, and not only as a part of longer words.
fn has_words(text: &str, wanted: &str) -> bool {
    text.match_indices(wanted).any(|(place, _)| stands_alone(text, place, wanted.len()))
}

fn has_value(words: &str, lower: &str) -> bool {
    // Only ASCII letters differ between the two texts, so a place in one is the same place in the other.
    lower.match_indices(WITH_FIXES).any(|(place, _)| {
        let is_value = words[place..].starts_with('W') || words[..place].trim_end_matches([' ', '"', '\'']).ends_with(':');
        is_value && stands_alone(lower, place, WITH_FIXES.len())
    })
}

fn stands_alone(text: &str, place: usize, length: usize) -> bool {
    let is_letter = |one: char| one.is_alphanumeric();
    !text[..place].ends_with(is_letter) && !text[place + length..].starts_with(is_letter)
}
