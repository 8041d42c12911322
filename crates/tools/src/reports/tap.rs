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
        } else if let Some(why) = line.strip_prefix("Bail out!") {
            contents.ends_early(format!("the tests gave up: {}", why.trim()));
        } else if let Some((is_ok, description)) = result(line) {
            listed += 1;
            let mut details = std::mem::take(&mut inner);
            while let Some(detail) = lines.next_if(|line| line.starts_with([' ', '\t'])) {
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
fn result(line: &str) -> Option<(bool, &str)> {
    let (is_ok, rest) = match line.strip_prefix("not ok") {
        Some(rest) => (false, rest),
        None => (true, line.strip_prefix("ok")?),
    };
    if !rest.is_empty() && !rest.starts_with(' ') {
        return None;
    }
    let rest = rest.trim_start().trim_start_matches(|character: char| character.is_ascii_digit()).trim_start();
    Some((is_ok, rest.strip_prefix("- ").unwrap_or(rest)))
}

fn add(is_ok: bool, description: &str, details: &[&str], number: u64, contents: &mut Contents) {
    let (name, directive) = match description.rsplit_once('#') {
        Some((name, directive)) => (name.trim_end(), directive.trim_start().to_ascii_lowercase()),
        None => (description, String::new()),
    };
    let is_todo = directive.starts_with("todo");
    let outcome = match (is_ok, is_todo || directive.starts_with("skip")) {
        (_, true) => TestOutcome::Skipped,
        (true, false) => TestOutcome::Passed,
        (false, false) => TestOutcome::Failed,
    };
    let has_directive = outcome == TestOutcome::Skipped;
    let title = strip(if has_directive { name } else { description });
    let title = if title.trim().is_empty() { format!("test {number}") } else { title };
    let (message, error) = match outcome {
        TestOutcome::Failed => (strip(&details.join("\n")), strip(&told(details))),
        TestOutcome::Passed | TestOutcome::Skipped | TestOutcome::Error => Default::default(),
    };
    contents.facts.further.todo += u64::from(is_todo);
    let full_name = title.clone();
    contents
        .test(outcome, ReadTest { title, full_name, message, error, expected_to_fail: is_todo && !is_ok, ..ReadTest::default() });
}

// Returns what the details say of the failure: the first `message` or `error`, otherwise the first line with words.
fn told(details: &[&str]) -> String {
    let keys = ["message:", "error:"];
    let found = details.iter().enumerate().find_map(|(at, line)| {
        match keys.iter().find_map(|key| line.trim_start().strip_prefix(key))?.trim() {
            "|" | "|-" | ">" | ">-" => details.get(at + 1).copied(),
            value => Some(value),
        }
    });
    let has_words = |line: &&&str| line.chars().any(char::is_alphabetic);
    let line = found.or_else(|| details.iter().find(has_words).copied()).unwrap_or_default();
    line.trim().trim_matches(['\'', '"']).to_owned()
}
