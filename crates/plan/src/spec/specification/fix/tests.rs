//! Tests the corrections that follow from a file by rule.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::*;

fn fixtures() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("fixtures/unfilled-specifications")
}

fn values() -> SpecificationSettings {
    let text = fs::read_to_string(fixtures().join("values.txt")).expect("the values are part of the repository");
    let values: Vec<(String, String)> = text
        .lines()
        .map(|line| line.split_once('=').expect("a name and a value"))
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .collect();
    let mut settings = SpecificationSettings::default();
    settings.set(&values);
    settings
}

fn errors(text: &str, settings: &SpecificationSettings) -> Vec<Problem> {
    let project = SpecificationContext { project_root: Path::new("/srv/here") };
    read_filled_specification(text, "a.json", project, settings).faults.into_iter().filter(Problem::is_hard).collect()
}

fn plan(text: &str) -> CorrectionPlan {
    plan_corrections(text, Path::new("/srv/here"), &values())
}

/// S4: none of the files is accepted as it is, and each is after `--fix` and `--set`.
#[test]
fn each_specification_of_a_generator_loads_after_its_corrections_and_values() {
    let entries = fs::read_dir(fixtures()).expect("the fixtures are part of the repository").flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| name.ends_with(".json"));
    let names: Vec<String> = names.collect();
    assert_eq!(names.len(), 20);
    for name in names {
        let text = fs::read_to_string(fixtures().join(&name)).expect("a fixture is text");
        assert!(!errors(&text, &SpecificationSettings::default()).is_empty(), "{name} is accepted as it is");
        let plan = plan(&text);
        assert_eq!(plan.left, [], "{name}");
        let corrected = apply_corrections(&text, plan.corrections.iter());
        // Paths with backslashes are mapped by another rule.
        let remain: Vec<String> = errors(&corrected, &values())
            .iter()
            .filter(|error| !(name == "windows-portal.json" && error.code() == "PATH_LEAVES_ROOT"))
            .filter(|error| !(name == "windows-portal.json" && error.code() == "PATH_NOT_ALLOWED"))
            .map(ToString::to_string)
            .collect();
        assert_eq!(remain, [] as [String; 0], "{name}\n{corrected}");
        assert_eq!(plan_corrections(&corrected, Path::new("/srv/here"), &values()).corrections, [], "{name}: once is enough");
    }
}

#[test]
fn what_is_not_corrected_keeps_its_bytes() {
    for name in ["angular.json", "windows-portal.json", "express-api.json", "two-tasks.json"] {
        let text = fs::read_to_string(fixtures().join(name)).expect("a fixture is text");
        let plan = plan(&text);
        let corrected = apply_corrections(&text, plan.corrections.iter());
        let edits: Vec<&TextEdit> = plan.corrections.iter().flat_map(|correction| &correction.edits).collect();
        let removed: usize = edits.iter().map(|edit| edit.range.len()).sum();
        let added: usize = edits.iter().map(|edit| edit.text.len()).sum();
        assert_eq!(corrected.len(), text.len() - removed + added, "{name}");
        assert!(!edits.is_empty() && corrected.contains("\r\n") == text.contains("\r\n"), "{name}");
        assert_eq!(corrected.contains("{{"), text.contains("{{"), "{name}: placeholders stay");
    }
}

