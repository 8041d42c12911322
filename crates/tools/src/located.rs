//! Reads the places that compilers, linters and type checkers print: `file:line:column: rest` and rustc's `-->
//! file:line:column`.

use crate::places::Place;

/// A line of output that names a place: a file, a line and perhaps a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Located<'t> {
    /// The file, as the tool printed it.
    pub(super) file: &'t str,
    /// The line's number; the first line is 1, and 0 means the whole file.
    pub(super) printed_line: u64,
    /// The column, if the tool prints one. It starts at 0 or at 1, depending on the tool.
    pub(super) column: Option<u64>,
    /// The last line and column, if the tool prints them.
    pub(super) end: Option<(u64, u64)>,
    /// The text after the place, such as level and message.
    pub(super) rest: &'t str,
}

impl Located<'_> {
    /// Returns the file's path relative to the project.
    pub(super) fn file_in(&self, place: Place<'_>) -> String {
        place.within_project(self.file)
    }

    /// Returns the line; `None` if the place is a whole file.
    pub(super) fn line(&self) -> Option<u64> {
        (self.printed_line > 0).then_some(self.printed_line)
    }
}

/// Reads `file:line: rest`, `file:line:column: rest` and `file:line:column:line:column: rest`.
pub(super) fn located(text: &str) -> Option<Located<'_>> {
    // A file name may contain colons. It ends at the first colon that is followed by a number and another colon.
    text.match_indices(':').find_map(|(at, _)| {
        let file = text[..at].trim_start();
        let (numbers, rest) = numbers(&text[at + 1..])?;
        let (line, column) = (*numbers.first()?, numbers.get(1).copied());
        let end = numbers.get(2).zip(numbers.get(3)).map(|(line, column)| (*line, *column));
        (!file.is_empty()).then_some(Located { file, printed_line: line, column, end, rest })
    })
}

/// Reads `--> file:line:column`, which rustc and Ruff print on the line after the message.
pub(super) fn arrow(text: &str) -> Option<Located<'_>> {
    let rest = text.trim_start().strip_prefix("--> ")?;
    let (rest, column) = rest.trim_end().rsplit_once(':')?;
    let (file, line) = rest.rsplit_once(':')?;
    let found = Located { file, printed_line: number(line)?, column: Some(number(column)?), end: None, rest: "" };
    (!file.is_empty()).then_some(found)
}

// Reads one to four numbers, each followed by a colon.
fn numbers(text: &str) -> Option<(Vec<u64>, &str)> {
    let mut found = Vec::new();
    let mut rest = text;
    while found.len() < 4 {
        let Some((digits, after)) = rest.split_once(':') else { break };
        let Some(value) = number(digits) else { break };
        found.push(value);
        rest = after;
    }
    (!found.is_empty()).then(|| (found, rest.trim_start()))
}

fn number(text: &str) -> Option<u64> {
    // `parse` accepts a leading `+`, but a line or column never has one.
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::*;

    #[test]
    fn places_are_read_with_one_to_four_numbers() {
        for (text, file, line, column, end, rest) in [
            ("a.py:1: error: x", "a.py", 1, None, None, "error: x"),
            ("./a.py:1:2: F401 x", "./a.py", 1, Some(2), None, "F401 x"),
            ("a.py:1:2:3:4: note: x", "a.py", 1, Some(2), Some((3, 4)), "note: x"),
            ("a:b c.c:7:9: warning: 5:6: y", "a:b c.c", 7, Some(9), None, "warning: 5:6: y"),
        ] {
            assert_eq!(located(text), Some(Located { file, printed_line: line, column, end, rest }), "{text}");
        }
        for text in ["", ":1: x", "a.py", "a.py: error", "a.py:+1: x", "a.py:x: y", "make: *** [all] Error 1"] {
            assert_eq!(located(text), None, "{text}");
        }
    }

    #[test]
    fn arrows_are_read() {
        let found = arrow("  --> src/main.rs:2:5").expect("an arrow");
        assert_eq!((found.file, found.printed_line, found.column), ("src/main.rs", 2, Some(5)));
        assert_eq!((arrow("--> x"), arrow("a --> b:1:2"), arrow("--> :1:2")), (None, None, None));
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in any::<String>(), numbers in "[a:0-9 >-]{0,40}") {
            for text in [text, numbers] {
                let _ = (located(&text), arrow(&text));
            }
        }
    }
}
