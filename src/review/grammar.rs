//! Verdict lines: strict where they approve, lenient where they reject.

/// The field, exactly as an approval has it.
pub(super) const FIELD: &str = "Ready to merge";

/// Whether `**Ready to merge?** Yes`, emphasis around the label alone, is an approval too: what reviewers' templates have, and not
/// literally what seed 003 has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SplitEmphasis {
    /// It is.
    #[default]
    Accepted,
    /// It is not.
    Refused,
}

/// What a rejection line asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RejectionValue {
    WithFixes,
    No,
}

/// Returns whether a whole line is an approval: heading marks or a dash, emphasis around label or line, one space, `Yes`, a full
/// stop; each but the label, the space and the value may be missing, and nothing else may be there.
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

/// Takes one heading mark (`#` to `######`) or one list dash away.
fn without_decoration(line: &str) -> &str {
    let marks = line.len() - line.trim_start_matches('#').len();
    let rest = match marks {
        1..=6 => line[marks..].strip_prefix(' '),
        _ => line.strip_prefix("- "),
    };
    rest.unwrap_or(line)
}

/// Returns what a line rejects with; none where it is no rejection. Any decoration, any case, `?` or `:`, and the value's beginning.
pub(super) fn rejection(line: &str) -> Option<RejectionValue> {
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

/// Returns how often the field is mentioned: the exact label anywhere, and in any case where a `?` or `:` makes it the field.
pub(super) fn mentions(text: &str) -> usize {
    // ASCII alone changes, so places are the same in both.
    let lower = text.to_ascii_lowercase();
    let label = FIELD.to_ascii_lowercase();
    let is_mention = |place: usize| {
        let rest = &text[place..];
        let after = rest[FIELD.len()..].trim_start_matches(is_emphasis);
        rest.starts_with(FIELD) || after.starts_with(['?', ':'])
    };
    lower.match_indices(&label).filter(|(place, _)| is_mention(*place)).count()
}

fn is_emphasis(one: char) -> bool {
    matches!(one, '*' | '_')
}

fn skip_ignoring_case<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let (head, rest) = text.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(rest)
}
