//! The criteria of a task that make its verdict FAILED: conditions and expectations that are not met. Without these lines a
//! screen could show only checks that passed above the word FAILED.

use crate::report::ExecutionReportV2;

/// Returns one line for each condition that is not met or triggered, and for each expectation on the output that is not met.
pub(crate) fn unmet(report: &ExecutionReportV2) -> Vec<String> {
    let criteria = &report.validation_criteria_evaluation;
    let line = |what: &str, text: &str, reason: Option<&str>| {
        let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        format!("  ✗ {what} `{text}`{reason}")
    };
    let success = criteria.success_conditions.iter().flat_map(|conditions| &conditions.details);
    let success = success.filter(|one| !one.met).map(|one| line("not met:", &one.condition, one.reason.as_deref()));
    let failure = criteria.failure_conditions.iter().flat_map(|conditions| &conditions.details);
    let failure = failure.filter(|one| one.triggered).map(|one| line("triggered:", &one.condition, one.reason.as_deref()));
    let output = criteria.expected_output.iter().flat_map(|expectations| &expectations.details);
    let output = output.filter(|one| !one.met).map(|one| line("not met:", &one.expectation, one.reason.as_deref()));
    success.chain(failure).chain(output).collect()
}
