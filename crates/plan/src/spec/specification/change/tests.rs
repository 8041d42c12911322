//! Tests of C80: each kind of weakening by name, strengthenings, corrections, and changes of wording.

use std::path::Path;

use serde_json::{Value, json};

use crate::spec::specification::{SpecificationContext, compare_specifications, read_specification};
use proctor_model::ChangeEffect::{self, Mends, Strengthens, Unexplained, Weakens, Wording};

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

/// Returns the effect of each change, with the last part of the change's JSON pointer.
fn effects(before: &Value, after: &Value) -> Vec<(String, ChangeEffect)> {
    let text = before.to_string();
    let faults = read_specification(&text, "x", SpecificationContext { project_root: Path::new("/srv/billing") }).faults;
    let changes = compare_specifications(&text, &after.to_string(), &faults);
    let name = |pointer: &str| pointer.rsplit('/').next().unwrap_or_default().to_owned();
    changes.iter().map(|change| (name(&change.pointer), change.effect)).collect()
}

/// Returns the effect of the only change; fails if there is not exactly one.
#[track_caller]
fn only_effect(before: &Value, after: &Value, what: &str) -> ChangeEffect {
    let found = effects(before, after);
    let [(_, effect)] = found[..] else { panic!("{what}: {found:?}") };
    effect
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
        ("step added beside expected output", "/tasks/T117/testExecution/steps/2".to_owned(), another.clone(), Unexplained),
        ("prerequisite added", "/tasks/T117/testExecution/prerequisites/0".to_owned(), another.clone(), Unexplained),
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
        ("warnings unsaid", format!("{eslint}/maxWarnings"), Value::Null, Unexplained),
        ("warnings refused", format!("{eslint}/maxWarnings"), json!(0), Strengthens),
        ("no retries, said", format!("{step}/retryAttempts"), json!(0), Wording),
        ("the same number", format!("{criteria}/minimumPassRate"), json!(100.0), Wording),
        ("the same limit", format!("{step}/timeout"), json!(5000.0), Wording),
        ("no failure ignored, said", format!("{step}/continueOnFailure"), json!(false), Wording),
        ("linter off", format!("{eslint}/enabled"), json!(false), Weakens),
        ("condition removed", "/tasks/T117/validationCriteria/successConditions/1".to_owned(), Value::Null, Weakens),
        ("condition added", "/tasks/T117/validationCriteria/successConditions/2".to_owned(), condition, Strengthens),
        ("output not expected", "/tasks/T117/validationCriteria/expectedOutput/stdoutContains".to_owned(), json!([]), Weakens),
        ("pass rate lowered", format!("{criteria}/minimumPassRate"), json!(80), Weakens),
        ("evidence shrunk", format!("{criteria}/requiredEvidence"), json!([]), Weakens),
        ("steps may fail", format!("{criteria}/allStepsMustPass"), json!(false), Weakens),
        ("no word about steps that fail", format!("{criteria}/allStepsMustPass"), Value::Null, Weakens),
        ("writes to the project", format!("{step}/proctor"), json!({ "writes": ["coverage/**"] }), Weakens),
        ("failure expected", "/tasks/T117/proctor".to_owned(), json!({ "expectedOutcome": "FAIL" }), Weakens),
        ("success expected, said", "/tasks/T117/proctor".to_owned(), json!({ "expectedOutcome": "PASS" }), Wording),
        ("words", "/tasks/T117/title".to_owned(), json!("Half-even rounding of every total"), Wording),
        ("task removed", "/tasks/T117".to_owned(), Value::Null, Weakens),
        ("directory of evidence", "/globalConfiguration/evidenceDirectory".to_owned(), json!("other"), Unexplained),
    ];
    let before = specification();
    for (name, pointer, value, expected) in rows {
        let mut after = before.clone();
        set(&mut after, &pointer, value);
        assert_eq!(only_effect(&before, &after, name), expected, "{name}");
    }
    assert_eq!(effects(&before, &before), []);
    let mut failing = before.clone();
    set(&mut failing, "/tasks/T117/proctor", json!({ "expectedOutcome": "FAIL" }));
    assert_eq!(only_effect(&failing, &before, "failure expected no longer"), Strengthens);
    let mut silent = before.clone();
    set(&mut silent, "/tasks/T117/validationCriteria/expectedOutput", Value::Null);
    let mut longer = silent.clone();
    set(&mut longer, "/tasks/T117/testExecution/steps/2", another);
    assert_eq!(only_effect(&silent, &longer, "step added where nothing is expected of all"), Strengthens);
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
    // A misspelt word asked for nothing. Only the nearest word is what was meant.
    let looked_for = |word: &str| {
        broken(&|it| {
            set(it, "/executionEngine/availableActionTypes/-", json!("FILE_VALIDATION"));
            let action = json!({
                "actionId": "PREREQ.1", "type": "FILE_VALIDATION", "description": "looks for the file",
                "parameters": { "filePath": "/srv/billing/a.py", "validationType": word, "minSize": 1 }
            });
            set(it, "/tasks/T117/testExecution/prerequisites/-", action);
        })
    };
    assert_eq!(effects(&looked_for("EXIST"), &looked_for("EXISTS")), [("validationType".to_owned(), Mends)]);
    assert_eq!(effects(&looked_for("EXIST"), &looked_for("SIZE_CHECK")), [("validationType".to_owned(), Weakens)]);
    assert_eq!(effects(&looked_for("SIZE_CHECK"), &looked_for("EXISTS")), [("validationType".to_owned(), Weakens)]);
    let mut cheat = right.clone();
    set(&mut cheat, "/tasks/T117/completionCriteria/minimumPassRate", json!(1));
    let mut renamed = right.clone();
    set(&mut renamed, "/tasks/T117/completionCriteria/minimumPassRate", Value::Null);
    set(&mut renamed, "/tasks/T117/completionCriteria/atLeast", json!(100));
    let found = effects(&right, &renamed);
    assert!(found.iter().all(|(_, effect)| *effect != Mends), "what was right is not mended by another name: {found:?}");
    assert_eq!(effects(&missing, &cheat), [("minimumPassRate".to_owned(), Weakens), ("title".to_owned(), Mends)]);
    let changes = compare_specifications("{", &right.to_string(), &[]);
    assert!(changes.iter().all(|change| change.effect == Unexplained) && changes.len() == 1, "{changes:?}");
}

