//! Decides what to write into a task list, and which changes that proctor did not make are violations.

use std::iter;

use crate::report::task_list::build::TaskLists;
use crate::report::task_list::document::{Block, Entry, block_lines, entries};
use crate::report::task_list::pieces::{BlockPiece, OwnLines, torn_lines, torn_pieces, whole_piece};
use proctor_model::{Digest, ViolationKind, ViolationRecord};

/// What to write into a task list, and which changes in it to report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskListUpdate {
    /// The new content of the file; `None` if the file needs no change.
    pub text: Option<String>,
    /// The digest of the blocks as proctor writes them now, kept for the next comparison.
    pub digest: Digest,
    /// The changes that somebody made to the blocks since proctor last wrote them.
    pub violations: Vec<ViolationRecord>,
}

/// Decides about the file at `path`. `found` is its content if it exists, and `last` the digest of the blocks when
/// proctor last wrote them.
///
/// Blocks that were never written are filled in without a violation. A block that already has its new content is no
/// violation either: a process wrote it and died before it could record that.
pub fn plan_task_list_update(path: &str, found: Option<&str>, lists: &TaskLists, last: Option<Digest>) -> TaskListUpdate {
    let digest = digest(&lists.tasks, &lists.debt);
    let Some(text) = found else {
        let whole = Block::ALL
            .iter()
            .fold(String::new(), |text, block| with_block(&text, *block, lists.of(*block), OldBlocks::Untouched));
        let removed = last.map(|_| violation(path, ViolationKind::TaskListRemoved, path, "", &whole));
        return TaskListUpdate { text: Some(whole), digest, violations: removed.into_iter().collect() };
    };
    let blocks = Block::ALL.map(|block| block_lines(text, block));
    let now = match &blocks {
        [Some(tasks), Some(debt)] => Some(self::digest(tasks, debt)),
        [_, _] => None,
    };
    let is_untouched = now.is_some() && (now == last || now == Some(digest));
    let hand = OwnLines::new(lists);
    let violations = if is_untouched || last.is_none() { Vec::new() } else { find_violations(path, text, &blocks, lists, &hand) };
    if now == Some(digest) {
        return TaskListUpdate { text: None, digest, violations };
    }
    let old = if is_untouched { OldBlocks::Untouched } else { OldBlocks::Edited(&hand) };
    TaskListUpdate { text: Some(text_with_both_blocks(text, lists, old)), digest, violations }
}

/// Returns the changes that proctor did not make to the blocks of a text; `blocks` has the lines of the blocks with both marking
/// lines.
fn find_violations(
    path: &str,
    text: &str,
    blocks: &[Option<Vec<String>>; 2],
    lists: &TaskLists,
    hand: &OwnLines,
) -> Vec<ViolationRecord> {
    let lines: Vec<&str> = text.split('\n').collect();
    let mut violations: Vec<ViolationRecord> = Vec::new();
    for (block, whole) in Block::ALL.into_iter().zip(blocks) {
        let written = lists.of(block);
        match whole {
            Some(whole) if spaceless(whole).ne(spaceless(written)) => violations.extend(find_drift(path, block, whole, written)),
            Some(_) | None => {}
        }
        let left = torn_lines(block, &lines, hand);
        let found = spaceless(&left).collect::<Vec<_>>().join("\n");
        if whole.is_some() && found.is_empty() {
            continue;
        }
        let torn = violation(path, ViolationKind::MarkersRemoved, block.name(), &found, &written.join("\n"));
        // If the lines between the blocks are gone, the same entry may remain in both of them.
        for violation in iter::once(torn).chain(find_torn_drift(path, block, &left, lists)) {
            if !violations.contains(&violation) {
                violations.push(violation);
            }
        }
    }
    violations
}

/// Returns the text with both blocks in place. A block that lies inside the other block is removed together with the
/// other block, and is added again at the end.
fn text_with_both_blocks(text: &str, lists: &TaskLists, old: OldBlocks<'_>) -> String {
    let is_right = |text: &str| Block::ALL.iter().all(|block| block_lines(text, *block).as_deref() == Some(lists.of(*block)));
    let pass = |text: String| Block::ALL.iter().fold(text, |text, block| with_block(&text, *block, lists.of(*block), old));
    let first = pass(text.to_owned());
    if is_right(&first) { first } else { pass(first) }
}

