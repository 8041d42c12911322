//! Tests `proctor run --task` and `proctor plan --task` through the program: a task of a test specification is found,
//! executed, judged by its own criteria, and sealed under its own id. How each field becomes a part of the plan is
//! tested with tables beside the code that makes plans.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::Project;
use crate::seed_004::example;

pub(crate) const FILE: &str = "specs/T117-test-specification.json";

/// A task that checks that a file exists, prints it, and expects a word in the output.
pub(crate) fn task(id: &str) -> Value {
    json!({
        "taskId": id,
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
    })
}

pub(crate) fn specification(tasks: &[Value]) -> String {
    let tasks: serde_json::Map<String, Value> =
        tasks.iter().map(|task| (task["taskId"].as_str().expect("an id").to_owned(), task.clone())).collect();
    let document = json!({
        "schemaVersion": "2.0.0",
        "metadata": {
            "projectName": "billing", "sprintId": "SPRINT_012",
            "generatedAt": "2026-03-04T09:15:00.000Z", "generatedBy": "by hand"
        },
        "globalConfiguration": { "workspaceRoot": "/srv/billing", "evidenceDirectory": "evidence" },
        "executionEngine": { "availableActionTypes": ["TERMINAL_COMMAND", "FILE_VALIDATION"] },
        "tasks": tasks
    });
    serde_json::to_string_pretty(&document).expect("it is JSON")
}

/// A project without checks in `proctor.toml`: a task of a specification needs none.
pub(crate) fn project(tasks: &[Value]) -> Project {
    Project::new().file(FILE, &specification(tasks)).file("totals.txt", "half-even 2.66\n")
}

#[test]
fn a_task_is_carried_out_judged_by_its_own_criteria_and_sealed_under_its_id() {
    let project = project(&[task("T117")]);
    let report = project.proctor(["run", "--task", "T117", "--json"]).success().json();
    let specification = &report["testSpecification"];
    assert_eq!(
        [&specification["file"], &specification["taskId"], &specification["origin"], &specification["schemaVersion"]],
        [FILE, "T117", "specification", "2.0.0"]
    );
    assert_eq!(
        (&specification["taskTitle"], &specification["sprintId"]),
        (&"Half-even rounding of totals".into(), &"SPRINT_012".into())
    );
    assert_eq!(report["project"]["name"], "billing");
    assert_eq!(report["prerequisiteExecution"]["results"][0]["actionId"], "PREREQ.1");
    let criteria = &report["validationCriteriaEvaluation"];
    assert_eq!((&criteria["overallResult"], &criteria["successConditions"]["met"]), (&"PASSED".into(), &1.into()), "{criteria}");
    assert_eq!(criteria["expectedOutput"]["details"][0]["met"], true, "{criteria}");
    let completion = &report["completionCriteriaEvaluation"];
    assert_eq!(completion["completionStatus"], "COMPLETE", "{completion}");
    assert_eq!((&completion["allStepsMustPass"], &completion["taskStatusLock"]), (&true.into(), &true.into()));
    assert!(project.store().run_directory("T117").join("execution-report.json").is_file());
    assert!(project.path().join("evidence/T117").is_dir(), "the link leads to the task's evidence");
}

#[test]
fn an_unmet_condition_leaves_the_task_incomplete_and_needs_work() {
    let project = project(&[task("T117")]);
    project.save("totals.txt", "half-even 2.67\n");
    let report = project.proctor(["run", "--task", "T117", "--json"]).status(1).json();
    assert_eq!(report["completionCriteriaEvaluation"]["completionStatus"], "INCOMPLETE");
    let conditions = &report["validationCriteriaEvaluation"]["successConditions"];
    assert_eq!((&conditions["met"], &conditions["details"][0]["met"]), (&0.into(), &false.into()), "{conditions}");
}

#[test]
fn a_look_at_a_file_is_taken_in_every_run() {
    let project = project(&[task("T117")]);
    project.proctor(["run", "--task", "T117"]).success();
    std::fs::remove_file(project.path().join("totals.txt")).expect("a file of ours");
    let report = project.proctor(["run", "--task", "T117", "--json"]).status(1).json();
    let prerequisite = &report["prerequisiteExecution"]["results"][0];
    assert_eq!(prerequisite["status"], "PREREQUISITE_FAILURE", "{prerequisite}");
    assert_eq!(report["stepExecution"]["results"][0]["disposition"], "SKIPPED");
}

