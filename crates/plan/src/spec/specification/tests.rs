//! Tests of reading specifications: whole files with their expected faults, faults in ajv's form, and limits.

mod edges;
mod judged_rightly;
mod mutations;

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::proptest;
use serde::Serialize;
use serde_json::{Value, json};

use crate::spec::specification::{LINTS, SpecificationContext, SpecificationReading, read_specification};
use proctor_evidence::report::SpecificationErrorV2;
use proctor_model::{BrokenRule, Gravity, Problem, TextPosition};

/// The sample specification. It has only a few faults, and none of them prevents a run.
const ROUNDING: &str = include_str!("../../../../../fixtures/specifications/rounding.json");

fn read(text: &str) -> SpecificationReading {
    read_specification(text, "a.json", SpecificationContext { project_root: Path::new("/srv/billing-core") })
}

fn said(faults: &[Problem]) -> String {
    faults.iter().map(|fault| format!("{fault}\n")).collect()
}

fn rule_of(problem: &Problem) -> &BrokenRule {
    problem.rule.as_ref().expect("the rules of specifications have names")
}

/// Returns a problem as one line of the JSON that `proctor check --json` prints.
fn written(problem: &Problem) -> String {
    #[derive(Serialize)]
    struct Written {
        gravity: Gravity,
        #[serde(flatten)]
        error: SpecificationErrorV2,
    }
    let written = Written { gravity: problem.gravity, error: SpecificationErrorV2::of(problem) };
    serde_json::to_string(&written).expect("a fault is JSON")
}

fn fixtures() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("fixtures/specifications")
}

/// Returns a line for each specification in the fixtures (its name, and whether it can be run), and under that line one
/// line for each fault.
fn reasons() -> String {
    let mut names: Vec<String> = fs::read_dir(fixtures())
        .expect("the fixtures are part of the repository")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".json"))
        .collect();
    names.sort();
    let mut reasons = String::new();
    for name in names {
        let text = fs::read_to_string(fixtures().join(&name)).expect("a fixture is text");
        let reading = read_specification(&text, &name, SpecificationContext { project_root: Path::new("/srv/billing-core") });
        let verdict = if reading.specification.is_some() { "runs" } else { "is refused" };
        reasons.push_str(&format!("{name} {verdict}\n"));
        for fault in &reading.faults {
            let word = if fault.gravity == Gravity::Hard { "hard" } else { "soft" };
            let keyword = if fault.code() == "SCHEMA" { format!(" {}", rule_of(fault).keyword) } else { String::new() };
            let pointer = if fault.pointer.is_empty() { "(the document)" } else { &fault.pointer };
            reasons.push_str(&format!("  {word} {}{keyword} {pointer}\n", fault.code()));
        }
    }
    reasons
}

#[test]
fn every_file_has_the_reasons_that_were_written_by_reading_it() {
    let expected = fs::read_to_string(fixtures().join("expected.txt")).expect("the reasons are part of the repository");
    assert_eq!(reasons(), expected, "found (left), expected (right)");
}

#[test]
fn a_fault_of_the_shape_has_the_form_of_the_seed() {
    let text = fs::read_to_string(fixtures().join("shapes.json")).expect("a fixture is text");
    let faults = read(&text).faults;
    let of = |pointer: &str| {
        let fault = faults.iter().find(|fault| fault.pointer == pointer).unwrap_or_else(|| panic!("{pointer}"));
        let mut value = serde_json::to_value(SpecificationErrorV2::of(fault)).expect("a fault is JSON");
        let keys = ["instancePath", "schemaPath", "keyword", "params", "message"];
        Value::from_iter(keys.map(|key| (key, value[key].take())))
    };
    let action = "/tasks/T117/testExecution/prerequisites/0";
    assert_eq!(
        of(&format!("{action}/parameters/validationType")),
        json!({
            "instancePath": format!("{action}/parameters/validationType"),
            "schemaPath": "#/definitions/FileValidationParameters/properties/validationType/enum",
            "keyword": "enum",
            "params": { "allowedValues": ["EXISTS", "CONTENT_MATCH", "SCHEMA_VALID", "HASH_MATCH", "SIZE_CHECK"] },
            "message": "must be equal to one of the allowed values"
        })
    );
    assert_eq!(
        of("/tasks/T117/testExecution/steps/0/timeout"),
        json!({
            "instancePath": "/tasks/T117/testExecution/steps/0/timeout",
            "schemaPath": "#/definitions/Action/properties/timeout/minimum",
            "keyword": "minimum",
            "params": { "comparison": ">=", "limit": 1000 },
            "message": "must be >= 1000"
        })
    );
    assert_eq!(of("/tasks/T117")["params"], json!({ "missingProperty": "title" }));
    assert_eq!(of("/tasks/T117")["message"], "must have required property 'title'");
    assert_eq!(of("/tasks/T117/testExecution/steps/1/timeout")["message"], "must be integer");
    assert_eq!(of("/tasks/T117/dependencies")["params"], json!({ "i": 1, "j": 0 }));
    assert_eq!(of("/tasks/T117/description")["message"], "must NOT have fewer than 50 characters");
    assert_eq!(of("/metadata/generatedAt")["message"], "must match format \"date-time\"");
    assert_eq!(of("/executionEngine/availableActionTypes")["message"], "must NOT have fewer than 1 items");
}

