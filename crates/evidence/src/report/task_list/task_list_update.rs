//! Decides what to write into a task list, and which changes that proctor did not make are violations.

use std::iter;

use crate::report::task_list::build::TaskLists;
use crate::report::task_list::document::{Block, block_lines};
use crate::report::task_list::drift::{cut, find_drift, find_torn_drift};
use crate::report::task_list::pieces::{OwnLines, torn_lines};
use crate::report::task_list::rewrite::{OldBlocks, with_block};
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
    TaskListUpdate { text: Some(settled(text, lists, old)), digest, violations }
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
fn settled(text: &str, lists: &TaskLists, old: OldBlocks<'_>) -> String {
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
