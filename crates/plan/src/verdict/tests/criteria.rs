//! Tests seed 004's conditions and expected output, row by row of the decisions (C04, C06, C65–C67).

use std::collections::BTreeMap;

use insta::assert_snapshot;
use serde_json::json;

use crate::verdict::tests::seen::{
    Seen, command, conditions, criteria, judged, judged_with, one, passed, skipped, stream, tested, without_process,
};
use crate::verdict::{RunFlow, SeenAction, SeenAnswer, SeenFile, judge_criteria, judge_run};
use proctor_model::{
    ActionType, ActualValue, CompletionStatus, ConditionValue, DiagnosticSummary, EvidenceKind, ExpectedOutput, OverallResult,
    OverallStatus, ResultType, StreamExcerpt, TaskCriteria, TaskStatus,
};

#[test]
fn c04_unmet_criteria_fail_the_verdict_and_are_no_success() {
    let criteria = TaskCriteria { success: conditions(&["STEP.1.exitCode === 0", "STEP.1.errorCount === 0"]), ..criteria() };
    let (verdict, evaluation) = judged(&criteria, &[command("STEP.1", ResultType::Success, 0)]);
    assert_eq!(verdict.overall_result, Some(OverallResult::Failed));
    assert_eq!((verdict.task_status, verdict.completion_status), (Some(TaskStatus::Failed), CompletionStatus::Incomplete));
    assert_eq!((verdict.overall_status, verdict.blocking), (OverallStatus::PartialSuccess, 0));
    assert_eq!(verdict.reason, "1 of 2 success conditions not met");
    assert_eq!(verdict.completion_reason, verdict.reason);
    assert_eq!(evaluation.success[1].unknown, ["STEP.1.errorCount"]);
}

#[test]
fn v16_success_never_stands_beside_an_incomplete_task() {
    let evidence = TaskCriteria { required_evidence: vec![EvidenceKind::TestExecutionLog], ..criteria() };
    let (verdict, _) = judged(&evidence, &[command("STEP.1", ResultType::Success, 0)]);
    assert_eq!(verdict.overall_result, Some(OverallResult::Passed));
    assert_eq!(
        (verdict.overall_status, verdict.completion_status),
        (OverallStatus::PartialSuccess, CompletionStatus::Incomplete)
    );
    let (verdict, _) = judged(&criteria(), &[command("STEP.1", ResultType::Success, 0)]);
    assert_eq!((verdict.overall_status, verdict.completion_status), (OverallStatus::Success, CompletionStatus::Complete));
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

/// Judges the conditions of seed 004's example for the run that the example describes. Each condition is listed with
/// its value and, if it counts against the task, with the reason.
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
    let shown = |judged: &[proctor_model::JudgedCondition]| {
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
fn a_part_that_an_answer_has_not_is_told_by_what_is_there() {
    let body = json!({ "ok": true, "items": [{ "id": 1 }], "note": null });
    let answer = SeenAnswer { status: 200, headers: BTreeMap::new(), parsed_body: Some(body) };
    let seen = [Seen { answer: Some(answer), ..without_process("STEP.1", ActionType::HttpRequest, ResultType::Success) }];
    for (condition, why) in [
        ("STEP.1.body.includes('ok')", "`STEP.1.body` is an object; `.includes` needs a text or a list"),
        ("STEP.1.body.ok.length > 0", "`STEP.1.body.ok` is true or false; `.length` needs a text or a list"),
        (
            "STEP.1.body.items === 1",
            "`STEP.1.body.items` is a list; only a number, a text, `true`, `false` and `null` can be compared",
        ),
        ("STEP.1.body.items[1].id === 1", "`STEP.1.body.items` is a list and has no such part"),
        ("STEP.1.body.note.text === 'a'", "`STEP.1.body.note` is null and has no such part"),
    ] {
        let criteria = TaskCriteria { success: conditions(&[condition]), ..criteria() };
        let (_, evaluation) = judged(&criteria, &seen);
        let reason = evaluation.success[0].reason.as_deref().unwrap_or_default();
        assert!(reason.ends_with(why) && !evaluation.success[0].decided, "{condition}: {reason}");
    }
}

#[test]
fn every_field_that_was_seen_can_be_asked() {
    let file = SeenFile { exists: true, size: Some(64), is_valid_json: Some(false), pattern_matches: Some(true) };
    let answer = SeenAnswer {
        status: 201,
        headers: BTreeMap::from([("content-type".to_owned(), "application/json".to_owned())]),
        parsed_body: Some(json!({"id": 1})),
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

/// Conditions on a step that fails as declared do not count yet. Conditions on other steps do.
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
        let line = |one: &proctor_model::JudgedExpectation| format!("{} {}: {:?}", one.met, one.expectation, one.reason);
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
