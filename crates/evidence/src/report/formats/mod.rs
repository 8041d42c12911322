//! A run in formats that other tools read ([`ExportFormat`]). Pure: the report and the records of tests go in, texts come out.
//!
//! The texts are written for files and for terminals: hidden characters are written as references or escapes. Everything goes through
//! [`OutgoingRedactor`], in `outgoing_run`, before a writer sees it. Report and records were redacted before they were sealed; a newer
//! version may recognise more secrets, so it is done again.
//!
//! A check that did not succeed and has no failed test is written as a failure of its own, and so is a verdict other than PASSED that no
//! check explains. What the policy allows is written as a warning.

mod ctrf;
mod github;
mod junit;
mod markdown;
mod outgoing_run;
mod sarif;
mod sarif_results;

#[cfg(test)]
mod tests;

pub use github::workflow_error;

use std::collections::BTreeMap;

use crate::report::formats::outgoing_run::OutgoingRun;
use crate::report::{ActionResultV2, ExecutionReportV2, OutgoingRedactor, TestRecordV1, TestResultsRecordV1, count_checks};
use proctor_model::{ActionId, ExportFormat, OverallResult, ResultType, TestFailure, TestOutcome};

/// A run that is exported: its report, and the record of tests of each check that has one.
#[derive(Debug, Clone, Copy)]
pub struct ExportedRun<'a> {
    pub report: &'a ExecutionReportV2,
    /// The records of tests of the last attempts, by the check's id.
    pub tests: &'a BTreeMap<ActionId, TestResultsRecordV1>,
    /// Removes the texts that name this machine and its user.
    pub redactor: &'a OutgoingRedactor,
    /// The directory of the project in the directory that a reader knows, such as `packages/shop`. It is put before the paths of files.
    /// `None` if paths are relative to the project.
    pub below: Option<&'a str>,
}

/// Writes a run in each of these formats, in their order. The page is not made here but by the function that is given.
pub fn export_texts(run: ExportedRun<'_>, formats: &[ExportFormat], page: &dyn Fn() -> String) -> Vec<String> {
    let outgoing = OutgoingRun::of(run);
    let run = &outgoing;
    let write = |format: &ExportFormat| match format {
        ExportFormat::Junit => junit::write(run),
        ExportFormat::Ctrf => ctrf::write(run),
        ExportFormat::Sarif => sarif::write(run),
        ExportFormat::Github => github::write(run),
        ExportFormat::Markdown => markdown::write(run),
        ExportFormat::Html => page(),
    };
    formats.iter().map(write).collect()
}

impl OutgoingRun {
    /// Returns the checks, between the prerequisites and the clean-up actions that did not succeed: where a prerequisite failed, no check may
    /// have run, and a failed clean-up can block like a check.
    fn checks(&self) -> Vec<&ActionResultV2> {
        let report = &self.report;
        let prerequisites = report.prerequisite_execution.results.iter().filter(|one| has_failed(one));
        let cleanups = report.cleanup_execution.results.iter().filter(|one| has_failed(one));
        prerequisites.chain(&report.step_execution.results).chain(cleanups).collect()
    }

    /// Returns the listed tests of a check; `None` if it has no record of tests.
    fn tests_of(&self, check: &ActionResultV2) -> Option<&[TestRecordV1]> {
        self.tests.get(&check.action_id).map(|record| record.results.test_results.as_slice())
    }

    /// Returns how many tests of a check ran and are not in its record: a record lists only so many.
    fn not_listed(&self, check: &ActionResultV2) -> u64 {
        let lacking = |record: &TestResultsRecordV1| {
            record.results.num_total_tests.saturating_sub(record.results.test_results.len() as u64)
        };
        self.tests.get(&check.action_id).map_or(0, lacking)
    }