#[test]
fn texts_for_people_name_the_place_and_the_next_step() {
    let text = fs::read_to_string(fixtures().join("shapes.json")).expect("a fixture is text");
    insta::assert_snapshot!("shapes", said(&read(&text).faults));
    let text = fs::read_to_string(fixtures().join("generated-contract.json")).expect("a fixture is text");
    insta::assert_snapshot!("generated_contract", said(&read(&text).faults));
    insta::assert_snapshot!("rounding", said(&read(ROUNDING).faults));
}

#[test]
fn what_is_no_specification_says_what_it_is() {
    let first = |text: &str| said(&read(text).faults);
    assert_eq!(
        first("{\n  \"a\": 1,\n}"),
        "a.json:3:1: error[SYNTAX]: not valid JSON: trailing comma\n  mend the text there; JSON has no comments and no trailing commas\n"
    );
    assert!(first("").starts_with("a.json:1:0: error[SYNTAX]: not valid JSON: EOF"), "{}", first(""));
    assert!(first("[]").starts_with("a.json:1:1: error[SCHEMA]: must be object"), "{}", first("[]"));
    let old = first("{\"testPlanVersion\": \"3.0.0\", \"tasks\": {}}");
    assert!(
        old.starts_with("a.json:1:21: error[FORMAT_VERSION] /testPlanVersion: the file is a test plan of the family"),
        "{old}"
    );
    assert!(first(&" ".repeat((16 << 20) + 1)).contains("is longer than 16777216 bytes"));
}

#[test]
fn a_fault_of_the_whole_file_has_no_line_and_a_pointer_is_escaped() {
    let long = said(&read(&" ".repeat((16 << 20) + 1)).faults);
    assert!(long.starts_with("a.json: error[SYNTAX]: "), "{long}");
    let twice = read(&ROUNDING.replacen("\"schemaVersion\"", "\"a~b\": 1,\n  \"a~b\": 1,\n  \"schemaVersion\"", 1)).faults;
    let twice = twice.iter().find(|fault| fault.code() == "DUPLICATE_KEY").expect("the key is there twice");
    assert_eq!((twice.pointer.as_str(), twice.position), ("/a~0b", Some(TextPosition { line: 3, column: 3 })));
}

#[test]
fn a_fault_of_the_lint_names_its_row_and_where_the_row_is_from() {
    let faults = read(&ROUNDING.replacen("\"taskId\": \"T117\"", "\"taskId\": \"T118\"", 1)).faults;
    let fault = faults.iter().find(|fault| fault.code() == "TASK_ID_DIFFERS").unwrap_or_else(|| panic!("{}", said(&faults)));
    assert_eq!((rule_of(fault).schema_path.as_str(), rule_of(fault).keyword.as_str()), ("#/lint/TASK_ID_DIFFERS", "lint"));
    let row = LINTS.iter().find(|row| row.code == fault.code()).expect("it has a row");
    assert_eq!(*fault.params(), json!({ "source": row.source }));
}

