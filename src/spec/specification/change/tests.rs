//! C80: each weakening of facts 4.3 by name, what strengthens, what only mends, and words.

use std::path::Path;

use serde_json::{Value, json};

use crate::model::ChangeEffect::{self, Mends, Strengthens, Unexplained, Weakens, Wording};
use crate::spec::specification::{Surroundings, compare_specifications, read_specification};

fn specification() -> Value {
    json!({
        "schemaVersion": "2.0.0",
        "metadata": {
            "projectName": "billing", "sprintId": "S", "generatedAt": "2026-03-04T09:15:00.000Z", "generatedBy": "by hand"
        },
        "globalConfiguration": {
            "workspaceRoot": "/srv/billing", "evidenceDirectory": "evidence",
            "validationPolicy": { "linting": { "tools": { "eslint": {
                "blockOn": "ERRORS_ONLY", "maxWarnings": 5, "ignoredRules": ["no-console"]
            } } } }
        },
        "executionEngine": { "availableActionTypes": ["TERMINAL_COMMAND"] },
        "tasks": { "T117": {
            "taskId": "T117",
            "title": "Half-even rounding of totals",
            "description": "Totals must be rounded half-to-even on two decimals for every currency that has minor units.",
            "testExecution": {
                "prerequisites": [],
                "steps": [
                    {
                        "actionId": "STEP.1", "type": "TERMINAL_COMMAND", "description": "runs the tests", "timeout": 5000,
                        "parameters": { "command": "python -m pytest", "workingDirectory": "/srv/billing", "expectedExitCodes": [0] }
                    },
                    {
                        "actionId": "STEP.2", "type": "TERMINAL_COMMAND", "description": "looks for lint",
                        "parameters": { "command": "npx eslint .", "workingDirectory": "/srv/billing" }
                    }
                ],
                "cleanup": []
            },
            "validationCriteria": {
                "successConditions": [
                    { "condition": "STEP.1.exitCode === 0", "description": "The tests pass" },
                    { "condition": "STEP.2.exitCode === 0", "description": "The linter is content" }
                ],
                "failureConditions": [],
                "expectedOutput": { "stdoutContains": ["passed"] }
            },
            "completionCriteria": { "allStepsMustPass": true, "minimumPassRate": 100, "requiredEvidence": ["terminal-output"] }
        } }
    })
}

/// Returns the effects of a change, by the last part of each pointer.
fn effects(before: &Value, after: &Value) -> Vec<(String, ChangeEffect)> {
    let text = before.to_string();
    let faults = read_specification(&text, "x", Surroundings { project_root: Path::new("/srv/billing") }).faults;
    let changes = compare_specifications(&text, &after.to_string(), &faults);
    let name = |pointer: &str| pointer.rsplit('/').next().unwrap_or_default().to_owned();
    changes.iter().map(|change| (name(&change.pointer), change.effect)).collect()
}

fn set(document: &mut Value, pointer: &str, value: Value) {
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    let parent = document.pointer_mut(parent).unwrap_or_else(|| panic!("{pointer}"));
    match parent {
        Value::Object(map) if value.is_null() => drop(map.remove(key)),
        Value::Object(map) => drop(map.insert(key.to_owned(), value)),
        Value::Array(list) if value.is_null() => drop(list.remove(key.parse().expect("a position"))),
        Value::Array(list) => list.push(value),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => panic!("{pointer}"),
    }
}

