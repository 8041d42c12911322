//! Judges a pytest run by one ordered list of rules (E3, E4). The first rule that applies decides.
//!
//! The order matters. Exit codes that pytest never uses come first, then runs without a readable report, then the
//! content of the report. Success is the last rule, so a run is a success only if no other rule applies.

use crate::pytest::coverage::MeasuredCoverage;
use crate::pytest::failures::headline;
use crate::pytest::seen::{ReportState, Seen};
use crate::pytest::sessions::SessionProblem;
use crate::pytest::tally::{Tally, Test};
use crate::signals;
use crate::test_run::listed;
use crate::xml::XmlError;
use proctor_model::CategoryCode;

/// pytest's documented exit codes. Code 6 exists since version 9.1.
const KNOWN_CODES: std::ops::RangeInclusive<i32> = 0..=6;

/// A rule: its name, its condition, the category that follows, and the reason as a sentence.
pub(super) struct Rule {
    /// The rule's name, by which tests check which rule decided.
    #[cfg_attr(not(test), expect(dead_code, reason = "it says what a row is for; the tests name rows by it"))]
    pub(super) name: &'static str,
    fits: fn(&Seen) -> bool,
    /// The category of a run to which the rule applies.
    pub(super) category: CategoryCode,
    reason: fn(&Seen) -> String,
}

/// Returns the first rule that applies to a run, and the reason of the result as a sentence.
pub(super) fn decide(seen: &Seen) -> (&'static Rule, String) {
    let rule = RULES.iter().find(|rule| (rule.fits)(seen)).unwrap_or(&PASSED_NOT_PROVED);
    (rule, (rule.reason)(seen))
}

