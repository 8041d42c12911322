//! Finds the lines of a Markdown text that are inside of HTML, such as `<details>`. Pure.
//!
//! A program that shows Markdown may fold such a line away, hide it or strike it through, so that a person never read
//! it. A line that only some programs would show as HTML counts: at worst an approval is not recognised.

use std::collections::BTreeMap;

/// Elements that begin an HTML block (CommonMark 4.6, kinds 1 and 6), and elements that hide or quote what they contain.
/// A tag of such an element is recognised anywhere in a line, not only at its beginning.
const ELEMENTS: &[&str] = &[
    "address",
    "article",
    "aside",
    "base",
    "basefont",
    "blockquote",
    "body",
    "caption",
    "center",
    "cite",
    "code",
    "col",
    "colgroup",
    "dd",
    "del",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "frame",
    "frameset",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "header",
    "hr",
    "html",
    "iframe",
    "legend",
    "li",
    "link",
    "main",
    "menu",
    "menuitem",
    "nav",
    "noframes",
    "noscript",
    "ol",
    "optgroup",
    "option",
    "p",
    "param",
    "pre",
    "s",
    "samp",
    "script",
    "search",
    "section",
    "strike",
    "style",
    "summary",
    "svg",
    "table",
    "tbody",
    "td",
    "template",
    "textarea",
    "tfoot",
    "th",
    "thead",
    "title",
    "tr",
    "track",
    "ul",
];

/// Elements without content, which have no end tag.
const WITHOUT_CONTENT: &[&str] = &[
    "area", "base", "basefont", "br", "col", "embed", "frame", "hr", "img", "input", "link", "meta", "param", "source", "track",
    "wbr",
];

/// Whether programs that show Markdown may take a line for code, a quotation or a comment. Such programs differ.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineReading {
    /// Every program takes the line for code or for a quotation, so a tag in the line is only text.
    pub(super) is_surely_text: bool,
    /// Some program takes the line for code, a quotation or a comment, so an end tag in the line may be only text.
    pub(super) may_be_text: bool,
}

/// The HTML that is open at the present line.
#[derive(Debug, Default)]
pub(super) struct OpenHtml {
    /// How often each element is open.
    elements: BTreeMap<String, usize>,
    /// The text that ends the open processing instruction or CDATA section; `None` if none is open.
    special: Option<&'static str>,
    /// Whether an HTML block is open. It ends at an empty line, also after its end tag.
    in_block: bool,
}

/// An HTML tag: the element's name, whether it is an end tag, and whether it begins the line.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Tag {
    name: String,
    is_end: bool,
    begins_line: bool,
}

impl OpenHtml {
    /// Takes in the next line, without its comments. Returns whether any of the line is inside of HTML.
    pub(super) fn line(&mut self, line: &str, reading: LineReading) -> bool {
        if line.trim().is_empty() {
            self.in_block = false;
        }
        let was_open = self.is_open();
        if let Some(end) = self.special {
            if line.contains(end) {
                self.special = None;
            }
            return true;
        }
        // Inside of an HTML block, Markdown's marks for code mean nothing.
        let is_text = reading.is_surely_text && !self.in_block;
        let without_code = without_code_spans(line);
        let shown = if self.in_block { line } else { without_code.as_str() };
        if !is_text {
            self.special = special_end(line);
            for tag in tags(shown) {
                self.in_block |= tag.begins_line;
                self.note(tag, reading);
            }
        }
        was_open || self.is_open()
    }

    fn note(&mut self, tag: Tag, reading: LineReading) {
        if !tag.is_end {
            if !WITHOUT_CONTENT.contains(&tag.name.as_str()) {
                *self.elements.entry(tag.name).or_default() += 1;
            }
        } else if !reading.may_be_text
            && let Some(count) = self.elements.get_mut(&tag.name)
        {
            *count = count.saturating_sub(1);
        }
    }

    fn is_open(&self) -> bool {
        self.in_block || self.special.is_some() || self.elements.values().any(|count| *count > 0)
    }
}

/// Returns the text that ends a processing instruction or a CDATA section which the line begins but does not end.
fn special_end(line: &str) -> Option<&'static str> {
    let start = line.trim_start();
    let known = [("<?", "?>"), ("<![CDATA[", "]]>")];
    known.into_iter().find(|(begin, end)| start.starts_with(begin) && !start.contains(end)).map(|(_, end)| end)
}

