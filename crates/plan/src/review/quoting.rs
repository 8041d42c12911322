//! Finds the lines of a Markdown text that are quotations: fenced code, indented code, blockquotes, HTML comments.
//!
//! A line that only some readers of Markdown would take for a quotation counts as one. At worst an approval is not
//! recognised; a quoted approval is never taken for the reviewer's own.

use crate::review::html::{LineReading, OpenHtml};

/// A line of a text, and whether it is part of a quotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MarkdownLine<'t> {
    pub(super) text: &'t str,
    pub(super) is_quoted: bool,
    /// Whether any part of the line is inside of HTML, such as `<details>`, so that a person may not have seen it.
    pub(super) is_in_html: bool,
}

/// Whether a line is inside fenced code, and which mark ends that code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fence {
    Closed,
    Open { mark: char, length: usize },
}

/// Splits a text into lines and marks the quoted lines.
pub(super) fn lines(text: &str) -> Vec<MarkdownLine<'_>> {
    let mut in_comment = false;
    let mut html = OpenHtml::default();
    // Programs that read Markdown treat fences inside HTML comments differently. `every_line` counts such fences, and
    // `outside_comments` does not. A line that is code according to one of the two counts as quoted.
    let (mut every_line, mut outside_comments) = (Fence::Closed, Fence::Closed);
    let mut follows_quote = false;
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let (touches_comment, uncommented) = track_comment(line, &mut in_comment);
        let is_fenced = track_fence(line, &mut every_line);
        let is_fenced_outside = !touches_comment && track_fence(line, &mut outside_comments);
        let is_surely_fenced = is_fenced && is_fenced_outside;
        let is_fenced = is_fenced_outside || is_fenced;
        follows_quote = is_quote(line) || (follows_quote && continues_paragraph(line));
        let is_open = outside_comments != Fence::Closed;
        let is_quoted = touches_comment || is_fenced || is_open || follows_quote || is_indented(line);
        let is_surely_text = is_surely_fenced || is_quote(line) || is_indented(line);
        let is_in_html = html.line(&uncommented, LineReading { is_surely_text, may_be_text: is_quoted });
        lines.push(MarkdownLine { text: line, is_quoted, is_in_html });
    }
    lines
}

/// Returns whether any part of the line belongs to an HTML comment, and the line without its comments. `in_comment` says
/// whether the line begins inside a comment, and is set to whether it ends inside one.
fn track_comment(line: &str, in_comment: &mut bool) -> (bool, String) {
    let mut touches = *in_comment;
    let mut outside = String::new();
    let mut rest = line;
    loop {
        let end = if *in_comment { "-->" } else { "<!--" };
        let (before, after) = rest.split_once(end).map_or((rest, None), |(before, after)| (before, Some(after)));
        if !*in_comment {
            outside.push_str(before);
        }
        let Some(after) = after else { return (touches, outside) };
        touches = true;
        *in_comment = !*in_comment;
        rest = after;
    }
}

/// Returns whether the line is fenced code or a fence itself (CommonMark 4.5). `fence` is the state before the line,
/// and is set to the state after it.
fn track_fence(line: &str, fence: &mut Fence) -> bool {
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

/// Returns whether a line without `>` still belongs to the blockquote before it. The blockquote's last paragraph ends
/// at an empty line or a heading (CommonMark 5.1, "laziness").
fn continues_paragraph(line: &str) -> bool {
    !line.trim().is_empty() && !line.starts_with('#')
}

fn is_indented(line: &str) -> bool {
    let before_tab = line.trim_start_matches(' ');
    line.len() - before_tab.len() >= 4 || before_tab.starts_with('\t')
}
