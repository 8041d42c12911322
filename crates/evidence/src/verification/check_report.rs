//! Checks that a run's report, start record and debt file agree with the ledger, and the report with the files beside
//! it.

use crate::names::{REPORT_NAME, START_RECORD_NAME};
use crate::report::{DEBT_FILE, ExecutionReportV2, parse_debt, parse_run_start, parse_with_hash};
use crate::verification::check_run::{CheckedRun, path_in_run};
use crate::verification::inspect::InspectedDirectory;
use crate::verification::{EvidenceFault, FaultKind};
use proctor_model::{Digest, OverallStatus, RunRecord};

/// Checks report, start record and debt file against the ledger, and the report against the files beside it. Returns
/// the report if it can be parsed.
pub(super) fn check_report(
    found: &InspectedDirectory,
    context: &CheckedRun<'_>,
    faults: &mut Vec<EvidenceFault>,
) -> Option<ExecutionReportV2> {
    let mut report = None;
    // A missing report was reported already, when the manifest was checked.
    if let Some(bytes) = found.content(REPORT_NAME) {
        let path = || path_in_run(context, REPORT_NAME);
        match parse_with_hash(bytes) {
            Err(error) => faults.push(EvidenceFault::new(FaultKind::ReportUnreadable, path(), error.to_string())),
            Ok((read, has)) => {
                check_hash(&read, has, context, faults);
                disagreements(&read, context).into_iter().for_each(|detail| {
                    faults.push(EvidenceFault::new(FaultKind::ReportDisagrees, path(), detail));
                });
                check_files(found, &read, context, faults);
                report = Some(read);
            }
        }
    }
    check_start_record(found, context, faults);
    check_debt(found, context, faults);
    report
}

fn check_hash(report: &ExecutionReportV2, has: Digest, context: &CheckedRun<'_>, faults: &mut Vec<EvidenceFault>) {
    let says = report.authenticity.report_hash;
    if says != Some(has) {
        let says = says.map_or("none".to_owned(), |hash| hash.hex());
        faults.push(EvidenceFault::new(
            FaultKind::ReportHash,
            path_in_run(context, REPORT_NAME),
            format!("it says {says}, and has {has}"),
        ));
    }
}

/// Returns every statement of the report that the ledger contradicts.
fn disagreements(report: &ExecutionReportV2, context: &CheckedRun<'_>) -> Vec<String> {
    let mut rows = Vec::new();
    let mut compare = |key: &str, said: String, expected: String| {
        if said != expected {
            rows.push(format!("`{key}` is {said}, the ledger has {expected}"));
        }
    };
    if let Some(project) = context.project {
        compare("project.id", report.project.id.to_string(), project.to_string());
    }
    let Some(record) = context.record else { return rows };
    let summary = &report.execution_summary;
    compare("authenticity.executionId", report.authenticity.execution_id.to_string(), record.run_id.to_string());
    compare("authenticity.reportHash", json(&report.authenticity.report_hash), json(&Some(record.report_hash)));
    compare("testSpecification.taskId", report.test_specification.task_id.to_string(), record.task.to_string());
    compare("testSpecification.planDigest", json(&report.test_specification.plan_digest), json(&record.plan_digest));
    compare("executionSummary.overallStatus", json(&summary.overall_status), json(&record.overall_status));
    compare("executionSummary.startTime", json(&summary.start_time), json(&record.started));
    compare("tree.before", json(&report.tree.as_ref().map(|tree| tree.before)), json(&record.tree_digest));
    compare("environment.digest", json(&report.environment.as_ref().map(|it| it.digest)), json(&record.environment_digest));
    compare("validationCriteriaEvaluation.overallResult", json(&result(report)), json(&record.overall_result));
    compare("route.nextNode", json(&report.route.as_ref().map(|it| it.next_node)), json(&next_node(record)));
    // An interrupted run that recovery sealed has no end time, because no process saw its end.
    if record.overall_status != OverallStatus::Interrupted || summary.end_time.is_some() {
        compare("executionSummary.endTime", json(&summary.end_time), json(&Some(record.ended)));
    }
    rows
}

fn result(report: &ExecutionReportV2) -> Option<proctor_model::OverallResult> {
    report.validation_criteria_evaluation.overall_result
}

fn next_node(record: &RunRecord) -> Option<proctor_model::NextNode> {
    record.route.as_ref().map(|route| route.destination.next_node)
}

fn json(value: &impl serde::Serialize) -> String {
    let text = serde_json::to_string(value).expect("its keys are text");
    text.trim_matches('"').to_owned()
}

/// Checks that the files that the report lists have the sizes and digests that the report gives.
fn check_files(
    found: &InspectedDirectory,
    report: &ExecutionReportV2,
    context: &CheckedRun<'_>,
    faults: &mut Vec<EvidenceFault>,
) {
    for file in &report.evidence_files {
        // A missing file that the manifest lists was reported already, when the manifest was checked.
        let Some(there) = found.file(&file.name) else {
            if !found.entries.contains_key(file.name.as_bytes()) {
                let detail = "the report names it among its evidence";
                faults.push(EvidenceFault::new(FaultKind::FileMissing, path_in_run(context, &file.name), detail));
            }
            continue;
        };
        if (there.hashed.bytes, there.hashed.sha256) != (file.bytes, file.sha256) {
            let detail = format!(
                "{} bytes, {}; the report has {} bytes, {}",
                there.hashed.bytes, there.hashed.sha256, file.bytes, file.sha256
            );
            faults.push(EvidenceFault::new(FaultKind::FilesDisagree, path_in_run(context, &file.name), detail));
        }
    }
}

fn check_start_record(found: &InspectedDirectory, context: &CheckedRun<'_>, faults: &mut Vec<EvidenceFault>) {
    let Some(bytes) = found.content(START_RECORD_NAME) else { return };
    let path = || path_in_run(context, START_RECORD_NAME);
    let record = match parse_run_start(bytes) {
        Ok(record) => record,
        // The process of an interrupted run may have died while it wrote this file.
        Err(_) if context.record.is_some_and(|record| record.overall_status == OverallStatus::Interrupted) => return,
        Err(error) => {
            faults.push(EvidenceFault::new(FaultKind::RecordUnreadable, path(), error.to_string()));
            return;
        }
    };
    let mut expect = |key: &str, said: String, expected: Option<String>| {
        if let Some(expected) = expected.filter(|expected| *expected != said) {
            faults.push(EvidenceFault::new(
                FaultKind::RecordDisagrees,
                path(),
                format!("`{key}` is {said}, the ledger has {expected}"),
            ));
        }
    };
    expect("runId", record.run_id.to_string(), context.record.map(|record| record.run_id.to_string()));
    expect("task", record.task.to_string(), context.record.map(|record| record.task.to_string()));
    expect("project.id", record.details.project.id.to_string(), context.project.map(ToString::to_string));
    let tree = context.record.and_then(|record| record.tree_digest);
    expect("treeDigest", json(&record.details.tree_digest), tree.map(|digest| json(&digest)));
}

fn check_debt(found: &InspectedDirectory, context: &CheckedRun<'_>, faults: &mut Vec<EvidenceFault>) {
    let Some(bytes) = found.content(DEBT_FILE) else { return };
    if let Err(error) = parse_debt(bytes) {
        faults.push(EvidenceFault::new(FaultKind::RecordUnreadable, path_in_run(context, DEBT_FILE), error.to_string()));
    }
}