/// Programs need a fault's parts separately: position, pointers into the document and the schema, keyword and
/// parameters.
#[test]
fn every_part_of_a_fault_is_there_for_programs() {
    let part = |text: &str| written(&read(text).faults[0]);
    let longest = 16 << 20;
    let twice = ROUNDING.replacen("\"schemaVersion\"", "\"schemaVersion\": \"2.0.0\",\n  \"schemaVersion\"", 1);
    let other_version = ROUNDING.replacen("\"schemaVersion\": \"2.0.0\"", "\"schemaVersion\": \"2.1.0\"", 1);
    let odd_key = ROUNDING.replacen("\"schemaVersion\"", "\"a~b/c\": 1,\n  \"schemaVersion\"", 1);
    let parts = [
        part(&" ".repeat(longest + 1)),
        part(&" ".repeat(longest)),
        part("{\n  \"a\": }"),
        part("{\"testPlanVersion\": \"3.0.0\"}"),
        part(&twice),
        part(&other_version),
        part(&odd_key),
    ];
    insta::assert_snapshot!(parts.join("\n"), @r##"
    {"gravity":"HARD","code":"SYNTAX","file":"a.json","line":0,"column":0,"instancePath":"","schemaPath":"#","keyword":"lint","params":{},"message":"the file is longer than 16777216 bytes","hint":"a specification of this size is none; see whether it is the right file"}
    {"gravity":"HARD","code":"SYNTAX","file":"a.json","line":1,"column":16777216,"instancePath":"","schemaPath":"#","keyword":"lint","params":{},"message":"not valid JSON: EOF while parsing a value","hint":"mend the text there; JSON has no comments and no trailing commas"}
    {"gravity":"HARD","code":"SYNTAX","file":"a.json","line":2,"column":8,"instancePath":"","schemaPath":"#","keyword":"lint","params":{},"message":"not valid JSON: expected value","hint":"mend the text there; JSON has no comments and no trailing commas"}
    {"gravity":"HARD","code":"FORMAT_VERSION","file":"a.json","line":1,"column":21,"instancePath":"/testPlanVersion","schemaPath":"#/properties/schemaVersion","keyword":"const","params":{"allowedValue":"2.0.0"},"message":"the file is a test plan of the family that is marked by `testPlanVersion`, not a test specification","hint":"write it anew in the format that is marked by `\"schemaVersion\": \"2.0.0\"`; `proctor generate schema` prints its schema"}
    {"gravity":"HARD","code":"DUPLICATE_KEY","file":"a.json","line":3,"column":3,"instancePath":"/schemaVersion","schemaPath":"#","keyword":"uniqueKeys","params":{},"message":"the key is written twice in its object, and readers differ in which one they take","hint":"keep one of the two"}
    {"gravity":"HARD","code":"SCHEMA","file":"a.json","line":2,"column":20,"instancePath":"/schemaVersion","schemaPath":"#/properties/schemaVersion/const","keyword":"const","params":{"allowedValue":"2.0.0"},"message":"must be equal to constant","value":"2.1.0","hint":"it is \"2.0.0\""}
    {"gravity":"HARD","code":"SCHEMA","file":"a.json","line":2,"column":3,"instancePath":"","schemaPath":"#/additionalProperties","keyword":"additionalProperties","params":{"additionalProperty":"a~b/c"},"message":"must NOT have additional properties: `a~b/c` is unknown","hint":"known here: $schema, executionEngine, globalConfiguration, metadata, schemaVersion, tasks, technicalDebtConfiguration"}
    "##);
}

#[test]
fn a_value_that_only_the_types_refuse_is_a_fault_too() {
    let text = ROUNDING.replacen("\"timeout\": 90000", "\"timeout\": 90000.0", 1);
    let reading = read(&text);
    assert!(reading.specification.is_none());
    assert!(said(&reading.faults).contains("error[SCHEMA]"), "{}", said(&reading.faults));
}

#[test]
fn an_unknown_key_does_not_hide_what_the_lint_has_to_say() {
    let text = ROUNDING.replacen("\"taskId\": \"T117\"", "\"taskId\": \"T118\", \"titel\": \"a\"", 1);
    let faults = read(&text).faults;
    let codes: Vec<&str> = faults.iter().filter(|fault| fault.is_hard()).map(|fault| fault.code()).collect();
    assert_eq!(codes, ["TASK_ID_DIFFERS", "SCHEMA"]);
    assert_eq!(faults.iter().find(|fault| fault.code() == "SCHEMA").and_then(|fault| fault.nearest.as_deref()), Some("title"));
}

proptest! {
    #[test]
    fn no_text_is_too_strange(text in ".*", offset in 0..ROUNDING.len(), put in "[{}\\[\\]\",:a1]{0,3}") {
        let _ = read(&text);
        let offset = ROUNDING.floor_char_boundary(offset);
        let _ = read(&format!("{}{put}{}", &ROUNDING[..offset], &ROUNDING[offset..]));
    }
}
