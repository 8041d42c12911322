//! The report and ledger record of a run whose process died: made from what it left (S2, E17).

use crate::evidence::{InterruptedRun, SealInput};
use crate::model::{OverallStatus, RunRecord, Timestamp};
use crate::report::{RecoveryFacts, attested, describe_found_file, interrupted_report, parse_run_start, seal_hash, to_bytes};

/// Returns what such a run is sealed with.
pub(crate) fn sealing(run: &InterruptedRun, now: Timestamp) -> SealInput {
    let start = run.start_record.as_deref().and_then(|bytes| parse_run_start(bytes).ok());
    let details = start.as_ref().map(|start| &start.details);
    let tree_digest = details.map(|details| details.tree_digest);
    let plan_digest = details.and_then(|details| details.test_specification.plan_digest);
    let files = run.files.iter().map(|file| describe_found_file(&file.name, file.bytes, file.sha256)).collect();
    let report = seal_hash(interrupted_report(&RecoveryFacts {
        run_id: run.run_id.clone(),
        project_id: run.project.clone(),
        task: run.task.clone(),
        start,
        recovered_at: now,
        evidence_files: files,
    }));
    let report_hash = report.authenticity.report_hash.expect("`seal_hash` set it");
    let time = (report.execution_summary.start_time, now);
    let known = RunRecord::without_verdict(run.run_id.clone(), run.task.clone(), report_hash, OverallStatus::Interrupted, time);
    let record = RunRecord { tree_digest, plan_digest, ..known };
    SealInput { report: to_bytes(&report), record, attested: attested(&report) }
}