/// The default of a missing key decides whether adding or removing the key weakens.
#[test]
fn c80_a_key_that_goes_is_what_its_absence_means() {
    let typescript = "/globalConfiguration/validationPolicy/typeChecking/tools/typescript";
    let step = "/tasks/T117/testExecution/steps/1";
    let eslint = "/globalConfiguration/validationPolicy/linting/tools/eslint";
    let mut before = specification();
    before["globalConfiguration"]["validationPolicy"]["typeChecking"] =
        json!({ "tools": { "typescript": { "strictMode": true, "allowImplicitAny": false } } });
    set(&mut before, &format!("{step}/proctor"), json!({ "version": "1.0.0", "review": {} }));
    set(&mut before, &format!("{step}/parameters/followRedirects"), json!(false));
    before["technicalDebtConfiguration"] = json!({ "enabled": true });
    let rows = [
        ("implicit any allowed", format!("{typescript}/allowImplicitAny"), Value::Null, Weakens),
        ("strictness unsaid", format!("{typescript}/strictMode"), Value::Null, Weakens),
        ("a review goes", format!("{step}/proctor/review"), Value::Null, Weakens),
        ("redirections are followed", format!("{step}/parameters/followRedirects"), Value::Null, Weakens),
        ("debt of some severities alone", "/technicalDebtConfiguration/severityLevels".to_owned(), json!(["CRITICAL"]), Weakens),
        ("rules that were written elsewhere", format!("{eslint}/errorOnRules"), json!([]), Unexplained),
    ];
    for (name, pointer, value, expected) in rows {
        let mut after = before.clone();
        set(&mut after, &pointer, value);
        assert_eq!(only_effect(&before, &after, name), expected, "{name}");
    }
}

/// Keys inside objects that are passed on belong to the user. They are not judged by the rules for keys with the same
/// names.
#[test]
fn c80_data_is_judged_as_data() {
    let parameters = "/tasks/T117/testExecution/steps/1/parameters";
    let mut before = specification();
    set(&mut before, &format!("{parameters}/body"), json!({ "title": "", "timeout": 5000, "deep": { "enabled": false } }));
    set(&mut before, &format!("{parameters}/environment"), json!({ "version": "1" }));
    for (pointer, value) in [
        ("body/title", json!("ok")),
        ("body/timeout", json!(1)),
        ("body/deep/enabled", json!(true)),
        ("body/description", json!("more")),
        ("environment/version", json!("2")),
    ] {
        let mut after = before.clone();
        set(&mut after, &format!("{parameters}/{pointer}"), value);
        let found = effects(&before, &after);
        assert!(matches!(found[..], [(_, Weakens)]), "{pointer}: {found:?}");
    }
}