fn document(prerequisites: Value, more: &[(&str, Value)]) -> String {
    let mut document = json!({
        "schemaVersion": "2.0.0",
        "metadata": { "projectName": "p", "sprintId": "S1", "generatedAt": "2026-01-01T00:00:00Z", "generatedBy": "me" },
        "globalConfiguration": { "workspaceRoot": "/srv/app", "evidenceDirectory": "evidence" },
        "executionEngine": { "availableActionTypes": ["TERMINAL_COMMAND"], "executorConfigurations": {} },
        "tasks": { "T117": {
            "taskId": "T117", "title": "a title that is long enough",
            "description": "a description that is long enough for the schema of version 2.0.0",
            "testExecution": { "prerequisites": prerequisites, "cleanup": [], "steps": [{
                "actionId": "STEP.1", "type": "TERMINAL_COMMAND", "description": "runs the tests",
                "parameters": { "command": "pytest -q", "workingDirectory": "/srv/app" },
            }] },
            "validationCriteria": {
                "successConditions": [{ "condition": "STEP.1.exitCode === 0", "description": "tests" }],
                "failureConditions": [{ "condition": "PREREQ.1.failed === true", "description": "server" }],
            },
            "completionCriteria": { "allStepsMustPass": true, "requiredEvidence": ["terminal-output"] },
        } },
    });
    for (pointer, value) in more {
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
        document.pointer_mut(parent).expect("it is there")[key] = value.clone();
    }
    serde_json::to_string_pretty(&document).expect("JSON")
}

fn action(number: usize, command: &str) -> Value {
    json!({
        "actionId": format!("PREREQ.{number}"), "type": "TERMINAL_COMMAND", "description": "what is needed",
        "parameters": { "command": command, "workingDirectory": "/srv/app" }, "timeout": 30000,
    })
}

/// Returns the corrected document, and its corrections.
fn corrected(text: &str) -> (Value, Vec<Correction>) {
    let plan = plan(text);
    assert_eq!(plan.left, [], "{text}");
    let corrected = apply_corrections(text, plan.corrections.iter());
    (serde_json::from_str(&corrected).expect("it is JSON"), plan.corrections)
}

const FIRST: &str = "/tasks/T117/testExecution/prerequisites/0";

#[test]
fn a_server_becomes_a_service_that_is_ready_when_what_follows_would_succeed() {
    for (command, behind, ready) in [
        ("npm run dev", Some("curl -f http://localhost:3000/api/health"), json!({ "url": "http://localhost:3000/api/health" })),
        ("npm run dev", Some("npx wait-on tcp:localhost:4000"), json!({ "port": 4000 })),
        ("npm run dev", Some("nc -z localhost 4001"), json!({ "port": 4001 })),
        ("npm run dev", Some("npx wait-on https://localhost:8443/x"), json!({ "port": 8443 })),
        ("npx vite --port 4173", None, json!({ "port": 4173 })),
        ("python manage.py runserver 0.0.0.0:8001", None, json!({ "port": 8001 })),
        ("uvicorn app:app", None, json!({ "port": 8000 })),
        ("PORT=5005 npm start", None, json!({ "port": 5005 })),
    ] {
        let mut actions = vec![action(1, command)];
        actions.extend(behind.map(|command| action(2, command)));
        let (document, corrections) = corrected(&document(json!(actions), &[]));
        assert_eq!(document.pointer(&format!("{FIRST}/proctor/service/ready")), Some(&ready), "{command} {behind:?}");
        assert!(corrections.iter().all(|one| one.basis == CorrectionBasis::Rule), "{command}");
        assert_eq!(document.pointer(&format!("{FIRST}/parameters/command")), Some(&json!(command)));
    }
}

#[test]
fn a_server_whose_port_nobody_names_is_left_to_a_person() {
    let plan = plan(&document(json!([action(1, "npm run dev")]), &[]));
    assert_eq!(plan.corrections, []);
    assert!(plan.left[0].1.contains("does not say on which port"), "{:?}", plan.left);
}

