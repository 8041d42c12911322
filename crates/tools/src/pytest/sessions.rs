//! Finds out from pytest's output that the report is not the report of the session that was started.
//!
//! A `conftest.py` or a test can call `pytest.main` with the arguments of the command, and then end the process. The inner session
//! writes the requested report, and the outer one never ends: it prints no last line, or, as pytest captures output while it imports
//! and tests, nothing at all. Tests of pytest's plugins run pytest too, but there the outer session goes on and prints its end.

use crate::pytest::collected;
use crate::pytest::summary;

/// A contradiction between the sessions that were printed and a report with tests that passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionProblem {
    /// pytest printed nothing at all.
    Silent,
    /// A session began, and nothing says that it ended.
    Unended,
    /// Another session began after the first one had ended.
    Another,
}

/// The option by which pytest prints nothing.
const NO_TERMINAL: &str = "no:terminal";

/// The words behind the count of tests that passed; the second one counts those that were expected to fail.
const PASSED: &[&str] = &["passed", "xpassed"];

/// A line of pytest's output that belongs to a session as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Start,
    Collected,
    End,
}

/// Returns how the output contradicts a report with tests that passed. `words` are the arguments of the command. Quiet runs (`-q`)
/// print no start, so of them only the complete silence is known.
pub(super) fn find<'w>(stdout: &str, is_complete: bool, mut words: impl Iterator<Item = &'w str>) -> Option<SessionProblem> {
    if stdout.trim().is_empty() {
        return (!words.any(|word| word.contains(NO_TERMINAL))).then_some(SessionProblem::Silent);
    }
    // A start further below may be what a test printed: a quiet run shows it with `-rA`.
    let first = stdout.lines().position(|line| !line.trim().is_empty())?;
    stdout.lines().nth(first).filter(|line| is_start(line))?;
    // A quiet run ends without rules around its last line, so its tests printed that start.
    if stdout.lines().rfind(|line| !line.trim().is_empty()).is_some_and(summary::is_last_line) {
        return None;
    }
    // Every pytest that prints its start also says how many tests passed, in whatever form its plugins give to the last line.
    if !stdout.lines().skip(first + 1).any(says_passed) {
        return Some(SessionProblem::Unended);
    }
    if !is_complete {
        return None;
    }
    let marks: Vec<Mark> = stdout.lines().filter_map(mark).collect();
    let count = |marks: &[Mark], mark| marks.iter().filter(|found| **found == mark).count();
    if let [Mark::Start, Mark::Start, inner @ ..] = marks.as_slice()
        && count(inner, Mark::End) < 2
    {
        return Some(SessionProblem::Unended);
    }
    // A test may print anything with `-s`. So only an output in which each start has its end is read as sessions in a row.
    if count(&marks, Mark::Start) != count(&marks, Mark::End) {
        return None;
    }
    let mut open = 0_u32;
    for (place, mark) in marks.iter().enumerate() {
        match mark {
            Mark::Start if open == 0 && place > 0 => return Some(SessionProblem::Another),
            Mark::Start => open += 1,
            Mark::End => open = open.saturating_sub(1),
            Mark::Collected => {}
        }
    }
    None
}

fn mark(line: &str) -> Option<Mark> {
    let line = line.trim();
    if is_start(line) {
        return Some(Mark::Start);
    }
    if collected::is_collected(line) || line.ends_with(" items]") || line.ends_with(" item]") {
        return Some(Mark::Collected);
    }
    let is_ruled = line.starts_with('=') && line.ends_with('=');
    let inner = line.trim_matches(['=', ' ']);
    (is_ruled && (summary::is_last_line(inner) || inner.starts_with("no tests ran in "))).then_some(Mark::End)
}

/// Returns whether a line is or ends with pytest's header. The progress of an outer session may stand before it.
pub(super) fn is_start(line: &str) -> bool {
    let line = line.trim();
    line.ends_with('=') && line.contains(&format!("= {} =", collected::HEADER))
}

/// Returns whether a line has a count of passed tests, such as `3 passed`.
fn says_passed(line: &str) -> bool {
    let mut words = line.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut before = words.next().unwrap_or_default();
    words.any(|word| {
        let found = PASSED.iter().any(|passed| word.eq_ignore_ascii_case(passed)) && before.parse::<u64>().is_ok();
        before = word;
        found
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: &str = "===== test session starts =====\nplatform linux\n";
    const END: &str = "===== 1 passed, 1 deselected in 0.01s =====\n";
    const FAILED: &str = "===== 1 failed, 1 passed in 0.01s =====\n";
    const RAN: &str = "collected 2 items\n\ntest_a.py ..   [100%]\n\n";

    fn found(stdout: &str) -> Option<SessionProblem> {
        find(stdout, true, ["-q"].into_iter())
    }

    #[test]
    fn v7_a_session_that_did_not_end_is_found() {
        for (stdout, expected) in [
            (String::new(), SessionProblem::Silent),
            ("\n\n".to_owned(), SessionProblem::Silent),
            (START.to_owned(), SessionProblem::Unended),
            (format!("{START}{RAN}"), SessionProblem::Unended),
            (format!("{START}{START}{RAN}{END}"), SessionProblem::Unended),
            (format!("{START}{RAN}{FAILED}{START}{RAN}{END}"), SessionProblem::Another),
        ] {
            assert_eq!(found(&stdout), Some(expected), "{stdout}");
        }
    }

    #[test]
    fn a_session_that_ends_is_none_whatever_its_tests_print() {
        let nested = format!("{START}{RAN}{FAILED}");
        for stdout in [
            format!("{START}{RAN}{END}"),
            format!("{START}{RAN}{nested}{nested}{END}"),
            // A nested session that crashed, and a last line that a test prints.
            format!("{START}{RAN}{START}{END}"),
            format!("{START}{RAN}{FAILED}{nested}{END}"),
            format!("{START}{RAN}===== 1 xpassed in 0.01s =====\n"),
            format!("{START}4 workers [2 items]\n{END}"),
            format!("{START}{RAN}===== no tests ran in 0.01s =====\n2 passed\n"),
            // Plugins that print a last line of their own.
            format!("{START}{RAN}Results (0.02s):\n         1 passed\n"),
            format!("{START}{RAN}Results (0.02s):\n       1 Passed\n"),
            format!("..   [100%]\n==== PASSES ====\n{nested}{nested}2 passed in 0.01s\n"),
            format!("{START}{RAN}==== PASSES ====\n{nested}{nested}{END}"),
            "..   [100%]\n".to_owned(),
            // A quiet run with `-s` whose first tests run pytest.
            format!("{START}{RAN}{END}.{START}{RAN}{END}.\n2 passed in 0.01s\n"),
            "..   [100%]\n1 passed in 0.01s\n".to_owned(),
        ] {
            assert_eq!(found(&stdout), None, "{stdout}");
        }
        assert_eq!(find("", true, ["-p", "no:terminal"].into_iter()), None);
        assert_eq!(find(&format!("{START}{RAN}{FAILED}{START}{RAN}{END}"), false, [].into_iter()), None);
    }
}