#[test]
fn a_task_waits_until_what_it_depends_on_is_complete_on_this_tree() {
    let mut later = task("T118");
    later["dependencies"] = json!(["T117"]);
    let project = project(&[task("T117"), later]);
    let refused = project.proctor(["run", "--task", "T118"]).status(1);
    let said = refused.stderr.split_once("error: ").expect("there is an error").1;
    assert_eq!(
        said,
        "`T118` depends on what is not complete: nothing was run\n  T117: it has no verdict yet\n  hint: run `proctor run --task T117` first\n"
    );
    project.proctor(["run", "--task", "T117"]).success();
    project.proctor(["run", "--task", "T118"]).success();
    project.save("totals.txt", "half-even 2.66 again\n");
    let refused = project.proctor(["run", "--task", "T118"]).status(1);
    assert!(refused.stderr.contains("of another state of the files"), "{}", refused.snapshot());
    project.save("totals.txt", "odd\n");
    project.proctor(["run", "--task", "T117"]).status(1);
    let refused = project.proctor(["run", "--task", "T118"]).status(1);
    assert!(refused.stderr.contains("says that it is not"), "{}", refused.snapshot());
    // After an edit by hand, the report counts neither as a proof that T117 is complete nor as a proof that it is not.
    let report = project.path().join("evidence/T117/execution-report.json").canonicalize().expect("a report");
    let text = fs::read_to_string(&report).expect("it is text");
    fs::set_permissions(&report, Permissions::from_mode(0o600)).expect("it is ours");
    fs::write(&report, text.replace("\"INCOMPLETE\"", "\"COMPLETE\"")).expect("it can be written");
    let refused = project.proctor(["run", "--task", "T118"]).status(6);
    assert!(refused.stderr.contains("it is not the one the ledger knows"), "{}", refused.snapshot());
    assert!(refused.stdout.is_empty(), "{}", refused.snapshot());
}

#[test]
fn c10_a_task_that_is_nowhere_twice_or_wrong_is_not_run() {
    let project = project(&[task("T117"), task("T120")]);
    insta::assert_snapshot!("unknown_task", project.proctor(["run", "--task", "T171"]).status(2).snapshot());
    insta::assert_snapshot!("no_task_id", project.proctor(["run", "--task", "no task"]).status(2).snapshot());
    let project = project.file("again-test-specification.json", &specification(&[task("T120")]));
    insta::assert_snapshot!("task_of_two_files", project.proctor(["plan", "--task", "T120"]).status(4).snapshot());
    let mut wrong = task("T130");
    wrong["testExecution"]["steps"][0]["parameters"]["command"] = json!("cat totals.txt | sort");
    wrong["testExecution"]["steps"][1]["actionId"] = json!("STEP.1");
    let project = project.file("wrong-test-specification.json", &specification(&[wrong]));
    assert!(!project.path().join("evidence").exists(), "nothing was run or registered");
    project.proctor(["run", "--task", "T117"]).success();
    insta::assert_snapshot!("task_with_faults", project.proctor(["run", "--task", "T130"]).status(4).snapshot());
    assert!(project.path().join("evidence/T130/execution-report.json").is_file(), "the first contact is sealed");
    project.proctor(["plan", "--task", "T117"]).success();
}

/// A task with an error in each phase: a prerequisite, a step and a clean-up action.
fn wrong(id: &str) -> Value {
    let mut wrong = task(id);
    let execution = &mut wrong["testExecution"];
    execution["prerequisites"][0]["parameters"]["validationType"] = json!("CONTENT_REGEX");
    execution["steps"][0]["parameters"] = json!({ "workingDirectory": "/srv/billing" });
    execution["cleanup"] = json!([{
        "actionId": "CLEANUP.1", "type": "FILE_VALIDATION", "description": "the totals are there still",
        "parameters": { "validationType": "EXISTS" }
    }]);
    wrong
}

