//! Tests that every key of the master report in the design document seed 004 is filled, or listed with the reason why
//! not.

use std::collections::BTreeSet;

use serde_json::Value;

use super::debt::report_with_debt;
use super::judged::judged_run;
use crate::report::samples::{aborted_run, mixed_run, refused_request, run_of, seen_file};
use crate::report::tests::unfilled::UNFILLED_KEYS;
use crate::report::{ActionDisposition, seal_hash};

/// Every key of the master report in seed 004; `[]` stands for any entry of a list. A misspelt key of its
/// `executionSummary` is corrected to `actionCounts` (E1).
const SEED_KEYS: &str = "
reportVersion generatedAt generatedBy agentInvolved
testSpecification.file testSpecification.schemaVersion testSpecification.taskId testSpecification.taskTitle
testSpecification.sprintId
executionSummary.overallStatus executionSummary.startTime executionSummary.endTime executionSummary.totalDuration
executionSummary.actionCounts.total executionSummary.actionCounts.executed executionSummary.actionCounts.skipped
executionSummary.actionCounts.prerequisites executionSummary.actionCounts.steps executionSummary.actionCounts.cleanup
executionSummary.actionResults.SUCCESS executionSummary.actionResults.TEST_FAILURE
executionSummary.actionResults.EXECUTION_ERROR executionSummary.actionResults.VALIDATION_FAILURE
executionSummary.actionResults.TIMEOUT executionSummary.actionResults.PREREQUISITE_FAILURE
executionSummary.actionResults.SPECIFICATION_ERROR
executionSummary.testResults.passed executionSummary.testResults.failed executionSummary.testResults.total
executionSummary.testResults.passRate
prerequisiteExecution.allMet
prerequisiteExecution.results[].actionId prerequisiteExecution.results[].type prerequisiteExecution.results[].status
prerequisiteExecution.results[].description prerequisiteExecution.results[].duration prerequisiteExecution.results[].evidence
stepExecution.results[].actionId stepExecution.results[].type stepExecution.results[].status
stepExecution.results[].description stepExecution.results[].duration stepExecution.results[].evidence
stepExecution.results[].result.fileExists stepExecution.results[].result.filePath stepExecution.results[].result.fileSize
stepExecution.results[].result.lastModified
stepExecution.results[].result.exitCode stepExecution.results[].result.stdout stepExecution.results[].result.stderr
stepExecution.results[].result.diagnostics[].file stepExecution.results[].result.diagnostics[].line
stepExecution.results[].result.diagnostics[].column stepExecution.results[].result.diagnostics[].code
stepExecution.results[].result.diagnostics[].message stepExecution.results[].result.diagnostics[].severity
stepExecution.results[].result.testResults.passed stepExecution.results[].result.testResults.failed
stepExecution.results[].result.testResults.total stepExecution.results[].result.testResults.failures[].testName
stepExecution.results[].result.testResults.failures[].error stepExecution.results[].result.testResults.failures[].stack
stepExecution.results[].result.error stepExecution.results[].result.errorCode stepExecution.results[].result.message
stepExecution.results[].result.errno stepExecution.results[].result.syscall stepExecution.results[].result.address
stepExecution.results[].result.port
stepExecution.results[].result.eslintResults
stepExecution.results[].classification.category stepExecution.results[].classification.reason
stepExecution.results[].classification.toolSucceeded stepExecution.results[].classification.codeHasIssues
stepExecution.results[].classification.isExpectedFailure stepExecution.results[].classification.testsRan
stepExecution.results[].classification.isTDDRedPhase stepExecution.results[].classification.toolFailed
stepExecution.results[].classification.possibleCauses stepExecution.results[].classification.severity
stepExecution.results[].classification.fixable
cleanupExecution.executed
cleanupExecution.results[].actionId cleanupExecution.results[].type cleanupExecution.results[].status
cleanupExecution.results[].description cleanupExecution.results[].duration cleanupExecution.results[].evidence
validationCriteriaEvaluation.successConditions.total validationCriteriaEvaluation.successConditions.met
validationCriteriaEvaluation.successConditions.failed validationCriteriaEvaluation.successConditions.details[].condition
validationCriteriaEvaluation.successConditions.details[].description
validationCriteriaEvaluation.successConditions.details[].met
validationCriteriaEvaluation.successConditions.details[].actualValue
validationCriteriaEvaluation.successConditions.details[].reason
validationCriteriaEvaluation.failureConditions.total validationCriteriaEvaluation.failureConditions.triggered
validationCriteriaEvaluation.failureConditions.details[].condition
validationCriteriaEvaluation.failureConditions.details[].description
validationCriteriaEvaluation.failureConditions.details[].triggered
validationCriteriaEvaluation.overallResult validationCriteriaEvaluation.reason
completionCriteriaEvaluation.allStepsMustPass completionCriteriaEvaluation.minimumPassRate
completionCriteriaEvaluation.actualPassRate completionCriteriaEvaluation.requiredEvidence.required
completionCriteriaEvaluation.requiredEvidence.collected completionCriteriaEvaluation.requiredEvidence.missing
completionCriteriaEvaluation.taskStatusLock completionCriteriaEvaluation.completionStatus completionCriteriaEvaluation.reason
technicalDebtGenerated.itemsCreated technicalDebtGenerated.debtDataFile technicalDebtGenerated.summary.CRITICAL
technicalDebtGenerated.summary.HIGH technicalDebtGenerated.summary.MEDIUM technicalDebtGenerated.summary.LOW
technicalDebtGenerated.routing.toSprint technicalDebtGenerated.routing.toInventory
authenticity.executionId authenticity.generatorVersion authenticity.platform authenticity.nodeVersion authenticity.processId
authenticity.signatureAlgorithm authenticity.reportHash authenticity.tamperDetection authenticity.agentModificationDetected
";

