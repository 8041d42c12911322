//! Conditions judge what was captured, never what the report shows of it: under every setting of `evidenceCapture`, every
//! field that a condition can name decides the same, or is unknown.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use proctor_model::ActionType;
use proctor_plan::condition::{Field, FieldRow, ValueKind, fields_of};
use serde_json::{Value, json};

use crate::common::Project;
use crate::specification_runs::FILE;

/// The settings of `evidenceCapture`, each on or off.
const SETTINGS: [&str; 4] = ["stdout", "stderr", "requestResponse", "fileContents"];
/// The actions of the task, with their types: each type of action that a specification can have and proctor carries out.
const ACTIONS: [(&str, ActionType); 7] = [
    ("STEP.1", ActionType::TerminalCommand),
    ("STEP.2", ActionType::FileValidation),
    ("STEP.3", ActionType::FileValidation),
    ("STEP.4", ActionType::HttpRequest),
    ("STEP.5", ActionType::CustomScript),
    ("STEP.6", ActionType::TerminalCommand),
    ("STEP.7", ActionType::TerminalCommand),
];
/// Fields that are known for no action of a type: a script is never taken for a tool, so nothing is counted of it.
const NEVER_KNOWN: [(ActionType, Field); 6] = [
    (ActionType::CustomScript, Field::ErrorCount),
    (ActionType::CustomScript, Field::WarningCount),
    (ActionType::CustomScript, Field::TestsPassed),
    (ActionType::CustomScript, Field::TestsFailed),
    (ActionType::CustomScript, Field::TestsSkipped),
    (ActionType::CustomScript, Field::TestsTotal),
];
/// Types whose actions need a client program (a database's, a container engine's, a browser's). They have tests of their own.
const OF_CLIENTS: [ActionType; 3] = [ActionType::DockerCommand, ActionType::DatabaseQuery, ActionType::McpBrowserCommand];
/// A program that plays pytest: two tests passed, one was skipped.
const PYTEST: &str = "#!/bin/sh\nfor word in \"$@\"; do case $word in --junitxml=*) report=${word#--junitxml=};; esac; done\n\
                      echo '<testsuites><testsuite tests=\"3\"><testcase classname=\"a\" name=\"b\"/><testcase classname=\"a\" name=\"c\"/>\
                      <testcase classname=\"a\" name=\"d\"><skipped message=\"m\"/></testcase></testsuite></testsuites>' > \"$report\"\n\
                      echo ok; echo ok >&2\n";
/// A program that plays Ruff: nothing is found.
const RUFF: &str = "#!/bin/sh\necho 'ok' >&2\necho '[]'\n";
/// A field that is known under the default settings, and was emptied before it was judged.
const BODY: &str = "STEP.4.body.ok === true";

/// What a condition decided: met or not, and whether a value was unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decided {
    Met,
    NotMet,
    Unknown,
}

/// Serves `{"ok":true}` to whoever asks, until the test ends. Returns the port.
fn serve() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.expect("somebody asks");
            let _asked = connection.read(&mut [0; 4096]);
            let _gone = connection.write_all(
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 11\r\nconnection: close\r\n\r\n{\"ok\":true}",
            );
        }
    });
    port
}

/// Returns conditions about a field, of which some are true and some are false for the actions of the task.
fn conditions_on(action: &str, row: &FieldRow) -> Vec<String> {
    let name = format!("{action}.{}", row.name);
    match row.kind {
        ValueKind::Boolean => vec![format!("{name} === true"), format!("{name} === false")],
        // A duration is never the same twice, so it is compared with an hour.
        ValueKind::Integer(..) if row.field == Field::Duration => {
            vec![format!("{name} < 3600000"), format!("{name} > 3600000")]
        }
        ValueKind::Integer(least, _) => vec![format!("{name} > {least}"), format!("{name} === {least}")],
        ValueKind::Text => vec![format!("{name}.includes('ok')"), format!("{name}.includes('absent')")],
        ValueKind::Result => vec![format!("{name} === 'SUCCESS'"), format!("{name} === 'TIMEOUT'")],
        ValueKind::Json => {
            vec![format!("{name}.includes('ok')"), format!("{name}.ok === true"), format!("{name}.includes('absent')")]
        }
        ValueKind::Texts => vec![format!("{name}['content-type'] === 'application/json'")],
    }
}

fn conditions() -> Vec<String> {
    ACTIONS.into_iter().flat_map(|(action, of_type)| fields_of(of_type).flat_map(move |row| conditions_on(action, row))).collect()
}

