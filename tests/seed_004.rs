//! Tests with the JSON examples in the design document seed 004: proctor's own types read and write each example
//! without losing a key, and real runs write the same keys.
//!
//! The examples are in `fixtures/seed-004/`, made valid where the seed's text is broken (`changes.md` there lists the
//! changes). Where proctor's documents differ from an example, a row of [`departures`] says how and why. The tests fail
//! if a row is not needed, and if a key is missing without a row.

mod agent;
mod departures;
mod literal;
mod runs;
mod scenarios;
mod unequal;
mod whole_run;

use std::collections::BTreeSet;
use std::fs;

use proctor_api::AgentRequestV1;
use proctor_evidence::report::{
    ActionRecordV1, ActionResultV2, DebtItemV1, ExchangeRecordV1, ExecutionReportV2, TestResultsRecordV1,
};
use proctor_plan::spec::specification::{RawGlobalConfiguration, RawMetadata, RawValidationPolicy};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::common::repository;
use crate::seed_004::departures::{Change, DEPARTURES, Departure};

pub(crate) use runs::assert_like;

/// An example, and the function that reads and writes it by proctor's own type.
struct Through {
    example: &'static str,
    through: fn(Value) -> Result<Value, String>,
}

const WRITTEN: &[Through] = &[
    Through { example: "execution-report", through: through::<ExecutionReportV2> },
    Through { example: "example-1-test-failure", through: through::<ActionResultV2> },
    Through { example: "example-2-execution-error", through: through::<ActionResultV2> },
    Through { example: "example-3a-type-error", through: through::<ActionResultV2> },
    Through { example: "example-3b-lint-errors", through: through::<ActionResultV2> },
    Through { example: "example-3c-lint-warnings", through: through::<ActionResultV2> },
    Through { example: "example-4-prerequisite-failure", through: through::<ActionResultV2> },
    Through { example: "example-5-timeout", through: through::<ActionResultV2> },
    Through { example: "example-6-specification-error", through: through::<ActionResultV2> },
    Through { example: "evidence-terminal", through: through::<ActionRecordV1> },
    Through { example: "evidence-test-results", through: through::<TestResultsRecordV1> },
    Through { example: "evidence-http", through: through::<ExchangeRecordV1> },
    Through { example: "debt-item", through: through::<DebtItemV1> },
];

/// The examples that are parts of a test specification. proctor reads them and never writes them.
const READ: &[&str] = &["validation-policy", "validation-policy-eslint", "policy-rationale"];

fn through<Type: Serialize + DeserializeOwned>(value: Value) -> Result<Value, String> {
    let read: Type = serde_json::from_value(value).map_err(|error| error.to_string())?;
    serde_json::to_value(read).map_err(|error| error.to_string())
}

/// Returns an example of seed 004 by the name of its file.
#[track_caller]
pub(crate) fn example(name: &str) -> Value {
    let path = repository().join("fixtures/seed-004").join(format!("{name}.json"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("`{}`: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("`{}`: {error}", path.display()))
}

fn departures_of(name: &str) -> impl Iterator<Item = &'static Departure> {
    DEPARTURES.iter().filter(move |row| name.starts_with(row.example))
}

/// Applies the change of a row at every place that its path names. Returns the number of these places.
fn change(value: &mut Value, path: &str, change: &Change) -> usize {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let (key, each) = first.strip_suffix("[]").map_or((first, false), |key| (key, true));
    let Some(object) = value.as_object_mut() else { return 0 };
    if let Some(rest) = rest {
        let Some(below) = object.get_mut(key) else { return 0 };
        return match (each, below) {
            (true, Value::Array(entries)) => entries.iter_mut().map(|entry| self::change(entry, rest, change)).sum(),
            (true, _) => 0,
            (false, below) => self::change(below, rest, change),
        };
    }
    let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    match change {
        Change::Absent => usize::from(object.remove(key).is_some()),
        Change::Form(text) if object.contains_key(key) => usize::from(object.insert(key.to_owned(), parsed(text)).is_some()),
        Change::Added(text) if !object.contains_key(key) => {
            object.insert(key.to_owned(), parsed(text));
            1
        }
        Change::Form(_) | Change::Added(_) | Change::NotSeen => 0,
    }
}

/// Returns an example as proctor would write it: with every departure applied, except `without`.
#[track_caller]
fn adapted(name: &str, without: Option<&Departure>) -> Value {
    let mut value = example(name);
    for row in departures_of(name).filter(|row| !without.is_some_and(|left_out| std::ptr::eq(*row, left_out))) {
        change(&mut value, row.path, &row.change);
    }
    value
}

/// Returns whether two values are equal. `100` equals `100.0`.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len() && one.iter().all(|(key, value)| other.get(key).is_some_and(|other| same(value, other)))
        }
        (one, other) => one == other,
    }
}

#[test]
fn every_example_goes_through_our_types_with_the_departures_that_are_named() {
    for Through { example: name, through } in WRITTEN {
        let ours = adapted(name, None);
        let written = through(ours.clone()).unwrap_or_else(|error| panic!("{name}: {error}\n{ours:#}"));
        assert!(same(&written, &ours), "{name}: written (left), read (right)\n{written:#}\n{ours:#}");
    }
}