#[test]
fn c78_a_run_of_a_wrong_specification_is_sealed_with_every_error_at_the_top() {
    let project = project(&[task("T117")]);
    project.proctor(["run", "--task", "T117"]).success();
    project.save(FILE, &specification(&[wrong("T117")]));
    let report = project.proctor(["run", "--task", "T117", "--json"]).status(4).json();
    let errors = report["specificationErrors"].as_array().expect("a list");
    let found = |phase: &str| {
        let below = format!("/tasks/T117/testExecution/{phase}/0/");
        errors.iter().any(|error| error["instancePath"].as_str().is_some_and(|path| path.starts_with(&below)))
    };
    assert!(["prerequisites", "steps", "cleanup"].iter().all(|phase| found(phase)), "{errors:#?}");
    let checked = project.proctor(["check", "--json"]).status(4).json();
    assert_eq!(checked["errors"], errors.len(), "`check` says as many");
    let summary = &report["executionSummary"];
    assert_eq!((&summary["overallStatus"], &summary["actionCounts"]["total"]), (&json!("SPECIFICATION_ERROR"), &json!(4)));
    assert_eq!((&summary["actionCounts"]["executed"], &summary["actionResults"]["SPECIFICATION_ERROR"]), (&json!(0), &json!(3)));
    assert_eq!(summary["actionCounts"]["skipped"], 1, "the step without errors");
    for list in ["prerequisiteExecution", "stepExecution", "cleanupExecution"] {
        let entries = report[list]["results"].as_array().expect("a list");
        assert_eq!(
            (&entries[0]["disposition"], &entries[0]["status"]),
            (&"INVALID".into(), &"SPECIFICATION_ERROR".into()),
            "{list}"
        );
        assert!(entries[1..].iter().all(|entry| entry["disposition"] == "SKIPPED" && entry["status"].is_null()), "{list}");
    }
    assert_eq!(report["validationCriteriaEvaluation"]["overallResult"], "FAILED");
    assert_eq!(report["completionCriteriaEvaluation"]["completionStatus"], "INCOMPLETE");
    assert_eq!(report["testSpecification"]["file"], FILE);

    let said = project.proctor(["run", "--task", "T117"]).status(4);
    assert!(said.stdout.starts_with("SPECIFICATION ERROR · evidence/T117/execution-report.json"), "{}", said.snapshot());
    assert!(said.stderr.contains("errors: nothing was run") && said.stderr.contains("hint: "), "{}", said.snapshot());
    assert_eq!(project.store().committed_runs().len(), 3, "each is in the ledger");
    let shown = project.proctor(["show"]).success();
    assert!(shown.stdout.contains("error[") && shown.stdout.contains("\nSPECIFICATION ERROR · "), "{}", shown.snapshot());
    let listed = project.proctor(["log"]).success().stdout;
    assert_eq!(listed.matches("SPECIFICATION ERROR").count(), 2, "{listed}");
    let status = project.proctor(["status", "--task", "T117"]).success();
    assert!(status.stdout.contains("specification error"), "{}", status.snapshot());

    // The refused run says nothing about the code, so the earlier verdict on these files is valid again.
    project.save(FILE, &specification(&[task("T117")]));
    let standing = project.proctor(["status", "--task", "T117", "--json"]).success().json();
    assert_eq!(standing["projects"][0]["tasks"][0]["state"], "fresh", "{standing:#}");
}

#[test]
fn seed_004_detailed_example_6_a_specification_that_is_wrong() {
    let project = project(&[task("T117")]);
    project.proctor(["run", "--task", "T117"]).success();
    project.save(FILE, &specification(&[wrong("T117")]));
    let report = project.proctor(["run", "--task", "T117", "--json"]).status(4).json();
    let errors = report["specificationErrors"].as_array().expect("a list");
    let wanted = &example("example-6-specification-error")["result"]["schemaValidation"]["errors"][0];
    let of_enum = errors.iter().find(|error| error["keyword"] == wanted["keyword"]);
    let of_enum = of_enum.unwrap_or_else(|| panic!("no error of an `enum`: {errors:#?}"));
    for key in wanted.as_object().expect("it has keys").keys() {
        assert!(!of_enum[key].is_null(), "`{key}`: {of_enum:#}");
    }
    // The example names the place relative to its action. proctor names the place in the whole file, which has many
    // actions.
    let of_action = of_enum["instancePath"].as_str().and_then(|path| path.split_once("/prerequisites/0"));
    assert_eq!(of_action.map(|(_, path)| path), wanted["instancePath"].as_str(), "{of_enum:#}");
    assert_eq!(of_enum["params"], wanted["params"], "{of_enum:#}");
    let missing = errors.iter().any(|error| error.to_string().contains("filePath"));
    assert!(missing, "both errors of the example are there: {errors:#?}");
}

