//! Replaces the lines of a block in a task list and keeps a person's lines.

use crate::report::task_list::document::Block;
use crate::report::task_list::pieces::{BlockPiece, OwnLines, torn_pieces, whole_piece};

/// Whether the blocks in a text may contain lines of a person.
#[derive(Debug, Clone, Copy)]
pub(super) enum OldBlocks<'a> {
    /// The blocks are unchanged since proctor wrote them, so all of their lines are proctor's.
    Untouched,
    /// Another program or a person edited the blocks. Proctor's own lines are recognised by the texts in `OwnLines`.
    Edited(&'a OwnLines),
}

/// Returns the text with new lines in a block. If the block lost a marking line, the new lines replace the remaining
/// ones. If no line of the block remains, the new lines are put at the end.
///
/// A person's lines inside the old block are moved below the new one.
pub(super) fn with_block(text: &str, block: Block, content: &[String], old: OldBlocks<'_>) -> String {
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
