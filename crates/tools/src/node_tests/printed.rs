//! Finds what Vitest printed about a failed test. Its report has the message and the frames of the stack alone; the difference and the
//! lines of source code are only printed.

use crate::interpret::Exited;
use crate::node_tests::failures::titles_below;
use crate::node_tests::tally::{Tally, Test};

/// The messages of at most this many failed tests are completed.
const MOST: usize = 50;

/// The sign before a place in what Vitest prints.
const PLACE: &str = "❯ ";

/// The sign of the rule between two failures.
const RULE: char = '⎯';

/// The beginning of a frame of the stack in a message of the report.
const FRAME: &str = "\n    at ";

/// Adds the difference and the source lines that Vitest printed to the messages of the failed tests.
pub(super) fn complete_messages(tally: &mut Tally, exited: &Exited<'_>) {
    let has_room = |test: &&mut Test| !test.messages.is_empty() && !test.messages[0].contains("\n+ Received");
    for test in tally.tests.iter_mut().filter(has_room).take(MOST) {
        let message = &mut test.messages[0];
        let end = message.find(FRAME).unwrap_or(message.len());
        let heading = heading(exited.place.within_directory(&test.file), &test.ancestors, &test.title);
        if let Some(printed) = printed_below(&exited.stderr, &heading, &message[..end]) {
            message.insert_str(end, &format!("\n{printed}"));
        }
    }
}

/// Returns the heading of a failed test without the word before it: `a.test.js > group > title`.
pub(super) fn heading(file: &str, ancestors: &[String], title: &str) -> String {
    let titles = titles_below(file, ancestors).iter().map(String::as_str).chain([title]);
    std::iter::once(file).chain(titles).collect::<Vec<_>>().join(" > ")
}

/// Returns the lines below `FAIL  a.test.js > group > title`, up to the next rule. Failures with the same error share these lines.
pub(super) fn block<'p>(stderr: &'p str, heading: &str) -> Option<Vec<&'p str>> {
    let is_heading = |line: &str| line.trim_start().strip_prefix("FAIL ").is_some_and(|rest| rest.trim().ends_with(heading));
    let mut lines = stderr.lines().skip_while(|line| !is_heading(line));
    lines.next()?;
    let lines = lines.skip_while(|line| line.trim_start().starts_with("FAIL "));
    Some(lines.take_while(|line| !line.trim_start().starts_with(RULE)).collect())
}

/// Returns the difference and the lines of source code of the first place, if the lines begin with the same error.
fn printed_below(stderr: &str, heading: &str, error: &str) -> Option<String> {
    let block = block(stderr, heading)?;
    let errors = error.lines().count();
    let is_same = error.lines().zip(&block).all(|(error, printed)| error.trim_end() == printed.trim_end());
    if !is_same || block.len() <= errors {
        return None;
    }
    let rest = &block[errors..];
    let first = rest.iter().position(|line| line.trim_start().starts_with(PLACE)).unwrap_or(rest.len());
    let difference = rest[..first].iter();
    let source = rest[first..].iter().skip(1).take_while(|line| line.contains('|'));
    let printed = difference.chain(source).copied().collect::<Vec<_>>().join("\n");
    let printed = printed.trim_matches('\n');
    (!printed.is_empty()).then(|| printed.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const STDERR: &str = "\n⎯⎯⎯ Failed Tests 2 ⎯⎯⎯\n\n FAIL  a.test.js > quotes > adds\n FAIL  a.test.js > quotes > adds too\n\
         AssertionError: expected 1 to be 2\n\n- Expected\n+ Received\n\n- 2\n+ 1\n\n ❯ a.test.js:4:63\n      3| describe('quotes', () => {\n      \
         4|   test('adds'\n       |        ^\n\n ❯ b.js:1:1\n\n⎯⎯⎯⎯[1/2]⎯\n\n FAIL  a.test.js > other\nError: no sku\n\n⎯⎯⎯⎯[2/2]⎯\n";

    #[test]
    fn the_difference_and_the_source_are_what_was_printed_below_the_heading() {
        let expected = "- Expected\n+ Received\n\n- 2\n+ 1\n\n      3| describe('quotes', () => {\n      4|   test('adds'\n       |        ^";
        let below = |title: &str, error: &str| printed_below(STDERR, &heading("a.test.js", &["quotes".to_owned()], title), error);
        assert_eq!(below("adds", "AssertionError: expected 1 to be 2").as_deref(), Some(expected));
        assert_eq!(below("adds too", "AssertionError: expected 1 to be 2").as_deref(), Some(expected));
        assert_eq!(below("adds", "AssertionError: something else"), None);
        assert_eq!(below("absent", "AssertionError: expected 1 to be 2"), None);
        assert_eq!(printed_below(STDERR, "a.test.js > other", "Error: no sku"), None);
    }

    #[test]
    fn the_file_that_the_report_about_types_puts_before_the_titles_is_named_once() {
        let ancestors = ["a.test-d.ts", "types"].map(str::to_owned);
        assert_eq!(heading("a.test-d.ts", &ancestors, "is number"), "a.test-d.ts > types > is number");
        assert_eq!(heading("b.test.ts", &ancestors, "is number"), "b.test.ts > a.test-d.ts > types > is number");
    }
}
