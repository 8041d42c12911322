//! Tests of evaluating conditions.

use std::collections::BTreeMap;

use serde_json::json;

use super::{FakeAction, FakeValue, read};
use crate::condition::{ConditionTruth, Evaluation, Field, evaluate};
use proctor_model::{ActualValue, ConditionValue};

fn seen() -> FakeAction {
    let headers = BTreeMap::from([("content-type".to_owned(), "application/json".to_owned())]);
    let body = json!({"id": 1, "name": "x", "items": [{"n": 2}, "y"], "none": null, "ok": true});
    FakeAction::default()
        .with("STEP.1", Field::ExitCode, FakeValue::Number(0.0))
        .with("STEP.1", Field::Success, FakeValue::Boolean(true))
        .with("STEP.1", Field::Result, FakeValue::Word("SUCCESS"))
        .with("STEP.1", Field::TestsFailed, FakeValue::Number(2.0))
        .with("STEP.1", Field::Stdout, FakeValue::Text("1 passed ✓\n".to_owned()))
        .with("STEP.2", Field::ExitCode, FakeValue::Number(2.0))
        .with("STEP.2", Field::Success, FakeValue::Boolean(false))
        .with("STEP.2", Field::Stdout, FakeValue::Ends("first".to_owned(), "last".to_owned()))
        .with("STEP.2", Field::Duration, FakeValue::Number(f64::INFINITY))
        .with("STEP.5", Field::StatusCode, FakeValue::Number(200.0))
        .with("STEP.5", Field::Body, FakeValue::Json(body))
        .with("STEP.5", Field::Headers, FakeValue::Texts(headers))
}

fn truth(text: &str) -> ConditionTruth {
    evaluate(&read(text), &seen()).truth
}

#[test]
fn values_are_compared_without_coercion() {
    for (text, expected) in [
        ("STEP.1.exitCode === 0", ConditionTruth::True),
        ("STEP.1.exitCode == 0", ConditionTruth::True),
        ("STEP.1.exitCode === '0'", ConditionTruth::False),
        ("STEP.1.exitCode !== '0'", ConditionTruth::True),
        ("STEP.1.success === 1", ConditionTruth::False),
        ("STEP.1.failed === false", ConditionTruth::True),
        ("STEP.2.failed", ConditionTruth::True),
        ("!STEP.2.success", ConditionTruth::True),
        ("STEP.1.exitCode", ConditionTruth::Unknown),
        ("STEP.1.stdout < 'z'", ConditionTruth::Unknown),
        ("STEP.5.statusCode >= 200 && STEP.5.status < 300", ConditionTruth::True),
        ("STEP.2.exitCode > 2 || STEP.2.exitCode <= 2", ConditionTruth::True),
        ("2 <= STEP.2.exitCode", ConditionTruth::True),
        ("(STEP.1.exitCode === 0) === STEP.1.success", ConditionTruth::True),
        ("STEP.1.status === 'SUCCESS'", ConditionTruth::True),
        ("STEP.1.status !== 'SUCCESS'", ConditionTruth::False),
        ("STEP.5.status === 200", ConditionTruth::True),
        ("STEP.1.testResults.failed === 2", ConditionTruth::True),
        ("STEP.1.testsFailed === STEP.1.testResults['failed']", ConditionTruth::True),
        ("STEP.1.stdout.startsWith('1 passed')", ConditionTruth::True),
        ("STEP.1.stdout.startsWith('passed')", ConditionTruth::False),
        // Of this text the beginning `first` and the end `last` were kept.
        ("STEP.2.stdout.startsWith('fi')", ConditionTruth::True),
        ("STEP.2.stdout.startsWith('x')", ConditionTruth::False),
        ("STEP.2.stdout.startsWith('firstly')", ConditionTruth::Unknown),
    ] {
        assert_eq!(truth(text), expected, "{text}");
    }
}

#[test]
fn parts_of_an_answer_are_named() {
    for (text, expected) in [
        ("STEP['5'].body.id === 1", ConditionTruth::True),
        ("STEP.5.body.name.includes('x')", ConditionTruth::True),
        ("STEP.5.body.name.length === 1", ConditionTruth::True),
        ("STEP.5.body.items.length === 2", ConditionTruth::True),
        ("STEP.5.body.items.includes('y')", ConditionTruth::True),
        ("STEP.5.body.items.includes('z')", ConditionTruth::False),
        ("STEP.5.body.items[0].n === 2", ConditionTruth::True),
        ("STEP.5.body.items[2] === 2", ConditionTruth::Unknown),
        ("STEP.5.body.none === null", ConditionTruth::True),
        ("STEP.5.body.absent === null", ConditionTruth::Unknown),
        ("STEP.5.body.items === 1", ConditionTruth::Unknown),
        ("STEP.5.body.id.length === 1", ConditionTruth::Unknown),
        ("STEP.5.body.ok", ConditionTruth::True),
        ("STEP.5.body.id", ConditionTruth::Unknown),
        ("STEP.5.headers['Content-Type'].includes('json')", ConditionTruth::True),
        ("STEP.5.headers['x-none'] === 'json'", ConditionTruth::Unknown),
    ] {
        assert_eq!(truth(text), expected, "{text}");
    }
}

