//! What conditions come to.

use std::collections::BTreeMap;

use serde_json::json;

use super::{Seen, Told, read};
use crate::condition::{Evaluation, Field, Truth, evaluate};
use crate::model::{ActualValue, ConditionValue};

fn seen() -> Seen {
    let headers = BTreeMap::from([("content-type".to_owned(), "application/json".to_owned())]);
    let body = json!({"id": 1, "name": "x", "items": [{"n": 2}, "y"], "none": null, "ok": true});
    Seen::default()
        .with("STEP.1", Field::ExitCode, Told::Number(0.0))
        .with("STEP.1", Field::Success, Told::Boolean(true))
        .with("STEP.1", Field::Stdout, Told::Text("1 passed ✓\n".to_owned()))
        .with("STEP.2", Field::ExitCode, Told::Number(2.0))
        .with("STEP.2", Field::Success, Told::Boolean(false))
        .with("STEP.2", Field::Stdout, Told::Ends("first".to_owned(), "last".to_owned()))
        .with("STEP.2", Field::Duration, Told::Number(f64::INFINITY))
        .with("STEP.5", Field::StatusCode, Told::Number(200.0))
        .with("STEP.5", Field::Body, Told::Json(body))
        .with("STEP.5", Field::Headers, Told::Texts(headers))
}

fn truth(text: &str) -> Truth {
    evaluate(&read(text), &seen()).truth
}

#[test]
fn values_are_compared_without_coercion() {
    for (text, expected) in [
        ("STEP.1.exitCode === 0", Truth::True),
        ("STEP.1.exitCode == 0", Truth::True),
        ("STEP.1.exitCode === '0'", Truth::False),
        ("STEP.1.exitCode !== '0'", Truth::True),
        ("STEP.1.success === 1", Truth::False),
        ("STEP.1.failed === false", Truth::True),
        ("STEP.2.failed", Truth::True),
        ("!STEP.2.success", Truth::True),
        ("STEP.1.exitCode", Truth::Unknown),
        ("STEP.1.stdout < 'z'", Truth::Unknown),
        ("STEP.5.statusCode >= 200 && STEP.5.status < 300", Truth::True),
        ("STEP.2.exitCode > 2 || STEP.2.exitCode <= 2", Truth::True),
        ("2 <= STEP.2.exitCode", Truth::True),
        ("(STEP.1.exitCode === 0) === STEP.1.success", Truth::True),
    ] {
        assert_eq!(truth(text), expected, "{text}");
    }
}

#[test]
fn parts_of_an_answer_are_named() {
    for (text, expected) in [
        ("STEP['5'].body.id === 1", Truth::True),
        ("STEP.5.body.name.includes('x')", Truth::True),
        ("STEP.5.body.name.length === 1", Truth::True),
        ("STEP.5.body.items.length === 2", Truth::True),
        ("STEP.5.body.items.includes('y')", Truth::True),
        ("STEP.5.body.items.includes('z')", Truth::False),
        ("STEP.5.body.items[0].n === 2", Truth::True),
        ("STEP.5.body.items[2] === 2", Truth::Unknown),
        ("STEP.5.body.none === null", Truth::True),
        ("STEP.5.body.absent === null", Truth::Unknown),
        ("STEP.5.body.items === 1", Truth::Unknown),
        ("STEP.5.body.id.length === 1", Truth::Unknown),
        ("STEP.5.body.ok", Truth::True),
        ("STEP.5.body.id", Truth::Unknown),
        ("STEP.5.headers['Content-Type'].includes('json')", Truth::True),
        ("STEP.5.headers['x-none'] === 'json'", Truth::Unknown),
    ] {
        assert_eq!(truth(text), expected, "{text}");
    }
}

#[test]
fn of_a_text_that_was_not_kept_whole_only_what_is_sure_is_said() {
    for (text, expected) in [
        ("STEP.1.stdout.includes('passed ✓')", Truth::True),
        ("STEP.1.stdout.includes('failed')", Truth::False),
        ("STEP.1.stdout.length === 11", Truth::True),
        ("STEP.1.stdout === '1 passed ✓\\n'", Truth::True),
        ("STEP.2.stdout.includes('last')", Truth::True),
        ("STEP.2.stdout.includes('failed')", Truth::Unknown),
        ("STEP.2.stdout.includes('firstlast')", Truth::Unknown),
        ("STEP.2.stdout === 'firstlast'", Truth::Unknown),
        ("STEP.2.stdout.length > 0", Truth::True),
        ("STEP.2.stdout.length >= 9", Truth::True),
        ("STEP.2.stdout.length > 9", Truth::Unknown),
        ("STEP.2.stdout.length < 9", Truth::False),
        ("STEP.2.stdout.length <= 9", Truth::Unknown),
        ("STEP.2.stdout.length <= 8", Truth::False),
        ("STEP.2.stdout.length === 8", Truth::False),
        ("STEP.2.stdout.length !== 8", Truth::True),
        ("STEP.2.stdout.length === 9", Truth::Unknown),
        ("8 < STEP.2.stdout.length", Truth::True),
    ] {
        assert_eq!(truth(text), expected, "{text}");
    }
}

/// The static check refuses such conditions. What is asked in spite of it is not known, and never what the whole field would say.
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
        assert_eq!(truth(text), Truth::Unknown, "{text}");
    }
}

#[test]
fn an_unknown_value_decides_only_where_the_rest_does_not() {
    for (text, expected) in [
        ("STEP.9.statusCode !== 200", Truth::Unknown),
        ("STEP.9.statusCode === 200 || STEP.1.success", Truth::True),
        ("STEP.9.statusCode === 200 || STEP.2.success", Truth::Unknown),
        ("STEP.9.statusCode === 200 && STEP.2.success", Truth::False),
        ("STEP.9.statusCode === 200 && STEP.1.success", Truth::Unknown),
        ("!(STEP.9.statusCode === 200)", Truth::Unknown),
        ("(STEP.9.statusCode === 200) === STEP.1.success", Truth::Unknown),
        ("STEP.1.duration === STEP.1.duration", Truth::Unknown),
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
            truth: Truth::True,
            actual: vec![
                actual("STEP.1.success", Some(ConditionValue::Boolean(true))),
                actual("STEP.9.status", None),
                actual("STEP.2.exitCode", Some(ConditionValue::Number(2.0))),
            ],
            unknown: vec!["STEP.9.status".to_owned()],
        }
    );
}