/// All rules, in the order in which they are tried. The first rule that applies decides.
pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "tests failed behind a text",
        fits: |seen| {
            let failed = |tally: &Tally| {
                let is_whole = !tally.is_cut_short() && !tally.has_internal_error();
                is_whole && tally.counts.failed > 0 && tally.collection_errors().next().is_none()
            };
            seen.has_code_of_text() && seen.tally().is_some_and(failed)
        },
        category: CategoryCode::TestsFailed,
        reason: |seen| failed_reason(seen),
    },
    Rule {
        name: "an exit code of a text",
        fits: |seen| {
            let nothing_failed = seen.tally().is_none_or(|tally| tally.counts.failed == 0);
            seen.has_code_of_text() && nothing_failed && seen.conftest.is_none()
        },
        category: CategoryCode::UnexpectedExit,
        reason: |seen| {
            let report = seen.tally().map_or_else(|| "there is no report of pytest".to_owned(), counts);
            let signal = signals::of_exit_code(seen.code).map_or_else(String::new, |signal| {
                format!(" (by which a shell says that {} ended the program)", signals::describe(signal))
            });
            format!(
                "The command ended with exit code {}{signal}, which is not pytest's own, and no test failed ({report}); see the end of its log",
                seen.code
            )
        },
    },
    Rule {
        name: "a wrapper passed a signal on",
        fits: |seen| signals::of_exit_code(seen.code).is_some(),
        category: CategoryCode::Signalled,
        reason: |seen| {
            let signal = signals::describe(seen.code - 128);
            format!("Exit code {}: {signal} ended pytest, as a shell or wrapper says; see the end of the log", seen.code)
        },
    },
    Rule {
        name: "an exit code pytest does not have",
        fits: |seen| !KNOWN_CODES.contains(&seen.code),
        category: CategoryCode::UnknownExit,
        reason: |seen| {
            format!(
                "pytest has no exit code {}: a test or plugin ended the process, or a wrapper; see the end of the log",
                seen.code
            )
        },
    },
    Rule {
        name: "conftest cannot be imported",
        fits: |seen| seen.code != 0 && seen.tally().is_none_or(|tally| tally.total() == 0) && seen.conftest.is_some(),
        category: CategoryCode::ConftestError,
        reason: |seen| format!("No test was collected: {}; mend it first", seen.conftest.as_deref().unwrap_or_default()),
    },
    Rule {
        name: "internal error",
        fits: |seen| seen.code == 3 || (seen.code != 0 && seen.tally().is_some_and(Tally::has_internal_error)),
        category: CategoryCode::InternalError,
        reason: |seen| {
            let what = seen.tally().and_then(first_failure).map_or_else(String::new, |test| format!(": {}", headline(test)));
            format!(
                "pytest failed inside itself (exit code {}){what}; look for a plugin, a conftest hook, or a module that exits on import",
                seen.code
            )
        },
    },
    Rule {
        name: "collection errors",
        fits: |seen| matches!(seen.code, 2 | 4) && seen.tally().is_some_and(|tally| tally.collection_errors().next().is_some()),
        category: CategoryCode::CollectionError,
        reason: |seen| collection_reason(seen),
    },
    Rule {
        name: "usage error",
        fits: |seen| seen.code == 4,
        category: CategoryCode::UsageError,
        reason: |seen| {
            let words = error_suffix(seen);
            format!("pytest refused its command line or configuration (exit code 4){words}; correct the check's command")
        },
    },
    Rule {
        name: "tests failed behind a wrapper that gives 2",
        fits: |seen| {
            let failed_whole = |tally: &Tally| !tally.is_cut_short() && tally.counts.failed > 0;
            seen.code == 2 && seen.behind_wrapper && seen.tally().is_some_and(failed_whole)
        },
        category: CategoryCode::TestsFailed,
        reason: |seen| failed_reason(seen),
    },
    Rule {
        name: "interrupted",
        fits: |seen| seen.code == 2,
        category: CategoryCode::Interrupted,
        reason: |seen| {
            let counts =
                seen.tally().map_or_else(|| " before it wrote a report".to_owned(), |tally| format!(": {}", counts(tally)));
            format!(
                "The test run was interrupted (exit code 2){counts}; run it again; --stepwise and `pytest.exit` end a run in the same way"
            )
        },
    },
    Rule {
        name: "report too large",
        fits: |seen| seen.report == ReportState::Unreadable(XmlError::TooLarge),
        category: CategoryCode::OutputTooLarge,
        reason: |seen| {
            format!("Exit code {}, but the test report was not read: {}; set `junit_logging = no`", seen.code, XmlError::TooLarge)
        },
    },
    Rule {
        name: "report unreadable",
        fits: |seen| matches!(seen.report, ReportState::Unreadable(_) | ReportState::Refused(_)),
        category: CategoryCode::ReportUnreadable,
        reason: |seen| {
            let why = match &seen.report {
                ReportState::Unreadable(error) => error.to_string(),
                ReportState::Refused(why) => why.clone(),
                ReportState::Missing | ReportState::Read(_) => String::new(),
            };
            format!("Exit code {}, but the test report cannot be read: {why}; find what else writes to it", seen.code)
        },
    },
    Rule {
        name: "pytest-timeout ended pytest",
        fits: |seen| seen.code == 1 && seen.report == ReportState::Missing && seen.timed_out.is_some(),
        category: CategoryCode::TimedOut,
        reason: |seen| {
            let test = seen.timed_out.as_deref().unwrap_or_default();
            format!(
                "{test}; its method `thread` then ends pytest without a report, so nothing is known of the other tests; mend the \
                 test or raise its time-out"
            )
        },
    },
    Rule {
        name: "report missing",
        fits: |seen| seen.report == ReportState::Missing,
        category: CategoryCode::ReportMissing,
        reason: |seen| {
            let words = error_suffix(seen);
            format!(
                "Exit code {} without a test report, which proves nothing{words}; look for an early exit (`os._exit`, `sys.exit` in a conftest, a local `pytest.py`), `-p no:junitxml` (also in `addopts`), or a crash",
                seen.code
            )
        },
    },
    Rule {
        name: "tests were only planned",
        fits: |seen| matches!(seen.code, 0 | 1) && seen.tally().is_some_and(Tally::is_plan_only),
        category: CategoryCode::NoTestsExecuted,
        reason: |seen| {
            let total = seen.tally().map_or(0, Tally::total);
            format!("The report lists {total} test(s) and says that none was executed; remove --setup-plan or --setup-only")
        },
    },
    Rule {
        name: "report cut short",
        fits: |seen| seen.tally().is_some_and(Tally::is_cut_short),
        category: CategoryCode::ReportIncomplete,
        reason: |seen| {
            let counts = seen.tally().map(counts).unwrap_or_default();
            format!(
                "Exit code {}, but the report shows a run that was cut short: {counts}; look for `pytest.exit` and plugins that stop the run",
                seen.code
            )
        },
    },
    Rule {
        name: "printed summary contradicts the report",
        fits: |seen| matches!(seen.code, 0 | 6) && seen.printed_worse().is_some(),
        category: CategoryCode::Inconsistent,
        reason: |seen| {
            let (counts, printed) = (seen.tally().map(counts).unwrap_or_default(), seen.printed_worse().unwrap_or_default());
            format!(
                "pytest printed {} passed and {} failed, but its report says {counts}; look for a hook or an exit handler that \
                 changes the report",
                printed.passed, printed.failed
            )
        },
    },
    Rule {
        name: "the session of the report is not the one that was started",
        fits: |seen| matches!(seen.code, 0 | 6) && seen.session_problem().is_some(),
        category: CategoryCode::Inconsistent,
        reason: |seen| {
            let counts = seen.tally().map(counts).unwrap_or_default();
            let printed = match seen.session_problem() {
                Some(SessionProblem::Unended) => "pytest printed the start of its session and not its end",
                Some(SessionProblem::Another) => "pytest printed the end of its session and then another session",
                Some(SessionProblem::Silent) | None => "pytest printed nothing at all",
            };
            if seen.session_problem() == Some(SessionProblem::Silent) {
                return format!(
                    "The report says {counts}, but {printed}; look for a `conftest.py` or a test that starts pytest again and ends the \
                     process (`os._exit`); `-p no:terminal` belongs in the check's command, not in `addopts`"
                );
            }
            format!(
                "The report says {counts}, but {printed}; look for a `conftest.py` or a test that starts pytest again and ends the \
                 process (`os._exit`)"
            )
        },
    },
    Rule {
        name: "several sessions behind a text",
        fits: |seen| seen.code == 0 && seen.sessions_of_text > 1 && seen.tally().is_some(),
        category: CategoryCode::Inconsistent,
        reason: |seen| {
            format!(
                "pytest printed the ends of {} sessions, and the report is only that of the last one ({}); let the check run one of them",
                seen.sessions_of_text,
                seen.tally().map(counts).unwrap_or_default()
            )
        },
    },
    Rule {
        name: "report written more than once",
        fits: |seen| matches!(seen.code, 0 | 6) && seen.repeated_writes().is_some(),
        category: CategoryCode::Inconsistent,
        reason: |seen| {
            let (counts, writes) = (seen.tally().map(counts).unwrap_or_default(), seen.repeated_writes().unwrap_or_default());
            format!(
                "pytest writes its report once, at the end of its session, but the report was written {writes} times, and says \
                 {counts} now; look for a hook, an exit handler or another session that writes it"
            )
        },
    },
    Rule {
        name: "report changed after the last line",
        fits: |seen| matches!(seen.code, 0 | 6) && seen.changed_after_summary().is_some(),
        category: CategoryCode::Inconsistent,
        reason: |seen| {
            let (counts, printed) = (seen.tally().map(counts).unwrap_or_default(), seen.printed.unwrap_or_default());
            format!(
                "pytest printed {} passed and {} failed at its end, but its report, which says {counts}, was changed {} ms later; look \
                 for an exit handler or another process that changes it",
                printed.passed,
                printed.failed,
                seen.changed_after_summary().unwrap_or_default()
            )
        },
    },
    Rule {
        name: "exit code contradicts failures or passes",
        fits: |seen| {
            seen.tally().is_some_and(|tally| match seen.code {
                0 | 6 => tally.counts.failed > 0,
                5 => tally.counts.failed + tally.counts.passed > 0,
                _ => false,
            })
        },
        category: CategoryCode::Inconsistent,
        reason: |seen| {
            let counts = seen.tally().map(counts).unwrap_or_default();
            format!(
                "Exit code {} and the report contradict each other: {counts}; look for a hook that changes the exit status",
                seen.code
            )
        },
    },
    Rule {
        name: "nothing collected",
        fits: |seen| seen.code == 5,
        category: CategoryCode::NoTestsCollected,
        reason: |seen| match seen.tally().map_or(0, Tally::total) {
            0 if seen.crashed_worker.is_some() => {
                let worker = seen.crashed_worker.as_deref().unwrap_or_default();
                format!("pytest collected no test: the worker {worker} of pytest-xdist crashed; see its traceback in the log")
            }
            0 => "pytest collected no test; check the paths and the -k and -m expressions".to_owned(),
            modules => {
                format!("pytest collected no test: {modules} module(s) skipped themselves as a whole; check what they need")
            }
        },
    },
    Rule {
        name: "only collection errors",
        fits: |seen| seen.tally().is_some_and(Tally::failed_only_at_collection),
        category: CategoryCode::CollectionError,
        reason: |seen| collection_reason(seen),
    },
    Rule {
        name: "tests failed",
        fits: |seen| seen.tally().is_some_and(|tally| tally.counts.failed > 0),
        category: CategoryCode::TestsFailed,
        reason: |seen| failed_reason(seen),
    },
    Rule {
        name: "nothing collected, and coverage hides it",
        fits: |seen| {
            seen.code == 1 && seen.coverage_shortfall().is_some() && seen.tally().is_some_and(|tally| tally.total() == 0)
        },
        category: CategoryCode::NoTestsCollected,
        reason: |_| {
            "pytest collected no test, so coverage is below its target; check the paths and the -k and -m expressions".to_owned()
        },
    },
    Rule {
        name: "nothing passed",
        fits: |seen| {
            let explained = seen.code != 1 || seen.coverage_shortfall().is_some();
            explained && seen.tally().is_some_and(|tally| tally.counts.passed == 0)
        },
        category: CategoryCode::NoTestsExecuted,
        reason: |seen| match seen.tally().map_or(0, |tally| tally.counts.skipped) {
            0 => format!(
                "Exit code {}, but the report holds no test; remove --collect-only, or look for a hook that ends the run",
                seen.code
            ),
            skipped => {
                format!("No test passed: {skipped} skipped or failed as expected; a run that proves nothing is no success")
            }
        },
    },
    Rule {
        name: "fewer tests reported than collected",
        fits: |seen| matches!(seen.code, 0 | 6) && seen.unreported() > 0,
        category: CategoryCode::ReportIncomplete,
        reason: |seen| {
            let counts = seen.tally().map(counts).unwrap_or_default();
            format!(
                "Exit code {}, but {} of the {} tests that pytest collected are not in the report ({counts}); look for a hook or \
                 plugin that ends the run or drops tests without deselecting them",
                seen.code,
                seen.unreported(),
                seen.selected.unwrap_or_default()
            )
        },
    },
    Rule {
        name: "coverage below target",
        fits: |seen| matches!(seen.code, 0 | 1) && seen.coverage_shortfall().is_some(),
        category: CategoryCode::CoverageBelowTarget,
        reason: |seen| {
            let counts = seen.tally().map(counts).unwrap_or_default();
            let coverage = seen.coverage_shortfall().map_or_else(String::new, |coverage| {
                format!("{:.2} %, below the required {} %", coverage.percent, coverage.required)
            });
            format!("All tests passed ({counts}), but coverage is {coverage}; add tests")
        },
    },
    Rule {
        name: "failed outside tests",
        fits: |seen| seen.code == 1,
        category: CategoryCode::FailedOutsideTests,
        reason: |seen| {
            let counts = seen.tally().map(counts).unwrap_or_default();
            let words = error_suffix(seen);
            format!(
                "Exit code 1, but no test failed ({counts}){words}; look for a hook that raised or a session time-out in the log"
            )
        },
    },
    Rule {
        name: "too many warnings",
        fits: |seen| seen.code == 6,
        category: CategoryCode::MaxWarnings,
        reason: |seen| {
            let counts = seen.tally().map(counts).unwrap_or_default();
            format!("All tests passed ({counts}), but there are more warnings than --max-warnings allows")
        },
    },
    Rule {
        name: "coverage report missing",
        fits: |seen| seen.coverage == MeasuredCoverage::Missing,
        category: CategoryCode::ReportMissing,
        reason: |_| {
            "All tests passed, but the coverage report that the check names was not written; add --cov-report=json:PATH"
                .to_owned()
        },
    },
    Rule {
        name: "coverage report unreadable",
        fits: |seen| matches!(seen.coverage, MeasuredCoverage::Unreadable(_)),
        category: CategoryCode::ReportUnreadable,
        reason: |seen| match &seen.coverage {
            MeasuredCoverage::Unreadable(why) => format!("All tests passed, but the coverage report cannot be read: {why}"),
            MeasuredCoverage::NotRequired | MeasuredCoverage::Missing | MeasuredCoverage::Measured(_) => String::new(),
        },
    },
    Rule {
        name: "passed",
        fits: |seen| {
            let proved = |tally: &Tally| tally.counts.passed > 0 && tally.counts.failed == 0 && !tally.is_cut_short();
            seen.code == 0 && seen.tally().is_some_and(proved)
        },
        category: CategoryCode::TestsPassed,
        reason: |seen| seen.tally().map(counts).unwrap_or_default(),
    },
];

