//! The four policy scenarios of the design document seed 004, by real runs of eslint and tsc under the policy that the
//! scenario's specification sets: the values of each are compared literally.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::common::{Project, node_modules};

/// A scenario: the policy, what the tool finds, and what the seed says that follows.
struct Scenario {
    policy: Value,
    /// How many errors and warnings the linter finds; `None` for the type checker, which finds one error.
    lint: Option<(usize, usize)>,
    blocking: bool,
    severity: &'static str,
    task_status: &'static str,
    debt: &'static str,
}

fn lint_policy(policy: Value) -> Value {
    json!({ "linting": { "tools": { "eslint": policy } } })
}

fn scenarios() -> [Scenario; 4] {
    let scenario =
        |policy, lint, blocking, severity, task_status, debt| Scenario { policy, lint, blocking, severity, task_status, debt };
    let always = json!({ "typeChecking": { "tools": { "typescript": { "enabled": true, "blockOn": "ERRORS_ALWAYS" } } } });
    [
        scenario(
            lint_policy(json!({ "blockOn": "ERRORS_ONLY", "maxWarnings": null })),
            Some((5, 12)),
            true,
            "HIGH",
            "FAILED",
            "HIGH",
        ),
        scenario(
            lint_policy(json!({ "blockOn": "ERRORS_ONLY", "maxWarnings": 10 })),
            Some((0, 15)),
            true,
            "HIGH",
            "FAILED",
            "MEDIUM",
        ),
        scenario(lint_policy(json!({ "blockOn": "WARN_ONLY" })), Some((3, 8)), false, "LOW", "PARTIAL", "LOW"),
        scenario(always, None, true, "CRITICAL", "FAILED", "CRITICAL"),
    ]
}

/// A program with this many undefined names (errors) and calls of the console (warnings).
fn linted(errors: usize, warnings: usize) -> String {
    let undefined: String = (0..errors).map(|number| format!("missing{number}();\n")).collect();
    undefined + &"console.log(1);\n".repeat(warnings)
}

fn specification(scenario: &Scenario, command: &str) -> String {
    let task = json!({
        "taskId": "T030",
        "title": "QuoteService CRUD Implementation",
        "description": "The service of quotes makes, reads, changes and removes them, and is served at its address.",
        "testExecution": { "prerequisites": [], "cleanup": [], "steps": [{
            "actionId": "STEP.1", "type": "TERMINAL_COMMAND", "description": "Look at the code of the service",
            "parameters": { "command": command, "workingDirectory": "/srv/web" }, "timeout": 60000
        }] },
        "validationCriteria": {
            "successConditions": [{ "condition": "STEP.1.duration < 60000", "description": "The tool was run" }]
        },
        "completionCriteria": { "allStepsMustPass": false, "minimumPassRate": 0 }
    });
    let document = json!({
        "schemaVersion": "2.0.0",
        "metadata": {
            "projectName": "quotes", "sprintId": "SPRINT_004", "generatedAt": "2025-09-30T14:00:00.000Z", "generatedBy": "by hand"
        },
        "globalConfiguration": {
            "workspaceRoot": "/srv/web", "evidenceDirectory": "evidence", "validationPolicy": scenario.policy
        },
        "executionEngine": { "availableActionTypes": ["TERMINAL_COMMAND"] },
        "tasks": { "T030": task }
    });
    document.to_string()
}

#[test]
#[ignore = "long tier"]
fn the_four_scenarios_come_out_literally_by_real_tools() {
    let settings = "export default [{ files: ['*.js'], languageOptions: { globals: { console: 'readonly' } },\n  \
                    rules: { 'no-undef': 'error', 'no-console': 'warn' } }];\n";
    for (number, scenario) in scenarios().into_iter().enumerate() {
        let modules = node_modules();
        let program = |name: &str| modules.join(".bin").join(name).display().to_string();
        let (command, source) = match scenario.lint {
            Some((errors, warnings)) => (format!("{} -f json quote.js", program("eslint")), linted(errors, warnings)),
            None => {
                (format!("{} --noEmit quote.ts", program("tsc")), "const total: number = 'C1';\nexport { total };\n".to_owned())
            }
        };
        let file = if scenario.lint.is_some() { "quote.js" } else { "quote.ts" };
        let project = Project::new()
            .file("T030-test-specification.json", &specification(&scenario, &command))
            .file("package.json", "{\"name\": \"x\"}\n")
            .file("eslint.config.mjs", settings)
            .file(file, &source);
        symlink(&modules, project.path().join("node_modules")).expect("the project has none");
        let report = project.proctor(["run", "--task", "T030", "--json"]).any_status().json();
        let step = &report["stepExecution"]["results"][0];
        let seen = json!({
            "status": step["status"],
            "blocking": step["classification"]["policyApplied"]["blocking"],
            "severity": step["classification"]["severity"],
            "taskStatus": report["completionCriteriaEvaluation"]["taskStatus"],
            "debtGenerated": step["debtGeneration"]["shouldGenerate"],
            "debtSeverity": step["debtGeneration"]["severity"],
        });
        let expected = json!({
            "status": "VALIDATION_FAILURE",
            "blocking": scenario.blocking,
            "severity": scenario.severity,
            "taskStatus": scenario.task_status,
            "debtGenerated": true,
            "debtSeverity": scenario.debt,
        });
        assert_eq!(seen, expected, "scenario {}: {step:#}\n{}", number + 1, report["specificationErrors"]);
        if let Some((errors, warnings)) = scenario.lint {
            let counts = &step["result"]["summary"];
            assert_eq!((&counts["errors"], &counts["warnings"]), (&errors.into(), &warnings.into()), "scenario {}", number + 1);
        }
    }
}
