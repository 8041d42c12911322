//! Seed 004's conditions and completion, row by row of the decisions (C04, C63, C65–C68, R5).

use std::collections::BTreeMap;

use insta::assert_snapshot;
use serde_json::json;

use crate::model::{
    ActionId, ActionPhase, ActionType, ActualValue, Blocking, CompletionStatus, ConditionValue, Counts, CriteriaEvaluation,
    DiagnosticSummary, DurationMs, EvidenceKind, ExpectedOutput, OverallResult, OverallStatus, PartialReason, ResultType,
    StreamExcerpt, TaskCondition, TaskCriteria, TaskStatus, TestResults, ToolClass,
};
use crate::verdict::{RunFlow, RunVerdict, SeenAction, SeenAnswer, SeenFile, judge_criteria, judge_run};

/// What a test says was seen; `seen` borrows from it.
struct Seen {
    id: ActionId,
    action_type: ActionType,
    class: ToolClass,
    status: Option<ResultType>,
    blocking: Blocking,
    reason: &'static str,
    exit_code: Option<i32>,
    stdout: Option<StreamExcerpt>,
    stderr: Option<StreamExcerpt>,
    findings: Option<DiagnosticSummary>,
    tests: Option<TestResults>,
    file: Option<SeenFile>,
    answer: Option<SeenAnswer>,
}

fn stream(text: &str) -> StreamExcerpt {
    StreamExcerpt { total: text.len() as u64, head: text.as_bytes().to_vec(), tail: Vec::new() }
}

fn command(id: &str, status: ResultType, exit_code: i32) -> Seen {
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

fn tested(id: &str, passed: u64, failed: u64) -> Seen {
    let counts = Counts { passed, failed, skipped: 0 };
    let status = if failed == 0 { ResultType::Success } else { ResultType::TestFailure };
    Seen {
        class: ToolClass::Test,
        tests: Some(TestResults { counts, total: passed + failed, failures: Vec::new() }),
        reason: "2 test assertions failed",
        ..command(id, status, i32::from(failed > 0))
    }
}

fn without_process(id: &str, action_type: ActionType, status: ResultType) -> Seen {
    Seen { action_type, exit_code: None, stdout: None, stderr: None, ..command(id, status, 0) }
}

fn skipped(id: &str) -> Seen {
    Seen { status: None, exit_code: None, stdout: None, stderr: None, ..command(id, ResultType::TestFailure, 0) }
}

impl Seen {
    fn borrowed(&self) -> SeenAction<'_> {
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
        }
    }
}

fn conditions(texts: &[&str]) -> Vec<TaskCondition> {
    let condition = |text: &&str| TaskCondition { condition: (*text).to_owned(), description: format!("{text} holds") };
    texts.iter().map(condition).collect()
}

