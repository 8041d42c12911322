//! Finds the lines of a Markdown text that are quotations: fenced code, indented code, blockquotes. Finds HTML too, which a review must not
//! have: a program that shows Markdown may fold it away, hide it or strike it through, so that a person never read what it holds.
//!
//! A line that only some readers of Markdown would take for a quotation, or for HTML, counts as such. At worst an approval is not
//! recognised; a quoted approval is never taken for the reviewer's own.
//!
//! Finds where a review says not to merge, in other words than those of the verdict line. Pure.

/// A line of a text, and whether it is part of a quotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MarkdownLine<'t> {
    pub(super) text: &'t str,
    pub(super) is_quoted: bool,
    /// Whether the line has HTML outside of fenced code and code spans.
    pub(super) has_html: bool,
}

/// Whether a line is inside fenced code, and which mark ends that code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fence {
    Closed,
    Open { mark: char, length: usize },
}

/// Splits a text into lines and marks the quoted lines.
pub(super) fn lines(text: &str) -> Vec<MarkdownLine<'_>> {
    let (mut fence, mut follows_quote) = (Fence::Closed, false);
    let mark = |text| {
        let is_fenced = track_fence(text, &mut fence);
        follows_quote = is_quote(text) || (follows_quote && continues_paragraph(text));
        let has_html = !is_fenced && has_html(&without_code_spans(text));
        MarkdownLine { text, is_quoted: is_fenced || follows_quote || is_indented(text), has_html }
    };
    text.split('\n').map(mark).collect()
}

/// Returns whether a line without its code spans has what Markdown takes for HTML: a tag, also the `<u8>` of `Vec<u8>`, a comment, a
/// processing instruction, or an entity that stands for a character. `<https://example.org>` is a link.
fn has_html(line: &str) -> bool {
    let begins_html = |(place, _): (usize, &str)| {
        let rest = &line[place + 1..];
        let tag = rest.strip_prefix('/').unwrap_or(rest);
        let after = tag.trim_start_matches(|one: char| one.is_ascii_alphanumeric() || matches!(one, '-' | '_'));
        let is_tag = tag.starts_with(|one: char| one.is_ascii_alphabetic())
            && (after.is_empty() || after.starts_with(|one: char| one.is_whitespace() || matches!(one, '/' | '>')));
        is_tag || rest.starts_with(['!', '?'])
    };
    line.match_indices('<').any(begins_html) || line.contains("&#") || line.contains("&nbsp;")
}

/// Returns whether the line is fenced code or a fence itself (CommonMark 4.5). `fence` is the state before the line,
/// and is set to the state after it.
fn track_fence(line: &str, fence: &mut Fence) -> bool {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let rest = &line[indent..];
    let mark = rest.chars().next().filter(|mark| matches!(mark, '`' | '~') && indent < 4);
    let Some(mark) = mark else { return *fence != Fence::Closed };
    let length = rest.len() - rest.trim_start_matches(mark).len();
    let after = &rest[length..];
    match *fence {
        Fence::Closed if length >= 3 && !(mark == '`' && after.contains('`')) => {
            *fence = Fence::Open { mark, length };
            true
        }
        Fence::Closed => false,
        Fence::Open { mark: opened, length: least } => {
            if mark == opened && length >= least && after.trim_matches([' ', '\t']).is_empty() {
                *fence = Fence::Closed;
            }
            true
        }
    }
}

fn is_quote(line: &str) -> bool {
    let rest = line.trim_start_matches(' ');
    rest.starts_with('>') && line.len() - rest.len() < 4
}

/// Returns whether a line without `>` still belongs to the blockquote before it. The blockquote's last paragraph ends
/// at an empty line or a heading (CommonMark 5.1, "laziness").
fn continues_paragraph(line: &str) -> bool {
    !line.trim().is_empty() && !line.starts_with('#')
}

fn is_indented(line: &str) -> bool {
    let before_tab = line.trim_start_matches(' ');
    line.len() - before_tab.len() >= 4 || before_tab.starts_with('\t')
}

