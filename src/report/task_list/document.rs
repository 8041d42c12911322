//! The lines of a task list: where a block is, what stands in it, and putting another one in its place.

use std::collections::BTreeSet;

/// A block of the list that is proctor's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Block {
    /// The tasks and their boxes.
    Tasks,
    /// What is to be mended.
    Debt,
}

/// Where a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// From its first marking line to its last, both counted from 0.
    Whole(usize, usize),
    /// Only one of the lines that mark it is there.
    Torn(usize),
    /// It is not there.
    Missing,
}

/// An entry of a block: a line with a box and an id, and the lines below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// `T117`, `DEBT-T117-001`.
    pub(super) id: String,
    /// Whether its box is ticked.
    pub(super) ticked: bool,
    /// Its lines, without the ends.
    pub(super) lines: Vec<String>,
}

impl Block {
    /// Both, in the order they are written.
    pub(super) const ALL: [Self; 2] = [Self::Tasks, Self::Debt];

    /// Returns its name in the lines that mark it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Tasks => "tasks",
            Self::Debt => "debt",
        }
    }

    fn begin(self) -> String {
        format!("<!-- proctor:begin {} -->", self.name())
    }

    fn end(self) -> String {
        format!("<!-- proctor:end {} -->", self.name())
    }

    /// The first line that begins the block counts, and the first one after it that ends it.
    fn find(self, lines: &[&str]) -> Found {
        let (begin, end) = (self.begin(), self.end());
        let first =
            |marker: &str, from: usize| lines.iter().skip(from).position(|line| line.trim() == marker).map(|at| at + from);
        match first(&begin, 0) {
            Some(at) => first(&end, at).map_or(Found::Torn(at), |last| Found::Whole(at, last)),
            None => first(&end, 0).map_or(Found::Missing, Found::Torn),
        }
    }
}

/// Returns the lines of a block, without those that mark it and without line ends; none where it is not whole.
pub(super) fn block_lines(text: &str, block: Block) -> Option<Vec<String>> {
    let lines: Vec<&str> = text.split('\n').collect();
    match block.find(&lines) {
        Found::Whole(first, last) => Some(lines[first + 1..last].iter().map(|line| line.trim_end().to_owned()).collect()),
        Found::Torn(_) | Found::Missing => None,
    }
}

/// Returns the text with other lines in a block. Where it is not whole it is put in the place of what is left of it, or at the end.
///
/// `ours` says of a line of the old block whether proctor wrote it, or may drop it: any other is put below the new block.
pub(super) fn with_block(text: &str, block: Block, content: &[String], ours: &dyn Fn(&[&str]) -> Vec<bool>) -> String {
    let end_of_line = if text.lines().next().is_some_and(|_| text.contains("\r\n")) { "\r\n" } else { "\n" };
    let lines: Vec<&str> = text.split('\n').collect();
    let (before, old, after) = match block.find(&lines) {
        Found::Whole(first, last) => (&lines[..first], &lines[first + 1..last], &lines[last + 1..]),
        Found::Torn(at) => {
            // What follows and is ours was inside the block, up to the next one.
            let follows = &lines[at + 1..];
            let inside = ours(follows).iter().zip(follows).take_while(|(is_ours, line)| **is_ours && !is_marker(line)).count();
            // Blank lines at its end part it from what follows.
            let inside = follows[..inside].iter().rposition(|line| !line.trim().is_empty()).map_or(0, |last| last + 1);
            (&lines[..at], &follows[..inside], &follows[inside..])
        }
        Found::Missing => return appended(text, block, content, end_of_line),
    };
    let kept: Vec<&str> = old.iter().zip(ours(old)).filter(|(_, is_ours)| !is_ours).map(|(line, _)| *line).collect();
    let mut written: Vec<String> = before.iter().map(|line| (*line).to_owned()).collect();
    let carriage = end_of_line.trim_end_matches('\n');
    written.extend(marked(block, content).map(|line| format!("{line}{carriage}")));
    written.extend(kept.iter().map(|line| (*line).to_owned()));
    written.extend(after.iter().map(|line| (*line).to_owned()));
    let mut joined = written.join("\n");
    if after.is_empty() && kept.is_empty() && !joined.ends_with('\n') {
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

/// Returns the entries of a block's lines.
pub(super) fn entries(lines: &[String]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut open = false;
    for line in lines {
        if let Some((id, ticked)) = entry_head(line) {
            entries.push(Entry { id, ticked, lines: vec![line.clone()] });
            open = true;
        } else if open && line.starts_with("  ") {
            entries.last_mut().expect("an entry is open").lines.push(line.clone());
        } else {
            open = false;
        }
    }
    entries
}

/// Says of each line of an old block whether it may be dropped: entries, blank lines, markers, and what proctor writes.
pub(super) fn droppable(lines: &[&str], written: &BTreeSet<String>) -> Vec<bool> {
    let mut open = false;
    let mut judge = |line: &str| {
        let line = line.trim_end();
        open = entry_head(line).is_some() || (open && line.starts_with("  "));
        open || line.is_empty() || is_marker(line) || written.contains(line)
    };
    lines.iter().map(|line| judge(line)).collect()
}

fn is_marker(line: &str) -> bool {
    Block::ALL.iter().any(|block| line.trim() == block.begin() || line.trim() == block.end())
}

/// Returns id and box of a line such as `- [x] **T117**: …`, with whatever bullet and tick somebody wrote.
fn entry_head(line: &str) -> Option<(String, bool)> {
    let rest = line.strip_prefix(['-', '*', '+'])?.trim_start().strip_prefix('[')?;
    let (mark, rest) = rest.split_once(']')?;
    let (id, _) = rest.trim_start().strip_prefix("**")?.split_once("**")?;
    (mark.chars().count() <= 1).then(|| (id.to_owned(), !mark.trim().is_empty()))
}