/// Criteria that any run meets whose first step ends with 0.
fn criteria() -> TaskCriteria {
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
fn passed() -> RunVerdict {
    RunVerdict {
        overall_status: OverallStatus::Success,
        overall_result: Some(OverallResult::Passed),
        reason: "1 step ran and nothing blocks".to_owned(),
        task_status: Some(TaskStatus::Complete),
        completion_status: CompletionStatus::Complete,
        completion_reason: "1 step ran and nothing blocks".to_owned(),
        ..judge_run(&[], &RunFlow::Finished)
    }
}

fn judged(criteria: &TaskCriteria, seen: &[Seen]) -> (RunVerdict, CriteriaEvaluation) {
    judged_with(passed(), criteria, seen, &[])
}

fn judged_with(
    mut verdict: RunVerdict,
    criteria: &TaskCriteria,
    seen: &[Seen],
    evidence: &[EvidenceKind],
) -> (RunVerdict, CriteriaEvaluation) {
    let actions: Vec<_> = seen.iter().map(Seen::borrowed).collect();
    let evaluation = judge_criteria(&mut verdict, criteria, &actions, evidence);
    (verdict, evaluation)
}

/// Returns whether one success condition is met, and one failure condition of the same text triggered.
fn one(text: &str, seen: &[Seen]) -> (bool, bool) {
    let criteria = TaskCriteria { success: conditions(&[text]), failure: conditions(&[text]), ..criteria() };
    let (_, evaluation) = judged(&criteria, seen);
    (evaluation.success[0].decided, evaluation.failure[0].decided)
}

#[test]
fn c04_unmet_criteria_fail_the_verdict_and_leave_what_happened() {
    let criteria = TaskCriteria { success: conditions(&["STEP.1.exitCode === 0", "STEP.1.errorCount === 0"]), ..criteria() };
    let (verdict, evaluation) = judged(&criteria, &[command("STEP.1", ResultType::Success, 0)]);
    assert_eq!(verdict.overall_result, Some(OverallResult::Failed));
    assert_eq!((verdict.task_status, verdict.completion_status), (Some(TaskStatus::Failed), CompletionStatus::Incomplete));
    assert_eq!((verdict.overall_status, verdict.blocking), (OverallStatus::Success, 0));
    assert_eq!(verdict.reason, "1 of 2 success conditions not met");
    assert_eq!(verdict.completion_reason, verdict.reason);
    assert_eq!(evaluation.success[1].unknown, ["STEP.1.errorCount"]);
}

#[test]
fn c04_criteria_that_are_met_leave_a_failed_run_failed() {
    let failed = judge_run(&[], &RunFlow::Finished);
    let (verdict, evaluation) = judged_with(failed, &criteria(), &[command("STEP.1", ResultType::Success, 0)], &[]);
    assert!(evaluation.success[0].decided);
    assert_eq!(verdict.overall_result, Some(OverallResult::Failed));
    assert_eq!(verdict.reason, "No step was run, so nothing is shown");
    let unmet = TaskCriteria { success: conditions(&["STEP.1.exitCode === 1"]), ..criteria() };
    let failed = judge_run(&[], &RunFlow::Finished);
    let (verdict, _) = judged_with(failed, &unmet, &[command("STEP.1", ResultType::Success, 0)], &[]);
    assert_eq!(verdict.reason, "No step was run, so nothing is shown; 1 of 1 success condition not met");
}

#[test]
fn criteria_say_nothing_about_a_run_without_a_verdict() {
    let moved = judge_run(&[], &RunFlow::Moved);
    let unmet = TaskCriteria { success: conditions(&["STEP.1.exitCode === 1"]), ..criteria() };
    let (verdict, _) = judged_with(moved.clone(), &unmet, &[command("STEP.1", ResultType::Success, 0)], &[]);
    assert_eq!(verdict, moved);
}

#[test]
fn a_task_without_a_success_condition_is_never_done() {
    let none = TaskCriteria { success: Vec::new(), ..criteria() };
    let (verdict, _) = judged(&none, &[command("STEP.1", ResultType::Success, 0)]);
    assert_eq!(verdict.overall_result, Some(OverallResult::Failed));
    assert_eq!(verdict.reason, "There is no success condition, so nothing shows that the task is done");
}

/// Seed 004's example: every condition of it, in the run it describes.
#[test]
fn c65_every_condition_is_listed_with_its_value_and_its_reason() {
    let types = Seen { reason: "TypeScript found 1 error", ..command("STEP.3", ResultType::ValidationFailure, 2) };
    let seen = [
        without_process("STEP.1", ActionType::FileValidation, ResultType::Success),
        types,
        tested("STEP.4", 3, 2),
        without_process("STEP.9", ActionType::HttpRequest, ResultType::ExecutionError),
    ];
    let criteria = TaskCriteria {
        success: conditions(&["STEP.1.exitCode === 0", "STEP.3.exitCode === 0", "STEP.4.exitCode === 0"]),
        failure: conditions(&["STEP.3.exitCode !== 0", "STEP.9.statusCode !== 200", "STEP.1.failed"]),
        ..criteria()
    };
    let (verdict, evaluation) = judged(&criteria, &seen);
    let shown = |judged: &[crate::model::JudgedCondition]| {
        judged
            .iter()
            .map(|one| {
                let values: Vec<_> = one.actual.iter().map(|actual| json!(actual.value)).collect();
                json!([one.condition.condition, one.decided, values, one.unknown, one.reason]).to_string()
            })
            .collect::<Vec<_>>()
    };
    assert_snapshot!([shown(&evaluation.success), shown(&evaluation.failure)].concat().join("\n"), @r#"
    ["STEP.1.exitCode === 0",true,[0],[],null]
    ["STEP.3.exitCode === 0",false,[2],[],"TypeScript found 1 error"]
    ["STEP.4.exitCode === 0",false,[1],[],"2 test assertions failed"]
    ["STEP.3.exitCode !== 0",true,[2],[],"TypeScript found 1 error"]
    ["STEP.9.statusCode !== 200",true,[null],["STEP.9.statusCode"],"Not known: `STEP.9.statusCode`; STEP.9: it is what it is"]
    ["STEP.1.failed",false,[false],[],null]
    "#);
    assert_eq!(verdict.reason, "2 of 3 success conditions not met; 2 of 3 failure conditions triggered");
}

#[test]
fn c66_where_there_is_no_process_the_exit_code_is_made_of_success() {
    for action_type in [ActionType::FileValidation, ActionType::HttpRequest] {
        let succeeded = [without_process("STEP.1", action_type, ResultType::Success)];
        assert_eq!(one("STEP.1.exitCode === 0", &succeeded), (true, true), "{action_type}");
        for status in [ResultType::ValidationFailure, ResultType::ExecutionError, ResultType::Timeout] {
            assert_eq!(one("STEP.1.exitCode === 1", &[without_process("STEP.1", action_type, status)]), (true, true));
        }
    }
    let killed = [Seen { exit_code: None, ..command("STEP.1", ResultType::ExecutionError, 0) }];
    assert_eq!(one("STEP.1.exitCode === 0", &killed), (false, true), "a process that was killed has no exit code");
}

#[test]
fn c67_what_is_unknown_is_not_met_and_triggered() {
    let refused = [without_process("STEP.9", ActionType::HttpRequest, ResultType::ExecutionError)];
    assert_eq!(one("STEP.9.statusCode !== 200", &refused), (false, true));
    assert_eq!(one("STEP.9.statusCode === 200", &refused), (false, true));
    assert_eq!(one("STEP.2.success", &refused), (false, true), "there is no such action");
    assert_eq!(one("STEP.9.failed", &[skipped("STEP.9")]), (false, true), "it was not carried out");
    assert_eq!(one("STEP.9.exitCode ===", &refused), (false, true), "it cannot be read");
    let criteria = TaskCriteria { failure: conditions(&["STEP.9.statusCode !== 200", "STEP.3.success"]), ..criteria() };
    let (_, evaluation) = judged(&criteria, &[refused.into_iter().next().expect("one"), skipped("STEP.3")]);
    assert_eq!(evaluation.failure[0].unknown, ["STEP.9.statusCode"]);
    assert_eq!(evaluation.failure[0].reason.as_deref(), Some("Not known: `STEP.9.statusCode`; STEP.9: it is what it is"));
    assert_eq!(evaluation.failure[1].reason.as_deref(), Some("Not known: `STEP.3.success`; STEP.3 was not carried out"));
    assert_eq!(evaluation.success[0].reason.as_deref(), Some("Not known: `STEP.1.exitCode`; STEP.1 is no action of the task"));
    let unsaid = TaskCriteria { success: conditions(&["STEP.1.errorCount === 0"]), ..criteria.clone() };
    let (_, evaluation) = judged(&unsaid, &[command("STEP.1", ResultType::Success, 0)]);
    assert_eq!(evaluation.success[0].reason.as_deref(), Some("Not known: `STEP.1.errorCount`; STEP.1 shows no such value"));
}

#[test]
fn every_field_that_was_seen_can_be_asked() {
    let file = SeenFile { exists: true, size: Some(64), is_valid_json: Some(false), pattern_matches: Some(true) };
    let answer = SeenAnswer {
        status: 201,
        headers: BTreeMap::from([("content-type".to_owned(), "application/json".to_owned())]),
        body: Some(json!({"id": 1})),
    };
    let summary = DiagnosticSummary { errors: 1, warnings: 2, fixable: None, total_files: 1 };
    let lint =
        Seen { findings: Some(summary), stdout: Some(stream("v1\n")), stderr: Some(stream("é")), ..tested("STEP.1", 3, 2) };
    let seen = [
        lint,
        Seen { file: Some(file), ..without_process("STEP.2", ActionType::FileValidation, ResultType::Success) },
        Seen { answer: Some(answer), ..without_process("STEP.3", ActionType::HttpRequest, ResultType::Success) },
    ];
    for text in [
        "STEP.1.exitCode === 1 && STEP.1.failed && !STEP.1.success && STEP.1.duration === 5",
        "STEP.1.stdout === 'v1\\n' && STEP.1.stderr.length === 1",
        "STEP.1.errorCount === 1 && STEP.1.warningCount === 2",
        "STEP.1.testsPassed === 3 && STEP.1.testsFailed === 2 && STEP.1.testsSkipped === 0 && STEP.1.testsTotal === 5",
        "STEP.2.exists && STEP.2.size === 64 && STEP.2.isValidJSON === false && STEP.2.patternMatches",
        "STEP.3.status === 201 && STEP.3.body.id === 1 && STEP.3.headers['content-type'].includes('json')",
    ] {
        assert_eq!(one(text, &seen), (true, true), "{text}");
    }
}

#[test]
fn of_output_that_was_cut_a_divided_character_is_in_neither_part() {
    let cut = StreamExcerpt { total: 100, head: "first é".as_bytes()[..7].to_vec(), tail: "✓ last".as_bytes()[1..].to_vec() };
    let seen = [Seen { stdout: Some(cut), ..command("STEP.1", ResultType::Success, 0) }];
    for (text, expected) in [
        ("STEP.1.stdout.includes('first')", (true, true)),
        ("STEP.1.stdout.includes(' last')", (true, true)),
        ("STEP.1.stdout.includes('\u{fffd}')", (false, true)),
        ("STEP.1.stdout.includes('middle')", (false, true)),
        ("STEP.1.stdout.length >= 11", (true, true)),
        ("STEP.1.stdout.length >= 12", (false, true)),
    ] {
        assert_eq!(one(text, &seen), expected, "{text}");
    }
    let whole = StreamExcerpt { total: 3, head: "✓".as_bytes()[..2].to_vec(), tail: "✓".as_bytes()[2..].to_vec() };
    let seen = [Seen { stdout: Some(whole), ..command("STEP.1", ResultType::Success, 0) }];
    assert_eq!(one("STEP.1.stdout === '✓'", &seen), (true, true));
}

#[test]
fn c67_an_output_that_was_not_kept_whole_says_so() {
    let cut = StreamExcerpt { total: 900, head: b"begin".to_vec(), tail: b"end".to_vec() };
    let seen = [Seen { stdout: Some(cut), ..command("STEP.1", ResultType::Success, 0) }];
    let criteria = TaskCriteria { success: conditions(&["STEP.1.stdout.includes('middle')"]), ..criteria() };
    let (_, evaluation) = judged(&criteria, &seen);
    assert_eq!(
        evaluation.success[0].reason.as_deref(),
        Some(
            "Not known: `STEP.1.stdout.includes(\"middle\")`; STEP.1 printed 900 bytes on stdout, 892 of them between those a condition \
             sees: it is decided on the first and last bytes alone, and the others are only in its log"
        )
    );
}

#[test]
fn what_was_seen_is_the_reason_where_nothing_failed() {
    let cut = StreamExcerpt { total: 900, head: b"begin".to_vec(), tail: b"end".to_vec() };
    let seen = [Seen { stdout: Some(stream("v1")), stderr: Some(cut), ..command("STEP.1", ResultType::Success, 0) }];
    let reason = |text: &str| {
        let criteria = TaskCriteria { success: conditions(&[text]), ..criteria() };
        judged(&criteria, &seen).1.success[0].reason.clone().expect("it is not met")
    };
    assert_eq!(reason("STEP.1.exitCode === 1 && STEP.1.stdout === 'v2'"), "`STEP.1.exitCode` is 0, `STEP.1.stdout` is \"v1\"");
    assert!(reason("STEP.1.stderr === 'x'").contains("printed 900 bytes on stderr, 892 of them between"));
}

#[test]
fn a_long_value_is_shown_by_its_beginning() {
    let seen = [Seen { stdout: Some(stream(&"é".repeat(300))), ..command("STEP.1", ResultType::Success, 0) }];
    let criteria = TaskCriteria { success: conditions(&["STEP.1.stdout === 'x'"]), ..criteria() };
    let (_, evaluation) = judged(&criteria, &seen);
    let shown = ConditionValue::Text(format!("{}…", "é".repeat(200)));
    let actual = ActualValue { reference: "STEP.1.stdout".to_owned(), value: Some(shown) };
    assert_eq!(evaluation.success[0].actual, [actual]);
}

/// Half-up rounding and "0 steps → null" are `rates_are_rounded_half_up_to_one_decimal`'s and `judge_run`'s.
#[test]
fn c63_the_rate_is_of_steps_alone() {
    let half = [
        command("PREREQ.1", ResultType::Success, 0),
        command("STEP.1", ResultType::Success, 0),
        Seen { blocking: Blocking::Blocks, ..command("STEP.2", ResultType::ExecutionError, 1) },
        command("CLEANUP.1", ResultType::Success, 0),
    ];
    let at_least = |basis_points| TaskCriteria { minimum_pass_rate_basis_points: Some(basis_points), ..criteria() };
    assert_eq!(judged(&at_least(5_000), &half).0.completion_status, CompletionStatus::Complete);
    let (verdict, _) = judged(&at_least(5_001), &half);
    assert_eq!((verdict.completion_status, verdict.task_status), (CompletionStatus::Incomplete, Some(TaskStatus::Partial)));
    assert_eq!(verdict.partial_reason, Some(PartialReason::CriteriaUnmet));
    assert_eq!(verdict.completion_reason, "1 of 2 steps pass, and 50.01 % must");
    assert_eq!(verdict.overall_result, Some(OverallResult::Passed));
    let all = TaskCriteria { all_steps_must_pass: true, minimum_pass_rate_basis_points: Some(0), ..criteria() };
    assert_eq!(judged(&all, &half).0.completion_reason, "1 of 2 steps pass, and each must");
    let without_steps = TaskCriteria { success: conditions(&["CLEANUP.1.success"]), ..at_least(6_000) };
    assert_eq!(judged(&without_steps, &half[3..]).0.completion_reason, "0 of 0 steps pass, and 60 % must");
}

#[test]
fn c63_a_rate_is_reached_exactly_and_a_run_of_skipped_tests_alone_is_not_complete() {
    let at_least = |basis_points| TaskCriteria { minimum_pass_rate_basis_points: Some(basis_points), ..criteria() };
    let mut steps: Vec<Seen> = (1..=4).map(|number| command(&format!("STEP.{number}"), ResultType::Success, 0)).collect();
    steps[3] = Seen { blocking: Blocking::Blocks, ..command("STEP.4", ResultType::ExecutionError, 1) };
    assert_eq!(judged(&at_least(7_500), &steps).0.completion_status, CompletionStatus::Complete);
    assert_eq!(judged(&at_least(7_501), &steps).0.completion_reason, "3 of 4 steps pass, and 75.01 % must");
    let skipped = Seen {
        tests: Some(TestResults { counts: Counts { passed: 0, failed: 0, skipped: 3 }, total: 3, failures: Vec::new() }),
        ..tested("STEP.1", 1, 0)
    };
    assert_eq!(judged(&criteria(), &[skipped]).0.completion_reason, "No test was executed");
}

/// What is asked of a step that fails as declared is still to come; what is asked of the others is asked now.
#[test]
fn c06_a_declared_failure_excuses_no_condition_on_another_step() {
    let seen = [command("STEP.1", ResultType::TestFailure, 1), command("STEP.2", ResultType::Success, 0)];
    let judge = |success: &[&str], failure: &[&str]| {
        let mut verdict = passed();
        let criteria = TaskCriteria { success: conditions(success), failure: conditions(failure), ..criteria() };
        let [declared, other] = &seen;
        let actions = [SeenAction { is_expected_failure: true, ..declared.borrowed() }, other.borrowed()];
        judge_criteria(&mut verdict, &criteria, &actions, &[]);
        verdict.overall_result
    };
    assert_eq!(judge(&["STEP.1.exitCode === 0", "STEP.2.exitCode === 0"], &["STEP.1.failed"]), Some(OverallResult::Passed));
    assert_eq!(judge(&["STEP.2.exitCode === 1"], &[]), Some(OverallResult::Failed));
    assert_eq!(judge(&["STEP.2.success"], &["STEP.2.exitCode === 0"]), Some(OverallResult::Failed));
}

#[test]
fn c34_a_step_with_allowed_findings_passes() {
    let warned = Seen { blocking: Blocking::Allowed, ..command("STEP.1", ResultType::ValidationFailure, 0) };
    let all = TaskCriteria { all_steps_must_pass: true, ..criteria() };
    assert_eq!(judged(&all, &[warned]).0.completion_status, CompletionStatus::Complete);
}

#[test]
fn c68_evidence_is_of_a_kind_or_it_is_not() {
    let required = [EvidenceKind::TerminalOutput, EvidenceKind::TestExecutionLog, EvidenceKind::ApiResponses];
    let criteria = TaskCriteria { required_evidence: required.to_vec(), ..criteria() };
    let seen = || [command("STEP.1", ResultType::Success, 0)];
    let missing = |found: &[EvidenceKind]| judged_with(passed(), &criteria, &seen(), found);
    let (verdict, evaluation) =
        missing(&[EvidenceKind::TerminalOutput, EvidenceKind::TestExecutionLog, EvidenceKind::ErrorLogs, EvidenceKind::Frames]);
    assert_eq!(evaluation.missing_evidence, [EvidenceKind::ApiResponses]);
    assert_eq!(verdict.completion_reason, "Evidence is missing: api-responses");
    assert_eq!((verdict.overall_result, verdict.completion_status), (Some(OverallResult::Passed), CompletionStatus::Incomplete));
    let (verdict, evaluation) = missing(&[EvidenceKind::TestExecutionLog, EvidenceKind::ApiResponses]);
    assert_eq!((evaluation.missing_evidence.as_slice(), verdict.completion_status), (&[][..], CompletionStatus::Complete));
    let (_, evaluation) = missing(&[EvidenceKind::TerminalOutput, EvidenceKind::ApiResponses]);
    assert_eq!(evaluation.missing_evidence, [EvidenceKind::TestExecutionLog], "a command's output is no test's");
}

/// Each part of the rule keeps a task from being ticked off by itself.
#[test]
fn r5_a_task_is_complete_only_if_everything_holds() {
    let seen = || [tested("STEP.1", 3, 0)];
    let full = TaskCriteria {
        failure: conditions(&["STEP.1.failed"]),
        expected_output: Some(ExpectedOutput { exit_code: Some(0), ..ExpectedOutput::default() }),
        all_steps_must_pass: true,
        required_evidence: vec![EvidenceKind::TestExecutionLog],
        ..criteria()
    };
    let evidence = [EvidenceKind::TestExecutionLog];
    let status = |criteria: &TaskCriteria, seen: &[Seen], evidence: &[EvidenceKind]| {
        judged_with(passed(), criteria, seen, evidence).0.completion_status
    };
    let (verdict, _) = judged_with(passed(), &full, &seen(), &evidence);
    assert_eq!((verdict.completion_status, verdict.task_status), (CompletionStatus::Complete, Some(TaskStatus::Complete)));
    assert_eq!(verdict.completion_reason, "1 step ran and nothing blocks; 1 success condition met");
    let unmet = TaskCriteria { success: conditions(&["STEP.1.testsTotal > 3"]), ..full.clone() };
    assert_eq!(status(&unmet, &seen(), &evidence), CompletionStatus::Incomplete);
    let triggered = TaskCriteria { failure: conditions(&["STEP.1.testsTotal < 4"]), ..full.clone() };
    assert_eq!(status(&triggered, &seen(), &evidence), CompletionStatus::Incomplete);
    let output = ExpectedOutput { exit_code: Some(3), ..ExpectedOutput::default() };
    let unexpected = TaskCriteria { expected_output: Some(output), ..full.clone() };
    assert_eq!(status(&unexpected, &seen(), &evidence), CompletionStatus::Incomplete);
    let blocked = [tested("STEP.1", 3, 0), command("STEP.2", ResultType::ExecutionError, 1)];
    assert_eq!(status(&full, &blocked, &evidence), CompletionStatus::Incomplete);
    assert_eq!(status(&full, &seen(), &[]), CompletionStatus::Incomplete);
    let untested = [Seen { tests: None, ..tested("STEP.1", 3, 0) }];
    let (verdict, _) = judged_with(passed(), &full, &untested, &evidence);
    assert_eq!(verdict.completion_reason, "No test was executed");
    assert_eq!((verdict.completion_status, verdict.overall_result), (CompletionStatus::Incomplete, Some(OverallResult::Passed)));
    let failed = judge_run(&[], &RunFlow::Finished);
    assert_eq!(judged_with(failed, &full, &seen(), &evidence).0.completion_status, CompletionStatus::Incomplete);
}

#[test]
fn r5_a_declared_red_stays_partial_for_that_reason() {
    let red = RunVerdict {
        task_status: Some(TaskStatus::Partial),
        partial_reason: Some(PartialReason::ExpectedRed),
        completion_status: CompletionStatus::Incomplete,
        completion_reason: "Tests fail as declared; the implementation is still to come".to_owned(),
        ..passed()
    };
    let missing = TaskCriteria { required_evidence: vec![EvidenceKind::ApiResponses], ..criteria() };
    let (verdict, _) = judged_with(red.clone(), &missing, &[command("STEP.1", ResultType::Success, 0)], &[]);
    assert_eq!(verdict.partial_reason, Some(PartialReason::ExpectedRed));
    assert_eq!(
        verdict.completion_reason,
        "Tests fail as declared; the implementation is still to come; evidence is missing: api-responses"
    );
    let (verdict, _) = judged_with(red.clone(), &criteria(), &[command("STEP.1", ResultType::Success, 0)], &[]);
    assert_eq!((verdict.completion_reason, verdict.completion_status), (red.completion_reason, CompletionStatus::Incomplete));
}

#[test]
fn expected_output_is_looked_for_where_it_says_and_is_never_met_by_nothing() {
    let expected = ExpectedOutput {
        stdout_contains: vec!["passed".to_owned(), "v1".to_owned(), "absent".to_owned(), String::new()],
        stderr_empty: true,
        exit_code: Some(0),
    };
    let criteria = TaskCriteria { expected_output: Some(expected), ..criteria() };
    let test = Seen { stdout: Some(stream("3 passed\n")), ..tested("STEP.1", 3, 0) };
    let other = Seen { stdout: Some(stream("v1")), stderr: Some(stream("oh")), ..command("STEP.2", ResultType::Success, 7) };
    let prerequisite = Seen { stdout: Some(stream("absent")), ..command("PREREQ.1", ResultType::Success, 0) };
    let lines = |seen: &[Seen]| {
        let (_, evaluation) = judged(&criteria, seen);
        let line = |one: &crate::model::JudgedExpectation| format!("{} {}: {:?}", one.met, one.expectation, one.reason);
        evaluation.expected_output.iter().map(line).collect::<Vec<_>>().join("\n")
    };
    assert_snapshot!(lines(&[prerequisite, test, other]), @r#"
    true standard output contains "passed": None
    true standard output contains "v1": None
    false standard output contains "absent": Some("No step printed it")
    false standard output contains "": Some("An empty text stands in everything and shows nothing")
    false standard error is empty: Some("STEP.2 printed 2 bytes on it")
    true the exit code is 0: None
    "#);
    assert_snapshot!(lines(&[]), @r#"
    false standard output contains "passed": Some("No step printed anything")
    false standard output contains "v1": Some("No step printed anything")
    false standard output contains "absent": Some("No step printed anything")
    false standard output contains "": Some("An empty text stands in everything and shows nothing")
    false standard error is empty: Some("No step was carried out that could print anything")
    false the exit code is 0: Some("There is no step")
    "#);
    let cut = StreamExcerpt { total: 100, head: b"passed".to_vec(), tail: b"v1".to_vec() };
    let last = Seen { stdout: Some(cut), exit_code: None, ..command("STEP.1", ResultType::Timeout, 0) };
    assert_snapshot!(lines(&[last]), @r#"
    true standard output contains "passed": None
    true standard output contains "v1": None
    false standard output contains "absent": Some("It does not stand in what was kept of the output; some of it is only in the log")
    false standard output contains "": Some("An empty text stands in everything and shows nothing")
    true standard error is empty: None
    false the exit code is 0: Some("The exit code of STEP.1 is not known")
    "#);
}
