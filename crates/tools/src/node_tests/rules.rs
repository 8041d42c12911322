//! Judges a Jest or Vitest run by one ordered list of rules (E3). The first rule that applies decides.
//!
//! The order matters: runs without a readable report come first, then contradictions, then failures. Success is the last rule, so
//! a run is a success only if no other rule applies.

use crate::node_tests::tally::Tally;
use crate::node_tests::{ReportState, Seen, failures, words};
use crate::test_run::listed;
use proctor_model::{CategoryCode, Tool};

struct Rule {
    fits: fn(&Seen<'_>) -> bool,
    category: CategoryCode,
    reason: fn(&Seen<'_>) -> String,
}

const RULES: &[Rule] = &[
    Rule {
        fits: |seen| !matches!(seen.exited.code, 0 | 1),
        category: CategoryCode::UnknownExit,
        reason: |seen| format!("{} has no exit code {}; see the end of its log", name(seen), seen.exited.code),
    },
    Rule {
        fits: |seen| is_missing(seen) && words::says_no_tests(seen.exited),
        category: CategoryCode::NoTestsCollected,
        reason: nothing_found,
    },
    Rule {
        fits: |seen| is_missing(seen) && seen.exited.code == 1 && words::denied_write(seen.exited).is_some(),
        category: CategoryCode::NotStarted,
        reason: |seen| {
            let words = words::denied_write(seen.exited).unwrap_or_default();
            format!("{} could not write what it needs before the first test: {words}; let it write there", name(seen))
        },
    },
    Rule {
        fits: |seen| is_missing(seen) && seen.exited.code == 1 && words::refusal(seen.exited).is_some(),
        category: CategoryCode::UsageError,
        reason: |seen| {
            let words = words::refusal(seen.exited).unwrap_or_default().trim_end_matches('.');
            format!("{} refused its command line or configuration: {words}; correct it", name(seen))
        },
    },
    Rule {
        fits: |seen| {
            let ended_by_jest = is_missing(seen) && seen.exited.code == 1 && !words::says_exit_called(seen.exited);
            ended_by_jest && words::bailed(seen.exited).is_some()
        },
        category: CategoryCode::TestsFailed,
        reason: |seen| {
            format!(
                "Tests failed, and Jest ended at the first failure (`bail`), where it writes no report: {}; see the log, or run it \
                 without `bail`",
                words::bailed(seen.exited).unwrap_or_default()
            )
        },
    },
    Rule { fits: is_missing, category: CategoryCode::ReportMissing, reason: missing_reason },
    Rule {
        fits: |seen| seen.report == ReportState::TooLarge,
        category: CategoryCode::OutputTooLarge,
        reason: |seen| {
            format!("Exit code {}, but the test report is larger than 64 MiB and was not read; test in parts", seen.exited.code)
        },
    },
    Rule {
        fits: |seen| matches!(seen.report, ReportState::Unreadable(_) | ReportState::Refused(_)),
        category: CategoryCode::ReportUnreadable,
        reason: |seen| {
            let why = match &seen.report {
                ReportState::Unreadable(why) | ReportState::Refused(why) => why.as_str(),
                ReportState::Missing | ReportState::TooLarge | ReportState::Read(_) => "",
            };
            format!("Exit code {}, but the test report cannot be read: {why}; find what else writes to it", seen.exited.code)
        },
    },
    Rule {
        fits: |seen| said(seen, |tally| !tally.agrees),
        category: CategoryCode::Inconsistent,
        reason: |seen| format!("The test report counts other tests than it lists ({}); find what changes it", counted(seen)),
    },
    Rule {
        fits: |seen| seen.exited.code == 0 && said(seen, |tally| tally.counts.failed > 0 || !tally.success),
        category: CategoryCode::Inconsistent,
        reason: |seen| format!("Exit code 0 and the test report contradict each other: {}; look for `|| true`", counted(seen)),
    },
    Rule {
        fits: |seen| seen.exited.code == 0 && words::unhandled_count(seen.exited).is_some(),
        category: CategoryCode::Inconsistent,
        reason: |seen| {
            let line = words::unhandled_count(seen.exited).unwrap_or_default();
            format!(
                "Exit code 0 and a report without failures ({}), but the log says: {line} Remove `dangerouslyIgnoreUnhandledErrors` \
                 and mend the errors",
                counted(seen)
            )
        },
    },
    Rule {
        fits: |seen| said(seen, Tally::has_only_unloaded_files),
        category: CategoryCode::CollectionError,
        reason: |seen| {
            let files = seen.tally().into_iter().flat_map(|tally| &tally.broken).map(failures::file_headline);
            let count = seen.tally().map_or(0, Tally::broken_files);
            let ran = match seen.tally().map_or(0, |tally| tally.counts.passed) {
                0 => String::new(),
                passed => format!("; {passed} other test(s) passed"),
            };
            format!("{count} file(s) of tests could not be loaded: {}{ran}", listed(files, count))
        },
    },
    Rule { fits: |seen| said(seen, |tally| tally.counts.failed > 0), category: CategoryCode::TestsFailed, reason: failed_reason },
    Rule {
        fits: |seen| said(seen, |tally| tally.interrupted),
        category: CategoryCode::ReportIncomplete,
        reason: |seen| {
            format!(
                "Exit code {}, but the report says that the run was cut short: {}; run it again",
                seen.exited.code,
                counted(seen)
            )
        },
    },
    Rule {
        fits: |seen| seen.exited.code == 1 && words::unhandled(seen.exited).is_some(),
        category: CategoryCode::FailedOutsideTests,
        reason: |seen| {
            let words = words::unhandled(seen.exited).unwrap_or_default();
            format!("Exit code 1, but no test failed ({}): an error that no test handles: {words}", counted(seen))
        },
    },
    Rule { fits: |seen| said(seen, |tally| tally.total() == 0), category: CategoryCode::NoTestsCollected, reason: nothing_found },
    Rule {
        fits: |seen| {
            let explained = seen.exited.code == 0 || words::coverage_below(seen.exited).is_some();
            explained && said(seen, |tally| tally.counts.passed == 0)
        },
        category: CategoryCode::NoTestsExecuted,
        reason: |seen| {
            let skipped = seen.tally().map_or(0, |tally| tally.counts.skipped);
            format!("No test passed: {skipped} skipped or still to be written; a run that proves nothing is no success")
        },
    },
    Rule {
        fits: |seen| seen.exited.code == 1 && words::coverage_below(seen.exited).is_some(),
        category: CategoryCode::CoverageBelowTarget,
        reason: |seen| {
            let line = words::coverage_below(seen.exited).unwrap_or_default();
            format!("All tests passed ({}), but {line}; add tests", counted(seen))
        },
    },
    Rule {
        fits: |seen| seen.exited.code == 1,
        category: CategoryCode::FailedOutsideTests,
        reason: |seen| {
            let unchecked = seen.tally().map_or(0, |tally| tally.snapshots.unchecked);
            if unchecked > 0 && words::fails_for_obsolete(seen.exited) {
                return format!(
                    "Exit code 1, but no test failed ({}): {unchecked} stored snapshot(s) belong to no test any more (obsolete); remove \
                     them with `-u`",
                    counted(seen)
                );
            }
            let words = words::complaint(seen.exited).map_or_else(String::new, |line| format!(": {line}"));
            format!(
                "Exit code 1, but no test failed ({}){words}; look for a reporter or a global tear-down that failed in the log",
                counted(seen)
            )
        },
    },
    Rule {
        fits: |seen| {
            let proved = |tally: &Tally| {
                tally.agrees && tally.success && !tally.interrupted && tally.counts.passed > 0 && tally.counts.failed == 0
            };
            seen.exited.code == 0 && said(seen, proved)
        },
        category: CategoryCode::TestsPassed,
        reason: |seen| {
            let added = seen.tally().map_or(0, |tally| tally.snapshots.added);
            let written = if added > 0 { format!("; {added} snapshot(s) written and not compared") } else { String::new() };
            format!("{}{written}", counted(seen))
        },
    },
];

/// Judges a run. A run to which no rule applies is not a success, so a gap in the list can never hide a failure.
pub(super) fn decide(seen: &Seen<'_>) -> (CategoryCode, String) {
    match RULES.iter().find(|rule| (rule.fits)(seen)) {
        Some(rule) => (rule.category, (rule.reason)(seen)),
        None => (
            CategoryCode::Inconsistent,
            format!("Exit code {} and the report contradict each other: {}", seen.exited.code, counted(seen)),
        ),
    }
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

fn counted(seen: &Seen<'_>) -> String {
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
