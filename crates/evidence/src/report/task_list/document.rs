//! Finds proctor's blocks in the lines of a task list, and the entries in a block. For a block that lost a marking line
//! see `pieces`.

use proctor_model::words;

/// A block of the task list that proctor writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Block {
    /// The block of tasks, each with a box that is ticked when the task is complete.
    Tasks,
    Debt,
}

/// An entry of a block: a line with a box and an id, and the lines below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// The id of the task or debt item, for example `T117` or `DEBT-T117-001`.
    pub(super) id: String,
    pub(super) ticked: bool,
    /// The lines of the entry without line ends.
    pub(super) lines: Vec<String>,
}

impl Block {
    /// Returns the marking line above the block.
    pub(super) fn begin(self) -> String {
        format!("<!-- proctor:begin {} -->", self.name())
    }

    /// Returns the marking line below the block.
    pub(super) fn end(self) -> String {
        format!("<!-- proctor:end {} -->", self.name())
    }

    /// Returns the positions of both marking lines, counted from 0; `None` if one of them is missing.
    ///
    /// The first line that begins the block is used, and the first line after that line that ends the block.
    pub(super) fn find(self, lines: &[&str]) -> Option<(usize, usize)> {
        let first = |marker: &str, from: usize| {
            lines.iter().skip(from).position(|line| line.trim() == marker).map(|position| position + from)
        };
        let begin = first(&self.begin(), 0)?;
        Some((begin, first(&self.end(), begin)?))
    }
}

words! {
    /// Returns the name that the block's marking lines show.
    pub(super) fn Block::name, ALL: Tasks "tasks", Debt "debt"
}

/// Returns the lines of a block without marking lines and line ends; `None` if a marking line is missing.
pub(super) fn block_lines(text: &str, block: Block) -> Option<Vec<String>> {
    let lines: Vec<&str> = text.split('\n').collect();
    let (first, last) = block.find(&lines)?;
    Some(lines[first + 1..last].iter().map(|line| line.trim_end().to_owned()).collect())
}

/// Splits the lines of a block into entries. An entry is a line with a box and the indented lines below it.
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

/// Returns whether a line marks the beginning or end of a block.
pub(super) fn is_marker(line: &str) -> bool {
    Block::ALL.iter().any(|block| line.trim() == block.begin() || line.trim() == block.end())
}

/// Returns id and box of a line such as `- [x] **T117**: …`. Any bullet and any kind of tick is accepted.
pub(super) fn entry_head(line: &str) -> Option<(String, bool)> {
    let rest = line.strip_prefix(['-', '*', '+'])?.trim_start().strip_prefix('[')?;
    let (mark, rest) = rest.split_once(']')?;
    let (id, _) = rest.trim_start().strip_prefix("**")?.split_once("**")?;
    (mark.chars().count() <= 1).then(|| (id.to_owned(), !mark.trim().is_empty()))
}