    fn verdict(&self) -> &'static str {
        match self.report.validation_criteria_evaluation.overall_result {
            Some(OverallResult::Passed) if count_checks(&self.report).is_nothing_proven() => "UNPROVEN",
            Some(OverallResult::Passed) => "PASSED",
            Some(OverallResult::Failed) => "FAILED",
            None => "no verdict",
        }
    }

    /// Returns how many of the checks the run is about, such as "1 of 6 checks"; `None` if it carried out every check.
    fn coverage(&self) -> Option<String> {
        count_checks(&self.report).words()
    }

    /// Returns the verdict, and what part of the checks it is about where that is not all of them.
    fn headline(&self) -> String {
        self.coverage().map_or_else(|| self.verdict().to_owned(), |coverage| format!("{} · {coverage}", self.verdict()))
    }

    /// Returns the reason for a verdict other than PASSED that no check explains, such as a criterion that is not met or a tree that
    /// moved. `None` if the run passed, or a check did not succeed and that blocks.
    fn unexplained(&self) -> Option<&str> {
        let evaluation = &self.report.validation_criteria_evaluation;
        let is_told = self.checks().into_iter().any(|check| has_failed(check) && check.blocking != Some(false));
        (evaluation.overall_result != Some(OverallResult::Passed) && !is_told).then_some(evaluation.reason.as_str())
    }

    /// Returns the name of the project for people.
    fn project(&self) -> &str {
        self.report.project.name.as_deref().unwrap_or_default()
    }
}

fn has_failed(check: &ActionResultV2) -> bool {
    check.status.is_some_and(|status| status != ResultType::Success)
}

/// Returns whether a check did not succeed, and the policy allows that.
fn is_allowed(check: &ActionResultV2) -> bool {
    has_failed(check) && check.blocking == Some(false)
}

/// Returns whether a check could not do its work, such as one that was cut short. Failed tests and findings do not say so.
fn is_broken(check: &ActionResultV2) -> bool {
    has_failed(check) && !matches!(check.status, Some(ResultType::TestFailure | ResultType::ValidationFailure))
}

/// Returns whether a check did not succeed and no test of its record says so, or it could not do its work: the check as a whole is then a
/// failure of its own.
fn fails_as_a_whole(check: &ActionResultV2, tests: Option<&[TestRecordV1]>) -> bool {
    let is_told = tests.is_some_and(|tests| tests.iter().any(|test| test.status.is_failure()));
    has_failed(check) && (!is_told || is_broken(check))
}

/// Returns why a check ended as it did.
fn reason(check: &ActionResultV2) -> &str {
    check.classification.as_ref().map_or("", |classification| classification.reason.as_str())
}

/// Returns what the report says about the tests of a check that failed, by the test's name in the tool's report. Where several files have a
/// failed test of one name, it is not known which of them is meant, and none is returned.
fn failures_of(check: &ActionResultV2) -> BTreeMap<&str, &TestFailure> {
    let results = check.result.as_ref().and_then(|result| result.test_results.as_ref());
    let failures = results.map(|results| results.failures.as_slice()).unwrap_or_default();
    let mut by_name: BTreeMap<&str, Option<&TestFailure>> = BTreeMap::new();
    for failure in failures {
        by_name.entry(failure.stable_name()).and_modify(|known| *known = None).or_insert(Some(failure));
    }
    by_name.into_iter().filter_map(|(name, failure)| Some((name, failure?))).collect()
}

fn stable_name(test: &TestRecordV1) -> &str {
    test.report_name.as_deref().unwrap_or(&test.full_name)
}

/// Returns what a test failed with, as a line, and its whole text. `failures` are those of the report ([`failures_of`]): they say which
/// line of a traceback is the error. For a test that the report leaves out, it is the first line that pytest marks as one (`E `), or else the
/// first line, which of a traceback is only source text.
fn failure_texts(failures: &BTreeMap<&str, &TestFailure>, test: &TestRecordV1) -> (String, String) {
    let whole = test.failure_messages.join("\n");
    let told = failures.get(stable_name(test)).map(|failure| failure.error.as_str());
    let marked = whole.lines().filter_map(|line| line.strip_prefix("E "));
    let line = told.into_iter().chain(marked).chain(whole.lines()).map(str::trim).find(|line| !line.is_empty());
    (line.unwrap_or_default().to_owned(), whole)
}

fn is_error(outcome: TestOutcome) -> bool {
    outcome == TestOutcome::Error
}

/// Returns the word for how a test ended.
fn outcome_word(test: &TestRecordV1) -> &'static str {
    if test.status == TestOutcome::Skipped && test.expected_to_fail { "xfailed" } else { test.status.word() }
}
