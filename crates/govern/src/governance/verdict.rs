//! The verdict of an issue's review: a line that holds nothing but one word. `APPROVE` must be written exactly; `BLOCK`
//! is also recognised in other forms, so that a doubtful review never counts as an approval.

use proctor_wire::wire;

/// The verdict of an issue's review, from the mildest to the severest.
#[wire(Copy, PartialOrd, Ord, Hash, screaming, named)]
pub enum IssueVerdict {
    /// A line is exactly `APPROVE`, and no line is `BLOCK`.
    Approve,
    /// No line is `APPROVE` or `BLOCK`. Such a review blocks like one with `BLOCK`.
    Unknown,
    /// At least one line is `BLOCK`.
    Block,
}

impl IssueVerdict {
    /// Returns whether the review blocks: a person who approves such a draft must confirm before the issue is filed
    /// (B19).
    pub fn blocks(self) -> bool {
        match self {
            Self::Approve => false,
            Self::Unknown | Self::Block => true,
        }
    }
}

/// Reads the verdict of a review. It never fails: a text that is not clearly an approval blocks.
///
/// `APPROVE` counts only as a whole line outside of fenced code, with nothing but white space after it. `BLOCK` counts in upper or lower
/// case, with Markdown marks around it, and within fences: a quotation can turn an approval into a block, but never the reverse. One
/// `BLOCK` outweighs any number of `APPROVE`.
pub fn parse_verdict(text: &str) -> IssueVerdict {
    if text.lines().any(is_block) {
        return IssueVerdict::Block;
    }
    let approves = lines_outside_fences(text).any(|line| line.trim_end() == IssueVerdict::Approve.word());
    if approves { IssueVerdict::Approve } else { IssueVerdict::Unknown }
}

fn is_block(line: &str) -> bool {
    let is_decoration =
        |one: char| one.is_whitespace() || matches!(one, '#' | '-' | '*' | '_' | '>' | '`' | '.' | ':' | '!' | '\u{feff}');
    line.trim_matches(is_decoration).eq_ignore_ascii_case(IssueVerdict::Block.word())
}

/// Returns the lines outside of fenced code, without the fences' own lines. A fence that is never closed ends with the text.
pub(super) fn lines_outside_fences(text: &str) -> impl Iterator<Item = &str> {
    let mut open: Option<&str> = None;
    text.lines().filter(move |line| {
        let mark = ["```", "~~~"].into_iter().find(|mark| line.trim_start().starts_with(mark));
        match (open, mark) {
            (None, None) => true,
            (None, Some(mark)) => {
                open = Some(mark);
                false
            }
            (Some(opened), Some(mark)) if opened == mark => {
                open = None;
                false
            }
            (Some(_), _) => false,
        }
    })
}

// Reads the title and the labels out of a draft. The tracker wants both in addition to the issue's text.

/// The limit for the number of labels of a draft. A draft with more labels is refused.
const MOST_LABELS: usize = 20;

/// GitHub's limits in characters: a draft with a longer label or title is refused.
const LONGEST_LABEL: usize = 50;
const LONGEST_TITLE: usize = 256;

/// The beginning of the line that lists the labels (N6 step 1).
const LABELS: &str = "**Labels:**";

/// What the tracker wants besides the issue's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueFields {
    /// The text of the draft's first `# ` line outside of fenced code.
    pub title: String,
    /// The labels in the draft's order, without duplicates.
    pub labels: Vec<String>,
}

/// Why the title or the labels of a draft cannot be used. The issue cannot be filed before a person edits the draft.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum IssueFieldsError {
    #[error("the draft has no title: begin the title's line with `# `")]
    NoTitle,
    #[error("the title of the draft is longer than {LONGEST_TITLE} characters")]
    LongTitle,
    #[error("the draft has more than {MOST_LABELS} labels")]
    ManyLabels,
    #[error("`{0}` cannot be a label: a label has at most {LONGEST_LABEL} characters and no control character")]
    Label(String),
}

/// Reads the title and the labels of a draft (B13). Lines in fenced code do not count: they are examples.
///
/// # Errors
/// A sentence for people that says why the draft cannot be filed.
pub fn parse_fields(draft: &str) -> Result<IssueFields, String> {
    try_parse(draft).map_err(|error| error.to_string())
}

fn try_parse(draft: &str) -> Result<IssueFields, IssueFieldsError> {
    let title = lines_outside_fences(draft).find_map(|line| line.strip_prefix("# ")).map(str::trim);
    let title = title.filter(|title| !title.is_empty()).ok_or(IssueFieldsError::NoTitle)?;
    if title.chars().count() > LONGEST_TITLE {
        return Err(IssueFieldsError::LongTitle);
    }
    let listed = lines_outside_fences(draft).find_map(|line| line.trim().strip_prefix(LABELS)).unwrap_or_default();
    let mut labels: Vec<String> = Vec::new();
    for label in listed.split(',').map(|label| label.trim().trim_matches('`').trim()).filter(|label| !label.is_empty()) {
        if label.chars().count() > LONGEST_LABEL || label.chars().any(char::is_control) {
            return Err(IssueFieldsError::Label(label.to_owned()));
        }
        // To GitHub, labels that differ only in upper and lower case are the same.
        if labels.iter().all(|known| !known.eq_ignore_ascii_case(label)) {
            labels.push(label.to_owned());
        }
    }
    if labels.len() > MOST_LABELS {
        return Err(IssueFieldsError::ManyLabels);
    }
    Ok(IssueFields { title: title.to_owned(), labels })
}
