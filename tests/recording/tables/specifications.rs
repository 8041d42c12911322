//! Test specifications: every file of `fixtures/specifications`, and tasks that pass, fail, wait and become weaker.

use crate::recording::scenario::{Scenario, Step, everything, file, fixture, latest, proctor, scenario, screens};

/// The specifications of `fixtures/specifications`.
const FIXTURES: &[&str] = &[
    "additions",
    "generated-component",
    "generated-contract",
    "generated-migration",
    "generated-runs",
    "generated-short-suite",
    "old-plan",
    "rounding",
    "shapes",
    "torn",
    "twice",
    "unsupported",
    "written-contract",
];

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut scenarios: Vec<Scenario> = FIXTURES.iter().map(|name| of_fixture(name)).collect();
    scenarios.extend([
        scenario(
            "specifications/a task",
            [
                file("totals.txt", "half-even 2.66\n"),
                file(SPECIFICATION, TASK),
                proctor("run"),
                everything(),
                proctor("plan --task T117"),
                proctor("plan --task T117 --json"),
                file("totals.txt", "half-even 2.67\n"),
                proctor("run --task T117"),
                latest(),
                screens(),
                vec![Step::Remove("totals.txt")],
                proctor("run --task T117 --json"),
                proctor("status"),
                proctor("log"),
            ],
        ),
        scenario(
            "specifications/a weaker task",
            [
                file("totals.txt", "half-even 2.66\n"),
                file(SPECIFICATION, TASK),
                proctor("run --task T117"),
                file(SPECIFICATION, TASK.replace("\"stdoutContains\": [\"half-even\"]", "").replace("2.66", "2.6")),
                proctor("run --task T117"),
                proctor("run --task T117 --json"),
                proctor("approve --task T117"),
                everything(),
            ],
        ),
        scenario(
            "specifications/a wrong task",
            [
                file("totals.txt", "half-even 2.66\n"),
                file(
                    SPECIFICATION,
                    TASK.replace("\"EXISTS\"", "\"CONTENT_REGEX\"").replace("STEP.2\", \"type", "STEP.1\", \"type"),
                ),
                proctor("run --task T117"),
                proctor("run --task T117 --json"),
                everything(),
            ],
        ),
        scenario(
            "specifications/placeholders",
            [
                file("totals.txt", "half-even 2.66\n"),
                file(SPECIFICATION, TASK.replace("| grep 2.66", "| grep {{TOTAL}}")),
                proctor("run --task T117"),
                proctor("plan --task T117 --set TOTAL=2.66"),
                proctor("run --task T117 --set TOTAL=2.66"),
                proctor("status --set TOTAL=2.66"),
                proctor("show --json"),
            ],
        ),
    ]);
    scenarios
}

/// Every task of the fixtures that is planned depends on programs and directories that are not there: nothing of them is run.
fn of_fixture(name: &str) -> Scenario {
    let path = format!("specs/{name}-test-specification.json");
    scenario(
        format!("specifications/{name}"),
        [
            fixture(&path, format!("specifications/{name}.json")),
            proctor("check"),
            proctor("check --json"),
            proctor(&format!("check {path}")),
            proctor("plan"),
            proctor("plan --task *"),
            proctor("plan --json"),
            proctor("status"),
            proctor("status --json"),
        ],
    )
}

const SPECIFICATION: &str = "specs/T117-test-specification.json";

const TASK: &str = r#"{
  "schemaVersion": "2.0.0",
  "metadata": {
    "projectName": "billing", "sprintId": "SPRINT_012",
    "generatedAt": "2026-03-04T09:15:00.000Z", "generatedBy": "by hand"
  },
  "globalConfiguration": { "workspaceRoot": "/srv/billing", "evidenceDirectory": "evidence" },
  "executionEngine": { "availableActionTypes": ["TERMINAL_COMMAND", "FILE_VALIDATION"] },
  "tasks": {
    "T117": {
      "taskId": "T117",
      "title": "Half-even rounding of totals",
      "description": "Totals must be rounded half-to-even on two decimals for every currency that has minor units.",
      "testExecution": {
        "prerequisites": [{
          "actionId": "PREREQ.1", "type": "FILE_VALIDATION", "description": "the totals are there",
          "parameters": { "filePath": "/srv/billing/totals.txt", "validationType": "EXISTS" }
        }],
        "steps": [
          {
            "actionId": "STEP.1", "type": "TERMINAL_COMMAND", "description": "prints the totals",
            "parameters": { "command": "cat totals.txt", "workingDirectory": "/srv/billing" },
            "continueOnFailure": true
          },
          {
            "actionId": "STEP.2", "type": "TERMINAL_COMMAND", "description": "finds a rounded total",
            "parameters": { "command": "cat totals.txt | grep 2.66", "workingDirectory": "/srv/billing", "shell": "sh" }
          }
        ],
        "cleanup": []
      },
      "validationCriteria": {
        "successConditions": [{ "condition": "STEP.2.exitCode === 0", "description": "The total is rounded" }],
        "failureConditions": [{ "condition": "PREREQ.1.failed === true", "description": "The totals are missing" }],
        "expectedOutput": { "stdoutContains": ["half-even"] }
      },
      "completionCriteria": { "allStepsMustPass": true, "requiredEvidence": ["terminal-output"] }
    }
  }
}
"#;
