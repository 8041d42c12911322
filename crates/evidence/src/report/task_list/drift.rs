//! Finds, entry by entry, what somebody changed in a block that proctor had written.

use crate::report::task_list::build::TaskLists;
use crate::report::task_list::document::{Block, Entry, entries};
use proctor_model::{ViolationKind, ViolationRecord};

/// Returns the differences between the found lines of a block and the lines that proctor writes.
pub(super) fn find_drift(path: &str, block: Block, found: &[String], written: &[String]) -> Vec<ViolationRecord> {
    let (found_entries, written_entries) = (entries(found), entries(written));
    let mut violations = Vec::new();
    for entry in &written_entries {
        let there = found_entries.iter().find(|there| there.id == entry.id);
        violations.extend(compare(block, there, entry).map(|violation| record(path, violation, there, Some(entry))));
    }
    for (position, entry) in found_entries.iter().enumerate() {
        let is_ours = written_entries.iter().any(|ours| ours.id == entry.id);
        let is_second = found_entries[..position].iter().any(|earlier| earlier.id == entry.id);
        if !is_ours || is_second {
            violations.push(record(path, made_up(block, entry), Some(entry), None));
        }
    }
    if violations.is_empty() {
        let of = |lines: &[String], others: &[String]| {
            let own = lines.iter().filter(|line| !line.is_empty() && !others.contains(line));
            cut(&own.map(String::as_str).collect::<Vec<_>>().join("\n"))
        };
        let (found, restored) = (of(found, written), of(written, found));
        let subject = block.name().to_owned();
        violations.push(ViolationRecord { path: path.to_owned(), violation: changed(block), subject, found, restored });
    }
    violations
}

/// Returns the changes to the entries that remain of a torn block, which is one that lost a marking line. `found` has
/// the block's remaining lines.
///
/// Missing entries are not reported one by one, because the torn block itself is reported with its remaining lines. If
/// the lines between both blocks are gone, entries of the other block may be among them.
pub(super) fn find_torn_drift(path: &str, block: Block, found: &[String], lists: &TaskLists) -> Vec<ViolationRecord> {
    let written: Vec<(Block, Entry)> =
        Block::ALL.into_iter().flat_map(|block| entries(lists.of(block)).into_iter().map(move |entry| (block, entry))).collect();
    let found = entries(found);
    let mut violations = Vec::new();
    for (position, entry) in found.iter().enumerate() {
        let is_second = found[..position].iter().any(|earlier| earlier.id == entry.id);
        let ours = written.iter().find(|(_, ours)| ours.id == entry.id && !is_second);
        let violation = match ours {
            Some((block, ours)) => compare(*block, Some(entry), ours),
            None => Some(made_up(block, entry)),
        };
        violations.extend(violation.map(|violation| record(path, violation, Some(entry), ours.map(|(_, ours)| ours))));
    }
    violations
}

/// Returns the kind of violation for an entry that proctor did not write. A ticked entry claims that work is complete.
fn made_up(block: Block, entry: &Entry) -> ViolationKind {
    if entry.ticked { ViolationKind::UnauthorizedCompletion } else { changed(block) }
}

/// Returns the kind of change to an entry; `None` if it is unchanged.
fn compare(block: Block, found: Option<&Entry>, written: &Entry) -> Option<ViolationKind> {
    match (found, block) {
        (None, Block::Tasks) => Some(ViolationKind::MissingSprintTask),
        (None, Block::Debt) => Some(ViolationKind::MissingDebtDocumentation),
        (Some(found), _) if found.ticked && !written.ticked => Some(ViolationKind::UnauthorizedCompletion),
        (Some(found), _) if !found.ticked && written.ticked => Some(ViolationKind::CompletionRemoved),
        (Some(found), _) if found.lines != written.lines => Some(changed(block)),
        (Some(_), _) => None,
    }
}

fn changed(block: Block) -> ViolationKind {
    match block {
        Block::Tasks => ViolationKind::TaskContentMismatch,
        Block::Debt => ViolationKind::ClassificationModified,
    }
}

fn record(path: &str, violation: ViolationKind, found: Option<&Entry>, written: Option<&Entry>) -> ViolationRecord {
    let text = |entry: Option<&Entry>| entry.map(|entry| cut(&entry.lines.join("\n"))).unwrap_or_default();
    let subject = found.or(written).map(|entry| cut(&entry.id)).unwrap_or_default();
    ViolationRecord { path: path.to_owned(), violation, subject, found: text(found), restored: text(written) }
}

/// Cuts a text to the length that a violation record may have.
pub(super) fn cut(text: &str) -> String {
    text.chars().take(ViolationRecord::MOST_CHARACTERS).collect()
}
