//! A run in formats that other tools read: JUnit XML, workflow commands of GitHub, Markdown. Pure: the report and the records of tests
//! go in, one text comes out.
//!
//! The texts are written for files and for terminals: hidden characters are written as references or escapes. Report and records were
//! redacted before they were sealed, and the whole text goes through the redactor again, so that what a newer version knows as a secret
//! does not leave either.

mod github;
mod junit;
mod markdown;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::model::{ActionId, OverallResult, ResultType, TestOutcome};
use crate::report::{ActionResultV2, ExecutionReportV2, TestRecordV1, TestResultsRecordV1, redact_text};

/// A format in which a run is exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExportFormat {
    /// JUnit XML: one suite for each check.
    Junit,
    /// Workflow commands of GitHub Actions: an annotation for each failure and finding.
    Github,
    /// A summary in Markdown, for a comment or a step summary.
    Markdown,
}

/// A run that is exported: its report, and the record of tests of each check that has one.
#[derive(Debug, Clone, Copy)]
pub struct ExportedRun<'a> {
    pub report: &'a ExecutionReportV2,
    /// The records of tests of the last attempts, by the check's id.
    pub tests: &'a BTreeMap<ActionId, TestResultsRecordV1>,
}

impl ExportFormat {
    /// Writes a run in this format.
    pub fn write(self, run: ExportedRun<'_>) -> String {
        let text = match self {
            Self::Junit => junit::write(run),
            Self::Github => github::write(run),
            Self::Markdown => markdown::write(run),
        };
        redact_text(&text).into_owned()
    }
}

impl<'a> ExportedRun<'a> {
    fn checks(self) -> &'a [ActionResultV2] {
        &self.report.step_execution.results
    }

    /// Returns the listed tests of a check; `None` if it has no record of tests.
    fn tests_of(self, check: &ActionResultV2) -> Option<&'a [TestRecordV1]> {
        self.tests.get(&check.action_id).map(|record| record.results.test_results.as_slice())
    }

    /// Returns how many tests of a check ran and are not in its record: a record lists only so many.
    fn not_listed(self, check: &ActionResultV2) -> u64 {
        let lacking = |record: &TestResultsRecordV1| {
            record.results.num_total_tests.saturating_sub(record.results.test_results.len() as u64)
        };
        self.tests.get(&check.action_id).map_or(0, lacking)
    }

    fn verdict(self) -> &'static str {
        match self.report.validation_criteria_evaluation.overall_result {
            Some(OverallResult::Passed) => "PASSED",
            Some(OverallResult::Failed) => "FAILED",
            None => "no verdict",
        }
    }
}

/// Returns whether a check did not succeed and no test of its record says so: the check as a whole is then a failure of its own.
fn fails_as_a_whole(check: &ActionResultV2, tests: Option<&[TestRecordV1]>) -> bool {
    let is_told = tests.is_some_and(|tests| tests.iter().any(|test| test.status.is_failure()));
    check.status.is_some_and(|status| status != ResultType::Success) && !is_told
}

/// Returns why a check ended as it did.
fn reason(check: &ActionResultV2) -> &str {
    check.classification.as_ref().map_or("", |classification| classification.reason.as_str())
}

/// Returns the first line of a failure, and its whole text.
fn failure_texts(test: &TestRecordV1) -> (String, String) {
    let whole = test.failure_messages.join("\n");
    let first = whole.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned();
    (first, whole)
}

fn is_error(outcome: TestOutcome) -> bool {
    outcome == TestOutcome::Error
}
