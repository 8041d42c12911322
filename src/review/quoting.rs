//! Which lines of a Markdown text are somebody else's words: fences, indented code, blockquotes, comments.
//!
//! A line that may be a quotation by any reading is one: that can keep an approval from counting, and never make one.

/// A text's line, and whether it is quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line<'t> {
    pub(super) text: &'t str,
    pub(super) is_quoted: bool,
}

/// Whether a line is within a fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fence {
    Closed,
    Open { mark: char, length: usize },
}

/// Splits a text into its lines.
pub(super) fn lines(text: &str) -> Vec<Line<'_>> {
    let mut in_comment = false;
    // Whether a fence within a comment counts is the reader's guess, so both readings are followed.
    let (mut every_line, mut outside_comments) = (Fence::Closed, Fence::Closed);
    let mut follows_quote = false;
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let touches_comment = follow_comment(line, &mut in_comment);
        let is_fenced = follow_fence(line, &mut every_line);
        let is_fenced = (!touches_comment && follow_fence(line, &mut outside_comments)) || is_fenced;
        follows_quote = is_quote(line) || (follows_quote && continues_paragraph(line));
        let is_open = outside_comments != Fence::Closed;
        let is_quoted = touches_comment || is_fenced || is_open || follows_quote || is_indented(line);
        lines.push(Line { text: line, is_quoted });
    }
    lines
}

/// Returns whether any of the line belongs to a comment.
fn follow_comment(line: &str, in_comment: &mut bool) -> bool {
    let mut touches = *in_comment;
    let mut rest = line;
    loop {
        let end = if *in_comment { "-->" } else { "<!--" };
        let Some((_, after)) = rest.split_once(end) else { return touches };
        touches = true;
        *in_comment = !*in_comment;
        rest = after;
    }
}

/// Returns whether the line is in a fence or is one (CommonMark 4.5).
fn follow_fence(line: &str, fence: &mut Fence) -> bool {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let rest = &line[indent..];
    let mark = rest.chars().next().filter(|mark| matches!(mark, '`' | '~') && indent < 4);
    let Some(mark) = mark else { return *fence != Fence::Closed };
    let length = rest.len() - rest.trim_start_matches(mark).len();
    let after = &rest[length..];
    match *fence {
        Fence::Closed if length >= 3 && !(mark == '`' && after.contains('`')) => {
            *fence = Fence::Open { mark, length };
            true
        }
        Fence::Closed => false,
        Fence::Open { mark: opened, length: least } => {
            if mark == opened && length >= least && after.trim_matches([' ', '\t']).is_empty() {
                *fence = Fence::Closed;
            }
            true
        }
    }
}

fn is_quote(line: &str) -> bool {
    let rest = line.trim_start_matches(' ');
    rest.starts_with('>') && line.len() - rest.len() < 4
}

/// A paragraph in a quotation goes on without its mark, until an empty line or a heading (CommonMark 5.1, laziness).
fn continues_paragraph(line: &str) -> bool {
    !line.trim().is_empty() && !line.starts_with('#')
}

fn is_indented(line: &str) -> bool {
    let before_tab = line.trim_start_matches(' ');
    line.len() - before_tab.len() >= 4 || before_tab.starts_with('\t')
}