#[test]
fn the_plan_of_a_task_is_shown_and_some_of_its_steps_can_be_run() {
    let project = project(&[task("T117")]);
    insta::assert_snapshot!("plan_of_a_task", project.proctor(["plan", "--task", "T117"]).success().snapshot());
    let document = project.proctor(["plan", "--task", "T117", "--json"]).success().json();
    assert_eq!((&document["task"], &document["origin"]), (&"T117".into(), &"specification".into()));
    let report = project.proctor(["run", "--task", "T117", "--check", "STEP.2", "--json"]).any_status().json();
    assert_eq!(report["stepExecution"]["results"][0]["disposition"], "SKIPPED");
    // A task is not complete if one of its steps was not executed.
    assert_eq!(report["completionCriteriaEvaluation"]["completionStatus"], "INCOMPLETE");
    let project = project.toml("[[check]]\nname = \"unit\"\ncommand = [\"true\"]\n");
    assert_eq!(project.proctor(["plan", "--task", "default", "--json"]).success().json()["task"], "default");
}

#[test]
fn a_task_is_handed_to_the_service_where_it_watches_the_project() {
    let project = project(&[task("T117")]).toml("[[check]]\nname = \"unit\"\ncommand = [\"true\"]\n");
    let mut daemon = project.proctor(["service", "daemon"]).watch();
    daemon.wait_for_line("the socket", Duration::from_secs(60), |line| line.starts_with("listening on"));
    project.proctor(["service", "add"]).success();
    project.proctor(["wait", "--fresh"]).success();
    let output = project.proctor(["run", "--task", "T117", "--json"]).success();
    assert!(!output.stderr.contains("note:"), "the service has carried it out: {}", output.snapshot());
    assert_eq!(output.json()["testSpecification"]["taskId"], "T117");
    assert_eq!(daemon.interrupt().status, 130);
}

#[test]
fn a_task_has_a_cycle_of_its_own() {
    let project = project(&[task("T117")]);
    project.proctor(["tdd", "start", "T118"]).status(2);
    project.proctor(["tdd", "start", "T117"]).success();
    let report = project.proctor(["run", "--task", "T117", "--json"]).any_status().json();
    assert_eq!((&report["tdd"]["started"], &report["tdd"]["phase"]), (&true.into(), &"RED".into()), "{}", report["tdd"]);
    let shown = project.proctor(["tdd", "show", "T117"]).success().stdout;
    assert!(shown.contains("RED"), "{shown}");
    let project = project.toml("[[check]]\nname = \"unit\"\ncommand = [\"true\"]\n");
    let status = project.proctor(["status"]).success().stdout;
    assert!(status.contains("T117 · stale · files have changed"), "{status}");
}

#[test]
fn a_clean_up_that_may_fail_decides_nothing_and_says_what_to_write_on_linux() {
    let mut one = task("T117");
    one["testExecution"]["prerequisites"][0]["parameters"]["filePath"] = json!("/srv/billing/nowhere.txt");
    one["testExecution"]["prerequisites"][0]["continueOnFailure"] = json!(true);
    one["testExecution"]["cleanup"] = json!([{
        "actionId": "CLEANUP.1", "type": "TERMINAL_COMMAND", "description": "ends the server", "continueOnFailure": true,
        "parameters": { "command": "taskkill /F /IM node.exe", "workingDirectory": "/srv/billing" }
    }]);
    one["validationCriteria"]["failureConditions"] = json!([]);
    one["validationCriteria"]["successConditions"] = json!([
        { "condition": "STEP.2.status === 'SUCCESS'", "description": "the total is found" },
        { "condition": "STEP.1.stdout.startsWith('half-even')", "description": "the mode comes first" },
    ]);
    let project = project(&[one.clone()]);
    let report = project.proctor(["run", "--task", "T117", "--json"]).any_status().json();
    assert_eq!(report["completionCriteriaEvaluation"]["completionStatus"], "COMPLETE", "{report}");
    assert_eq!(report["technicalDebtGenerated"]["itemsCreated"].as_u64().unwrap_or_default(), 0);
    let cleanup = &report["cleanupExecution"]["results"][0];
    assert_eq!((&cleanup["status"], &cleanup["blocking"]), (&json!("EXECUTION_ERROR"), &json!(false)));
    assert!(cleanup["classification"]["reason"].as_str().is_some_and(|reason| reason.contains("`pkill -f NAME`")), "{cleanup}");
    assert_eq!(report["prerequisiteExecution"]["results"][0]["classification"]["canContinue"], true);
    // The same clean-up without permission to fail is what it was.
    one["testExecution"]["cleanup"][0]["continueOnFailure"] = json!(false);
    project.save(FILE, &specification(&[one]));
    project.proctor(["run", "--task", "T117"]).failure();
}