#[test]
fn of_a_text_that_was_not_kept_whole_only_what_is_sure_is_said() {
    for (text, expected) in [
        ("STEP.1.stdout.includes('passed ✓')", ConditionTruth::True),
        ("STEP.1.stdout.includes('failed')", ConditionTruth::False),
        ("STEP.1.stdout.length === 11", ConditionTruth::True),
        ("STEP.1.stdout === '1 passed ✓\\n'", ConditionTruth::True),
        ("STEP.2.stdout.includes('last')", ConditionTruth::True),
        ("STEP.2.stdout.includes('failed')", ConditionTruth::Unknown),
        ("STEP.2.stdout.includes('firstlast')", ConditionTruth::Unknown),
        ("STEP.2.stdout === 'firstlast'", ConditionTruth::Unknown),
        ("STEP.2.stdout.length > 0", ConditionTruth::True),
        ("STEP.2.stdout.length >= 9", ConditionTruth::True),
        ("STEP.2.stdout.length > 9", ConditionTruth::Unknown),
        ("STEP.2.stdout.length < 9", ConditionTruth::False),
        ("STEP.2.stdout.length <= 9", ConditionTruth::Unknown),
        ("STEP.2.stdout.length <= 8", ConditionTruth::False),
        ("STEP.2.stdout.length === 8", ConditionTruth::False),
        ("STEP.2.stdout.length !== 8", ConditionTruth::True),
        ("STEP.2.stdout.length === 9", ConditionTruth::Unknown),
        ("8 < STEP.2.stdout.length", ConditionTruth::True),
    ] {
        assert_eq!(truth(text), expected, "{text}");
    }
}

/// The static check refuses conditions that ask, for example, for a part of a number. If such a condition is evaluated
/// nevertheless, the part is unknown: it does not get the value of the whole field.
#[test]
fn a_part_of_what_has_none_is_unknown() {
    for text in [
        "STEP.1.exitCode.value === 0",
        "STEP.1.exitCode.length === 0",
        "STEP.1.success.value",
        "STEP.1.success.length === true",
        "STEP.1.stdout.first !== 'x'",
        "STEP.2.duration > 5",
    ] {
        assert_eq!(truth(text), ConditionTruth::Unknown, "{text}");
    }
}

#[test]
fn an_unknown_value_decides_only_where_the_rest_does_not() {
    for (text, expected) in [
        ("STEP.9.statusCode !== 200", ConditionTruth::Unknown),
        ("STEP.9.statusCode === 200 || STEP.1.success", ConditionTruth::True),
        ("STEP.9.statusCode === 200 || STEP.2.success", ConditionTruth::Unknown),
        ("STEP.9.statusCode === 200 && STEP.2.success", ConditionTruth::False),
        ("STEP.9.statusCode === 200 && STEP.1.success", ConditionTruth::Unknown),
        ("!(STEP.9.statusCode === 200)", ConditionTruth::Unknown),
        ("(STEP.9.statusCode === 200) === STEP.1.success", ConditionTruth::Unknown),
        ("STEP.1.duration === STEP.1.duration", ConditionTruth::Unknown),
    ] {
        assert_eq!(truth(text), expected, "{text}");
    }
}

#[test]
fn every_reference_is_recorded_once_with_its_value() {
    let condition = read("STEP.1.success || STEP.9.status === 200 || STEP['2'].exitCode === 0 || STEP.2.exitCode === 1");
    let actual = |reference: &str, value| ActualValue { reference: reference.to_owned(), value };
    assert_eq!(
        evaluate(&condition, &seen()),
        Evaluation {
            truth: ConditionTruth::True,
            actual: vec![
                actual("STEP.1.success", Some(ConditionValue::Boolean(true))),
                actual("STEP.9.status", None),
                actual("STEP.2.exitCode", Some(ConditionValue::Number(2.0))),
            ],
            unknown: vec!["STEP.9.status".to_owned()],
        }
    );
}
