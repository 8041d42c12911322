//! The attributes by which git gives a file another content in the working tree than in a commit (gitattributes(5)).
//!
//! Macros other than the built-in `binary` are not read, and neither are attributes of the user's or the machine's own configuration.

use crate::ignore::pattern::{PatternList, PatternSource};

/// The name of the files with attributes, which may be in every directory.
pub const ATTRIBUTES_FILE: &str = ".gitattributes";

/// A change that git makes to the content of a file when it checks the file out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckoutChange {
    /// `eol=crlf`: line feeds become carriage return and line feed.
    LineEndings,
    /// `ident`: `$Id$` becomes the name of the blob.
    Ident,
    /// `working-tree-encoding`: the text is written in another encoding.
    Encoding,
    /// `filter`: a program makes the content, except that of git LFS.
    Filter,
    /// `filter=lfs`: the commit has a pointer in place of the content.
    LargeFile,
}

/// The lines of an attributes file that have to do with [`CheckoutChange`].
#[derive(Debug, Clone, Default)]
pub struct AttributesFile {
    lines: Vec<AttributesLine>,
}

#[derive(Debug, Clone)]
struct AttributesLine {
    pattern: PatternList,
    settings: Vec<Setting>,
}

/// An attribute that a line sets. The last line that matches a path and sets an attribute decides about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Setting {
    /// Whether git treats the file as text. Only in a text are line endings converted.
    MayBeText(bool),
    /// Whether this change is asked for.
    Change(CheckoutChange, bool),
    /// The change that the filter makes, if a filter is set.
    Filter(Option<CheckoutChange>),
}

impl AttributesFile {
    /// Parses an attributes file if no attributes file above it asks for a change. If it asks for no change itself, the result has no
    /// lines.
    pub fn parse(text: &[u8]) -> Self {
        let asks =
            |line: &[u8]| parse_line(line).is_some_and(|(_, settings)| settings.iter().any(|setting| setting.asks_for_change()));
        if text.split(|byte| *byte == b'\n').any(asks) { Self::parse_below(text) } else { Self::default() }
    }

    /// Parses an attributes file that can take back what a file above it says.
    pub fn parse_below(text: &[u8]) -> Self {
        let lines: Vec<(Vec<u8>, Vec<Setting>)> = text.split(|byte| *byte == b'\n').filter_map(parse_line).collect();
        let source = PatternSource::File(ATTRIBUTES_FILE.to_owned());
        let compile = |(pattern, settings): (Vec<u8>, Vec<Setting>)| {
            let (pattern, _problems) = PatternList::parse(&source, &pattern);
            (!pattern.is_empty()).then_some(AttributesLine { pattern, settings })
        };
        Self { lines: lines.into_iter().filter_map(compile).collect() }
    }

    /// Returns whether the file asks for no change of any content.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }
}

/// Returns the changes that attributes ask for, for the file at a path. Each attributes file comes with the path relative to its
/// directory; files that override others come later.
pub fn checkout_changes<'a>(files: impl Iterator<Item = (&'a AttributesFile, &'a [u8])>) -> Vec<CheckoutChange> {
    let (mut may_be_text, mut filter, mut changes) = (true, None, Vec::new());
    for (file, path) in files {
        for line in file.lines.iter().filter(|line| line.pattern.find_deciding(path, false).is_some()) {
            for setting in &line.settings {
                match *setting {
                    Setting::MayBeText(value) => may_be_text = value,
                    Setting::Filter(value) => filter = value,
                    Setting::Change(change, is_asked) => {
                        changes.retain(|known| *known != change);
                        changes.extend(is_asked.then_some(change));
                    }
                }
            }
        }
    }
    // Git converts the encoding of a file, and puts the blob's name in place of `$Id$`, also where the file is no text.
    changes.retain(|change| may_be_text || *change != CheckoutChange::LineEndings);
    changes.into_iter().chain(filter).collect()
}

/// Returns the pattern of a line and the settings in it that have to do with the content of files.
fn parse_line(line: &[u8]) -> Option<(Vec<u8>, Vec<Setting>)> {
    let line = line.trim_ascii();
    if line.is_empty() || line.starts_with(b"#") {
        return None;
    }
    let (pattern, rest) = if line.starts_with(b"\"") { unquote(line)? } else { split_word(line) };
    // A macro is defined, or the pattern is negated, which git does not allow.
    if pattern.starts_with(b"[attr]") || pattern.starts_with(b"!") {
        return None;
    }
    let words = rest.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let settings: Vec<Setting> = words.filter_map(|word| parse_setting(std::str::from_utf8(word).ok()?)).collect();
    (!settings.is_empty()).then_some((pattern, settings))
}

fn split_word(line: &[u8]) -> (Vec<u8>, &[u8]) {
    let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
    (line[..end].to_vec(), &line[end..])
}

