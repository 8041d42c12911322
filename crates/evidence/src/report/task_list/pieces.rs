//! Decides which lines of a text belong to a block, even if one of its marking lines was removed.
//!
//! A block without a marking line has no known end, and a person's text may follow it. So only lines that proctor could
//! have written are taken: its sentences and headings, the entries it writes now, and entries in which every line has
//! proctor's form. In doubt a line belongs to a person. The search stops at any other marking line, and at a sentence
//! that begins a block.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::ops::Range;

use crate::report::task_list::build::TaskLists;
use crate::report::task_list::document::{Block, entries, entry_head, is_marker};
use crate::report::task_list::forms::{
    NO_DEBT, NO_TASK, WRITTEN_BY, begins_as_detail, fixed_lines, is_detail, is_heading, signature,
};
use proctor_model::{DebtId, TaskId};

/// A range of lines that belongs to a block, possibly with a person's lines in between.
#[derive(Debug)]
pub(super) struct BlockPiece {
    /// The position of the first line, counted from 0.
    pub(super) first: usize,
    /// For each line, whether proctor wrote it. The lines of a person are kept.
    pub(super) is_ours: Vec<bool>,
}

/// The texts by which lines that proctor wrote are recognised.
#[derive(Debug)]
pub(super) struct OwnLines {
    /// Every line of the present verdicts, and the fixed lines that proctor writes into every list.
    lines: BTreeSet<String>,
    /// The ids of the entries for the present verdicts, and the block of each entry.
    ids: BTreeMap<String, Block>,
}

/// An entry of the task list with the lines that belong to it, or a single line outside of every entry.
struct Unit<'a> {
    /// The entry's id; `None` if the line is outside of an entry.
    id: Option<String>,
    /// The lines without trailing spaces, at least one.
    lines: &'a [&'a str],
}

impl BlockPiece {
    /// Returns the position after the last line of the piece.
    pub(super) fn end(&self) -> usize {
        self.first + self.is_ours.len()
    }

    /// Returns the lines that proctor wrote if `ours` is true, and otherwise the other lines.
    pub(super) fn lines<'a>(&self, lines: &[&'a str], ours: bool) -> impl Iterator<Item = &'a str> {
        lines[self.first..].iter().zip(&self.is_ours).filter(move |(_, is_ours)| **is_ours == ours).map(|(line, _)| *line)
    }
}

/// Returns the block with its marking lines; `None` if a marking line is missing. Without `hand`, all lines of the
/// block count as proctor's.
pub(super) fn whole_piece(block: Block, lines: &[&str], hand: Option<&OwnLines>) -> Option<BlockPiece> {
    let (first, last) = block.find(lines)?;
    let inside = &lines[first + 1..last];
    let inside = hand.map_or_else(|| vec![true; inside.len()], |hand| hand.droppable(inside));
    Some(BlockPiece { first, is_ours: iter::once(true).chain(inside).chain(iter::once(true)).collect() })
}

/// Returns the remaining pieces of a torn block, which is one that lost a marking line, in the order of the text.
///
/// A complete block may have torn pieces too: an end line above the block shows that a beginning line was removed
/// there.
pub(super) fn torn_pieces(block: Block, lines: &[&str], hand: &OwnLines) -> Vec<BlockPiece> {
    let whole = block.find(lines);
    let above = whole.map_or(lines.len(), |(first, _)| first);
    let lines: Vec<&str> = lines[..above].iter().map(|line| line.trim_end()).collect();
    let mut pieces = Vec::new();
    let mut start = 0;
    for end in (0..lines.len()).filter(|at| is_marker(lines[*at])).chain([lines.len()]) {
        for stretch in stretches(&lines, start..end) {
            pieces.extend(hand.torn_piece(block, &lines, stretch, whole.is_some()));
        }
        start = end + 1;
    }
    pieces
}

/// Returns the remaining lines of a torn block without marking lines, for the record of the violation.
pub(super) fn torn_lines(block: Block, lines: &[&str], hand: &OwnLines) -> Vec<String> {
    let pieces = torn_pieces(block, lines, hand);
    let ours = pieces.iter().flat_map(|piece| piece.lines(lines, true)).filter(|line| !is_marker(line));
    ours.map(|line| line.trim_end().to_owned()).collect()
}

