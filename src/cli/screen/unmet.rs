//! The criteria of a task that are not met: conditions, expectations on the output, declared failures, and what a complete task needs
//! besides. Without these lines a screen could show only checks that passed above the word FAILED.

use proctor_evidence::report::ExecutionReportV2;
use proctor_model::{CompletionStatus, OverallResult, shown_line};

/// The column at which the findings of an action begin too.
const INDENT: &str = "       ";

/// Returns the lines about each criterion that is not met: first what it means, then the criterion itself and why it is not met.
pub(crate) fn unmet(report: &ExecutionReportV2) -> Vec<String> {
    let criteria = &report.validation_criteria_evaluation;
    let mut lines = Vec::new();
    let success = criteria.success_conditions.iter().flat_map(|conditions| &conditions.details);
    for one in success.filter(|one| !one.met) {
        condition(&mut lines, "not met", &one.description, &one.condition, one.reason.as_deref());
    }
    let failure = criteria.failure_conditions.iter().flat_map(|conditions| &conditions.details);
    for one in failure.filter(|one| one.triggered) {
        // What is not known counts against the task.
        let word = if one.unknown.is_empty() { "triggered" } else { "triggered, because it is not known" };
        condition(&mut lines, word, &one.description, &one.condition, one.reason.as_deref());
    }
    let output = criteria.expected_output.iter().flat_map(|expectations| &expectations.details);
    for one in output.filter(|one| !one.met) {
        lines.push(format!("  ✗ not met: {}", shown_line(&one.expectation)));
        lines.extend(one.reason.iter().map(|reason| format!("{INDENT}{}", shown_line(reason))));
    }
    let declared = criteria.expected_failure.iter().filter_map(|judged| judged.reason.as_ref());
    lines.extend(declared.map(|reason| format!("  ✗ {}", shown_line(reason))));
    if criteria.success_conditions.as_ref().is_some_and(|conditions| conditions.total == 0) {
        lines.push("  ✗ there is no success condition, so nothing shows that the task is done".to_owned());
    }
    if is_passed_and_incomplete(report) {
        lines.push(format!("  ! not complete: {}", shown_line(&report.completion_criteria_evaluation.reason)));
    }
    lines
}

/// Returns whether a task with criteria of its own passed, and is not complete all the same: evidence or passed steps are missing.
pub(super) fn is_passed_and_incomplete(report: &ExecutionReportV2) -> bool {
    let completion = &report.completion_criteria_evaluation;
    let has_criteria = completion.all_steps_must_pass.is_some();
    let is_passed = report.validation_criteria_evaluation.overall_result == Some(OverallResult::Passed);
    has_criteria && is_passed && completion.completion_status == CompletionStatus::Incomplete
}

