//! The lines of a task list: where a whole block is, and what stands in it. Of one that lost a marking line `pieces` knows.

/// A block of the list that is proctor's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Block {
    /// The tasks and their boxes.
    Tasks,
    /// What is to be mended.
    Debt,
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

    /// Returns the line that stands above it.
    pub(super) fn begin(self) -> String {
        format!("<!-- proctor:begin {} -->", self.name())
    }

    /// Returns the line that stands below it.
    pub(super) fn end(self) -> String {
        format!("<!-- proctor:end {} -->", self.name())
    }

    /// Returns its first marking line and its last, both counted from 0; none where it is not whole.
    ///
    /// The first line that begins the block counts, and the first one after it that ends it.
    pub(super) fn find(self, lines: &[&str]) -> Option<(usize, usize)> {
        let first = |marker: &str, from: usize| {
            lines.iter().skip(from).position(|line| line.trim() == marker).map(|position| position + from)
        };
        let begin = first(&self.begin(), 0)?;
        Some((begin, first(&self.end(), begin)?))
    }
}

/// Returns the lines of a block, without those that mark it and without line ends; none where it is not whole.
pub(super) fn block_lines(text: &str, block: Block) -> Option<Vec<String>> {
    let lines: Vec<&str> = text.split('\n').collect();
    let (first, last) = block.find(&lines)?;
    Some(lines[first + 1..last].iter().map(|line| line.trim_end().to_owned()).collect())
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

/// Says whether a line marks a block.
pub(super) fn is_marker(line: &str) -> bool {
    Block::ALL.iter().any(|block| line.trim() == block.begin() || line.trim() == block.end())
}

/// Returns id and box of a line such as `- [x] **T117**: …`, with whatever bullet and tick somebody wrote.
pub(super) fn entry_head(line: &str) -> Option<(String, bool)> {
    let rest = line.strip_prefix(['-', '*', '+'])?.trim_start().strip_prefix('[')?;
    let (mark, rest) = rest.split_once(']')?;
    let (id, _) = rest.trim_start().strip_prefix("**")?.split_once("**")?;
    (mark.chars().count() <= 1).then(|| (id.to_owned(), !mark.trim().is_empty()))
}