/// Splits the lines between two marking lines where the first sentence of a block follows other text.
fn stretches(lines: &[&str], between: Range<usize>) -> Vec<Range<usize>> {
    let content = between.clone().find(|at| !lines[*at].is_empty()).unwrap_or(between.end);
    let cuts = between.clone().filter(|at| *at > content && lines[*at] == WRITTEN_BY);
    let starts: Vec<usize> = iter::once(between.start).chain(cuts).collect();
    let ends = starts.iter().skip(1).copied().chain([between.end]);
    starts.iter().zip(ends).map(|(start, end)| *start..end).collect()
}

impl OwnLines {
    /// Returns the texts by which the lines in `lists` are recognised in a file.
    pub(super) fn new(lists: &TaskLists) -> Self {
        let ids =
            Block::ALL.into_iter().flat_map(|block| entries(lists.of(block)).into_iter().map(move |entry| (entry.id, block)));
        let lines = Block::ALL.into_iter().flat_map(|block| lists.of(block)).cloned();
        Self { ids: ids.collect(), lines: lines.chain(fixed_lines().map(str::to_owned)).collect() }
    }

    /// Returns for each line of a complete block whether it may be dropped: entries, blank lines, marking lines, and
    /// proctor's own lines.
    fn droppable(&self, lines: &[&str]) -> Vec<bool> {
        let mut open = false;
        let mut judge = |line: &str| {
            let line = line.trim_end();
            open = entry_head(line).is_some() || (open && line.starts_with("  "));
            open || line.is_empty() || is_marker(line) || self.lines.contains(line)
        };
        lines.iter().map(|line| judge(line)).collect()
    }

    /// Returns the part of a torn block in a range of lines: below its beginning line, or above its end line. If both
    /// lines are gone and the block occurs nowhere else, the part is below the block's first sentence.
    fn torn_piece(&self, block: Block, lines: &[&str], stretch: Range<usize>, is_elsewhere: bool) -> Option<BlockPiece> {
        let opener = stretch.start.checked_sub(1).map(|at| lines[at].trim());
        let closer = lines.get(stretch.end).map(|line| line.trim());
        let units = units(&lines[stretch.clone()]);
        let judged = self.judge(block, &units);
        let sentence = units.iter().position(|unit| unit.lines[0] == WRITTEN_BY);
        if opener == Some(block.begin().as_str()) {
            let taken = self.count_units_of_block(block, units.iter().zip(&judged));
            let is_ours = iter::once(true).chain(judged[..taken].concat()).collect();
            return Some(BlockPiece { first: stretch.start - 1, is_ours });
        }
        if closer == Some(block.end().as_str()) {
            // Proctor's sentence is the first line of a block, so the lines below the sentence were inside the block.
            let from =
                sentence.unwrap_or_else(|| units.len() - self.count_units_of_block(block, units.iter().zip(&judged).rev()));
            let is_ours: Vec<bool> = judged[from..].concat().into_iter().chain([true]).collect();
            return Some(BlockPiece { first: stretch.end + 1 - is_ours.len(), is_ours });
        }
        let is_others =
            Block::ALL.iter().any(|other| opener == Some(other.begin().as_str()) || closer == Some(other.end().as_str()));
        let sentence = sentence.filter(|_| !is_others && !is_elsewhere)?;
        let below = || units.iter().zip(&judged).skip(sentence);
        let first = below().skip(1).find(|(unit, is_ours)| is_ours[0] && !unit.is_blank());
        first.filter(|(unit, _)| unit.block() == Some(block))?;
        let taken = self.count_units_of_block(block, below());
        // Only blank lines stand above the sentence that begins the block.
        Some(BlockPiece { first: stretch.start + sentence, is_ours: judged[sentence..sentence + taken].concat() })
    }

