//! Sample observations for tests of conditions and of completion.

use crate::verdict::{RunFlow, RunVerdict, SeenAction, SeenAnswer, SeenFile, judge_criteria, judge_run};
use proctor_model::{
    ActionId, ActionPhase, ActionType, Blocking, CompletionStatus, CriteriaEvaluation, DiagnosticSummary, DurationMs,
    EvidenceKind, OverallResult, OverallStatus, ResultType, StreamExcerpt, TaskCondition, TaskCriteria, TaskStatus, TestCounts,
    TestResults, ToolClass,
};

/// The values of one sample action; `borrowed` makes a `SeenAction` that borrows them.
pub(super) struct Seen {
    pub(super) id: ActionId,
    pub(super) action_type: ActionType,
    pub(super) class: ToolClass,
    pub(super) status: Option<ResultType>,
    pub(super) blocking: Blocking,
    pub(super) reason: &'static str,
    pub(super) exit_code: Option<i32>,
    pub(super) stdout: Option<StreamExcerpt>,
    pub(super) stderr: Option<StreamExcerpt>,
    pub(super) findings: Option<DiagnosticSummary>,
    pub(super) tests: Option<TestResults>,
    pub(super) file: Option<SeenFile>,
    pub(super) answer: Option<SeenAnswer>,
}

pub(super) fn stream(text: &str) -> StreamExcerpt {
    StreamExcerpt { total: text.len() as u64, head: text.as_bytes().to_vec(), tail: Vec::new() }
}

pub(super) fn command(id: &str, status: ResultType, exit_code: i32) -> Seen {
    Seen {
        id: ActionId::try_from(id).expect("an id"),
        action_type: ActionType::TerminalCommand,
        class: ToolClass::Generic,
        status: Some(status),
        blocking: if status == ResultType::Success { Blocking::Allowed } else { Blocking::Blocks },
        reason: "it is what it is",
        exit_code: Some(exit_code),
        stdout: Some(stream("")),
        stderr: Some(stream("")),
        findings: None,
        tests: None,
        file: None,
        answer: None,
    }
}

pub(super) fn tested(id: &str, passed: u64, failed: u64) -> Seen {
    let counts = TestCounts { passed, failed, skipped: 0 };
    let status = if failed == 0 { ResultType::Success } else { ResultType::TestFailure };
    Seen {
        class: ToolClass::Test,
        tests: Some(TestResults { counts, total: passed + failed, ..TestResults::default() }),
        reason: "2 test assertions failed",
        ..command(id, status, i32::from(failed > 0))
    }
}

pub(super) fn without_process(id: &str, action_type: ActionType, status: ResultType) -> Seen {
    Seen { action_type, exit_code: None, stdout: None, stderr: None, ..command(id, status, 0) }
}

pub(super) fn skipped(id: &str) -> Seen {
    Seen { status: None, exit_code: None, stdout: None, stderr: None, ..command(id, ResultType::TestFailure, 0) }
}

impl Seen {
    pub(super) fn borrowed(&self) -> SeenAction<'_> {
        let phase = match self.id.as_str().split_once('.') {
            Some(("PREREQ", _)) => ActionPhase::Prerequisite,
            Some(("CLEANUP", _)) => ActionPhase::Cleanup,
            Some(_) | None => ActionPhase::Step,
        };
        SeenAction {
            id: &self.id,
            action_type: self.action_type,
            phase,
            class: self.class,
            status: self.status,
            reason: Some(self.reason),
            blocking: self.blocking,
            is_expected_failure: false,
            exit_code: self.exit_code,
            duration: self.status.map(|_| DurationMs(5)),
            stdout: self.stdout.as_ref(),
            stderr: self.stderr.as_ref(),
            findings: self.findings.as_ref(),
            tests: self.tests.as_ref(),
            file: self.file,
            answer: self.answer.clone(),
            client: None,
        }
    }
}

pub(super) fn conditions(texts: &[&str]) -> Vec<TaskCondition> {
    let condition = |text: &&str| TaskCondition { condition: (*text).to_owned(), description: format!("{text} holds") };
    texts.iter().map(condition).collect()
}

/// Criteria that are met by any run whose first step exits with 0.
pub(super) fn criteria() -> TaskCriteria {
    TaskCriteria {
        success: conditions(&["STEP.1.exitCode === 0"]),
        failure: Vec::new(),
        expected_output: None,
        all_steps_must_pass: false,
        minimum_pass_rate_basis_points: None,
        required_evidence: Vec::new(),
        task_status_lock: true,
        expected_failure: None,
    }
}

/// The verdict of a run in which nothing blocks.
pub(super) fn passed() -> RunVerdict {
    RunVerdict {
        overall_status: OverallStatus::Success,
        overall_result: Some(OverallResult::Passed),
        reason: "1 step ran and none failed".to_owned(),
        task_status: Some(TaskStatus::Complete),
        completion_status: CompletionStatus::Complete,
        completion_reason: "1 step ran and none failed".to_owned(),
        ..judge_run(&[], &RunFlow::Finished)
    }
}

pub(super) fn judged(criteria: &TaskCriteria, seen: &[Seen]) -> (RunVerdict, CriteriaEvaluation) {
    judged_with(passed(), criteria, seen, &[])
}

pub(super) fn judged_with(
    mut verdict: RunVerdict,
    criteria: &TaskCriteria,
    seen: &[Seen],
    evidence: &[EvidenceKind],
) -> (RunVerdict, CriteriaEvaluation) {
    let actions: Vec<_> = seen.iter().map(Seen::borrowed).collect();
    let evaluation = judge_criteria(&mut verdict, criteria, &actions, evidence);
    (verdict, evaluation)
}

/// Returns whether one success condition is met, and whether a failure condition with the same text is triggered.
pub(super) fn one(text: &str, seen: &[Seen]) -> (bool, bool) {
    let criteria = TaskCriteria { success: conditions(&[text]), failure: conditions(&[text]), ..criteria() };
    let (_, evaluation) = judged(&criteria, seen);
    (evaluation.success[0].decided, evaluation.failure[0].decided)
}