/// Returns a line with a space instead of each code span: text between two rows of equally many backticks.
pub(super) fn without_code_spans(line: &str) -> String {
    let mut kept = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find('`') {
        kept.push_str(&rest[..at]);
        let marked = &rest[at..];
        let length = marked.len() - marked.trim_start_matches('`').len();
        let (mark, after) = marked.split_at(length);
        match end_of_span(after, length) {
            Some(end) => {
                kept.push(' ');
                rest = &after[end..];
            }
            None => {
                kept.push_str(mark);
                rest = after;
            }
        }
    }
    kept.push_str(rest);
    kept
}

/// Returns the place behind the next row of exactly `length` backticks.
fn end_of_span(text: &str, length: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = text[at..].find('`') {
        let begin = at + found;
        let row = text[begin..].len() - text[begin..].trim_start_matches('`').len();
        at = begin + row;
        if row == length {
            return Some(at);
        }
    }
    None
}

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
/// The ends of approvals that the value may follow, in lower case.
const APPROVALS: &[&str] = &["approve", "approved", "yes", "lgtm"];

/// Returns whether a line outside of quotations says not to merge, or to merge with fixes only.
///
/// Emphasis, links, line ends and the kind of apostrophe make no difference, and code spans are quotations. `With fixes`
/// counts where it is written as a value, with a capital letter, behind a colon, a bracket or an approval: "it comes with fixes" is no
/// objection.
pub(super) fn says_not_to_merge(lines: &[MarkdownLine<'_>]) -> bool {
    let outside = lines.iter().filter(|line| !line.is_quoted).map(|line| without_code_spans(line.text));
    let shown = without_targets(&outside.collect::<Vec<_>>().join("\n").replace('\u{2019}', "'"));
    let bare: String = shown.chars().filter(|one| !matches!(one, '*' | '_' | '~' | '\\')).collect();
    let words = bare.split_whitespace().collect::<Vec<_>>().join(" ");
    let lower = words.to_ascii_lowercase();
    OBJECTIONS.iter().any(|objection| has_words(&lower, objection)) || has_value(&words, &lower)
}

/// Returns a text in which each link is only what a reader sees of it: `[merge](x)` and `[merge][1]` are `merge`.
fn without_targets(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['[', ']']) {
        kept.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let end = match after.chars().next().filter(|_| rest[at..].starts_with(']')) {
            Some('(') => after.find(')'),
            Some('[') => after.find(']'),
            Some(_) | None => None,
        };
        rest = end.map_or(after, |end| &after[end + 1..]);
    }
    kept + rest
}

/// Returns whether a text has these words, and not only as a part of longer words.
fn has_words(text: &str, wanted: &str) -> bool {
    text.match_indices(wanted).any(|(place, _)| stands_alone(text, place, wanted.len()))
}

fn has_value(words: &str, lower: &str) -> bool {
    // Only ASCII letters differ between the two texts, so a place in one is the same place in the other.
    lower.match_indices(WITH_FIXES).any(|(place, _)| {
        let before = lower[..place].trim_end_matches([' ', '"', '\'']);
        let is_value = words[place..].starts_with('W')
            || before.ends_with([':', '('])
            || APPROVALS.iter().any(|approval| before.ends_with(approval));
        is_value && stands_alone(lower, place, WITH_FIXES.len())
    })
}

fn stands_alone(text: &str, place: usize, length: usize) -> bool {
    let is_letter = |one: char| one.is_alphanumeric();
    !text[..place].ends_with(is_letter) && !text[place + length..].starts_with(is_letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_is_told_from_links_and_comparisons() {
        for line in [
            "<details open><summary>More</summary>",
            "see <DIV class=x>",
            "- <thinking>",
            "</U>",
            "so <s>it was",
            "text<details>",
            "Vec<u8>",
            "a<b hidden>",
            "<details",
            "a <!-- b",
            "<?php",
            "a&nbsp;b",
            "&#32;",
        ] {
            assert!(has_html(line), "{line}");
        }
        for line in ["a < p", "<https://example.org>", "<me@example.org>", "x <3", "1 <2> 3", "a & b;"] {
            assert!(!has_html(line), "{line}");
        }
    }

    #[test]
    fn code_spans_are_left_out() {
        assert_eq!(without_code_spans("a `<div>` b"), "a   b");
        assert_eq!(without_code_spans("``a ` <div>`` <p>"), "  <p>");
        assert_eq!(without_code_spans("a ` <div>"), "a ` <div>");
    }
}
