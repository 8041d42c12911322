//! The fixed forms of the lines that proctor writes. When a block's marking lines are gone, proctor recognises its own
//! lines by these forms.

use crate::report::task_list::document::Block;
use proctor_model::Severity;

/// The first line inside each block.
pub(super) const WRITTEN_BY: &str =
    "<!-- Written by proctor from its sealed verdicts. What is changed here by hand is put back and recorded. -->";
pub(super) const NO_TASK: &str = "No task has had a verdict yet.";
pub(super) const NO_DEBT: &str = "Nothing is to be mended.";
/// The heading of each severity, with its meaning for a sprint (facts, 4.1).
pub(super) const HEADINGS: [(Severity, &str); 4] = [
    (Severity::Critical, "### Critical: in this sprint"),
    (Severity::High, "### High: while there is room"),
    (Severity::Medium, "### Medium"),
    (Severity::Low, "### Low"),
];

pub(super) const STATUS: &str = "  - Status: ";
pub(super) const TESTS: &str = "  - Tests: ";
pub(super) const TECHNICAL_DEBT: &str = "  - Technical debt: ";
pub(super) const EVIDENCE: &str = "  - Evidence: ";
pub(super) const DEBT_SOURCE: &str = "  - Debt source: ";
pub(super) const ACCEPTANCE: &str = "  - Acceptance: ";

/// Returns the lines that proctor writes into every list, independent of the verdicts.
pub(super) fn fixed_lines() -> impl Iterator<Item = &'static str> {
    [WRITTEN_BY, NO_TASK, NO_DEBT].into_iter().chain(HEADINGS.map(|(_, heading)| heading))
}

/// Returns whether a line is a heading of the debt block. Some headings are common words, so a person may have written
/// the line.
pub(super) fn is_heading(line: &str) -> bool {
    HEADINGS.iter().any(|(_, heading)| *heading == line)
}

/// Returns whether a line begins like one of the detail lines that proctor writes below an entry. The rest of the line
/// may have been edited.
pub(super) fn begins_as_detail(line: &str) -> bool {
    [STATUS, TESTS, TECHNICAL_DEBT, EVIDENCE, DEBT_SOURCE, ACCEPTANCE].iter().any(|start| line.starts_with(start))
}

/// Returns whether a line has the form of a detail line that proctor writes below an entry.
pub(super) fn is_detail(line: &str) -> bool {
    let is_count = |rest: &str| {
        let counts = rest.strip_suffix(" passed").and_then(|counts| counts.split_once('/'));
        counts.is_some_and(|(passed, total)| [passed, total].iter().all(|count| count.parse::<u64>().is_ok()))
    };
    signature(line).is_some()
        || line.strip_prefix(TESTS).is_some_and(is_count)
        || line.strip_prefix(TECHNICAL_DEBT).is_some_and(|ids| ids.starts_with("DEBT-"))
        || [EVIDENCE, ACCEPTANCE].iter().any(|start| line.starts_with(start))
}

/// Returns the block to which a line belongs that proctor writes as the second line of an entry: a task's status, or a
/// debt item's source. People hardly ever write such lines.
pub(super) fn signature(line: &str) -> Option<Block> {
    let is_status = |status: &str| ["COMPLETE", "INCOMPLETE"].contains(&status) || status.starts_with("INCOMPLETE:");
    if line.strip_prefix(STATUS).is_some_and(is_status) {
        return Some(Block::Tasks);
    }
    line.strip_prefix(DEBT_SOURCE).is_some_and(|source| source.contains(", ")).then_some(Block::Debt)
}