/// Reads a pattern in quotes, with the escapes of the language C that git writes.
fn unquote(line: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let (mut pattern, mut place) = (Vec::new(), 1);
    loop {
        match *line.get(place)? {
            b'"' => return Some((pattern, &line[place + 1..])),
            b'\\' => {
                place += 1;
                match *line.get(place)? {
                    b'n' => pattern.push(b'\n'),
                    b't' => pattern.push(b'\t'),
                    b'0'..=b'3' => {
                        let digits = std::str::from_utf8(line.get(place..place + 3)?).ok()?;
                        pattern.push(u8::from_str_radix(digits, 8).ok()?);
                        place += 2;
                    }
                    other => pattern.push(other),
                }
            }
            byte => pattern.push(byte),
        }
        place += 1;
    }
}

fn parse_setting(word: &str) -> Option<Setting> {
    let (name, value) = match (word.strip_prefix('-').or_else(|| word.strip_prefix('!')), word.split_once('=')) {
        (Some(name), _) => (name, None),
        (None, Some((name, value))) => (name, Some(value)),
        (None, None) => (word, Some("true")),
    };
    match name {
        "text" => Some(Setting::MayBeText(value.is_some() || word.starts_with('!'))),
        "binary" => Some(Setting::MayBeText(value.is_none())),
        "eol" => Some(Setting::Change(CheckoutChange::LineEndings, value == Some("crlf"))),
        "ident" => Some(Setting::Change(CheckoutChange::Ident, value.is_some())),
        "working-tree-encoding" => {
            let is_other = value.is_some_and(|value| !matches!(value.to_ascii_lowercase().as_str(), "utf-8" | "utf8"));
            Some(Setting::Change(CheckoutChange::Encoding, is_other))
        }
        "filter" => Some(Setting::Filter(match value {
            None => None,
            Some("lfs") => Some(CheckoutChange::LargeFile),
            Some(_) => Some(CheckoutChange::Filter),
        })),
        _ => None,
    }
}

impl Setting {
    fn asks_for_change(self) -> bool {
        match self {
            Self::MayBeText(_) => false,
            Self::Change(_, is_asked) => is_asked,
            Self::Filter(change) => change.is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn changes(text: &str, path: &str) -> Vec<CheckoutChange> {
        checkout_changes([(&AttributesFile::parse(text.as_bytes()), path.as_bytes())].into_iter())
    }

    #[test]
    fn the_last_line_that_sets_an_attribute_decides() {
        use CheckoutChange::{Encoding, Filter, Ident, LargeFile, LineEndings};
        let text = "* text=auto\n*.bat text eol=crlf # not a comment\n# a comment\n/keep.bat eol=lf\n*.bin binary\n*.bin eol=crlf\n\
            \"a b\\\"\\303\\251\" ident\n*.c ident\ndocs/*.c -ident\n*.psd filter=lfs diff=lfs -text\nsecret filter=git-crypt\n\
            *.txt working-tree-encoding=UTF-16 working-tree-encoding=utf-8\n*.u working-tree-encoding=UTF-16\ndir/ ident\n!x ident\n\
            *.v -text working-tree-encoding=UTF-16\n*.w binary ident eol=crlf\n";
        for (path, expected) in [
            ("a/run.bat", &[LineEndings][..]),
            ("keep.bat", &[]),
            ("a/keep.bat", &[LineEndings]),
            ("x.bin", &[]),
            ("a b\"\u{e9}", &[Ident]),
            ("src/x.c", &[Ident]),
            ("docs/x.c", &[]),
            ("x.psd", &[LargeFile]),
            ("secret", &[Filter]),
            ("x.txt", &[]),
            ("x.u", &[Encoding]),
            ("x.v", &[Encoding]),
            ("x.w", &[Ident]),
            ("dir/file", &[]),
            ("x", &[]),
        ] {
            assert_eq!(changes(text, path), expected, "{path}");
        }
    }

    #[test]
    fn a_deeper_file_overrides_a_higher_one_and_ordinary_attributes_cost_nothing() {
        assert!(AttributesFile::parse(b"* text=auto eol=lf\n*.png binary -diff\n*.md linguist-documentation\n").is_empty());
        let (higher, deeper) = (AttributesFile::parse(b"* ident"), AttributesFile::parse(b"x -ident\ny filter=a"));
        let found = |path: &'static str| {
            let path = path.as_bytes();
            checkout_changes([(&higher, path), (&deeper, &path[2..])].into_iter())
        };
        assert_eq!((found("d/x"), found("d/y")), (vec![], vec![CheckoutChange::Ident, CheckoutChange::Filter]));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[ab*\"\\\\0-9= !\\-#\\[\\]\\n/]{0,40}") {
            changes(&text, "a/b");
            changes(&format!("{text} ident"), "a/b");
        }
    }
}