#[test]
fn the_server_of_all_tasks_is_not_started_twice() {
    let server = json!({ "command": "npm run dev", "healthCheckUrl": "http://localhost:3000/health" });
    let text = document(json!([action(1, "npm run dev")]), &[("/globalConfiguration/devServer", server.clone())]);
    let (document_now, _) = corrected(&text);
    let first = document_now.pointer(FIRST).expect("it is there");
    assert_eq!((first["type"].as_str(), first["actionId"].as_str()), (Some("HTTP_REQUEST"), Some("PREREQ.1")));
    assert_eq!(first["parameters"], json!({ "url": "http://localhost:3000/health", "method": "GET" }));
    assert_eq!(document_now["executionEngine"]["availableActionTypes"], json!(["TERMINAL_COMMAND", "HTTP_REQUEST"]));
    assert_eq!(document_now["globalConfiguration"]["devServer"], server);
    // Without an address the one task starts the server itself.
    let server = json!({ "command": "npm run dev", "port": 3000 });
    let (document_now, _) =
        corrected(&document(json!([action(1, "npm run dev")]), &[("/globalConfiguration/devServer", server)]));
    assert_eq!(document_now.pointer(&format!("{FIRST}/proctor/service/ready")), Some(&json!({ "port": 3000 })));
    assert_eq!(document_now["globalConfiguration"].get("devServer"), None);
}

#[test]
fn a_server_with_the_command_of_the_dev_server_is_another_one_in_another_place() {
    let server = json!({ "command": "npm run dev", "healthCheckUrl": "http://localhost:3000/health" });
    let dev_server = [("/globalConfiguration/devServer", server.clone())];
    let other = |key: &str, value: Value| {
        let mut other = action(1, "npm run dev");
        other["parameters"][key] = value;
        other
    };
    for (key, value) in
        [("workingDirectory", json!("/srv/app/admin")), ("environment", json!({ "APP": "admin" })), ("shell", json!("bash"))]
    {
        let asked = action(2, "curl -f http://localhost:3001/");
        let (document_now, corrections) = corrected(&document(json!([other(key, value.clone()), asked]), &dev_server));
        let first = document_now.pointer(FIRST).expect("it is there");
        assert_eq!(first["type"], json!("TERMINAL_COMMAND"), "{key}");
        assert_eq!(first["proctor"]["service"]["ready"], json!({ "url": "http://localhost:3001/" }), "{key}");
        assert_eq!(document_now["globalConfiguration"]["devServer"], server, "{key}");
        assert!(corrections[0].what.contains(key), "{}", corrections[0].what);
        // Nothing tells the two servers apart by their ports.
        for behind in [None, Some(action(2, "curl -f http://localhost:3000/"))] {
            let actions: Vec<Value> = [Some(other(key, value.clone())), behind].into_iter().flatten().collect();
            let plan = plan(&document(json!(actions), &dev_server));
            assert!(plan.corrections.is_empty() && plan.left.len() == 1, "{key}: {plan:?}");
        }
    }
    // The same server, although its directory and variables are written in another way.
    let mut same = other("workingDirectory", json!("/srv/app/./"));
    same["parameters"]["environment"] = json!({ "MODE": "test" });
    let more = [dev_server[0].clone(), ("/globalConfiguration/environment", json!({ "MODE": "test" }))];
    let (document_now, _) = corrected(&document(json!([same]), &more));
    assert_eq!(document_now.pointer(&format!("{FIRST}/type")), Some(&json!("HTTP_REQUEST")));
}

#[test]
fn a_server_that_the_workflow_asks_first_becomes_the_dev_server() {
    let workflow = json!({ "prerequisites": [{
        "type": "DEV_SERVER_RUNNING", "description": "it answers", "checkCommand": "curl -f http://localhost:3000/",
    }] });
    let text = document(json!([action(1, "npm run dev")]), &[("/tasks/T117/executionWorkflow", workflow)]);
    let (document, _) = corrected(&text);
    assert_eq!(
        document["globalConfiguration"]["devServer"],
        json!({ "command": "npm run dev", "healthCheckUrl": "http://localhost:3000/", "workingDirectory": "/srv/app", "startupTimeout": 30000 })
    );
    assert_eq!(document.pointer(&format!("{FIRST}/type")), Some(&json!("HTTP_REQUEST")));
}

