//! The lines that are proctor's by their form. They are written with these beginnings, and by them they are known again where the lines
//! that mark a block are gone.

use crate::model::Severity;
use crate::report::task_list::document::Block;

/// What stands first in a block.
pub(super) const WRITTEN_BY: &str =
    "<!-- Written by proctor from its sealed verdicts. What is changed here by hand is put back and recorded. -->";
pub(super) const NO_TASK: &str = "No task has had a verdict yet.";
pub(super) const NO_DEBT: &str = "Nothing is to be mended.";
/// The severities and what their items mean for a sprint (facts, 4.1).
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

/// Returns the lines that are proctor's in any list, whatever the verdicts are.
pub(super) fn fixed_lines() -> impl Iterator<Item = &'static str> {
    [WRITTEN_BY, NO_TASK, NO_DEBT].into_iter().chain(HEADINGS.map(|(_, heading)| heading))
}

/// Says whether a line is one of the headings of the debt. Some of them are anybody's words: a person may have written it.
pub(super) fn is_heading(line: &str) -> bool {
    HEADINGS.iter().any(|(_, heading)| *heading == line)
}

/// Says whether a line begins as those do that proctor writes below the first one of an entry, whatever somebody made of the rest.
pub(super) fn begins_as_detail(line: &str) -> bool {
    [STATUS, TESTS, TECHNICAL_DEBT, EVIDENCE, DEBT_SOURCE, ACCEPTANCE].iter().any(|start| line.starts_with(start))
}

/// Says whether a line is one that proctor writes below the first one of an entry.
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

/// Returns the block in whose entries proctor writes such a line second, and hardly anybody else does: a task's status as a verdict has
/// it, or a debt item's source.
pub(super) fn signature(line: &str) -> Option<Block> {
    let is_status = |status: &str| ["COMPLETE", "INCOMPLETE"].contains(&status) || status.starts_with("INCOMPLETE:");
    if line.strip_prefix(STATUS).is_some_and(is_status) {
        return Some(Block::Tasks);
    }
    line.strip_prefix(DEBT_SOURCE).is_some_and(|source| source.contains(", ")).then_some(Block::Debt)
}
