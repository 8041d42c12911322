//! The report and ledger record of a run whose process died: made from what it left (S2, E17).

use std::collections::BTreeMap;

use crate::evidence::{InterruptedRun, Sealing};
use crate::model::{Digest, EvidenceFile, EvidenceKind, OverallStatus, PlanOrigin, RunRecord, Timestamp, TreeDigest, Trigger, TriggerKind};
use crate::report::{
    GENERATED_BY, ProjectV2, RUN_SCHEMA, RecoveryFacts, RunStartV1, TestSpecificationV2, interrupted_report, parse_run_start, seal_hash,
    to_bytes,
};

/// Returns what such a run is sealed with.
pub(crate) fn sealing(run: &InterruptedRun, now: Timestamp) -> Sealing {
    let known = run.start_record.as_deref().and_then(|bytes| parse_run_start(bytes).ok());
    let tree_digest = known.as_ref().map(|start| start.tree_digest);
    let plan_digest = known.as_ref().map(|start| start.test_specification.plan_digest);
    let start = known.unwrap_or_else(|| unknown_start(run, now));
    let files = run.files.iter().map(|file| EvidenceFile {
        name: file.name.clone(),
        kind: EvidenceKind::ErrorLogs,
        action_id: None,
        bytes: file.bytes,
        sha256: file.sha256,
    });
    let recovery = RecoveryFacts { recovered_at: now, evidence_files: files.collect() };
    let report = seal_hash(interrupted_report(&start, &recovery));
    let record = RunRecord {
        run_id: run.run_id.clone(),
        task: run.task.clone(),
        report_hash: report.authenticity.report_hash.expect("`seal_hash` set it"),
        manifest_hash: Digest::of(b""),
        tree_digest,
        environment_digest: None,
        plan_digest,
        overall_status: OverallStatus::Interrupted,
        overall_result: None,
        blocking: 0,
        route: None,
        tdd: None,
        prerequisites: BTreeMap::new(),
        configuration: BTreeMap::new(),
        started: start.started,
        ended: now,
        signature: None,
    };
    Sealing { report: to_bytes(&report), record }
}

/// Stands for a start record that was not written whole: the run died in its first moments.
fn unknown_start(run: &InterruptedRun, now: Timestamp) -> RunStartV1 {
    let nothing = Digest::of(b"");
    RunStartV1 {
        schema: RUN_SCHEMA.to_owned(),
        generated_by: GENERATED_BY.to_owned(),
        run_id: run.run_id.clone(),
        project: ProjectV2 { id: run.project.clone(), name: run.project.as_str().to_owned() },
        test_specification: TestSpecificationV2 {
            file: None,
            task_id: run.task.clone(),
            origin: PlanOrigin::Configured,
            plan_digest: nothing,
        },
        tree_digest: TreeDigest(nothing),
        trigger: Trigger { kind: TriggerKind::Request, paths: Vec::new() },
        started: run.run_id.started().unwrap_or(now),
        process_id: 0,
    }
}
