//! Reads the title and the labels out of a draft. The tracker wants both in addition to the issue's text.

use crate::governance::verdict::lines_outside_fences;

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