/// Returns the tags in a line. At the beginning of the line the tag of any element in lower case counts, and a tag of any element if it is
/// all of the line (CommonMark 4.6, kind 7); elsewhere only the tags of [`ELEMENTS`]. So `Vec<u8>` and `List<Section>` in a text are not taken
/// for tags.
fn tags(line: &str) -> Vec<Tag> {
    let start = line.trim_start_matches(|one: char| one.is_whitespace() || matches!(one, '-' | '*' | '+' | '>'));
    let begin = line.len() - start.len();
    let is_one_tag = start.trim_end().ends_with('>') && start.matches(['<', '>']).count() == 2;
    let mut found = Vec::new();
    for (place, _) in line.match_indices('<') {
        let rest = &line[place + 1..];
        let (is_end, rest) = rest.strip_prefix('/').map_or((false, rest), |rest| (true, rest));
        let length = rest.find(|one: char| !(one.is_ascii_alphanumeric() || matches!(one, '-' | '_'))).unwrap_or(rest.len());
        let (written, after) = rest.split_at(length);
        let ends_name = after.is_empty() || after.starts_with(|one: char| one.is_whitespace() || matches!(one, '/' | '>'));
        if !written.starts_with(|one: char| one.is_ascii_alphabetic()) || !ends_name {
            continue;
        }
        let name = written.to_ascii_lowercase();
        let begins_line = place == begin;
        let follows_word = line[..place].ends_with(|one: char| one.is_alphanumeric() || one == '_');
        let is_element = ELEMENTS.contains(&name.as_str()) && (!follows_word || is_end || name == "details");
        let is_own = begins_line && (is_one_tag || (written.len() > 1 && written == name));
        if is_element || is_own {
            found.push(Tag { name, is_end, begins_line });
        }
    }
    found
}

/// Returns a line with a space instead of each code span: text between two rows of equally many backticks.
pub(super) fn without_code_spans(line: &str) -> String {
    let mut kept = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find('`') {
        kept.push_str(&rest[..at]);
        let marked = &rest[at..];
        let length = marked.len() - marked.trim_start_matches('`').len();
        let (mark, after) = marked.split_at(length);
        match end_of_span(after, length) {
            Some(end) => {
                kept.push(' ');
                rest = &after[end..];
            }
            None => {
                kept.push_str(mark);
                rest = after;
            }
        }
    }
    kept.push_str(rest);
    kept
}

/// Returns the place behind the next row of exactly `length` backticks.
fn end_of_span(text: &str, length: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = text[at..].find('`') {
        let begin = at + found;
        let row = text[begin..].len() - text[begin..].trim_start_matches('`').len();
        at = begin + row;
        if row == length {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(line: &str) -> Vec<String> {
        tags(line).into_iter().map(|tag| format!("{}{}", if tag.is_end { "/" } else { "" }, tag.name)).collect()
    }

    #[test]
    fn a_tag_is_told_from_generics_links_and_comparisons() {
        assert_eq!(names("<details open><summary>More</summary>"), ["details", "summary", "/summary"]);
        assert_eq!(names("see <DIV class=x>"), ["div"]);
        assert_eq!(names("- <thinking>"), ["thinking"]);
        assert_eq!(names("  <S class=\"x\">  "), ["s"]);
        assert_eq!(names("</U>"), ["/u"]);
        assert_eq!(names("- <SPAN hidden>"), ["span"]);
        assert_eq!(names("so <s>it was</s>"), ["s", "/s"]);
        assert_eq!(names("text<details>"), ["details"]);
        for line in
            ["Vec<u8>", "List<Section>", "a < p", "<https://example.org>", "<me@example.org>", "<T> is free", "x <3", "1 <2> 3"]
        {
            assert!(names(line).is_empty(), "{line}");
        }
    }

    #[test]
    fn code_spans_are_left_out() {
        assert_eq!(without_code_spans("a `<div>` b"), "a   b");
        assert_eq!(without_code_spans("``a ` <div>`` <p>"), "  <p>");
        assert_eq!(without_code_spans("a ` <div>"), "a ` <div>");
    }
}
