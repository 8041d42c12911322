//! What of a draft the tracker is told apart from its text: the title and the labels.

use crate::governance::verdict::lines_outside_fences;

/// So many labels of an issue are taken; a draft that names more is refused.
const MOST_LABELS: usize = 20;

/// The longest label and the longest title that are taken, in characters: what the usual tracker takes.
const LONGEST_LABEL: usize = 50;
const LONGEST_TITLE: usize = 256;

/// How the line of labels begins (N6 step 1).
const LABELS: &str = "**Labels:**";

/// Title and labels of a draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fields {
    /// The first heading of the first level.
    pub title: String,
    /// In the order of the draft, each once.
    pub labels: Vec<String>,
}

/// Why a draft cannot be filed as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum FieldsError {
    #[error("the draft has no title: a line that begins with `# ` is one")]
    NoTitle,
    #[error("the title of the draft is longer than {LONGEST_TITLE} characters")]
    LongTitle,
    #[error("the draft has more than {MOST_LABELS} labels")]
    ManyLabels,
    #[error("`{0}` is no label: one has at most {LONGEST_LABEL} characters and no control character")]
    Label(String),
}

/// Reads title and labels (B13). Lines within fences are examples.
///
/// # Errors
/// In words, why the draft cannot be filed.
pub fn read_fields(draft: &str) -> Result<Fields, String> {
    read(draft).map_err(|error| error.to_string())
}

fn read(draft: &str) -> Result<Fields, FieldsError> {
    let title = lines_outside_fences(draft).find_map(|line| line.strip_prefix("# ")).map(str::trim);
    let title = title.filter(|title| !title.is_empty()).ok_or(FieldsError::NoTitle)?;
    if title.chars().count() > LONGEST_TITLE {
        return Err(FieldsError::LongTitle);
    }
    let listed = lines_outside_fences(draft).find_map(|line| line.trim().strip_prefix(LABELS)).unwrap_or_default();
    let mut labels: Vec<String> = Vec::new();
    for label in listed.split(',').map(|label| label.trim().trim_matches('`').trim()).filter(|label| !label.is_empty()) {
        if label.chars().count() > LONGEST_LABEL || label.chars().any(char::is_control) {
            return Err(FieldsError::Label(label.to_owned()));
        }
        // Trackers tell labels apart without regard to case.
        if labels.iter().all(|known| !known.eq_ignore_ascii_case(label)) {
            labels.push(label.to_owned());
        }
    }
    if labels.len() > MOST_LABELS {
        return Err(FieldsError::ManyLabels);
    }
    Ok(Fields { title: title.to_owned(), labels })
}