pub(super) fn collect_paths(value: &Value, path: &str, into: &mut BTreeSet<String>) {
    if !path.is_empty() {
        into.insert(path.to_owned());
    }
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                collect_paths(value, &below, into);
            }
        }
        Value::Array(entries) => entries.iter().for_each(|value| collect_paths(value, &format!("{path}[]"), into)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns the keys that the reports of the sample runs have. A prerequisite and a check have the same keys, so a key
/// of one counts for both.
fn our_paths() -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    for mut facts in [mixed_run(), aborted_run(), judged_run(), run_of(vec![seen_file(), refused_request()])] {
        for action in &mut facts.actions {
            if let ActionDisposition::Executed(executed) = &mut action.disposition {
                executed.judgement.diagnostics.iter_mut().for_each(|it| it.code = Some("TS2345".to_owned()));
            }
        }
        let report = serde_json::to_value(seal_hash(report_with_debt(&facts))).expect("the wire types have text keys");
        collect_paths(&report, "", &mut paths);
    }
    let of_prerequisites: Vec<_> =
        paths.iter().filter_map(|path| path.strip_prefix("prerequisiteExecution.")).map(str::to_owned).collect();
    paths.extend(of_prerequisites.into_iter().map(|rest| format!("stepExecution.{rest}")));
    paths
}

#[test]
fn every_key_of_the_seed_is_filled_or_says_why_not() {
    let ours = our_paths();
    let unfilled: BTreeSet<_> = UNFILLED_KEYS.iter().map(|key| key.path).collect();
    for key in SEED_KEYS.split_whitespace() {
        assert_ne!(ours.contains(key), unfilled.contains(key), "`{key}` must be filled, or be listed as unfilled, and not both");
    }
}

#[test]
fn only_keys_of_the_seed_are_listed_as_unfilled_and_each_has_a_reason() {
    let seed: BTreeSet<_> = SEED_KEYS.split_whitespace().collect();
    for key in UNFILLED_KEYS {
        assert!(seed.contains(key.path), "`{}` is no key of the seed", key.path);
        assert!(key.reason.len() > 20, "`{}`", key.path);
    }
}
