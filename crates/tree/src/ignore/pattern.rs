//! Lists of `gitignore(5)` patterns, compiled by the crate `ignore`. Each pattern keeps its line number, for messages.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ::ignore::Match;
use ::ignore::gitignore::{Gitignore, GitignoreBuilder, Glob};

/// Where a pattern is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatternSource {
    /// The setting `watch.ignore`.
    Ignore,
    /// The setting `watch.include`.
    Include,
    /// A rules file, by its path relative to the project's root.
    File(String),
}

/// A pattern that cannot be used. In a rules file it matches nothing; in the settings it is an error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("pattern `{pattern}` of {origin}, line {line}: {problem}")]
pub struct IgnorePatternProblem {
    /// The place where the pattern is written.
    pub origin: PatternSource,
    /// The line of the file or the position in the setting, counted from 1.
    pub line: u32,
    pub pattern: String,
    /// What is wrong with the pattern, and what to write instead.
    pub problem: String,
}

impl fmt::Display for PatternSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ignore => formatter.write_str("`watch.ignore`"),
            Self::Include => formatter.write_str("`watch.include`"),
            Self::File(path) => write!(formatter, "`{path}`"),
        }
    }
}

/// The pattern that decides about a path. If several patterns of a list match, the last of them decides.
pub(super) enum DecidingPattern<'list> {
    Excluded(&'list Glob),
    /// The pattern begins with `!`, so the path is kept.
    Kept(&'list Glob),
}

/// The patterns of one file or setting.
#[derive(Debug, Clone)]
pub(super) struct PatternList {
    compiled: Gitignore,
    written: Vec<WrittenPattern>,
}

#[derive(Debug, Clone)]
struct WrittenPattern {
    /// The pattern as it was given to the glob library, with braces escaped. The library returns this text for a match.
    handed_over: String,
    /// The pattern as a person wrote it.
    text: String,
    line: u32,
}

impl PatternList {
    /// Compiles patterns with their line numbers. Patterns that cannot be used are left out and returned as problems.
    pub(super) fn compile<'text>(
        origin: &PatternSource,
        patterns: impl Iterator<Item = (u32, &'text str)>,
    ) -> (Self, Vec<IgnorePatternProblem>) {
        let mut builder = GitignoreBuilder::new("");
        // In git, a pattern with `[` but without `]` matches nothing. Here it is reported as a mistake.
        builder.allow_unclosed_class(false);
        let mut written = Vec::new();
        let mut problems = Vec::new();
        for (line, text) in patterns {
            let handed_over = to_plain_braces(text);
            match builder.add_line(None, &handed_over) {
                Ok(_) => written.push(WrittenPattern { handed_over, text: text.to_owned(), line }),
                Err(error) => problems.push(problem(origin, line, text, error.to_string())),
            }
        }
        let compiled = builder.build().unwrap_or_else(|error| {
            problems.push(problem(origin, 0, "", error.to_string()));
            Gitignore::empty()
        });
        (Self { compiled, written }, problems)
    }

    /// Compiles the text of a rules file. Lines that cannot be used are returned as problems.
    pub(super) fn parse(origin: &PatternSource, text: &[u8]) -> (Self, Vec<IgnorePatternProblem>) {
        let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
        let lines: Vec<String> = text.split(|byte| *byte == b'\n').map(to_pattern_text).collect();
        let patterns = (1..).zip(lines.iter().map(String::as_str));
        Self::compile(origin, patterns.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')))
    }

    /// Returns the pattern that decides about a path. The path is relative to the directory in which the patterns are
    /// written.
    pub(super) fn find_deciding(&self, relative: &[u8], is_directory: bool) -> Option<DecidingPattern<'_>> {
        match self.compiled.matched(Path::new(OsStr::from_bytes(relative)), is_directory) {
            Match::None => None,
            Match::Ignore(glob) => Some(DecidingPattern::Excluded(glob)),
            Match::Whitelist(glob) => Some(DecidingPattern::Kept(glob)),
        }
    }

    /// Returns the line number and the text, as written, of a pattern that [`PatternList::find_deciding`] returned.
    pub(super) fn written<'list>(&'list self, glob: &'list Glob) -> (u32, &'list str) {
        // If a pattern is written several times, the last one decides.
        let found = self.written.iter().rev().find(|pattern| pattern.handed_over == glob.original());
        found.map_or((0, glob.original()), |pattern| (pattern.line, &pattern.text))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.compiled.is_empty()
    }
}

pub(super) fn problem(origin: &PatternSource, line: u32, pattern: &str, problem: String) -> IgnorePatternProblem {
    IgnorePatternProblem { origin: origin.clone(), line, pattern: pattern.to_owned(), problem }
}

/// Removes the blanks at the end of a line as git does. Bytes that are not UTF-8 become the wildcard `?`. The wildcard
/// matches the replaced byte, but also any other byte, which rarely matters.
fn to_pattern_text(line: &[u8]) -> String {
    let mut text = String::with_capacity(line.len());
    for chunk in line.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| '?'));
    }
    let text = text.strip_suffix('\r').unwrap_or(&text);
    let trimmed = text.trim_end_matches([' ', '\t']);
    let is_escaped = text.len() > trimmed.len() && trimmed.ends_with('\\') && !trimmed.ends_with("\\\\");
    if is_escaped { text[..=trimmed.len()].to_owned() } else { trimmed.to_owned() }
}

/// Escapes braces outside of classes (`[…]`). The glob library reads `{a,b}` as two alternatives, but git reads five
/// plain characters.
pub(super) fn to_plain_braces(pattern: &str) -> String {
    let mut plain = String::with_capacity(pattern.len());
    let mut characters = pattern.chars().peekable();
    let mut class_length: Option<usize> = None;
    while let Some(character) = characters.next() {
        match (character, class_length) {
            ('\\', None) => {
                plain.push(character);
                plain.extend(characters.next());
                continue;
            }
            ('[', None) if pattern_closes(characters.clone()) => class_length = Some(0),
            ('{' | '}', None) => plain.push('\\'),
            (']', Some(length)) if length > 0 => class_length = None,
            // A `]` right after `[`, `[!` or `[^` is a member of the class.
            ('!' | '^', Some(0)) => {}
            (_, Some(length)) => class_length = Some(length + 1),
            (_, None) => {}
        }
        plain.push(character);
    }
    plain
}

fn pattern_closes(rest: impl Iterator<Item = char>) -> bool {
    rest.skip(1).any(|character| character == ']')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_are_plain_characters_and_classes_stay_as_they_are() {
        for (pattern, plain) in [
            ("{{name}}/x", "\\{\\{name\\}\\}/x"),
            ("\\{a", "\\{a"),
            ("[{}]x{", "[{}]x\\{"),
            ("[]{]x", "[]{]x"),
            ("[!]{]", "[!]{]"),
            ("[{", "[\\{"),
            ("*.py[cod]", "*.py[cod]"),
        ] {
            assert_eq!(to_plain_braces(pattern), plain, "{pattern}");
        }
    }

    #[test]
    fn trailing_blanks_go_and_an_escaped_one_stays() {
        assert_eq!(to_pattern_text(b"a b  \r"), "a b");
        assert_eq!(to_pattern_text(b"a\\  "), "a\\ ");
        assert_eq!(to_pattern_text(b"caf\xe9"), "caf?");
    }
}
