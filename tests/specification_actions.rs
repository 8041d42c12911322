//! Tests the actions of test specifications through the program: files behind links, paths of Windows, launchers that find
//! nothing, the order of steps, queries of databases, commands of container engines, and browsers.

mod clients;
mod databases;
mod files;
mod order;
pub(crate) mod real_clients;
mod recipes;

use serde_json::{Value, json};

use crate::common::Project;

/// Returns a specification of one task `T200` with these steps, and conditions that all of them succeed.
pub(crate) fn specification(root: &str, steps: &[Value]) -> Value {
    let steps: Vec<Value> = steps.iter().enumerate().map(|(index, step)| numbered(index, step)).collect();
    let conditions: Vec<Value> = steps
        .iter()
        .map(|step| {
            let id = step["actionId"].as_str().expect("an id");
            json!({ "condition": format!("{id}.success === true"), "description": "It succeeds" })
        })
        .collect();
    json!({
        "schemaVersion": "2.0.0",
        "metadata": {
            "projectName": "shop", "sprintId": "SPRINT_001",
            "generatedAt": "2026-03-04T09:15:00.000Z", "generatedBy": "by hand"
        },
        "globalConfiguration": { "workspaceRoot": root, "evidenceDirectory": "evidence" },
        "executionEngine": { "availableActionTypes": [
            "TERMINAL_COMMAND", "FILE_VALIDATION", "DATABASE_QUERY", "DOCKER_COMMAND", "MCP_BROWSER_COMMAND"
        ] },
        "tasks": { "T200": {
            "taskId": "T200",
            "title": "What the actions show",
            "description": "Each action of the task shows what it should show, and each of them is carried out for real.",
            "testExecution": { "prerequisites": [], "steps": steps, "cleanup": [] },
            "validationCriteria": { "successConditions": conditions },
            "completionCriteria": { "allStepsMustPass": true }
        } }
    })
}

fn numbered(index: usize, step: &Value) -> Value {
    let mut step = step.clone();
    let fields = step.as_object_mut().expect("a step is an object");
    fields.entry("actionId").or_insert_with(|| json!(format!("STEP.{}", index + 1)));
    fields.entry("description").or_insert_with(|| json!(format!("is step number {}", index + 1)));
    fields.entry("continueOnFailure").or_insert_with(|| json!(true));
    step
}

pub(crate) fn step(kind: &str, parameters: Value) -> Value {
    json!({ "type": kind, "parameters": parameters })
}

pub(crate) fn shell(script: &str) -> Value {
    step("TERMINAL_COMMAND", json!({ "command": script, "workingDirectory": "/srv/shop", "shell": "bash" }))
}

pub(crate) fn with_steps(project: Project, steps: &[Value]) -> Project {
    with_specification(project, &specification("/srv/shop", steps))
}

pub(crate) fn with_specification(project: Project, specification: &Value) -> Project {
    project.file("T200-test-specification.json", &serde_json::to_string_pretty(specification).expect("it is JSON"))
}

/// Returns the entry of a step in a report.
pub(crate) fn entry<'r>(report: &'r Value, id: &str) -> &'r Value {
    let results = report["stepExecution"]["results"].as_array().expect("results");
    results.iter().find(|entry| entry["actionId"] == id).unwrap_or_else(|| panic!("no {id} in {results:#?}"))
}

/// Returns the category code and the reason of a step.
pub(crate) fn judged(report: &Value, id: &str) -> (String, String) {
    let text = |key: &str| entry(report, id)["classification"][key].as_str().unwrap_or_default().to_owned();
    (text("code"), text("reason"))
}
