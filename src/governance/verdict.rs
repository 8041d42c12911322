//! The verdict of a review of an issue: a line that is one word. Strict where it approves, lenient where it blocks.

use serde::{Deserialize, Serialize};

/// What a review says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ReviewWord {
    /// A line of its own says so, and none says BLOCK.
    Approve,
    /// Neither is said. It is treated as BLOCK.
    Unknown,
    /// Some line says so.
    Block,
}

impl ReviewWord {
    /// Returns the word for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Approve => "APPROVE",
            Self::Unknown => "UNKNOWN",
            Self::Block => "BLOCK",
        }
    }

    /// Returns whether filing needs a person's second word (B19).
    pub fn blocks(self) -> bool {
        match self {
            Self::Approve => false,
            Self::Unknown | Self::Block => true,
        }
    }
}

/// Reads a review's verdict. Total: anything that is not clearly an approval blocks.
///
/// `APPROVE` counts as a whole line outside of fenced code, with nothing but white space behind it. `BLOCK` counts in any case, behind any
/// decoration and within fences: quoting can lower a verdict and never raise it. Any `BLOCK` wins.
pub fn read_verdict(text: &str) -> ReviewWord {
    if text.lines().any(is_block) {
        return ReviewWord::Block;
    }
    let approves = lines_outside_fences(text).any(|line| line.trim_end() == ReviewWord::Approve.word());
    if approves { ReviewWord::Approve } else { ReviewWord::Unknown }
}

fn is_block(line: &str) -> bool {
    let is_decoration =
        |one: char| one.is_whitespace() || matches!(one, '#' | '-' | '*' | '_' | '>' | '`' | '.' | ':' | '!' | '\u{feff}');
    line.trim_matches(is_decoration).eq_ignore_ascii_case(ReviewWord::Block.word())
}

/// Returns the lines that are not in a fence, nor one. A fence that is never closed goes to the end.
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
