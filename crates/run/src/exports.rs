//! Writes a run beside its report in the forms that `also` of `[evidence]` asks for. They are sealed with the run, and are the texts that
//! `proctor export --format` prints; the page of `proctor export` has more: what the actions printed, and the runs before.

use std::collections::BTreeMap;
use std::path::Path;

use proctor_api::page::{OfflineRun, offline_page, run_answers};
use proctor_evidence::report::{
    ActionResultV2, ExecutionReportV2, ExportedRun, TestResultsRecordV1, export_texts, with_evidence_files,
};
use proctor_evidence::{RunDirectory, SealedFiles, Store};
use proctor_model::{Digest, EvidenceKind, PlanNote};
use proctor_project::{ProjectError, RunRequest, last_test_record, run_of_ledger};

/// Writes the exports of a judged run, and returns the report with these files in its list.
pub(crate) fn write_exports(
    store: &Store,
    request: &RunRequest<'_>,
    mut report: ExecutionReportV2,
    directory: &mut RunDirectory,
) -> Result<ExecutionReportV2, ProjectError> {
    let exports = &request.settings.exports;
    if exports.formats.is_empty() {
        return Ok(report);
    }
    let mut tests = BTreeMap::new();
    let mut unread = Vec::new();
    for check in &report.step_execution.results {
        match listed_tests(store, request, &report, check, directory.path()) {
            Ok(record) => tests.extend(record.map(|record| (check.action_id.clone(), record))),
            Err(why) => unread.push(PlanNote {
                subject: check.name.clone(),
                message: format!("its tests are not in the exported files: {why}"),
            }),
        }
    }
    let run = ExportedRun { report: &report, tests: &tests, redactor: &exports.redactor, below: None };
    let named = |check: &ActionResultV2| Some((check.action_id.clone(), last_test_record(check)?.to_owned()));
    let record_names = report.step_execution.results.iter().filter_map(named).collect();
    // What the actions printed lies beside it, and the index does not know the run yet.
    let page = || {
        let (logs, others) = (&[], &[]);
        let redactor = &exports.redactor;
        offline_page(&run_answers(&OfflineRun { report: &report, record_names: &record_names, logs, others, redactor }))
    };
    let texts = export_texts(run, &exports.formats, &page);
    report.notes.extend(unread);
    let mut files = Vec::new();
    for (format, text) in exports.formats.iter().zip(texts) {
        let written = directory.write(format.file_name(), text.as_bytes(), EvidenceKind::Export, None);
        files.push(written?);
    }
    Ok(with_evidence_files(report, files))
}

/// Returns the record of the tests of a check's last attempt; for a reused result, of the run that carried the check out. `None` if
/// the check has none.
fn listed_tests(
    store: &Store,
    request: &RunRequest<'_>,
    report: &ExecutionReportV2,
    check: &ActionResultV2,
    directory: &Path,
) -> Result<Option<TestResultsRecordV1>, String> {
    let Some(name) = last_test_record(check) else { return Ok(None) };
    let bytes = match &check.reused {
        None => {
            let bytes = std::fs::read(directory.join(name)).map_err(|error| error.to_string())?;
            let written = report.evidence_files.iter().find(|file| file.name == name);
            if written.is_none_or(|file| file.sha256 != Digest::of(&bytes)) {
                return Err(format!("`{name}` is not as it was written"));
            }
            bytes
        }
        Some(reused) => {
            let project = &request.scope.project;
            let run = run_of_ledger(store, project, &reused.run_id).map_err(|error| error.to_string())?;
            let Some((run, hashes)) = run.and_then(|run| run.sealed.map(|hashes| (run, hashes))) else { return Ok(None) };
            let files = SealedFiles::open(store, project, &run.task, &run.run_id, hashes.manifest);
            files.and_then(|files| files.read(name)).map_err(|error| error.to_string())?
        }
    };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| error.to_string())
}
