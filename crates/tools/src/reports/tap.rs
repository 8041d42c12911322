//! Reads the Test Anything Protocol (<https://testanything.org>) of any writer. Only lines without indentation count: the tests of a
//! subtest are summed up by the line of the subtest itself.

use std::io::BufRead;

use crate::ansi::strip;
use crate::reports::{Contents, read_whole};
use crate::test_run::{ReadTest, count};
use proctor_model::TestOutcome;

/// Reads a report.
pub(super) fn read(reader: &mut dyn BufRead, contents: &mut Contents) -> Result<(), String> {
    let text = String::from_utf8(read_whole(reader)?).map_err(|_| "it is not UTF-8".to_owned())?;
    let (mut planned, mut listed) = (None, 0_u64);
    // The lines of subtests stand before the line that sums them up, and its details behind it.
    let mut inner = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(plan) = line.strip_prefix("1..") {
            let number = plan.split_whitespace().next().and_then(count).ok_or("its plan is no number")?;
            if planned.replace(number).is_some() {
                return Err("it has two plans".to_owned());
            }
        } else if let Some(why) = line.trim_start().strip_prefix("Bail out!") {
            contents.ends_early(format!("the tests gave up: {}", why.trim()));
        } else if let Some((is_ok, number, description)) = result(line) {
            listed += 1;
            if number.is_some_and(|number| number != listed) {
                contents.contradicts(format!("its test {listed} has another number"));
            }
            let mut details = std::mem::take(&mut inner);
            while let Some(detail) =
                lines.next_if(|line| line.starts_with([' ', '\t']) && !line.trim_start().starts_with("Bail out!"))
            {
                details.push(detail);
            }
            while let Some(comment) = lines.next_if(|line| line.starts_with('#') && !is_ok) {
                details.push(comment);
            }
            add(is_ok, description, &details, listed, contents);
        } else if line.starts_with([' ', '\t']) {
            inner.push(line);
        }
    }
    match planned {
        None => contents.ends_early("the report has no plan (`1..N`), so nobody knows how many tests there are".to_owned()),
        Some(planned) if planned != listed => {
            contents.ends_early(format!("its plan is {planned} test(s), and it lists {listed}"));
        }
        Some(_) => {}
    }
    Ok(())
}

// Reads `ok`, `ok 1`, `ok 1 - name` and `not ok 2 name`.
fn result(line: &str) -> Option<(bool, Option<u64>, &str)> {
    let (is_ok, rest) = match line.strip_prefix("not ok") {
        Some(rest) => (false, rest),
        None => (true, line.strip_prefix("ok")?),
    };
    if !rest.is_empty() && !rest.starts_with(' ') {
        return None;
    }
    let rest = rest.trim_start();
    let description = rest.trim_start_matches(|character: char| character.is_ascii_digit());
    let number = rest[..rest.len() - description.len()].parse().ok();
    let description = description.trim_start();
    Some((is_ok, number, description.strip_prefix("- ").unwrap_or(description)))
}

fn add(is_ok: bool, description: &str, details: &[&str], number: u64, contents: &mut Contents) {
    let (name, directive) = directive(description);
    let is_todo = directive == Some(Directive::Todo);
    // Only work that is still to be done excuses a failure.
    let outcome = match (is_ok, is_todo || (is_ok && directive.is_some())) {
        (_, true) => TestOutcome::Skipped,
        (true, false) => TestOutcome::Passed,
        (false, false) => TestOutcome::Failed,
    };
    let has_directive = outcome == TestOutcome::Skipped;
    let title = strip(if has_directive { name } else { description });
    let title = if title.trim().is_empty() { format!("test {number}") } else { title };
    let (message, error) = match outcome {
        TestOutcome::Failed => (strip(&details.join("\n")), strip(&message_of(details))),
        TestOutcome::Passed | TestOutcome::Skipped | TestOutcome::Error => Default::default(),
    };
    contents.facts.further.todo += u64::from(is_todo);
    let full_name = title.clone();
    contents
        .test(outcome, ReadTest { title, full_name, message, error, expected_to_fail: is_todo && !is_ok, ..ReadTest::default() });
}

// Returns what the details say of the failure: the first `message`, `error` or `assertion`, otherwise the first line with words.
fn message_of(details: &[&str]) -> String {
    let value_of = |key: &&str| {
        details.iter().enumerate().find_map(|(at, line)| match line.trim_start().strip_prefix(key)?.trim() {
            "''" | "\"\"" => None,
            "|" | "|-" | ">" | ">-" => details.get(at + 1).copied(),
            value => Some(value),
        })
    };
    let found = ["message:", "error:", "assertion:"].iter().find_map(value_of);
    let has_words = |line: &&&str| line.chars().any(char::is_alphabetic);
    let line = found.or_else(|| details.iter().find(has_words).copied()).unwrap_or_default();
    line.trim().trim_matches(['\'', '"', ',']).to_owned()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Directive {
    Skip,
    Todo,
}

// Splits a description at its directive: `name # SKIP why`. The mark stands behind a blank, and the word is a whole one.
fn directive(description: &str) -> (&str, Option<Directive>) {
    let Some((name, rest)) = description.rsplit_once('#') else { return (description, None) };
    let word = rest.trim_start().split([' ', '\t', ':']).next().unwrap_or_default().to_ascii_lowercase();
    let found = match word.as_str() {
        "skip" | "skipped" => Some(Directive::Skip),
        "todo" => Some(Directive::Todo),
        _ => None,
    };
    let is_apart = name.is_empty() || name.ends_with([' ', '\t']);
    if is_apart && found.is_some() { (name.trim_end(), found) } else { (description, None) }
}
