//! The decision about a task list: what to write, and what somebody else did to it.

use std::iter;

use crate::model::{Digest, ViolationKind, ViolationRecord};
use crate::report::task_list::build::TaskLists;
use crate::report::task_list::document::{Block, block_lines};
use crate::report::task_list::drift::{cut, find_drift, find_torn_drift};
use crate::report::task_list::pieces::{Hand, torn_lines};
use crate::report::task_list::rewrite::{Old, with_block};

/// What is to be done about a task list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upkeep {
    /// The whole file as it has to be; none where it is so.
    pub text: Option<String>,
    /// The digest of the blocks as they have to be.
    pub digest: Digest,
    /// What somebody else did to the blocks since they were last written.
    pub violations: Vec<ViolationRecord>,
}

/// Decides what is to be done about the file `path`, found as it is or not there, whose blocks were last written with the digest `last`.
///
/// Blocks that were never written are filled, and nothing in them is a violation. Nor is a block that is as it has to be now: it was
/// written by a process that died before it could say so.
pub fn plan_upkeep(path: &str, found: Option<&str>, lists: &TaskLists, last: Option<Digest>) -> Upkeep {
    let digest = digest(&lists.tasks, &lists.debt);
    let Some(text) = found else {
        let whole =
            Block::ALL.iter().fold(String::new(), |text, block| with_block(&text, *block, lists.of(*block), Old::Untouched));
        let removed = last.map(|_| violation(path, ViolationKind::TaskListRemoved, path, "", &whole));
        return Upkeep { text: Some(whole), digest, violations: removed.into_iter().collect() };
    };
    let blocks = Block::ALL.map(|block| block_lines(text, block));
    let now = match &blocks {
        [Some(tasks), Some(debt)] => Some(self::digest(tasks, debt)),
        [_, _] => None,
    };
    let is_untouched = now.is_some() && (now == last || now == Some(digest));
    let hand = Hand::new(lists);
    let violations = if is_untouched || last.is_none() { Vec::new() } else { find_violations(path, text, &blocks, lists, &hand) };
    if now == Some(digest) {
        return Upkeep { text: None, digest, violations };
    }
    let old = if is_untouched { Old::Untouched } else { Old::Edited(&hand) };
    Upkeep { text: Some(settled(text, lists, old)), digest, violations }
}

/// Returns what somebody else did to the blocks of a text. `blocks` are the lines of those that are whole.
fn find_violations(
    path: &str,
    text: &str,
    blocks: &[Option<Vec<String>>; 2],
    lists: &TaskLists,
    hand: &Hand,
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
        // Where the lines between the blocks are gone, the same entry may be left of both.
        for violation in iter::once(torn).chain(find_torn_drift(path, block, &left, lists)) {
            if !violations.contains(&violation) {
                violations.push(violation);
            }
        }
    }
    violations
}

/// Puts both blocks into a text. One that lay in the other goes with it, and is then put in again: at the end.
fn settled(text: &str, lists: &TaskLists, old: Old<'_>) -> String {
    let is_right = |text: &str| Block::ALL.iter().all(|block| block_lines(text, *block).as_deref() == Some(lists.of(*block)));
    let pass = |text: String| Block::ALL.iter().fold(text, |text, block| with_block(&text, *block, lists.of(*block), old));
    let first = pass(text.to_owned());
    if is_right(&first) { first } else { pass(first) }
}

/// Returns the digest of both blocks. Blank lines and spaces at line ends count for nothing: editors and formatters change them.
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
