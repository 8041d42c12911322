//! Shortens what a tool printed about a failure, so that the error, its source line and its place stay.

use std::borrow::Cow;

use crate::report::failed::frames::{is_separator, without_outside_frames};
use crate::report::plain_text;

/// At most this many lines of the first failure are shown.
const SHOWN_LINES: usize = 15;

/// At most this many changed lines of a difference are shown beside those.
const CHANGED_LINES: usize = 40;

/// At most this many characters of each line are shown.
const SHOWN_WIDTH: usize = 160;

/// If the middle of a long excerpt is left out, this many lines are shown after the gap.
const LAST_LINES: usize = 2;

/// Replaces a tab. A terminal would move to a column that has nothing to do with the source.
const TAB: &str = "    ";

/// Returns a tool's text without control sequences and tabs, with a count in place of the frames outside of the project.
pub fn readable_output(text: &str) -> String {
    let plain = plain_text(text).replace('\t', TAB);
    let lines: Vec<&str> = plain.lines().map(str::trim_end).collect();
    let lines = without_outside_frames(&lines).into_iter();
    let mut lines: Vec<_> = lines.map(|line| if is_separator(&line) { Cow::Borrowed("") } else { line }).collect();
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    lines.join("\n")
}

/// Returns about 15 lines, among them the error and its place, and up to 40 changed lines of a difference more. What a difference left as
/// it was is left out first, then the middle of a long text, and the beginning of a long function or traceback.
pub fn shortened_output(printed: &str) -> Vec<String> {
    let lines: Vec<&str> = printed.lines().collect();
    if lines.len() <= SHOWN_LINES {
        return lines.iter().map(|line| cut_line(line, SHOWN_WIDTH)).collect();
    }
    let changed = lines.iter().filter(|line| is_changed(line)).count();
    let lines = without_unchanged(&lines);
    let most = SHOWN_LINES + changed.min(CHANGED_LINES);
    let (first, last) = window(&lines, most);
    let mut kept: Vec<String> = Vec::new();
    if first > 0 {
        kept.push(left_out(first));
    }
    if last - first > most {
        let head = most - LAST_LINES;
        kept.extend(lines[first..first + head].iter().map(ToString::to_string));
        kept.push(left_out(last - first - most));
        kept.extend(lines[last - LAST_LINES..last].iter().map(ToString::to_string));
    } else {
        kept.extend(lines[first..last].iter().map(ToString::to_string));
    }
    if last < lines.len() {
        kept.push(left_out(lines.len() - last));
    }
    kept.iter().map(|line| cut_line(line, SHOWN_WIDTH)).collect()
}

/// Returns whether a line is one that differs, in a difference as test runners print it.
fn is_changed(line: &str) -> bool {
    let line = line.strip_prefix("E ").unwrap_or(line).trim_start();
    line.starts_with("+ ") || line.starts_with("- ")
}

/// Returns the lines, with a count in place of those between two changed lines of a difference. One line alone stays.
fn without_unchanged<'t>(lines: &[&'t str]) -> Vec<Cow<'t, str>> {
    let mut kept: Vec<Cow<'t, str>> = Vec::new();
    let mut last_changed = None;
    for (number, line) in lines.iter().enumerate() {
        if is_changed(line) {
            let between = last_changed.map_or(0, |last: usize| number - last - 1);
            if between > 1 {
                let indent = if line.starts_with("E ") { "E     " } else { "  " };
                kept.truncate(kept.len() - between);
                kept.push(Cow::Owned(format!("{indent}… {between} unchanged lines")));
            }
            last_changed = Some(number);
        }
        kept.push(Cow::Borrowed(*line));
    }
    kept
}

