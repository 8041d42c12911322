//! Recognises the verdict lines of a review, such as `Ready to merge? Yes`: approvals strictly, rejections leniently.

use proctor_model::has_hidden_characters;

/// The label of the verdict, exactly as an approval must spell it.
pub(super) const FIELD: &str = "Ready to merge";

/// Whether `**Ready to merge?** Yes`, with emphasis around the label alone, is an approval too. Reviewers' templates
/// use this form, but the requirements of reviews (seed 003) do not mention it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SplitEmphasis {
    #[default]
    Accepted,
    Refused,
}

/// The value of a verdict line that rejects the code: `With fixes` or `No`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RejectionValue {
    WithFixes,
    No,
}

/// Returns whether a whole line is an approval: `Ready to merge? Yes`, with exactly one space before the value.
///
/// One heading mark or list dash may stand before the label, the line or its label may be emphasised, and a full stop
/// may end the line. Anything else on the line makes it no approval.
pub(super) fn is_approval(line: &str, split: SplitEmphasis) -> bool {
    let line = without_decoration(line);
    let plain = |text: &str| matches!(text, "Ready to merge? Yes" | "Ready to merge? Yes.");
    plain(line) || ["**", "__"].iter().any(|mark| is_emphasised(line, mark, split))
}

fn is_emphasised(line: &str, mark: &str, split: SplitEmphasis) -> bool {
    let Some(rest) = line.strip_prefix(mark) else { return false };
    let Some((inside, after)) = rest.split_once(mark) else { return false };
    match (inside, after) {
        ("Ready to merge? Yes", "" | ".") | ("Ready to merge? Yes.", "") => true,
        ("Ready to merge?", " Yes" | " Yes.") => split == SplitEmphasis::Accepted,
        _ => false,
    }
}

/// Removes one heading mark (`#` to `######`) or one list dash from the beginning of a line.
fn without_decoration(line: &str) -> &str {
    let marks = line.len() - line.trim_start_matches('#').len();
    let rest = match marks {
        1..=6 => line[marks..].strip_prefix(' '),
        _ => line.strip_prefix("- "),
    };
    rest.unwrap_or(line)
}

/// Returns the value of a line that rejects the code; `None` if the line does not reject it.
///
/// Markdown marks, upper and lower case, and `:` instead of `?` make no difference. Only the value's beginning counts:
/// "Not yet" is a No.
pub(super) fn parse_rejection(line: &str) -> Option<RejectionValue> {
    let is_decoration = |one: char| one.is_whitespace() || matches!(one, '#' | '-' | '*' | '_' | '>');
    let rest = line.trim_start_matches(is_decoration);
    let rest = skip_ignoring_case(rest, FIELD)?.trim_start_matches(is_emphasis);
    let rest = rest.strip_prefix('?').or_else(|| rest.strip_prefix(':'))?;
    let value = rest.trim_start_matches(|one: char| one.is_whitespace() || is_emphasis(one) || matches!(one, '?' | ':'));
    if skip_ignoring_case(value, "no").is_some() {
        return Some(RejectionValue::No);
    }
    skip_ignoring_case(value, "with fixes").map(|_| RejectionValue::WithFixes)
}

/// Counts how often a text mentions the label `Ready to merge`. A mention in other upper or lower case counts only
/// before a `?` or `:`.
///
/// What a person reads as the label counts too: with letters of other scripts in the place of some of its own, with wide letters, or with
/// characters between them that nobody sees. Such a line is never a verdict, and beside one it says that a person may read another one.
pub(super) fn count_mentions(text: &str) -> usize {
    let seen = text.chars().filter(|one| one.is_whitespace() || !has_hidden_characters(one.encode_utf8(&mut [0; 4])));
    let seen: Vec<char> = seen.map(narrow).collect();
    let label: Vec<char> = FIELD.chars().collect();
    let is_mention = |(place, shown): (usize, &[char])| {
        let own = shown.iter().zip(&label).filter(|(one, own)| one.eq_ignore_ascii_case(own)).count();
        let is_alike = |(one, own): (&char, &char)| one.eq_ignore_ascii_case(own) || (!one.is_ascii() && one.is_alphanumeric());
        if own * 2 < label.len() || !shown.iter().zip(&label).all(is_alike) {
            return false;
        }
        let after = seen[place + label.len()..].iter().find(|one| !is_emphasis(**one));
        shown == label || after.is_some_and(|after| matches!(after, '?' | ':'))
    };
    seen.windows(label.len()).enumerate().filter(|window| is_mention(*window)).count()
}

/// Returns the ASCII character of a wide one (U+FF01 to U+FF5E), a space for any other space in a line, and any other character as it is.
fn narrow(one: char) -> char {
    let ascii = u32::from(one).checked_sub(0xFEE0).filter(|_| ('\u{ff01}'..='\u{ff5e}').contains(&one)).and_then(char::from_u32);
    let space = (one.is_whitespace() && !one.is_ascii()).then_some(' ');
    ascii.or(space).unwrap_or(one)
}

fn is_emphasis(one: char) -> bool {
    matches!(one, '*' | '_')
}

fn skip_ignoring_case<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let (head, rest) = text.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(rest)
}