/// The result if no rule applies. It is not a success, so a gap in the list can never hide a failure.
const PASSED_NOT_PROVED: Rule = Rule {
    name: "no rule fits",
    fits: |_| true,
    category: CategoryCode::Inconsistent,
    reason: |seen| format!("Exit code {} and the report do not fit together in a way that is known", seen.code),
};

fn counts(tally: &Tally) -> String {
    let counts = tally.counts;
    let skipped = counts.skipped.saturating_sub(tally.expected_failures);
    let mut text = format!("{} passed, {} failed, {skipped} skipped", counts.passed, counts.failed);
    if tally.expected_failures > 0 {
        text.push_str(&format!(", {} xfailed", tally.expected_failures));
    }
    if tally.nameless > 0 {
        text.push_str(&format!(", {} cut off", tally.nameless));
    } else if tally.is_cut_short() {
        text.push_str(&format!(", only {} of {} finished", tally.claimed, tally.total()));
    }
    text
}

fn first_failure(tally: &Tally) -> Option<&Test> {
    tally.failed().next()
}

fn failed_reason(seen: &Seen) -> String {
    let Some(tally) = seen.tally() else { return String::new() };
    let executed = tally.counts.passed + tally.counts.failed;
    format!("{} of {executed} tests failed: {}", tally.counts.failed, test_names(tally.failed()))
}

fn collection_reason(seen: &Seen) -> String {
    let Some(tally) = seen.tally() else { return String::new() };
    let errors = tally.collection_errors().count();
    let ran = match tally.counts.passed {
        0 => String::new(),
        passed => format!("; {passed} other test(s) passed"),
    };
    format!("{errors} module(s) could not be collected: {}{ran}", test_names(tally.collection_errors()))
}

fn test_names<'a>(tests: impl Iterator<Item = &'a Test>) -> String {
    let all: Vec<_> = tests.collect();
    listed(all.iter().copied().map(headline), all.len() as u64)
}

fn error_suffix(seen: &Seen) -> String {
    seen.complaint.as_ref().map_or_else(String::new, |words| format!(": {words}"))
}
