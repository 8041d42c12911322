//! Helpers for the tests of this folder: an index and ledger lines.

use std::collections::BTreeMap;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::{ApprovalJudge, StoreIndex};
use proctor_model::{
    ApprovalReason, ApprovalRecord, ApprovalTerms, ChangedRules, CurrentApproval, Digest, ExpectedOutput, LedgerBody, LedgerLine,
    OverallStatus, PlanTerms, ProjectId, RegistrationRecord, RunId, RunRecord, TaskId, Timestamp, testing,
};

pub(super) struct TestIndex {
    pub(super) index: StoreIndex,
    pub(super) lines: BTreeMap<ProjectId, Vec<(u64, LedgerLine)>>,
    pub(super) path: PathBuf,
    pub(super) _directory: TempDir,
}

pub(super) fn project(id: &str) -> ProjectId {
    ProjectId::try_from(id).expect("a project id")
}

pub(super) fn task(id: &str) -> TaskId {
    TaskId::try_from(id).expect("a task id")
}

pub(super) fn run_id(number: u64) -> RunId {
    RunId::new(Timestamp::from_millis(0), number)
}

pub(super) fn registration(id: &str, path: &str, inode: u64, git: Option<&str>) -> LedgerBody {
    LedgerBody::Registered(RegistrationRecord {
        project_id: project(id),
        path: path.to_owned(),
        device: 1,
        inode,
        git_common_directory: git.map(str::to_owned),
        plan_digest: Digest::of(b"plan"),
        terms: None,
    })
}

pub(super) fn run_record(number: u64, task_id: &str, status: OverallStatus) -> RunRecord {
    let time = (Timestamp::from_millis(1), Timestamp::from_millis(2));
    let record = RunRecord::without_verdict(run_id(number), task(task_id), Digest::of(b"report"), status, time);
    RunRecord { manifest_hash: Digest::of(b"manifest"), ..record }
}

/// Returns the record of a run as it is where nobody had approved the rules.
pub(super) fn by_changed_rules(record: RunRecord) -> RunRecord {
    let changed = ChangedRules { rules: Digest::of(b"rules"), changed: vec!["tests: timeout".to_owned()], lacks_files: false };
    let conditions = serde_json::json!({ "platform": "linux-x86_64", "rulesChanged": changed });
    RunRecord { conditions: Some(serde_json::from_value(conditions).expect("conditions")), ..record }
}

pub(super) fn everything_counts(_: &ProjectId, _: &CurrentApproval, _: &LedgerBody) -> bool {
    true
}

pub(super) fn terms(success: &str) -> PlanTerms {
    PlanTerms {
        actions: BTreeMap::new(),
        timeout_ms: Some(1),
        success: vec![success.to_owned()],
        failure: Vec::new(),
        expected_output: ExpectedOutput::default(),
        pass_rate_basis_points: None,
        expected_failing_tests: Vec::new(),
        required_evidence: Vec::new(),
        task_status_lock: true,
        judged: None,
        dependencies: Vec::new(),
        strictness: Vec::new(),
        debt: Vec::new(),
        approval: ApprovalTerms::default(),
        settings: None,
        in_front: None,
    }
}

/// Returns a line that approves a task's plan with one condition for success.
pub(super) fn approval(task_id: &str, success: &str, weakened: &[&str]) -> LedgerBody {
    LedgerBody::Approval(Box::new(ApprovalRecord {
        task: task(task_id),
        file: "a-test-specification.json".to_owned(),
        plan_digest: Digest::of(success.as_bytes()),
        reason: ApprovalReason::NewTask,
        weakened: weakened.iter().map(|text| (*text).to_owned()).collect(),
        terms: terms(success),
        protected: None,
        signature: None,
    }))
}

/// Returns the next line of a ledger that has `before` lines, with the offset at which it ends. Every line counts as
/// 100 bytes long.
pub(super) fn line(before: usize, body: LedgerBody) -> (u64, LedgerLine) {
    let sequence = before as u64 + 1;
    (sequence * 100, testing::ledger_line(sequence, body))
}

impl TestIndex {
    pub(super) fn new() -> Self {
        Self::judging(everything_counts)
    }

    pub(super) fn judging(judge: ApprovalJudge) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory can be made");
        let path = directory.path().join("state.db");
        let index = StoreIndex::open(&path, judge).expect("a new index opens").index;
        Self { index, lines: BTreeMap::new(), path, _directory: directory }
    }

    /// Appends a line to the sample ledger of a project, and applies it to the index.
    pub(super) fn append(&mut self, id: &str, body: LedgerBody) {
        let lines = self.lines.entry(project(id)).or_default();
        lines.push(line(lines.len(), body));
        self.index.apply(&project(id), &lines[lines.len() - 1..]).expect("the line follows");
    }

    pub(super) fn append_run(&mut self, id: &str, record: RunRecord) {
        self.append(id, LedgerBody::Run(Box::new(record)));
    }
}
