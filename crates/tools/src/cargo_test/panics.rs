//! Reads what a failed test of Rust printed: where it panicked, and with which words.

use crate::expectations::{RaisedAt, place_of};
use crate::places::Place;
use crate::test_run::first_line;

/// What the text of a failed test says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Panic {
    pub(super) file: Option<String>,
    pub(super) line: Option<u64>,
    pub(super) error: String,
}

/// Reads the text of a failed test. Relative paths refer to `place`.
pub(super) fn read(text: &str, place: Place<'_>) -> Panic {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let heading = lines.iter().position(|line| line.starts_with("thread '") && line.contains(" panicked at "));
    let Some((at, (_, rest))) = heading.and_then(|at| Some((at, lines[at].split_once(" panicked at ")?))) else {
        let no_panic = lines.iter().find(|line| line.contains("test did not panic as expected"));
        let error = lines.iter().find(|line| line.starts_with("Error: "));
        let error = no_panic.or(error).copied().unwrap_or_else(|| first_line(text));
        let position = error.rsplit_once(" at ").and_then(|(_, at)| position(at, place));
        let error = error.strip_prefix("note: ").unwrap_or(error).to_owned();
        return Panic { line: position.as_ref().map(|(_, line)| *line), file: position.map(|(file, _)| file), error };
    };
    // Since Rust 1.73 the place comes first and the words stand in the next lines; before, both stood in one line.
    let older = rest.strip_prefix('\'').and_then(|rest| rest.rsplit_once("', "));
    let (words, spot) = match older {
        Some((words, spot)) => (words.to_owned(), spot),
        None => (words_after(&lines[at + 1..]), rest.trim_end_matches(':')),
    };
    let position = position(spot, place);
    Panic { line: position.as_ref().map(|(_, line)| *line), file: position.map(|(file, _)| file), error: words }
}

/// Returns where a failed test of Rust panicked; for a test that should have panicked, where the test stands.
pub(super) fn raised_at(text: &str) -> Option<RaisedAt> {
    text.lines().find_map(|line| match line.split_once(" panicked at ") {
        Some((_, rest)) => place_of(rest.rsplit_once("', ").map_or(rest, |(_, place)| place)),
        None => place_of(line.split_once("test did not panic as expected at ")?.1),
    })
}

// `assert_eq!` prints its two values in the lines after its own.
fn words_after(lines: &[&str]) -> String {
    let first = lines.iter().find(|line| !line.is_empty()).copied().unwrap_or_default();
    let value = |label: &str| lines.iter().find(|line| line.starts_with(label)).copied();
    match (value("left: "), value("right: ")) {
        (Some(left), Some(right)) if first.starts_with("assertion ") => format!("{first}: {left}, {right}"),
        (Some(_) | None, _) => first.to_owned(),
    }
}

// Reads `src/lib.rs:12:66`.
fn position(text: &str, place: Place<'_>) -> Option<(String, u64)> {
    let mut parts = text.trim().rsplitn(3, ':');
    let (_, line, path) = (parts.next()?.parse::<u64>().ok()?, parts.next()?.parse().ok()?, parts.next()?);
    Some((place.within_project(path), line))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_place_and_the_words_of_a_panic_are_read_in_both_forms() {
        let place = Place { root: Path::new("/project"), directory: Path::new("") };
        for (text, line, error) in [
            (
                "hello\n\nthread 'tests::a' (77) panicked at src/lib.rs:12:66:\nassertion `left == right` failed\n  left: 4\n right: 5\nnote: run",
                Some(12),
                "assertion `left == right` failed: left: 4, right: 5",
            ),
            ("thread 'a' panicked at 'no stock', src/lib.rs:7:5\nnote: run", Some(7), "no stock"),
            (
                "note: test did not panic as expected at src/lib.rs:15:32",
                Some(15),
                "test did not panic as expected at src/lib.rs:15:32",
            ),
            ("Error: \"broken\"", None, "Error: \"broken\""),
        ] {
            let panic = read(text, place);
            assert_eq!((panic.line, panic.error.as_str()), (line, error), "{text}");
            assert_eq!(panic.file.is_some(), line.is_some());
        }
    }
}
