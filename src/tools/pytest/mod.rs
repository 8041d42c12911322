//! pytest: reads its JUnit report and judges it together with the exit code (E3, E4, E5).
//!
//! `junit` reads the file, `tally` counts its tests, `node_ids` finds their names, `seen` collects facts, `rules` decides by an ordered list of rules, and `failures` makes the
//! result readable. Tests are never counted from standard output. Two lines of standard output may make a result worse:
//! pytest-cov's line about low coverage (`coverage`), and the line with the number of selected tests (`collected`), all
//! of which must be in the report.

mod collected;
mod control;
mod coverage;
mod discover;
mod failures;
mod hiding;
mod junit;
mod node_ids;
mod prepare;
mod rules;
mod seen;
mod summary;
mod tally;
mod written;

#[cfg(test)]
mod rule_tests;

use std::path::Path;

use crate::model::{CategoryCode, Interpretation, TestResults, ToolReport};
use crate::tools::interpret::Exited;
use crate::tools::launch_failure;
use crate::tools::places::Place;
pub use control::{ControlPreparation, interpret_control, may_have_control, prepare_control};
pub(super) use discover::find;
pub use hiding::{hiding_module, judge_hidden};
use node_ids::NodeIds;
pub(super) use prepare::ask;
use seen::Seen;
pub use seen::not_found;
use tally::Tally;
pub(super) use written::written;

/// Judges a pytest run that ended by itself.
pub(super) fn interpret(
    exited: &Exited<'_>,
    report: &ToolReport,
    coverage: &ToolReport,
    channel: Option<&'static str>,
    names_in: fn(&Path) -> Vec<String>,
) -> Interpretation {
    let mut seen = Seen::collect(exited, report, coverage, channel);
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
    interpretation.coverage = seen.coverage.value().or(seen.coverage_line);
    if let Some(tally) = seen.tally() {
        describe(tally, exited.place, &mut interpretation);
        interpretation.warnings = remarks(tally, &exited.stdout);
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

fn describe(tally: &Tally, place: Place<'_>, interpretation: &mut Interpretation) {
    interpretation.test_results = Some(TestResults {
        counts: tally.counts,
        total: tally.total(),
        failures: tally.failed().map(|test| failures::failure(test, place)).collect(),
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

fn remarks(tally: &Tally, stdout: &str) -> Vec<String> {
    let mut remarks = summary::remarks(stdout);
    if tally.reruns > 0 && !remarks.iter().any(|remark| remark.contains("rerun")) {
        remarks.push(format!(
            "{} test(s) were run more than once (rerun); one that passes only when it is repeated is flaky",
            tally.reruns
        ));
    }
    remarks
}