#[test]
fn conditions_keep_their_meaning_when_an_action_shows_something_else() {
    let criteria = |condition: &str| {
        json!({
            "successConditions": [{ "condition": condition, "description": "server" }],
            "failureConditions": [{ "condition": "PREREQ.1.exitCode !== 0", "description": "server" }],
        })
    };
    let server = json!([action(1, "npx vite --port 4173")]);
    let more = |condition: &str| [("/tasks/T117/validationCriteria", criteria(condition))];
    let (document_now, _) = corrected(&document(server.clone(), &more("PREREQ.1.exitCode === 0 && STEP.1.exitCode === 0")));
    let text = |list: &str| document_now["tasks"]["T117"]["validationCriteria"][list][0]["condition"].clone();
    assert_eq!(text("successConditions"), "PREREQ.1.success === true && STEP.1.exitCode === 0");
    assert_eq!(text("failureConditions"), "PREREQ.1.failed === true");
    // Another exit code than 0 has no such meaning.
    let plan_of_other = plan(&document(server, &more("PREREQ.1.exitCode === 3")));
    assert!(plan_of_other.corrections.is_empty() && plan_of_other.left.len() == 1, "{plan_of_other:?}");
    let look = json!([{ "actionId": "PREREQ.1", "type": "FILE_VALIDATION", "description": "the file is there", "parameters": { "filePath": "a", "validationType": "CONTENT_MATCH" } }]);
    let types = ("/executionEngine/availableActionTypes", json!(["TERMINAL_COMMAND", "FILE_VALIDATION"]));
    let mut more = more("PREREQ.1.patternMatches === true").to_vec();
    more.push(types);
    let plan_of_file = plan(&document(look, &more));
    assert!(
        plan_of_file.corrections.is_empty() && plan_of_file.left[0].1.contains("PREREQ.1.patternMatches"),
        "{plan_of_file:?}"
    );
}

#[test]
fn a_program_of_the_project_is_a_server_only_by_a_guess() {
    let text = document(json!([action(1, "node server.js"), action(2, "curl -f http://localhost:3000/")]), &[]);
    let plan_of_text = plan(&text);
    assert_eq!(plan_of_text.corrections.iter().map(|one| one.basis).collect::<Vec<_>>(), [CorrectionBasis::Guess]);
    // Nothing asks a server behind it, so it is a command like any other.
    assert_eq!(plan(&document(json!([action(1, "node seed.js")]), &[])), CorrectionPlan::default());
}

#[test]
fn a_file_is_looked_for_only_where_nothing_says_what_it_is_compared_with() {
    let look = |parameters: Value| json!([{ "actionId": "PREREQ.1", "type": "FILE_VALIDATION", "description": "the file is there", "parameters": parameters }]);
    let types = [("/executionEngine/availableActionTypes", json!(["TERMINAL_COMMAND", "FILE_VALIDATION"]))];
    for kind in ["CONTENT_MATCH", "SCHEMA_VALID", "HASH_MATCH", "SIZE_CHECK"] {
        let (document, _) = corrected(&document(look(json!({ "filePath": "a", "validationType": kind })), &types));
        assert_eq!(document.pointer(&format!("{FIRST}/parameters/validationType")), Some(&json!("EXISTS")), "{kind}");
    }
    let said = document(look(json!({ "filePath": "a", "validationType": "CONTENT_MATCH", "contentRegex": "x" })), &types);
    assert_eq!(plan(&said), CorrectionPlan::default());
    let hash = "0".repeat(64);
    for (parameters, words) in [
        (json!({ "validationType": "CONTENT_MATCH", "expectedHash": hash }), "`expectedHash` belongs to HASH_MATCH"),
        (json!({ "validationType": "CONTENT_MATCH", "schema": {} }), "`schema` belongs to SCHEMA_VALID"),
        (json!({ "validationType": "HASH_MATCH", "minSize": 3 }), "`minSize` belongs to SIZE_CHECK"),
        (json!({ "validationType": "SCHEMA_VALID", "contentRegex": "x" }), "`contentRegex` belongs to CONTENT_MATCH"),
        (json!({ "validationType": "CONTENT_MATCH", "contentPattern": "x" }), "`contentPattern` is unknown"),
        (json!({ "validationType": "HASH_MATCH", "expectedhash": hash }), "may mean `expectedHash`"),
    ] {
        let mut parameters = parameters;
        parameters["filePath"] = json!("a");
        let plan = plan(&document(look(parameters), &types));
        assert_eq!(plan.corrections, [], "{words}");
        assert!(plan.left.len() == 1 && plan.left[0].1.contains(words), "{words}: {:?}", plan.left);
    }
}