/// A correction keeps the meaning of the wrong value or is no less strict than a missing value. Otherwise it could hide
/// a weakening.
#[test]
fn c80_a_wrong_value_is_not_mended_by_the_weakest_one() {
    let step = "/tasks/T117/testExecution/steps/0";
    let criteria = "/tasks/T117/completionCriteria";
    let eslint = "/globalConfiguration/validationPolicy/linting/tools/eslint";
    let checking = "/globalConfiguration/validationPolicy/typeChecking";
    let rows = [
        (format!("{eslint}/blockOn"), json!("ERROR_ONLY"), json!("NEVER"), Unexplained),
        (format!("{eslint}/blockOn"), json!("ERROR_ONLY"), json!("ERRORS_ONLY"), Mends),
        (format!("{checking}/strategy"), json!("BLOCK_ON_ERRORS_AND_WARNINGS"), json!("NEVER"), Weakens),
        (format!("{checking}/strategy"), json!("BLOCK_ON_ERRORS_AND_WARNINGS"), json!("BLOCK_ON_ERRORS_ALWAYS"), Mends),
        (format!("{criteria}/allStepsMustPass"), json!("true"), json!(false), Unexplained),
        (format!("{criteria}/allStepsMustPass"), json!("true"), json!(true), Mends),
        (format!("{criteria}/minimumPassRate"), json!("100"), json!(1), Unexplained),
        (format!("{criteria}/minimumPassRate"), json!("80"), json!(80), Mends),
        (format!("{step}/parameters/expectedExitCodes"), json!(0), json!([0, 1, 2]), Unexplained),
        (format!("{step}/parameters/expectedExitCodes"), json!(0), json!([0]), Mends),
        (format!("{step}/parameters/environment"), json!({ "CI": true }), json!({ "CI": "true" }), Mends),
        (format!("{step}/continueOnFailure"), json!("false"), json!(true), Unexplained),
        (format!("{step}/continueOnFailure"), json!("false"), json!(false), Mends),
    ];
    for (pointer, wrong, right, expected) in rows {
        let (mut before, mut after) = (specification(), specification());
        before["globalConfiguration"]["validationPolicy"]["typeChecking"] = json!({ "strategy": "BLOCK_ON_ERRORS_ALWAYS" });
        after["globalConfiguration"]["validationPolicy"]["typeChecking"] = json!({ "strategy": "BLOCK_ON_ERRORS_ALWAYS" });
        set(&mut before, &pointer, wrong.clone());
        set(&mut after, &pointer, right.clone());
        let what = format!("{pointer}: {wrong} -> {right}");
        assert_eq!(only_effect(&before, &after, &what), expected, "{what}");
    }
}

/// Only the known key that is nearest to a misspelt one is its correction. Another key with the same value is not.
#[test]
fn c80_a_misspelt_key_is_no_way_to_another_one() {
    let tool = "/globalConfiguration/validationPolicy/linting/tools/eslint";
    let (mut before, mut mended, mut other) = (specification(), specification(), specification());
    set(&mut before, &format!("{tool}/treatWarningsAsError"), json!(true));
    set(&mut mended, &format!("{tool}/treatWarningsAsErrors"), json!(true));
    assert_eq!(effects(&before, &mended), [("treatWarningsAsError".to_owned(), Mends)]);
    let step = "/tasks/T117/testExecution/steps/0";
    let mut before = specification();
    set(&mut before, &format!("{step}/note"), json!(true));
    set(&mut other, &format!("{step}/continueOnFailure"), json!(true));
    assert_eq!(effects(&before, &other), [("note".to_owned(), Mends), ("continueOnFailure".to_owned(), Weakens)]);
    // Two misspelt keys are each corrected to their own nearest key.
    let (mut before, mut other) = (specification(), specification());
    for (pointer, value) in [("timeout", Value::Null), ("timeot", json!(5000)), ("retryAttempt", json!(1))] {
        set(&mut before, &format!("{step}/{pointer}"), value);
    }
    set(&mut other, &format!("{step}/retryAttempts"), json!(1));
    assert_eq!(effects(&before, &other), [("retryAttempt".to_owned(), Mends), ("timeot".to_owned(), Mends)]);
    // If the value changes as well, the change is judged like any other.
    let (mut before, mut other) = (specification(), specification());
    set(&mut before, &format!("{tool}/maxWarnings"), Value::Null);
    set(&mut before, &format!("{tool}/maxWarning"), json!(0));
    set(&mut other, &format!("{tool}/maxWarnings"), json!(50));
    assert_eq!(effects(&before, &other), [("maxWarning".to_owned(), Mends), ("maxWarnings".to_owned(), Unexplained)]);
}