/// Adds the lines about a condition. Some conditions have no words for people.
fn condition(lines: &mut Vec<String>, word: &str, description: &str, condition: &str, reason: Option<&str>) {
    let code = format!("`{}`", shown_line(condition));
    let description = shown_line(description.trim());
    let reason = reason.map(shown_line);
    if description.is_empty() {
        lines.push(format!("  ✗ {word}: {code}"));
        lines.extend(reason.map(|reason| format!("{INDENT}{reason}")));
        return;
    }
    lines.push(format!("  ✗ {word}: {description}"));
    let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
    lines.push(format!("{INDENT}{code}{reason}"));
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::cli::screen::verdict;
    use crate::cli::style::Style;

    /// Returns a report with these sections about a task's criteria.
    fn report(validation: Value, completion: Value) -> ExecutionReportV2 {
        let mut report: Value =
            serde_json::from_str(include_str!("../../../crates/evidence/src/report/golden/execution-report.json")).unwrap();
        report["validationCriteriaEvaluation"] = validation;
        report["completionCriteriaEvaluation"] = completion;
        serde_json::from_value(report).unwrap()
    }

    /// Returns lines as a terminal with `width` columns shows them. Every character of these lines takes one column.
    fn folded(lines: &[String], width: usize) -> Vec<String> {
        let fold = |line: &String| {
            let characters: Vec<char> = line.chars().collect();
            characters.chunks(width).map(|row| row.iter().collect()).collect::<Vec<String>>()
        };
        lines.iter().flat_map(fold).collect()
    }

    #[test]
    fn each_criterion_that_is_not_met_says_what_it_means_and_what_was_seen() {
        let validation = json!({
            "successConditions": { "total": 2, "met": 1, "failed": 1, "details": [
                { "condition": "STEP.2.exitCode === 0", "met": false, "reason": "`STEP.2.exitCode` is 1",
                  "description": "Totals are rounded half-even on two decimals, for every currency that has minor units" },
                { "condition": "STEP.1.exitCode === 0", "met": true, "description": "The totals can be read" },
            ]},
            "failureConditions": { "total": 1, "triggered": 1, "details": [
                { "condition": "STEP.9.statusCode !== 200", "triggered": true, "unknown": ["STEP.9.statusCode"],
                  "reason": "Not known: `STEP.9.statusCode`; STEP.9: the connection was refused",
                  "description": "The quotes endpoint does not answer" },
            ]},
            "expectedOutput": { "total": 1, "met": 0, "failed": 1, "details": [
                { "expectation": "standard output contains \"half-up\"", "met": false, "reason": "No step printed it" },
            ]},
            "overallResult": "FAILED", "reason": "1 of 2 success conditions not met",
        });
        let completion = json!({
            "allStepsMustPass": true, "actualPassRate": 50.0, "completionStatus": "INCOMPLETE", "taskStatus": "FAILED", "reason": "x",
        });
        let lines = unmet(&report(validation, completion));
        assert_eq!(
            folded(&lines, 80),
            [
                "  ✗ not met: Totals are rounded half-even on two decimals, for every currency th",
                "at has minor units",
                "       `STEP.2.exitCode === 0`: `STEP.2.exitCode` is 1",
                "  ✗ triggered, because it is not known: The quotes endpoint does not answer",
                "       `STEP.9.statusCode !== 200`: Not known: `STEP.9.statusCode`; STEP.9: the ",
                "connection was refused",
                "  ✗ not met: standard output contains \"half-up\"",
                "       No step printed it",
            ]
        );
        assert_eq!(
            folded(&lines, 200),
            [
                "  ✗ not met: Totals are rounded half-even on two decimals, for every currency that has minor units",
                "       `STEP.2.exitCode === 0`: `STEP.2.exitCode` is 1",
                "  ✗ triggered, because it is not known: The quotes endpoint does not answer",
                "       `STEP.9.statusCode !== 200`: Not known: `STEP.9.statusCode`; STEP.9: the connection was refused",
                "  ✗ not met: standard output contains \"half-up\"",
                "       No step printed it",
            ]
        );
    }

    #[test]
    fn a_condition_without_words_and_one_with_line_ends_take_their_lines() {
        let entry = |description: &str| json!({ "condition": "STEP.1.success", "met": false, "description": description, "reason": "a\nb" });
        let validation = json!({
            "successConditions": { "total": 2, "met": 0, "failed": 2, "details": [entry(" "), entry("x\ny")] },
            "overallResult": "FAILED", "reason": "2 of 2 success conditions not met",
        });
        let completion =
            json!({ "actualPassRate": null, "completionStatus": "INCOMPLETE", "taskStatus": "FAILED", "reason": "x" });
        assert_eq!(
            unmet(&report(validation, completion)),
            ["  ✗ not met: `STEP.1.success`", "       a\\nb", "  ✗ not met: x\\ny", "       `STEP.1.success`: a\\nb",]
        );
    }

    #[test]
    fn a_task_that_passed_and_is_not_complete_says_what_is_missing() {
        let validation = json!({
            "successConditions": { "total": 1, "met": 1, "failed": 0, "details": [] },
            "overallResult": "PASSED", "reason": "1 step ran and nothing blocks",
        });
        let completion = |status: &str| {
            json!({
                "allStepsMustPass": true, "actualPassRate": 100.0, "completionStatus": status, "taskStatus": "PARTIAL",
                "reason": "Evidence is missing: test-execution-log",
            })
        };
        let incomplete = report(validation.clone(), completion("INCOMPLETE"));
        assert_eq!(unmet(&incomplete), ["  ! not complete: Evidence is missing: test-execution-log"]);
        assert!(format!("{}", verdict(&incomplete, "report.json", Style::Plain)).contains(" · not complete · "));
        let complete = report(validation, completion("COMPLETE"));
        assert_eq!(unmet(&complete), Vec::<String>::new());
        assert!(!format!("{}", verdict(&complete, "report.json", Style::Plain)).contains("not complete"));
    }
}