#[test]
fn every_departure_is_needed_and_has_its_reason() {
    for row in DEPARTURES.iter() {
        let Departure { example: of, path, change: kind, why } = row;
        assert!(why.len() > 15, "{of} `{path}` lacks its reason");
        if matches!(kind, Change::NotSeen) {
            continue;
        }
        let mut concerned = 0;
        for Through { example: name, through } in WRITTEN.iter().filter(|written| written.example.starts_with(of)) {
            let ours = adapted(name, Some(row));
            if change(&mut ours.clone(), path, kind) > 0 {
                concerned += 1;
                let goes_through = through(ours.clone()).is_ok_and(|written| same(&written, &ours));
                assert!(!goes_through, "{name}: `{path}` is not needed: {why}");
            }
        }
        assert!(concerned > 0, "{of} `{path}` concerns no example");
    }
}

#[test]
fn every_file_of_an_example_is_tried() {
    let entries = fs::read_dir(repository().join("fixtures/seed-004")).expect("the examples are part of the repository");
    let files: BTreeSet<String> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str().and_then(|name| name.strip_suffix(".json")).map(str::to_owned))
        .collect();
    let tried = WRITTEN.iter().map(|row| row.example).chain(READ.iter().copied()).map(str::to_owned).collect();
    assert_eq!(files, tried);
}

/// Reads a part of a specification. Returns its value as text, or the error.
fn read(name: &str, value: Value) -> Result<String, String> {
    let said = |error: serde_json::Error| error.to_string();
    match name {
        "validation-policy" => {
            let policy = value["globalConfiguration"]["validationPolicy"].clone();
            let keys: Vec<_> = value.as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect();
            let around: Result<RawGlobalConfiguration, _> = serde_json::from_value(json!({
                "workspaceRoot": "/srv/web", "evidenceDirectory": "evidence", "validationPolicy": policy,
            }));
            around.map(|read| format!("{keys:?} {read:?}")).map_err(said)
        }
        "validation-policy-eslint" => {
            let read: Result<RawValidationPolicy, _> = serde_json::from_value(value["validationPolicy"].clone());
            read.map(|read| format!("{read:?}")).map_err(said)
        }
        "policy-rationale" => {
            let mut metadata = json!({
                "projectName": "web", "sprintId": "SPRINT_004", "generatedAt": "2025-09-30T14:00:00.000Z", "generatedBy": "by hand",
            });
            for (key, value) in value["metadata"].as_object().into_iter().flatten() {
                metadata[key] = value.clone();
            }
            let read: Result<RawMetadata, _> = serde_json::from_value(metadata);
            read.map(|read| format!("{read:?}")).map_err(said)
        }
        other => panic!("`{other}` is no part of a specification"),
    }
}

/// Collects the JSON pointers of all values that contain no other value.
fn leaves(value: &Value, pointer: &str, into: &mut Vec<String>) {
    match value {
        Value::Object(entries) => entries.iter().for_each(|(key, value)| leaves(value, &format!("{pointer}/{key}"), into)),
        Value::Array(entries) => {
            entries.iter().enumerate().for_each(|(place, value)| leaves(value, &format!("{pointer}/{place}"), into));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => into.push(pointer.to_owned()),
    }
}

/// No part of the example is ignored. If a value is changed, it must be read as another value, or be refused. An
/// unknown key must be refused.
#[test]
fn every_part_of_a_specification_is_read_whole() {
    for name in READ {
        let original = example(name);
        let whole = read(name, original.clone()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut places = Vec::new();
        leaves(&original, "", &mut places);
        assert!(!places.is_empty(), "{name}");
        for place in places {
            let mut other = original.clone();
            let leaf = other.pointer_mut(&place).expect("it was found there");
            *leaf = match leaf {
                Value::Bool(it) => json!(!*it),
                Value::Null => json!(3),
                Value::Number(_) => json!(999),
                Value::String(_) | Value::Array(_) | Value::Object(_) => json!("ANOTHER"),
            };
            assert_ne!(read(name, other), Ok(whole.clone()), "{name}: `{place}` is passed over");
            let (parent, _) = place.rsplit_once('/').expect("a pointer has a slash");
            let mut extra = original.clone();
            // Only objects have keys: a list of rules is skipped.
            if let Some(object) = extra.pointer_mut(parent).and_then(Value::as_object_mut) {
                object.insert("another".to_owned(), json!(1));
                let error = read(name, extra).expect_err(&place);
                assert!(error.contains("another"), "{name}: {error}");
            }
        }
    }
}

/// Every request of an agent in seed 004, with the key `verb` instead of `action`, because the routes of the service
/// use `action` for something else.
#[test]
fn every_request_of_an_agent_goes_through_our_types() {
    for request in [
        json!({"verb": "REQUEST_STATUS_UPDATE", "taskId": "T030", "status": "COMPLETE"}),
        json!({"verb": "REQUEST_RETEST", "taskId": "T030"}),
    ] {
        assert_eq!(through::<AgentRequestV1>(request.clone()), Ok(request));
    }
    // The error list that an agent sends is not accepted: the configuration is read anew (C80).
    let fix = json!({"verb": "FIX_SPECIFICATION", "taskId": "T030"});
    assert_eq!(through::<AgentRequestV1>(fix.clone()), Ok(fix.clone()));
    let mut with_errors = fix;
    with_errors["errors"] = json!([]);
    assert!(through::<AgentRequestV1>(with_errors).is_err_and(|error| error.contains("errors")));
}
