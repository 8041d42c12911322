//! The decision about a task list: what to write, and what somebody else did to it.

use std::collections::BTreeSet;

use crate::model::{Digest, ViolationKind, ViolationRecord};
use crate::report::task_list::build::{TaskLists, fixed_lines};
use crate::report::task_list::document::{Block, block_lines, droppable, with_block};
use crate::report::task_list::drift::{cut, find_drift};

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
            Block::ALL.iter().fold(String::new(), |text, block| with_block(&text, *block, lists.of(*block), &|_| Vec::new()));
        let removed = last.map(|_| violation(path, ViolationKind::TaskListRemoved, path, &whole));
        return Upkeep { text: Some(whole), digest, violations: removed.into_iter().collect() };
    };
    let blocks = Block::ALL.map(|block| block_lines(text, block));
    let now = match &blocks {
        [Some(tasks), Some(debt)] => Some(self::digest(tasks, debt)),
        [_, _] => None,
    };
    let is_untouched = now.is_some() && (now == last || now == Some(digest));
    let mut violations = Vec::new();
    if !is_untouched && last.is_some() {
        for (block, lines) in Block::ALL.into_iter().zip(&blocks) {
            let written = lists.of(block);
            match lines {
                None => violations.push(violation(path, ViolationKind::MarkersRemoved, block.name(), &written.join("\n"))),
                Some(lines) if spaceless(lines).ne(spaceless(written)) => {
                    violations.extend(find_drift(path, block, lines, written));
                }
                Some(_) => {}
            }
        }
    }
    if now == Some(digest) {
        return Upkeep { text: None, digest, violations };
    }
    let written = lists.lines();
    let ours = |lines: &[&str]| if is_untouched { vec![true; lines.len()] } else { droppable(lines, &written) };
    let whole = settled(text, lists, &ours);
    Upkeep { text: Some(whole), digest, violations }
}

/// Puts both blocks into a text. One that lay in the other goes with it, and is then put in again: at the end.
fn settled(text: &str, lists: &TaskLists, ours: &dyn Fn(&[&str]) -> Vec<bool>) -> String {
    let is_right = |text: &str| Block::ALL.iter().all(|block| block_lines(text, *block).as_deref() == Some(lists.of(*block)));
    let pass = |text: String| Block::ALL.iter().fold(text, |text, block| with_block(&text, *block, lists.of(*block), ours));
    let first = pass(text.to_owned());
    if is_right(&first) { first } else { pass(first) }
}

impl TaskLists {
    fn of(&self, block: Block) -> &[String] {
        match block {
            Block::Tasks => &self.tasks,
            Block::Debt => &self.debt,
        }
    }

    /// Returns every line that proctor writes, or once wrote whatever the verdicts were.
    fn lines(&self) -> BTreeSet<String> {
        let fixed = fixed_lines().map(str::to_owned);
        self.tasks.iter().chain(&self.debt).cloned().chain(fixed).collect()
    }
}

/// Returns the digest of both blocks. Blank lines and spaces at line ends count for nothing: editors and formatters change them.
fn digest(tasks: &[String], debt: &[String]) -> Digest {
    let of = |lines: &[String]| spaceless(lines).collect::<Vec<_>>().join("\n");
    Digest::of(format!("{}\n\n{}", of(tasks), of(debt)).as_bytes())
}

fn spaceless(lines: &[String]) -> impl Iterator<Item = &str> {
    lines.iter().map(|line| line.trim_end()).filter(|line| !line.is_empty())
}

fn violation(path: &str, violation: ViolationKind, subject: &str, restored: &str) -> ViolationRecord {
    let subject = subject.to_owned();
    ViolationRecord { path: path.to_owned(), violation, subject, found: String::new(), restored: cut(restored) }
}