/// Returns the digest of both blocks. Blank lines and trailing spaces are ignored, because editors and formatters
/// change them.
fn digest(tasks: &[String], debt: &[String]) -> Digest {
    let of = |lines: &[String]| spaceless(lines).collect::<Vec<_>>().join("\n");
    Digest::of(format!("{}\n\n{}", of(tasks), of(debt)).as_bytes())
}

fn spaceless(lines: &[String]) -> impl Iterator<Item = &str> {
    lines.iter().map(|line| line.trim_end()).filter(|line| !line.is_empty())
}

fn violation(path: &str, violation: ViolationKind, subject: &str, found: &str, restored: &str) -> ViolationRecord {
    let (path, subject) = (path.to_owned(), subject.to_owned());
    ViolationRecord { path, violation, subject, found: cut(found), restored: cut(restored) }
}

// Replaces the lines of a block in a task list and keeps a person's lines.

/// Whether the blocks in a text may contain lines of a person.
#[derive(Debug, Clone, Copy)]
enum OldBlocks<'a> {
    /// The blocks are unchanged since proctor wrote them, so all of their lines are proctor's.
    Untouched,
    /// Another program or a person edited the blocks. Proctor's own lines are recognised by the texts in `OwnLines`.
    Edited(&'a OwnLines),
}

/// Returns the text with new lines in a block. If the block lost a marking line, the new lines replace the remaining
/// ones. If no line of the block remains, the new lines are put at the end.
///
/// A person's lines inside the old block are moved below the new one.
fn with_block(text: &str, block: Block, content: &[String], old: OldBlocks<'_>) -> String {
    let end_of_line = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let lines: Vec<&str> = text.split('\n').collect();
    let (torn, whole) = match old {
        OldBlocks::Untouched => (Vec::new(), whole_piece(block, &lines, None)),
        OldBlocks::Edited(hand) => (torn_pieces(block, &lines, hand), whole_piece(block, &lines, Some(hand))),
    };
    // If there is a complete block, all torn pieces of the block stand above it.
    let place = if whole.is_some() { torn.len() } else { 0 };
    let pieces: Vec<BlockPiece> = torn.into_iter().chain(whole).collect();
    let Some(last) = pieces.last() else { return appended(text, block, content, end_of_line) };
    let is_last_line_replaced = last.end() == lines.len() && last.is_ours.ends_with(&[true]);
    let carriage = end_of_line.trim_end_matches('\n');
    let mut written: Vec<String> = Vec::new();
    let mut next = 0;
    for (position, piece) in pieces.iter().enumerate() {
        written.extend(lines[next..piece.first].iter().map(|line| (*line).to_owned()));
        if position == place {
            written.extend(marked(block, content).map(|line| format!("{line}{carriage}")));
        }
        written.extend(piece.lines(&lines, false).map(str::to_owned));
        next = piece.end();
    }
    written.extend(lines[next..].iter().map(|line| (*line).to_owned()));
    let mut joined = written.join("\n");
    if is_last_line_replaced && !joined.ends_with('\n') {
        joined.push('\n');
    }
    joined
}

fn appended(text: &str, block: Block, content: &[String], end_of_line: &str) -> String {
    let mut whole = text.to_owned();
    if !whole.is_empty() && !whole.ends_with('\n') {
        whole.push_str(end_of_line);
    }
    if whole.lines().next_back().is_some_and(|last| !last.trim().is_empty()) {
        whole.push_str(end_of_line);
    }
    for line in marked(block, content) {
        whole.push_str(&line);
        whole.push_str(end_of_line);
    }
    whole
}

fn marked(block: Block, content: &[String]) -> impl Iterator<Item = String> {
    std::iter::once(block.begin()).chain(content.to_vec()).chain(std::iter::once(block.end()))
}

// Finds, entry by entry, what somebody changed in a block that proctor had written.

/// Returns the differences between the found lines of a block and the lines that proctor writes.
fn find_drift(path: &str, block: Block, found: &[String], written: &[String]) -> Vec<ViolationRecord> {
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
fn find_torn_drift(path: &str, block: Block, found: &[String], lists: &TaskLists) -> Vec<ViolationRecord> {
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
fn cut(text: &str) -> String {
    text.chars().take(ViolationRecord::MOST_CHARACTERS).collect()
}