#[test]
fn c80_what_weakens_a_specification_is_told_from_what_strengthens_or_rewords_it() {
    let step = "/tasks/T117/testExecution/steps/0";
    let criteria = "/tasks/T117/completionCriteria";
    let eslint = "/globalConfiguration/validationPolicy/linting/tools/eslint";
    let another =
        json!({ "actionId": "STEP.3", "type": "TERMINAL_COMMAND", "description": "d", "parameters": { "command": "true" } });
    let condition = json!({ "condition": "STEP.2.success === true", "description": "d" });
    let rows = [
        ("step removed", "/tasks/T117/testExecution/steps/1".to_owned(), Value::Null, Weakens),
        ("step added", "/tasks/T117/testExecution/steps/2".to_owned(), another.clone(), Strengthens),
        ("prerequisite added", "/tasks/T117/testExecution/prerequisites/0".to_owned(), another, Unexplained),
        ("exit codes widened", format!("{step}/parameters/expectedExitCodes"), json!([0, 1]), Weakens),
        ("exit codes unsaid", format!("{step}/parameters/expectedExitCodes"), Value::Null, Wording),
        ("time-out raised", format!("{step}/timeout"), json!(60000), Weakens),
        ("time-out lowered", format!("{step}/timeout"), json!(1000), Strengthens),
        ("time-out unsaid", format!("{step}/timeout"), Value::Null, Unexplained),
        ("command changed", format!("{step}/parameters/command"), json!("true"), Weakens),
        ("directory changed", format!("{step}/parameters/workingDirectory"), json!("/srv/billing/x"), Weakens),
        ("retries added", format!("{step}/retryAttempts"), json!(2), Weakens),
        ("failure ignored", format!("{step}/continueOnFailure"), json!(true), Weakens),
        ("block relaxed", format!("{eslint}/blockOn"), json!("WARN_ONLY"), Weakens),
        ("block tightened", format!("{eslint}/blockOn"), json!("ERRORS_AND_WARNINGS"), Strengthens),
        ("rules ignored", format!("{eslint}/ignoredRules"), json!(["no-console", "no-undef"]), Weakens),
        ("rules heeded", format!("{eslint}/ignoredRules"), json!([]), Strengthens),
        ("warnings allowed", format!("{eslint}/maxWarnings"), json!(50), Weakens),
        ("warnings unlimited", format!("{eslint}/maxWarnings"), Value::Null, Weakens),
        ("warnings refused", format!("{eslint}/maxWarnings"), json!(0), Strengthens),
        ("linter off", format!("{eslint}/enabled"), json!(false), Weakens),
        ("condition removed", "/tasks/T117/validationCriteria/successConditions/1".to_owned(), Value::Null, Weakens),
        ("condition added", "/tasks/T117/validationCriteria/successConditions/2".to_owned(), condition, Strengthens),
        ("output not expected", "/tasks/T117/validationCriteria/expectedOutput/stdoutContains".to_owned(), json!([]), Weakens),
        ("pass rate lowered", format!("{criteria}/minimumPassRate"), json!(80), Weakens),
        ("evidence shrunk", format!("{criteria}/requiredEvidence"), json!([]), Weakens),
        ("steps may fail", format!("{criteria}/allStepsMustPass"), json!(false), Weakens),
        ("failure expected", "/tasks/T117/proctor".to_owned(), json!({ "expectedOutcome": "FAIL" }), Weakens),
        ("words", "/tasks/T117/title".to_owned(), json!("Half-even rounding of every total"), Wording),
        ("task removed", "/tasks/T117".to_owned(), Value::Null, Weakens),
        ("directory of evidence", "/globalConfiguration/evidenceDirectory".to_owned(), json!("other"), Unexplained),
    ];
    let before = specification();
    for (name, pointer, value, expected) in rows {
        let mut after = before.clone();
        set(&mut after, &pointer, value);
        let found = effects(&before, &after);
        let [(_, effect)] = &found[..] else { panic!("{name}: {found:?}") };
        assert_eq!(*effect, expected, "{name}");
    }
    assert_eq!(effects(&before, &before), []);
    let mut loosened = before.clone();
    loosened["tasks"]["T117"]["validationCriteria"]["successConditions"][0]["condition"] = json!("STEP.1.exitCode === 1");
    let found = effects(&before, &loosened);
    assert_eq!(found, [("0".to_owned(), Weakens), ("0".to_owned(), Strengthens)], "a condition that is changed is another one");
    let mut turned = before.clone();
    turned["tasks"]["T117"]["testExecution"]["steps"].as_array_mut().expect("a list").reverse();
    assert_eq!(effects(&before, &turned), [("steps".to_owned(), Unexplained)]);
}

#[test]
fn c80_what_the_errors_ask_for_mends_and_a_command_that_is_exchanged_weakens() {
    let right = specification();
    let broken = |change: &dyn Fn(&mut Value)| {
        let mut broken = right.clone();
        change(&mut broken);
        broken
    };
    let parameters = "/tasks/T117/testExecution/steps/0/parameters";
    let misspelt = broken(&|it| {
        set(it, &format!("{parameters}/command"), Value::Null);
        set(it, &format!("{parameters}/comand"), json!("python -m pytest"));
    });
    assert_eq!(effects(&misspelt, &right), [("comand".to_owned(), Mends)]);
    let missing = broken(&|it| set(it, "/tasks/T117/title", Value::Null));
    assert_eq!(effects(&missing, &right), [("title".to_owned(), Mends)]);
    let wrong_word =
        broken(&|it| set(it, "/globalConfiguration/validationPolicy/linting/tools/eslint/blockOn", json!("SOMETIMES")));
    assert_eq!(effects(&wrong_word, &right), [("blockOn".to_owned(), Mends)]);
    let wrong_kind = broken(&|it| set(it, "/tasks/T117/testExecution/steps/0/timeout", json!("5s")));
    assert_eq!(effects(&wrong_kind, &right), [("timeout".to_owned(), Mends)]);
    let needs_a_shell = broken(&|it| set(it, &format!("{parameters}/command"), json!("python -m pytest | tail")));
    assert_eq!(effects(&needs_a_shell, &right), [("command".to_owned(), Weakens)]);
    let mut cheat = right.clone();
    set(&mut cheat, "/tasks/T117/completionCriteria/minimumPassRate", json!(1));
    assert_eq!(effects(&missing, &cheat), [("minimumPassRate".to_owned(), Weakens), ("title".to_owned(), Mends)]);
    let changes = compare_specifications("{", &right.to_string(), &[]);
    assert!(changes.iter().all(|change| change.effect == Unexplained) && changes.len() == 1, "{changes:?}");
}
