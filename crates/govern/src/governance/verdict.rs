//! The verdict of an issue's review: a line that holds nothing but one word. `APPROVE` must be written exactly; `BLOCK`
//! is also recognised in other forms, so that a doubtful review never counts as an approval.

use serde::{Deserialize, Serialize};

/// The verdict of an issue's review, from the mildest to the severest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum IssueVerdict {
    /// A line is exactly `APPROVE`, and no line is `BLOCK`.
    Approve,
    /// No line is `APPROVE` or `BLOCK`. Such a review blocks like one with `BLOCK`.
    Unknown,
    /// At least one line is `BLOCK`.
    Block,
}

impl IssueVerdict {
    /// Returns the word for this verdict. `APPROVE` and `BLOCK` are the words in reviews.
    pub fn word(self) -> &'static str {
        match self {
            Self::Approve => "APPROVE",
            Self::Unknown => "UNKNOWN",
            Self::Block => "BLOCK",
        }
    }

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
