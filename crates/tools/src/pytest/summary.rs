//! Reads pytest's last line: for remarks about warnings and XPASS, which the report does not contain and which never
//! influence the result (E5), and for the counts that must not contradict the report.

use crate::pytest::sessions::is_start;

/// The words that follow a count in pytest's last line, and the remark that tells people the count.
const REMARKS: &[(&[&str], &str)] = &[
    (&["warning", "warnings"], "pytest counted {} warning(s); its log lists them"),
    (&["xpassed"], "{} test(s) that are expected to fail passed (XPASS)"),
];

/// Returns the remarks that follow from pytest's last line, for example from `1 passed, 3 warnings in 0.02s`.
pub(super) fn remarks(stdout: &str) -> Vec<String> {
    let remark = |(count, word): (u64, &str)| {
        let (_, text) = REMARKS.iter().find(|(words, _)| words.contains(&word))?;
        Some(text.replace("{}", &count.to_string()))
    };
    counts(stdout).into_iter().filter_map(remark).collect()
}

/// Returns the counts of pytest's last line, each with its word: 1 and `passed`, 3 and `warnings`.
pub(super) fn counts(stdout: &str) -> Vec<(u64, &str)> {
    let line = stdout.lines().rev().map(|line| line.trim_matches(['=', ' '])).find(|line| is_last_line(line));
    let counts = line.and_then(|line| line.rsplit_once(" in ")).map_or("", |(counts, _)| counts);
    let counted = counts.split(", ").filter_map(|part| part.split_once(' '));
    counted.filter_map(|(count, word)| Some((count.parse().ok()?, word))).collect()
}

/// The counts of pytest's last line that can contradict its report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Printed {
    /// Tests that passed, including those that passed although they were expected to fail.
    pub(super) passed: u64,
    /// Tests that failed, and errors.
    pub(super) failed: u64,
}

/// Returns the counts if the very last line of the output is pytest's summary and every part of it is known. Any other end of the
/// output is unknown: quiet runs, plugins that print after the summary, and subtests, which the report counts in another way.
///
/// If an exit handler printed a summary directly after pytest's own, the worse counts of the two are returned. Only lines between
/// rules are taken for that, of runs that are not quiet: before them pytest prints where its report is, and a quiet run may show
/// what a test printed.
pub(super) fn printed(stdout: &str) -> Option<Printed> {
    let mut lines = stdout.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines.next_back()?;
    let last = counts_of(line)?;
    let is_quiet = !line.starts_with("==") && !lines.next().is_some_and(is_start);
    Some(lines.rev().take_while(|line| !is_quiet && line.starts_with("==")).map_while(counts_of).fold(last, |worst, earlier| {
        Printed { passed: worst.passed.min(earlier.passed), failed: worst.failed.max(earlier.failed) }
    }))
}

/// Returns whether a line is the last one of a session.
pub(crate) fn is_end_of_session(line: &str) -> bool {
    let line = line.trim_matches(['=', ' ']);
    is_last_line(line) || line.starts_with("no tests ran in ")
}

/// What the sessions in an output said at their ends, those in the output of a test left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sessions {
    pub(crate) ended: usize,
    /// How many tests there were and how many of them passed; `None` if there is no end, or one that cannot be read.
    pub(crate) ran_and_passed: Option<(u64, u64)>,
    /// How many tests failed, with errors, as far as it can be read.
    pub(crate) failed: u64,
}

/// Reads the ends of all sessions in an output. A session that begins before another one has ended is inside of that one.
pub(crate) fn sessions(stdout: &str) -> Sessions {
    let (mut open, mut ends) = (0_usize, Vec::new());
    for line in stdout.lines() {
        if line.trim_matches('=') == " test session starts " {
            open += 1;
        } else if is_end_of_session(line) {
            open = open.saturating_sub(1);
            ends.extend(Some(line.trim_matches(['=', ' '])).filter(|_| open == 0));
        }
    }
    let is_failed = |word: &str| matches!(word, "failed" | "error" | "errors" | "subtest failed" | "subtests failed");
    let failed = ends.iter().flat_map(|line| counts(line)).filter(|(_, word)| is_failed(word)).map(|(count, _)| count).sum();
    let of_session = |line: &&str| {
        let passed = counts_of(line)?.passed;
        let is_test =
            |(_, word): &(u64, &str)| !word.starts_with("warning") && !matches!(*word, "deselected" | "rerun" | "reruns");
        Some((counts(line).into_iter().filter(is_test).map(|(count, _)| count).sum::<u64>(), passed))
    };
    let read: Option<Vec<(u64, u64)>> = ends.iter().filter(|line| is_last_line(line)).map(of_session).collect();
    let ran_and_passed = read.and_then(|read| read.into_iter().reduce(|all, one| (all.0 + one.0, all.1 + one.1)));
    Sessions { ended: ends.len(), ran_and_passed, failed }
}

fn counts_of(line: &str) -> Option<Printed> {
    let line = line.trim_matches(['=', ' ']);
    let (counts, _) = line.rsplit_once(" in ").filter(|_| is_last_line(line))?;
    let mut printed = Printed::default();
    for part in counts.split(", ") {
        let (count, word) = part.split_once(' ')?;
        let count: u64 = count.parse().ok()?;
        match word {
            "passed" | "xpassed" => printed.passed += count,
            "failed" | "error" | "errors" => printed.failed += count,
            "skipped" | "xfailed" | "deselected" | "warning" | "warnings" | "rerun" | "reruns" | "retried" => {}
            _ => return None,
        }
    }
    Some(printed)
}

/// Returns whether a line without its rule of `=` is pytest's summary.
pub(super) fn is_last_line(line: &str) -> bool {
    line.rsplit_once(" in ").is_some_and(|(counts, duration)| {
        duration.starts_with(|character: char| character.is_ascii_digit())
            && duration.contains('s')
            && counts.starts_with(|character: char| character.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_from_the_very_last_line_only() {
        let counts = |passed, failed| Some(Printed { passed, failed });
        for (text, expected) in [
            ("x\n==== 2 failed, 79 passed, 1 skipped, 3 warnings in 0.03s ====\n", counts(79, 2)),
            ("1 passed, 1 xpassed, 2 errors in 1.00s (0:00:01)", counts(2, 2)),
            ("== 1 failed, 1 passed in 0.1s ==\n\n==== 2 passed in 0.01s ====\n", counts(1, 1)),
            ("1 failed in 0.1s\n1 passed in 0.01s\n", counts(1, 0)),
            ("1 failed in 0.1s\n. [100%]\n==== 2 passed in 0.01s ====\n", counts(2, 0)),
            ("1 passed in 0.1s\nprinted later", None),
            ("1 passed, 3 subtests passed in 0.1s", None),
            ("..   [100%]\n==== 1 passed in 0.02s ====\n2 passed in 0.1s\n", counts(2, 0)),
            ("no tests ran in 0.1s", None),
            ("", None),
        ] {
            assert_eq!(printed(text), expected, "{text}");
        }
    }

    #[test]
    fn the_last_line_gives_remarks_and_nothing_else_does() {
        let text = "x\n======== 1 passed, 1 xpassed, 3 warnings, 2 rerun in 0.03s =========\n";
        assert_eq!(remarks(text).len(), 2);
        assert!(remarks(text)[1].contains("3 warning"));
        assert_eq!(remarks("4 passed in 1.00s"), Vec::<String>::new());
        assert_eq!(remarks("there are 3 warnings in my test"), Vec::<String>::new());
        assert_eq!(remarks(""), Vec::<String>::new());
    }
}
