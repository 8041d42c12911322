//! pytest: reads its JUnit report and judges it together with the exit code (E3, E4, E5).
//!
//! `junit` reads the file, `tally` counts its tests, `node_ids` finds their names, `seen` collects facts, `rules` decides
//! by an ordered list of rules, and `failures` makes the result readable. The tests that decide are never counted from
//! standard output: pytest's last line only adds counts for people that the report does not have (`summary`). Standard output may
//! make a result worse: by pytest-cov's line about low coverage (`coverage`), by the line with the number of selected tests, all of
//! which must be in the report (`collected`), by the last line (`summary`), and by sessions that do not end (`sessions`). So may the
//! report's file, if it was written more than once or after pytest's last line.

mod collected;
mod control;
mod coverage;
mod discover;
mod early;
mod failures;
mod hiding;
mod hung;
mod node_ids;
mod prepare;
mod rewriting;
mod rules;
mod seen;
mod sessions;
mod shards;
mod summary;
mod tally;
mod written;

#[cfg(test)]
mod rule_tests;

use crate::advise::advise_exit;
use crate::expectations::{self, Expectations};
use crate::interpret::{Exited, Input, Stopped};
use crate::launch_failure;
use crate::places::Place;
use crate::retried::Retried;
pub use control::{
    ControlPreparation, SessionCode, interpret_control, may_be_replaced, may_have_control, modules_named, named_plugins,
    prepare_control,
};
pub(super) use discover::find;
pub use early::{EarlyStartPlan, EarlyStartRequest, paths_named_early, plan_early_start};
pub use hiding::{hiding_module, judge_hidden};
use node_ids::NodeIds;
pub(super) use prepare::ask;
use proctor_model::{CategoryCode, FurtherTestCounts, Interpretation, TestResults, ToolReport};
pub use rewriting::{
    PYTEST_CODE, PYTEST_REWRITER, PYTEST_SETTINGS_FILES, command_may_rewrite_otherwise, settings_may_rewrite_otherwise,
};
use seen::Seen;
pub use seen::not_found;
pub(super) use shards::SHARDING;
pub(super) use summary::{Sessions, is_end_of_session, sessions};
use tally::Tally;
pub(super) use written::written;

/// The runner, as people write it.
pub(super) const PYTEST: &str = "pytest";

pub(super) const EXPECTATIONS: Expectations = Expectations {
    begins: &["assert ", "assert(", "AssertionError", "DID NOT RAISE", "Failed: "],
    // pytest-timeout ends a test like `pytest.fail`.
    except: &["Failed: Timeout"],
    place: failures::raised_at,
    ..expectations::NONE
};

/// Judges a pytest run that ended by itself.
pub(super) fn interpret(exited: &Exited<'_>, input: &Input<'_>) -> Interpretation {
    let channel = input.report_channel;
    let names_in = input.names_in;
    let mut seen = Seen::collect(exited, input, channel);
    if let Some(tally) = seen.tally_mut() {
        tally.name_tests(&mut NodeIds::new(exited.action, exited.place, &exited.stdout, &names_in), exited.place);
    }
    // A report proves that pytest ran. Without this condition, a test that prints "command not found" would be mistaken for a
    // failed start.
    if seen.tally().is_none()
        && let Some(failure) = launch_failure::find(exited)
    {
        return failure;
    }
    let (rule, reason) = rules::decide(&seen);
    let mut interpretation = Interpretation::plain(rule.category, reason);
    if rule.category == CategoryCode::UnexpectedExit {
        interpretation.advice = advise_exit(&exited.action.command.display, exited.code, "0", (&exited.stdout, &exited.stderr));
    }
    interpretation.coverage = seen.coverage.value().or(seen.coverage_line);
    if let Some(tally) = seen.tally() {
        // A wrapper may start pytest several times, so the last line may belong to another run than the report.
        let printed = if channel == Some("inherited") { Vec::new() } else { summary::counts(&exited.stdout) };
        let further = further_counts(tally, &printed);
        describe(tally, further, exited.place, &mut interpretation);
        interpretation.warnings = summary::remarks(&exited.stdout);
        // pytest-retry says only in the last line that it repeated a test, and that test passed where none failed.
        let unnamed = u64::from(tally.counts.failed == 0 && further.reruns > 0);
        let failures = tally.retried().map(|test| failures::failure(test, exited.place)).collect();
        interpretation =
            Retried { number: tally.retried.max(unnamed), failures }.judge(exited.action.retry_attempts > 0, interpretation);
    }
    interpretation
}

/// Describes the tests in a report that pytest wrote while it was being stopped.
pub(super) fn before_the_stop(report: &ToolReport) -> Option<String> {
    let counts = Tally::read(report.reader()?).ok()?.counts;
    Some(format!(
        "Before the stop {} test(s) passed, {} failed and {} were skipped",
        counts.passed, counts.failed, counts.skipped
    ))
}

/// Says which test had not ended when pytest was stopped, as far as its output and its report say it.
pub(super) fn hung(stopped: &Stopped<'_>) -> Option<String> {
    let tally = stopped.report.reader().and_then(|reader| Tally::read(reader).ok());
    hung::before_the_stop((&stopped.stdout, &stopped.stderr), tally.as_ref(), stopped.place, stopped.source)
}

fn describe(tally: &Tally, further: FurtherTestCounts, place: Place<'_>, interpretation: &mut Interpretation) {
    interpretation.test_results = Some(TestResults {
        counts: tally.counts,
        total: tally.total(),
        failures: tally.failed().map(|test| failures::failure(test, place)).collect(),
        further,
    });
    if !tally.is_plan_only() {
        interpretation.cases = tally.tests.iter().map(failures::case).collect();
    }
    if interpretation.category != CategoryCode::CollectionError {
        return;
    }
    let mut every_one = true;
    for test in tally.collection_errors() {
        let (names, only_those) = failures::missing_modules(test);
        every_one &= only_those;
        interpretation.missing_modules.extend(names);
    }
    interpretation.missing_modules.sort_unstable();
    interpretation.missing_modules.dedup();
    interpretation.only_missing_modules = every_one && !interpretation.missing_modules.is_empty();
}

/// Returns the counts for people: those of the report, and those that only pytest's last line has.
fn further_counts(tally: &Tally, printed: &[(u64, &str)]) -> FurtherTestCounts {
    let printed = |words: &[&str]| printed.iter().filter(|(_, word)| words.contains(word)).map(|(count, _)| count).sum::<u64>();
    FurtherTestCounts {
        errors: tally.errors,
        expected_failures: tally.expected_failures,
        unexpected_passes: printed(&["xpassed"]).min(tally.counts.passed),
        deselected: printed(&["deselected"]),
        reruns: printed(&["rerun", "reruns", "retried"]).max(tally.retried),
        ..FurtherTestCounts::default()
    }
}
