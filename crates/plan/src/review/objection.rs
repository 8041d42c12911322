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
/// Elements that begin a new line, or another cell of a table.
const BREAKS: &[&str] = &["br", "div", "hr", "li", "p", "td", "th", "tr"];
/// The ends of approvals that the value may follow, in lower case.
const APPROVALS: &[&str] = &["approve", "approved", "yes", "lgtm"];

/// Returns whether a line outside of quotations says not to merge, or to merge with fixes only.
///
/// Emphasis, tags, links, entities, line ends and the kind of apostrophe make no difference, and code spans are quotations. `With fixes`
/// counts where it is written as a value, with a capital letter, behind a colon, a bracket or an approval: "it comes with fixes" is no
/// objection.
pub(super) fn says_not_to_merge(lines: &[MarkdownLine<'_>]) -> bool {
    let outside = lines.iter().filter(|line| !line.is_quoted).map(|line| without_code_spans(line.text));
    let text = without_entities(&outside.collect::<Vec<_>>().join("\n")).replace('\u{2019}', "'");
    let shown = without_targets(&without_tags(&text));
    let bare: String = shown.chars().filter(|one| !matches!(one, '*' | '_' | '~' | '\\')).collect();
    let words = bare.split_whitespace().collect::<Vec<_>>().join(" ");
    let lower = words.to_ascii_lowercase();
    OBJECTIONS.iter().any(|objection| has_words(&lower, objection)) || has_value(&words, &lower)
}

/// Returns a text with the characters that its entities stand for: numbers, and the space `&nbsp;`.
fn without_entities(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        kept.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let entity = after.split(';').next().filter(|name| name.len() < 12 && name.len() < after.len());
        match entity.and_then(|name| Some((name, character_of(name)?))) {
            Some((name, character)) => {
                kept.push(character);
                rest = &after[name.len() + 1..];
            }
            None => {
                kept.push('&');
                rest = after;
            }
        }
    }
    kept + rest
}

fn character_of(entity: &str) -> Option<char> {
    if entity == "nbsp" {
        return Some(' ');
    }
    let number = entity.strip_prefix('#')?;
    let code = match number.strip_prefix(['x', 'X']) {
        Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16).ok()?,
        None => number.parse().ok()?,
    };
    char::from_u32(code)
}

/// Returns a text without its HTML tags. One that begins a new line is a blank; any other may stand in the middle of a word.
fn without_tags(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        kept.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let tag = after.trim_start_matches('/');
        let is_name = tag.starts_with(|one: char| one.is_ascii_alphabetic());
        let name = tag.split(|one: char| !one.is_ascii_alphanumeric()).next().unwrap_or_default();
        match after.find('>').filter(|_| is_name) {
            Some(end) => {
                if BREAKS.iter().any(|element| element.eq_ignore_ascii_case(name)) {
                    kept.push(' ');
                }
                rest = &after[end + 1..];
            }
            None => {
                kept.push('<');
                rest = after;
            }
        }
    }
    kept + rest
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