#[test]
fn a_byte_order_mark_is_passed_over_and_kept() {
    let plain = document(json!([action(1, "npx vite --port 4173")]), &[]);
    let marked = format!("\u{feff}{plain}");
    let correct = |text: &str| apply_corrections(text, plan(text).corrections.iter());
    assert_eq!(correct(&marked), format!("\u{feff}{}", correct(&plain)));
    assert_eq!(errors(&marked, &values()), errors(&plain, &values()), "the same places");
}

#[test]
fn a_text_that_is_no_document_has_no_corrections() {
    for text in ["", "{", "[]", "{\"tasks\": 3}", "{\"a\": 1, \"a\": 2}", "{\"tasks\": {\"T1\": null}}"] {
        assert_eq!(plan(text), CorrectionPlan::default(), "{text}");
    }
}

#[test]
fn the_steps_of_a_browser_validation_become_steps_as_they_are_written() {
    let text = include_str!("../../../../../../fixtures/specifications/rounding.json");
    let step = |number: usize| {
        format!(
            "{{\"actionId\":  \"STEP.{number}\", \"type\": \"MCP_BROWSER_COMMAND\", \"description\": \"The page of quotes is open\",\n \
             \"parameters\": {{ \"action\": \"browser_navigate\", \"url\": \"http://127.0.0.1:3000\" }} }}"
        )
    };
    let with = |validation: &str| {
        text.replacen("\"testExecution\":", &format!("\"mcpValidation\": {validation},\n\"testExecution\":"), 1)
    };
    let enabled = with(&format!("{{ \"enabled\": true, \"steps\": [{}, {}] }}", step(71), step(72)));
    let before = errors(&enabled, &values());
    assert!(before.iter().any(|error| error.code() == "BROWSER_VALIDATION" && error.to_string().contains("--fix")), "{before:?}");
    let plan = plan(&enabled);
    assert_eq!((plan.corrections.len(), &plan.left), (1, &Vec::new()), "{plan:?}");
    let corrected = apply_corrections(&enabled, plan.corrections.iter());
    assert_eq!(
        errors(&corrected, &values()).iter().map(ToString::to_string).collect::<Vec<_>>(),
        [] as [String; 0],
        "{corrected}"
    );
    assert!(
        corrected.contains(&step(71)) && corrected.contains(&step(72)) && !corrected.contains("mcpValidation"),
        "{corrected}"
    );
    let document: Value = serde_json::from_str(&corrected).expect("it is JSON");
    let steps = document["tasks"]["T117"]["testExecution"]["steps"].as_array().expect("a list");
    assert_eq!([&steps[steps.len() - 2]["actionId"], &steps[steps.len() - 1]["actionId"]], ["STEP.71", "STEP.72"]);
    // An id that another step has cannot stand there twice, so a person has to choose another one.
    let twice = with(&format!("{{ \"enabled\": true, \"steps\": [{}] }}", step(1)));
    let plan = self::plan(&twice);
    assert!(plan.corrections.is_empty() && plan.left.len() == 1, "{plan:?}");
    assert_eq!(self::plan(&with("{ \"enabled\": false }")), CorrectionPlan::default());
}
