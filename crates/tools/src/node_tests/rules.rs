//! Judges a Jest or Vitest run by one ordered list of rules (E3). The first rule that applies decides.
//!
//! The order matters: runs without a readable report come first, then contradictions, then failures. Success is the last rule, so
//! a run is a success only if no other rule applies.

use crate::node_tests::tally::Tally;
use crate::node_tests::{ReportState, Seen, failures, words};
use crate::test_run::listed;
use proctor_model::{CategoryCode, Tool};

/// A rule: the category, and its reason if the rule applies to what was seen.
type Rule = (CategoryCode, fn(&Seen<'_>) -> Option<String>);

const RULES: &[Rule] = &[
    (CategoryCode::UnknownExit, |seen| {
        let is_known = matches!(seen.exited.code, 0 | 1);
        (!is_known).then(|| format!("{} has no exit code {}; see the end of its log", name(seen), seen.exited.code))
    }),
    (CategoryCode::NoTestsCollected, |seen| (is_missing(seen) && words::says_no_tests(seen.exited)).then(|| nothing_found(seen))),
    (CategoryCode::NotStarted, |seen| {
        let words = words::denied_write(seen.exited).filter(|_| is_missing(seen) && seen.exited.code == 1)?;
        Some(format!("{} could not write what it needs before the first test: {words}; let it write there", name(seen)))
    }),
    (CategoryCode::UsageError, |seen| {
        let words = words::refusal(seen.exited).filter(|_| is_missing(seen) && seen.exited.code == 1)?.trim_end_matches('.');
        Some(format!("{} refused its command line or configuration: {words}; correct it", name(seen)))
    }),
    (CategoryCode::TestsFailed, |seen| {
        let ended_by_jest = is_missing(seen) && seen.exited.code == 1 && !words::says_exit_called(seen.exited);
        let bailed = words::bailed(seen.exited).filter(|_| ended_by_jest)?;
        Some(format!(
            "Tests failed, and Jest ended at the first failure (`bail`), where it writes no report: {bailed}; see the log, or run it \
             without `bail`"
        ))
    }),
    (CategoryCode::ReportMissing, |seen| is_missing(seen).then(|| missing_reason(seen))),
    (CategoryCode::OutputTooLarge, |seen| {
        let code = seen.exited.code;
        (seen.report == ReportState::TooLarge)
            .then(|| format!("Exit code {code}, but the test report is larger than 64 MiB and was not read; test in parts"))
    }),
    (CategoryCode::ReportUnreadable, |seen| match &seen.report {
        ReportState::Unreadable(why) | ReportState::Refused(why) => {
            let code = seen.exited.code;
            Some(format!("Exit code {code}, but the test report cannot be read: {why}; find what else writes to it"))
        }
        ReportState::Missing | ReportState::TooLarge | ReportState::Read(_) => None,
    }),
    (CategoryCode::Inconsistent, |seen| {
        said(seen, |tally| !tally.agrees)
            .then(|| format!("The test report counts other tests than it lists ({}); find what changes it", counts_text(seen)))
    }),
    (CategoryCode::Inconsistent, |seen| {
        (seen.exited.code == 0 && said(seen, |tally| tally.counts.failed > 0 || !tally.success))
            .then(|| format!("Exit code 0 and the test report contradict each other: {}; look for `|| true`", counts_text(seen)))
    }),
    (CategoryCode::Inconsistent, |seen| {
        let line = words::unhandled_count(seen.exited).filter(|_| seen.exited.code == 0)?;
        Some(format!(
            "Exit code 0 and a report without failures ({}), but the log says: {line} Remove `dangerouslyIgnoreUnhandledErrors` \
             and mend the errors",
            counts_text(seen)
        ))
    }),
    (CategoryCode::CollectionError, |seen| {
        let tally = seen.tally().filter(|tally| tally.has_only_unloaded_files())?;
        let (count, files) = (tally.broken_files(), tally.broken.iter().map(failures::file_headline));
        let ran = match tally.counts.passed {
            0 => String::new(),
            passed => format!("; {passed} other test(s) passed"),
        };
        Some(format!("{count} file(s) of tests could not be loaded: {}{ran}", listed(files, count)))
    }),
    (CategoryCode::TestsFailed, |seen| said(seen, |tally| tally.counts.failed > 0).then(|| failed_reason(seen))),
    (CategoryCode::ReportIncomplete, |seen| {
        let (code, counted) = (seen.exited.code, counts_text(seen));
        said(seen, |tally| tally.interrupted)
            .then(|| format!("Exit code {code}, but the report says that the run was cut short: {counted}; run it again"))
    }),
    (CategoryCode::FailedOutsideTests, |seen| {
        let words = words::unhandled(seen.exited).filter(|_| seen.exited.code == 1)?;
        Some(format!("Exit code 1, but no test failed ({}): an error that no test handles: {words}", counts_text(seen)))
    }),
    (CategoryCode::NoTestsCollected, |seen| said(seen, |tally| tally.total() == 0).then(|| nothing_found(seen))),
    (CategoryCode::NoTestsExecuted, |seen| {
        let explained = seen.exited.code == 0 || words::coverage_below(seen.exited).is_some();
        let tally = seen.tally().filter(|tally| explained && tally.counts.passed == 0)?;
        let skipped = tally.counts.skipped;
        Some(format!("No test passed: {skipped} skipped or still to be written; a run that proves nothing is no success"))
    }),
    (CategoryCode::CoverageBelowTarget, |seen| {
        let line = words::coverage_below(seen.exited).filter(|_| seen.exited.code == 1)?;
        Some(format!("All tests passed ({}), but {line}; add tests", counts_text(seen)))
    }),
    (CategoryCode::FailedOutsideTests, |seen| (seen.exited.code == 1).then(|| outside_reason(seen))),
    (CategoryCode::TestsPassed, |seen| {
        let proved = |tally: &&Tally| {
            tally.agrees && tally.success && !tally.interrupted && tally.counts.passed > 0 && tally.counts.failed == 0
        };
        let added = seen.tally().filter(proved).filter(|_| seen.exited.code == 0)?.snapshots.added;
        let written = if added > 0 { format!("; {added} snapshot(s) written and not compared") } else { String::new() };
        Some(format!("{}{written}", counts_text(seen)))
    }),
];

/// Judges a run. A run to which no rule applies is not a success, so a gap in the list can never hide a failure.
pub(super) fn decide(seen: &Seen<'_>) -> (CategoryCode, String) {
    RULES.iter().find_map(|(category, reason)| Some((*category, reason(seen)?))).unwrap_or_else(|| {
        let reason = format!("Exit code {} and the report contradict each other: {}", seen.exited.code, counts_text(seen));
        (CategoryCode::Inconsistent, reason)
    })
}

fn name(seen: &Seen<'_>) -> &'static str {
    if seen.exited.action.tool == Tool::Vitest { "Vitest" } else { "Jest" }
}

fn is_missing(seen: &Seen<'_>) -> bool {
    seen.report == ReportState::Missing
}

fn said(seen: &Seen<'_>, holds: impl FnOnce(&Tally) -> bool) -> bool {
    seen.tally().is_some_and(holds)
}

fn counts_text(seen: &Seen<'_>) -> String {
    let counts = seen.tally().map(|tally| tally.counts).unwrap_or_default();
    format!("{} passed, {} failed, {} skipped", counts.passed, counts.failed, counts.skipped)
}

fn nothing_found(seen: &Seen<'_>) -> String {
    format!("{} found no test; check the paths and patterns of the command and of its configuration", name(seen))
}

fn missing_reason(seen: &Seen<'_>) -> String {
    let code = seen.exited.code;
    if words::says_exit_called(seen.exited) {
        return format!(
            "Exit code {code} without a test report, which proves nothing: a test ends the process with `process.exit`; remove that"
        );
    }
    if let Some(file) = words::report_elsewhere(seen.exited) {
        return format!(
            "Exit code {code}, but Vitest wrote its JSON report to `{file}`: `outputFile` in its configuration is one path for all \
             reporters; name its reporter, as in `outputFile: {{ junit: 'FILE' }}`"
        );
    }
    let words = words::unhandled(seen.exited).or_else(|| words::complaint(seen.exited).map(str::to_owned));
    let is_of_worker = |line: &String| seen.exited.action.tool == Tool::Vitest && line.contains("Channel closed");
    let of_worker = if words.as_ref().is_some_and(is_of_worker) { " (a worker was killed or ended by itself)" } else { "" };
    let words = words.map_or_else(String::new, |line| format!(": {line}{of_worker}"));
    let option = if seen.exited.action.tool == Tool::Vitest {
        "--reporter=json --outputFile.json=FILE"
    } else {
        "--json --outputFile=FILE"
    };
    format!(
        "Exit code {code} without a test report, which proves nothing{words}; look for an early `process.exit` or a crash; behind a script, add `{option}`"
    )
}

fn failed_reason(seen: &Seen<'_>) -> String {
    let Some(tally) = seen.tally() else { return String::new() };
    let executed = tally.counts.passed + tally.counts.failed;
    let tests = tally.failed().map(|test| failures::headline(test, seen.exited));
    let headlines = tests.chain(tally.broken.iter().map(failures::file_headline));
    format!("{} of {executed} tests failed: {}", tally.counts.failed, listed(headlines, tally.counts.failed))
}

fn outside_reason(seen: &Seen<'_>) -> String {
    let unchecked = seen.tally().map_or(0, |tally| tally.snapshots.unchecked);
    if unchecked > 0 && words::fails_for_obsolete(seen.exited) {
        return format!(
            "Exit code 1, but no test failed ({}): {unchecked} stored snapshot(s) belong to no test any more (obsolete); remove \
             them with `-u`",
            counts_text(seen)
        );
    }
    let words = words::complaint(seen.exited).map_or_else(String::new, |line| format!(": {line}"));
    format!(
        "Exit code 1, but no test failed ({}){words}; look for a reporter or a global tear-down that failed in the log",
        counts_text(seen)
    )
}
