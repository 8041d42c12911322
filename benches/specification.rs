//! Measures the reading of a specification with 1,000 actions, from the text to the last rule of the lint. Fails above 100 ms.

#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a bench measures and prints")]

use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use proctor_plan::spec::specification::{SpecificationContext, read_specification};
use serde_json::{Value, json};

const ACTIONS: usize = 1000;
const ROUNDS: usize = 20;
const MOST_TIME: Duration = Duration::from_millis(100);

fn main() -> ExitCode {
    let text = specification();
    // The first reading also builds the schema's validator, as every `proctor check` does.
    let first = time_of(&text);
    let mut rounds: Vec<Duration> = (0..ROUNDS).map(|_| time_of(&text)).collect();
    rounds.sort();
    let median = rounds[ROUNDS / 2];
    println!("{ACTIONS} actions, {} bytes: first {} µs, median {} µs", text.len(), first.as_micros(), median.as_micros());
    if first <= MOST_TIME { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn time_of(text: &str) -> Duration {
    let start = Instant::now();
    let reading = black_box(read_specification(text, "a.json", SpecificationContext { project_root: Path::new("/srv/app") }));
    let time = start.elapsed();
    assert!(reading.specification.is_some() && reading.faults.is_empty(), "{:?}", reading.faults.first());
    time
}

/// Returns a specification with one task. Every step waits for the step before it, is named in `executionOrder` and has its own condition.
fn specification() -> String {
    let step = |number: usize| {
        let after: Vec<String> = (1..number).next_back().map(|before| format!("STEP.{before}")).into_iter().collect();
        json!({
            "actionId": format!("STEP.{number}"), "type": "TERMINAL_COMMAND", "description": "checks one part of the whole",
            "parameters": { "command": format!("./check --part {number} --strict"), "workingDirectory": "/srv/app/parts", "environment": { "PART": number.to_string() } },
            "timeout": 60_000, "continueOnFailure": true, "proctor": { "version": "1.0.0", "after": after },
        })
    };
    let condition =
        |number: usize| json!({ "condition": format!("STEP.{number}.exitCode === 0"), "description": "the part is right" });
    let numbers = || 1..=ACTIONS;
    let order: Vec<String> = numbers().map(|number| format!("STEP.{number}")).collect();
    let document = json!({
        "schemaVersion": "2.0.0",
        "metadata": { "projectName": "parts", "sprintId": "SPRINT_1", "generatedAt": "2026-02-11T08:00:00.000Z", "generatedBy": "bench" },
        "globalConfiguration": { "workspaceRoot": "/srv/app", "evidenceDirectory": "evidence" },
        "executionEngine": { "availableActionTypes": ["TERMINAL_COMMAND"] },
        "tasks": { "T001": {
            "taskId": "T001", "title": "Every part is right", "description": "Checks every one of a thousand parts, one behind the other, each by itself.",
            "testExecution": { "steps": numbers().map(step).collect::<Vec<Value>>() },
            "validationCriteria": { "successConditions": numbers().map(condition).collect::<Vec<Value>>() },
            "completionCriteria": { "allStepsMustPass": true },
            "executionWorkflow": { "executionOrder": order },
        } },
    });
    serde_json::to_string_pretty(&document).expect("it is JSON")
}