fn specification(port: u16, capture: &Value) -> String {
    let step = |id: &str, kind: &str, parameters: Value| {
        json!({
            "actionId": id, "type": kind, "description": "one of the actions that conditions ask about",
            "parameters": parameters, "evidenceCapture": capture, "continueOnFailure": true
        })
    };
    let url = format!("http://127.0.0.1:{port}/");
    let listed = |conditions: Vec<String>| -> Vec<Value> {
        let entry = |condition: String| json!({ "condition": condition, "description": "a condition on one field" });
        conditions.into_iter().map(entry).collect()
    };
    let task = json!({
        "taskId": "T117",
        "title": "Every field of every action",
        "description": "Every field that a condition can name is asked about, with different settings of what is captured.",
        "testExecution": {
            "prerequisites": [],
            "steps": [
                step("STEP.1", "TERMINAL_COMMAND", json!({
                    "command": "echo ok && echo ok >&2", "workingDirectory": "/srv/billing", "shell": "sh"
                })),
                step("STEP.2", "FILE_VALIDATION", json!({
                    "filePath": "/srv/billing/data.json", "validationType": "CONTENT_MATCH", "expectedContent": "ok"
                })),
                step("STEP.3", "FILE_VALIDATION", json!({ "filePath": "/srv/billing/data.json", "validationType": "EXISTS" })),
                step("STEP.4", "HTTP_REQUEST", json!({ "url": url, "method": "GET", "expectedStatus": 200 })),
                step("STEP.5", "CUSTOM_SCRIPT", json!({ "scriptPath": "/srv/billing/say.sh", "interpreter": "sh" })),
                step("STEP.6", "TERMINAL_COMMAND", json!({ "command": "bin/pytest -q", "workingDirectory": "/srv/billing" })),
                step("STEP.7", "TERMINAL_COMMAND", json!({
                    "command": "bin/ruff check --output-format=json .", "workingDirectory": "/srv/billing"
                })),
            ],
            "cleanup": []
        },
        "validationCriteria": {
            "successConditions": listed(conditions()),
            "failureConditions": listed(vec![BODY.to_owned()])
        },
        "completionCriteria": { "allStepsMustPass": true, "requiredEvidence": ["terminal-output"] }
    });
    json!({
        "schemaVersion": "2.0.0",
        "metadata": {
            "projectName": "billing", "sprintId": "SPRINT_012",
            "generatedAt": "2026-03-04T09:15:00.000Z", "generatedBy": "by hand"
        },
        "globalConfiguration": { "workspaceRoot": "/srv/billing", "evidenceDirectory": "evidence" },
        "executionEngine": { "availableActionTypes": ["TERMINAL_COMMAND", "FILE_VALIDATION", "HTTP_REQUEST", "CUSTOM_SCRIPT"] },
        "tasks": { "T117": task }
    })
    .to_string()
}

/// Runs the task, and returns what each condition decided.
fn decided(project: &Project, port: u16, capture: &Value) -> BTreeMap<String, Decided> {
    fs::write(project.path().join(FILE), specification(port, capture)).expect("the project is ours");
    let output = project.proctor(["run", "--task", "T117", "--json"]).any_status();
    assert_eq!(output.status, 1, "a condition is not met: {}", output.snapshot());
    let report: Value = serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{}", output.snapshot()));
    let criteria = &report["validationCriteriaEvaluation"];
    let failure = &criteria["failureConditions"]["details"][0];
    assert_eq!((&failure["triggered"], &failure["actualValue"]), (&json!(true), &json!(true)), "{failure}");
    let details = criteria["successConditions"]["details"].as_array().unwrap_or_else(|| panic!("{criteria}"));
    let decision = |detail: &Value| {
        let is_known = detail["unknown"].as_array().is_none_or(Vec::is_empty);
        match (is_known, detail["met"] == true) {
            (false, false) => Decided::Unknown,
            (true, true) => Decided::Met,
            (true, false) => Decided::NotMet,
            (false, true) => panic!("an unknown condition is not met: {detail}"),
        }
    };
    details.iter().map(|detail| (detail["condition"].as_str().expect("a text").to_owned(), decision(detail))).collect()
}

/// Asserts that each field of each type of action is known for at least one action. A field that is never known would decide the same
/// under every setting, and show nothing.
fn assert_every_field_is_known(decided: &BTreeMap<String, Decided>) {
    // A specification has no type REVIEW: its reviews are terminal commands.
    let types = ActionType::ALL.into_iter().filter(|of_type| !OF_CLIENTS.contains(of_type) && *of_type != ActionType::Review);
    for (of_type, row) in types.flat_map(|of_type| fields_of(of_type).map(move |row| (of_type, row))) {
        let is_known = |action: &str| {
            let of_field = conditions_on(action, row);
            of_field.iter().any(|condition| decided.get(condition).is_some_and(|one| *one != Decided::Unknown))
        };
        let known = ACTIONS.iter().any(|&(action, its_type)| its_type == of_type && is_known(action));
        let expected = !NEVER_KNOWN.contains(&(of_type, row.field));
        assert_eq!(known, expected, "{of_type} {}", row.name);
    }
}

#[test]
#[ignore = "long tier"]
fn no_setting_of_evidence_capture_changes_what_a_condition_decides() {
    let port = serve();
    let project = Project::new()
        .file(FILE, "{}")
        .file("data.json", "{\"ok\": true}\n")
        .file("say.sh", "echo ok; echo ok >&2\n")
        .executable("bin/pytest", PYTEST)
        .executable("bin/ruff", RUFF);
    let everything = json!({ "stdout": true, "stderr": true, "requestResponse": true, "fileContents": true });
    let expected = decided(&project, port, &everything);
    assert_eq!(expected[BODY], Decided::Met);
    assert_eq!(expected["STEP.2.isValidJSON === true"], Decided::Met);
    assert_eq!(expected["STEP.2.patternMatches === true"], Decided::Met);
    assert_eq!(expected.len(), conditions().len());
    assert_every_field_is_known(&expected);
    for number in 0..1 << SETTINGS.len() {
        let settings: serde_json::Map<String, Value> =
            SETTINGS.into_iter().enumerate().map(|(place, name)| (name.to_owned(), json!((number >> place) & 1 == 1))).collect();
        let found = decided(&project, port, &Value::Object(settings.clone()));
        for (condition, expected) in &expected {
            // Only a file that no check had to read is unknown. Everything else was captured, and is judged.
            let may_be_unknown = condition.starts_with("STEP.3.isValidJSON");
            let is_right = found[condition] == *expected || (may_be_unknown && found[condition] == Decided::Unknown);
            assert!(is_right, "{settings:?}: {condition} is {:?}, and not {expected:?}", found[condition]);
        }
    }
}