    /// Returns for each line of each unit whether proctor wrote it.
    fn judge(&self, block: Block, units: &[Unit<'_>]) -> Vec<Vec<bool>> {
        let formed: BTreeSet<&str> = units.iter().filter(|unit| unit.is_formed()).filter_map(|unit| unit.id.as_deref()).collect();
        let wrote = |unit: &Unit<'_>, id: &str| {
            // If another entry with this id has proctor's full form, proctor wrote that entry, and a person wrote this
            // one.
            let is_expected = self.ids.get(id) == Some(&block) && !formed.contains(id);
            unit.is_formed() || (is_expected && (self.is_known(unit) || unit.has_no_notes()))
        };
        let is_debt = |unit: &Unit<'_>| unit.block() == Some(Block::Debt) && unit.id.as_ref().is_some_and(|id| wrote(unit, id));
        let mut above = true;
        let judge = |(position, unit): (usize, &Unit<'_>)| {
            let is_ours = match &unit.id {
                Some(id) => wrote(unit, id),
                // A blank line between a person's lines belongs to the person.
                None if unit.is_blank() => above,
                // A heading above a person's lines belongs to the person.
                None if is_heading(unit.lines[0]) => {
                    units[position + 1..].iter().find(|unit| !unit.is_blank()).is_some_and(is_debt)
                }
                None => self.lines.contains(unit.lines[0]),
            };
            above = is_ours;
            unit.lines.iter().enumerate().map(|(at, line)| is_ours && (at == 0 || begins_as_detail(line))).collect::<Vec<bool>>()
        };
        units.iter().enumerate().map(judge).collect()
    }

    /// Returns whether an entry is recognised by more than its id: by a line below it, or by its whole first line
    /// except for the box.
    fn is_known(&self, unit: &Unit<'_>) -> bool {
        let title = unit.lines[0].find("**").map_or("", |at| &unit.lines[0][at..]);
        unit.is_signed() || ["- [ ] ", "- [x] "].iter().any(|head| self.lines.contains(&format!("{head}{title}")))
    }

    /// Returns how many of the units belong to the block, counted from a line that bounds it. Counting stops at the
    /// first unit of a person, except when entries that the block must have, and that were not found before, come
    /// later. Then counting goes on up to the last such entry. So nobody can hide a ticked entry by putting a word
    /// above it.
    fn count_units_of_block<'a>(&self, block: Block, units: impl Iterator<Item = (&'a Unit<'a>, &'a Vec<bool>)>) -> usize {
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let (mut taken, mut is_unbroken) = (0, true);
        for (position, (unit, is_ours)) in units.enumerate() {
            is_unbroken &= is_ours[0];
            let is_entry = is_ours[0] && (is_unbroken || self.is_known(unit));
            let id = unit.id.as_deref().filter(|id| is_entry && self.ids.get(*id) == Some(&block));
            let is_awaited = id.is_some_and(|id| seen.insert(id));
            // Blank lines at the end separate the block from the text after it.
            if (is_unbroken && !unit.is_blank()) || is_awaited {
                taken = position + 1;
            }
        }
        taken
    }
}

/// Splits lines into entries, and into single lines outside of entries.
fn units<'a>(lines: &'a [&'a str]) -> Vec<Unit<'a>> {
    let mut units = Vec::new();
    let mut rest = lines;
    while let Some((first, below)) = rest.split_first() {
        let id = entry_head(first).map(|(id, _)| id);
        let details = below.iter().take_while(|line| id.is_some() && line.starts_with("  ")).count();
        let (unit, others) = rest.split_at(1 + details);
        units.push(Unit { id, lines: unit });
        rest = others;
    }
    units
}

impl Unit<'_> {
    fn is_blank(&self) -> bool {
        self.lines[0].is_empty()
    }

    /// Returns whether the unit contains a line that hardly anybody but proctor writes.
    fn is_signed(&self) -> bool {
        self.lines[1..].iter().any(|line| signature(line).is_some())
    }

    /// Returns whether every line below the first one has a form that proctor writes.
    fn has_no_notes(&self) -> bool {
        self.lines[1..].iter().all(|line| is_detail(line))
    }

    /// Returns whether the unit has the form of proctor's entries, with any id.
    fn is_formed(&self) -> bool {
        let Some(id) = self.id.as_deref() else { return false };
        let is_right = match self.lines.get(1).and_then(|line| signature(line)) {
            Some(Block::Tasks) => TaskId::try_from(id).is_ok(),
            Some(Block::Debt) => DebtId::try_from(id).is_ok(),
            None => false,
        };
        is_right && self.has_no_notes()
    }

    /// Returns the block in which an entry or line of this form belongs; `None` if it may belong to either block.
    fn block(&self) -> Option<Block> {
        match (&self.id, self.lines[0]) {
            (Some(id), _) if DebtId::try_from(id.as_str()).is_ok() => Some(Block::Debt),
            (Some(_), _) | (None, NO_TASK) => Some(Block::Tasks),
            (None, line) => (line == NO_DEBT || is_heading(line)).then_some(Block::Debt),
        }
    }
}