/// Returns the range of lines to show, at most `most` of them if they are not those of an error. pytest prints the source line as `>` and
/// the error as `E` at the end, Jest and Vitest print the error at the beginning.
fn window(lines: &[Cow<'_, str>], most: usize) -> (usize, usize) {
    let Some(error) = lines.iter().rposition(|line| line.starts_with("E ")) else { return (0, most.min(lines.len())) };
    let source = lines[..error].iter().rposition(|line| line.starts_with('>'));
    let begin = source.unwrap_or_else(|| {
        // A short traceback has no `>`: two lines before the error are its place and its source line.
        let errors = lines[..error].iter().rev().take_while(|line| line.starts_with("E ")).count();
        (error - errors).saturating_sub(2)
    });
    // If the lines from the source line on are fewer than `most`, lines before the source line are shown too.
    let needed = lines.len() - begin;
    (begin.saturating_sub(most.saturating_sub(needed)), lines.len())
}

fn left_out(count: usize) -> String {
    if count == 1 { "… 1 more line".to_owned() } else { format!("… {count} more lines") }
}

/// Returns a line. If it has more than `width` characters, returns its first `width` characters and `…`.
pub fn cut_line(line: &str, width: usize) -> String {
    match line.char_indices().nth(width) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(source: usize, errors: usize) -> String {
        let before = (0..source).map(|number| format!("    line {number}"));
        let errors = (0..errors).map(|number| format!("E   error {number}"));
        let place = ["", "a.py:1: AssertionError"].map(str::to_owned);
        before.chain(["> assert a".to_owned()]).chain(errors).chain(place).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn source_line_error_and_place_always_stay() {
        for (source, errors) in [(0, 1), (3, 3), (40, 1), (40, 9), (0, 60), (40, 60), (11, 1)] {
            let shown = shortened_output(&text(source, errors));
            assert!(shown.len() <= SHOWN_LINES + 2, "{source} {errors}: {shown:?}");
            for part in ["> assert a", "E   error 0", "a.py:1: AssertionError"] {
                assert!(shown.iter().any(|line| line == part), "{source} {errors} {part}: {shown:?}");
            }
        }
        assert_eq!(shortened_output(&text(40, 60))[0], "… 40 more lines");
    }

    #[test]
    fn every_changed_line_of_a_difference_stays_and_what_is_unchanged_is_counted() {
        let field = |number: usize| match number % 10 {
            5 => format!("-   \"f{number}\": 1,\n+   \"f{number}\": 2,"),
            _ => format!("    \"f{number}\": 0,"),
        };
        let fields: Vec<String> = (0..30).map(field).collect();
        let printed =
            format!("AssertionError: x\n\n- Expected\n+ Received\n\n  {{\n{}\n  }}\n\n a.test.ts:4:5", fields.join("\n"));
        let shown = shortened_output(&printed);
        let changed = shown.iter().filter(|line| is_changed(line)).count();
        assert_eq!((changed, shown.len()), (8, 20), "{shown:#?}");
        assert!(shown.contains(&"  … 9 unchanged lines".to_owned()), "{shown:#?}");
        let many: Vec<String> = (0..60).map(|number| format!("- {number}")).collect();
        let shown = shortened_output(&format!("Error: x\n{}\nend", many.join("\n")));
        assert!((40..=SHOWN_LINES + CHANGED_LINES + 2).contains(&shown.len()), "{shown:#?}");
    }

    #[test]
    fn a_short_traceback_keeps_the_place_above_the_error() {
        let long = (0..30).map(|number| format!("a.py:{number}: in f\n    f()")).collect::<Vec<_>>().join("\n");
        let shown = shortened_output(&format!("{long}\nE   ValueError"));
        assert_eq!(shown[shown.len() - 3..], ["a.py:29: in f", "    f()", "E   ValueError"]);
    }

    #[test]
    fn foreign_frames_and_separators_and_tabs_are_left_out() {
        let printed = "Error: \u{1b}[31mx\u{1b}[0m\n\ta\n    at f (/p/a.js:1:2)\n    at g (/p/node_modules/b.js:1:2)\n    at new Promise (<anonymous>)\n    at h (node:internal/x:1:2)\n_ _ _ _\n";
        assert_eq!(readable_output(printed), "Error: x\n    a\n    at f (/p/a.js:1:2)\n    … 3 frames outside of the project");
    }
}
