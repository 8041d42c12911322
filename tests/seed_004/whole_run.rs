//! Makes a run like that of the master report in the design document seed 004, and checks that proctor's report has
//! every key of the example. The run has file checks, a compiler, tests, a request that gets no answer, a linter,
//! conditions, required evidence and debt.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::common::{Project, free_port, jest_modules, node_modules};
use crate::seed_004::assert_like;

const TYPES: &str = "function total(customer: number): number {\n  return customer;\n}\n\nexport const result = total('C1');\n";
const TEST: &str =
    "test('should return 200 OK with quotes array', () => { expect(404).toBe(200); });\ntest('is there', () => {});\n";
const LINT: &str = "export default [{ files: ['quote.js'], rules: { 'no-unused-vars': 'error' } }];\n";

fn command(id: &str, description: &str, command: &str) -> Value {
    json!({
        "actionId": id, "type": "TERMINAL_COMMAND", "description": description,
        "parameters": { "command": command, "workingDirectory": "/srv/web" }, "timeout": 60000, "continueOnFailure": true
    })
}

fn file(id: &str, description: &str) -> Value {
    json!({
        "actionId": id, "type": "FILE_VALIDATION", "description": description,
        "parameters": { "filePath": "/srv/web/QuoteService.ts", "validationType": "EXISTS" }
    })
}

fn conditions(texts: &[&str]) -> Value {
    texts.iter().map(|text| json!({ "condition": text, "description": format!("{text} holds") })).collect()
}

fn program(modules: PathBuf, name: &str) -> String {
    modules.join(".bin").join(name).display().to_string()
}

/// Returns a specification whose task has the actions of the example, with the same ids.
fn specification(port: u16) -> Value {
    let (tsc, jest) = (program(node_modules(), "tsc"), program(jest_modules(), "jest"));
    let eslint = program(node_modules(), "eslint");
    let request = json!({
        "actionId": "STEP.9", "type": "HTTP_REQUEST", "description": "Validate GET /api/v1/quotes returns 200",
        "parameters": { "url": format!("http://127.0.0.1:{port}/api/v1/quotes"), "method": "GET", "expectedStatus": 200 },
        "timeout": 5000, "continueOnFailure": true
    });
    let task = json!({
        "taskId": "T030",
        "title": "QuoteService CRUD Implementation",
        "description": "The service of quotes makes, reads, changes and removes them, and is served at its address.",
        "testExecution": {
            "prerequisites": [
                file("PREREQ.1", "Verify the sources are there"),
                command("PREREQ.2", "Look at the packages", "ls"),
                command("PREREQ.3", "Look at the service", "ls QuoteService.ts"),
            ],
            "steps": [
                file("STEP.1", "Verify QuoteService.ts exists"),
                command("STEP.3", "Run TypeScript compiler", &format!("{tsc} --noEmit QuoteService.ts")),
                command("STEP.4", "Run contract test", &format!("{jest} quotes-list.test.js")),
                request,
                command("STEP.11", "Run ESLint for code quality", &format!("{eslint} -f json quote.js")),
            ],
            "cleanup": [command("CLEANUP.1", "Look at what is left", "ls")],
        },
        "validationCriteria": {
            "successConditions": conditions(&["STEP.1.exitCode === 0", "STEP.3.exitCode === 0", "STEP.4.exitCode === 0"]),
            "failureConditions": conditions(&["STEP.3.exitCode !== 0", "STEP.9.statusCode !== 200"]),
        },
        "completionCriteria": {
            "allStepsMustPass": true, "minimumPassRate": 100, "taskStatusLock": true,
            "requiredEvidence": ["terminal-output", "test-execution-log", "api-responses"],
        },
    });
    json!({
        "schemaVersion": "2.0.0",
        "metadata": {
            "projectName": "quotes", "sprintId": "SPRINT_004", "generatedAt": "2025-09-30T14:00:00.000Z", "generatedBy": "by hand"
        },
        "globalConfiguration": { "workspaceRoot": "/srv/web", "evidenceDirectory": "evidence" },
        "executionEngine": { "availableActionTypes": ["TERMINAL_COMMAND", "FILE_VALIDATION", "HTTP_REQUEST"] },
        "tasks": { "T030": task },
    })
}

#[test]
fn a_run_that_is_built_as_the_master_report_has_every_key_of_it() {
    // No program listens on this port, because it was free a moment ago. Even if a program takes the port now, it does
    // not give the answer that the action requires.
    let port = free_port().parse().expect("it is a number");
    let project = Project::new()
        .file("T030-quote-service-test-specification.json", &specification(port).to_string())
        .file("package.json", "{\"name\": \"x\"}\n")
        .file("QuoteService.ts", TYPES)
        .file("quotes-list.test.js", TEST)
        .file("eslint.config.mjs", LINT)
        .file("quote.js", "const customerId = 1;\n");
    symlink(node_modules(), project.path().join("node_modules")).expect("the project has none");
    let report = project.proctor(["run", "--task", "T030", "--json"]).failure().json();
    assert_like("execution-report", &report);
    let summary = &report["executionSummary"];
    assert_eq!(summary["overallStatus"], "PARTIAL_SUCCESS", "{summary:#}");
    let results = |key: &str| summary["actionResults"][key].as_u64().expect("a count");
    let seen = ["SUCCESS", "TEST_FAILURE", "VALIDATION_FAILURE", "EXECUTION_ERROR"].map(results);
    assert_eq!(seen, [5, 1, 2, 1], "{summary:#}");
    assert_eq!(report["validationCriteriaEvaluation"]["overallResult"], "FAILED");
    let completion = &report["completionCriteriaEvaluation"];
    assert_eq!(completion["requiredEvidence"]["missing"], json!(["api-responses"]), "C68: a refused connection is no answer");
    assert_eq!((&completion["completionStatus"], &completion["actualPassRate"]), (&"INCOMPLETE".into(), &20.0.into()), "C63");
    assert_eq!(report["technicalDebtGenerated"]["itemsCreated"], 4, "{:#}", report["technicalDebtGenerated"]);
}
