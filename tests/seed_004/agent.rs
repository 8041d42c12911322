//! The agent of the design document seed 004: its program runs unchanged against proctor's files, in each of its branches, and
//! proctor answers what it asks for.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::{Project, repository};
use crate::docs::script;

/// What the agent's program needs around it: a function in which it can return and wait, and a function that mends the code.
/// The guidance of each debt item is kept for the test.
const AROUND: (&str, &str) = (
    "const fs = require('fs');\n\
     async function implementFix(guidance) {\n\
       fs.appendFileSync('../shared/guidance.jsonl', JSON.stringify(guidance) + '\\n');\n\
       fs.writeFileSync('quotes.txt', 'GET /api/v1/quotes\\n');\n\
     }\n\
     async function agent() {\n",
    "\n}\nagent().then(request => console.log(JSON.stringify(request)));\n",
);

/// A task that looks for an address in a file.
fn specification(validation_type: &str) -> String {
    let task = json!({
        "taskId": "T030",
        "title": "QuoteService CRUD Implementation",
        "description": "The service of quotes answers at its address, which the list of addresses has to name.",
        "testExecution": {
            "prerequisites": [],
            "steps": [
                {
                    "actionId": "STEP.1", "type": "FILE_VALIDATION", "description": "The list of addresses is there",
                    "parameters": { "filePath": "/srv/quotes/quotes.txt", "validationType": validation_type }
                },
                {
                    "actionId": "STEP.2", "type": "TERMINAL_COMMAND", "description": "The address of the quotes is in it",
                    "parameters": { "command": "grep -F /api/v1/quotes quotes.txt", "workingDirectory": "/srv/quotes" }
                }
            ],
            "cleanup": []
        },
        "validationCriteria": {
            "successConditions": [{ "condition": "STEP.2.exitCode === 0", "description": "The address is there" }]
        },
        "completionCriteria": { "allStepsMustPass": true }
    });
    let document = json!({
        "schemaVersion": "2.0.0",
        "metadata": {
            "projectName": "quotes", "sprintId": "SPRINT_004", "generatedAt": "2025-09-30T14:00:00.000Z", "generatedBy": "by hand"
        },
        "globalConfiguration": { "workspaceRoot": "/srv/quotes", "evidenceDirectory": "evidence" },
        "executionEngine": { "availableActionTypes": ["TERMINAL_COMMAND", "FILE_VALIDATION"] },
        "tasks": { "T030": task }
    });
    document.to_string()
}

/// Runs the agent's program in the project. Returns what it asks for.
#[track_caller]
fn asked(project: &Project) -> Value {
    let program = format!("{}{}{}", AROUND.0, script("an agent"), AROUND.1);
    let path = project.root().join("shared/agent.js");
    fs::write(&path, program).expect("it is ours");
    let output = project.command(Path::new("node"), [path.to_str().expect("our paths are UTF-8")]).success();
    let last = output.stdout.lines().last().expect("it prints what it asks for");
    serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {}", output.snapshot()))
}

/// Returns the text of a file that a report of the task names.
#[track_caller]
fn in_evidence(project: &Project, name: &str) -> String {
    let path = project.path().join("evidence/T030").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_agent_of_the_seed_runs_unchanged_and_reaches_each_of_its_branches() {
    let original = fs::read_to_string(repository().join("fixtures/seed-004/agent.js")).expect("it is part of the repository");
    assert_eq!(script("an agent"), original, "the page shows the agent as the seed has it");
    const FILE: &str = "T030-quote-service-test-specification.json";
    let project = Project::new().file(FILE, &specification("EXIST")).file("quotes.txt", "\n");

    // A wrong specification: the agent is to mend it.
    project.proctor(["run"]).status(4);
    let request = asked(&project);
    assert_eq!(request["action"], "FIX_SPECIFICATION", "{request:#}");
    let errors = request["errors"].as_array().expect("a list");
    assert_eq!((errors.len(), &errors[0]["actionId"]), (1, &"STEP.1".into()), "{request:#}");
    let said = errors[0]["classification"]["validationErrors"][0].as_str().expect("a text");
    assert!(said.contains("'EXIST'") && said.contains("did you mean 'EXISTS'?"), "{said}");
    project.proctor(["request", "fix", "--task", "T030"]).status(4);
    let right = specification("EXISTS");
    project.save(FILE, &right);
    project.proctor(["request", "fix", "--task", "T030"]).success();

    // Code that is not right: the agent mends it by the guidance of each debt item, and asks for a retest.
    project.proctor(["run"]).status(1);
    let request = asked(&project);
    assert_eq!(request, json!({ "action": "REQUEST_RETEST", "taskId": "T030" }));
    // The names of files in the report lead below `evidence/T030`, where the agent's program looks for them.
    let report: Value = serde_json::from_str(&in_evidence(&project, "execution-report.json")).expect("it is JSON");
    let debt = report["technicalDebtGenerated"]["debtDataFile"].as_str().expect("there is debt");
    let named = report["stepExecution"]["results"][1]["evidence"].as_str().expect("a command has a log");
    assert!(in_evidence(&project, debt).contains("\"debtItems\""));
    assert_eq!(in_evidence(&project, named), "", "`grep` printed nothing");
    let guidance = fs::read_to_string(project.root().join("shared/guidance.jsonl")).expect("a debt item was worked on");
    let guidance: Value = serde_json::from_str(guidance.lines().next().expect("one item")).expect("it is JSON");
    assert!(guidance.is_object(), "{guidance}");
    project.proctor(["request", "retest", "--task", "T030"]).success();

    // Everything passes: the agent asks for the status, and the answer is computed.
    let request = asked(&project);
    assert_eq!(request, json!({ "action": "REQUEST_STATUS_UPDATE", "taskId": "T030", "status": "COMPLETE" }));
    let answer = project.proctor(["request", "status", "COMPLETE", "--task", "T030", "--json"]).success().json();
    assert_eq!((&answer["accepted"], &answer["computedStatus"]), (&true.into(), &"COMPLETE".into()), "{answer:#}");
}
