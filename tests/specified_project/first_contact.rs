//! The first contact with a wrong specification leaves a sealed report, in a project that was never run before.

use serde_json::{Value, json};

use super::{invoices, replace, report, runs};

const FILE: &str = "specs/base-test-specification.json";

#[test]
fn a_wrong_specification_leaves_a_sealed_report_with_value_allowed_values_and_nearest() {
    let project = invoices();
    replace(&project, FILE, "\"EXISTS\"", "\"EXIST\"");
    replace(&project, FILE, "\"TERMINAL_COMMAND\",\n", "\"TERMINAL_COMAND\",\n");
    let said = project.proctor(["run", "--task", "T103"]).status(4);
    assert!(said.stderr.contains("registered `") && !said.stderr.contains("is approved"), "{}", said.snapshot());
    assert!(said.stdout.contains("SPECIFICATION ERROR · evidence/T103/execution-report.json"), "{}", said.snapshot());
    assert!(said.stderr.contains("must be equal to one of the allowed values (it is `EXIST`)"), "{}", said.snapshot());
    assert_eq!(runs(&project), ["T103"]);

    let sealed = report(&project, "T103");
    let summary = &sealed["executionSummary"];
    assert_eq!(summary["overallStatus"], "SPECIFICATION_ERROR");
    // The prerequisite and the step are both wrong. The type of the step cannot be read, so it is counted without an entry.
    let counts = &summary["actionCounts"];
    assert_eq!((&counts["total"], &counts["prerequisites"], &counts["steps"]), (&2.into(), &1.into(), &1.into()), "{counts}");
    assert_eq!((&counts["executed"], &counts["skipped"]), (&0.into(), &0.into()), "{counts}");
    assert_eq!(summary["actionResults"]["SPECIFICATION_ERROR"], 2);
    let entry = &sealed["prerequisiteExecution"]["results"][0];
    assert_eq!(
        entry["classification"]["validationErrors"],
        json!([
            "Invalid validationType: 'EXIST' (must be one of: EXISTS, CONTENT_MATCH, SCHEMA_VALID, HASH_MATCH, SIZE_CHECK); did you mean 'EXISTS'?"
        ])
    );
    let errors = sealed["specificationErrors"].as_array().expect("a list");
    let of = |pointer: &str| errors.iter().find(|error| error["instancePath"] == pointer).unwrap_or(&Value::Null);
    let kind = of("/tasks/T103/testExecution/steps/0/type");
    assert_eq!((&kind["value"], &kind["nearest"]), (&"TERMINAL_COMAND".into(), &"TERMINAL_COMMAND".into()), "{errors:#?}");
    let parameter = of("/tasks/T103/testExecution/prerequisites/0/parameters/validationType");
    assert_eq!((&parameter["value"], &parameter["nearest"]), (&"EXIST".into(), &"EXISTS".into()), "{errors:#?}");
    project.proctor(["verify", "--all"]).success();
}

#[test]
fn actions_without_errors_are_counted_as_skipped_and_have_an_entry() {
    let project = invoices();
    replace(&project, FILE, "\"EXISTS\"", "\"EXIST\"");
    project.proctor(["run", "--task", "T103"]).status(4);
    let sealed = report(&project, "T103");
    let counts = &sealed["executionSummary"]["actionCounts"];
    assert_eq!((&counts["total"], &counts["skipped"]), (&2.into(), &1.into()), "{counts}");
    let step = &sealed["stepExecution"]["results"][0];
    assert_eq!(
        (&step["disposition"], &step["status"], &step["skipReason"]),
        (&"SKIPPED".into(), &Value::Null, &"specification-wrong".into())
    );
    // Registering approved no plan: the first run of the corrected task does.
    replace(&project, FILE, "\"EXIST\"", "\"EXISTS\"");
    project.proctor(["run", "--task", "T102"]).success();
    let output = project.proctor(["run", "--task", "T103"]).success();
    assert!(output.stderr.contains("`T103`") || output.stdout.contains("`T103`"), "it is new: {}", output.snapshot());
}

#[test]
fn a_file_named_after_the_task_that_is_no_json_is_the_tasks_own() {
    let project = invoices();
    project.save("specs/T113-tariffs-test-specification.json", "{\n  \"schemaVersion\": \"2.0.0\",\n}\n");
    let said = project.proctor(["run", "--task", "T113"]).status(4).stderr;
    assert!(said.contains("specs/T113-tariffs-test-specification.json:3:1: error[SYNTAX]"), "{said}");
    let sealed = report(&project, "T113");
    assert_eq!(sealed["executionSummary"]["overallStatus"], "SPECIFICATION_ERROR");
    assert_eq!(sealed["executionSummary"]["actionCounts"]["total"], 0);
    // Another task has no such file: it may be in the torn one, and it is not known.
    let unknown = project.proctor(["run", "--task", "T114"]).status(2).stderr;
    assert!(unknown.contains("no test specification has a task `T114`") && unknown.contains("are not known"), "{unknown}");
}

#[test]
fn a_retest_that_an_agent_asks_for_seals_the_errors_too() {
    let project = invoices();
    project.proctor(["run", "--task", "T102"]).success();
    replace(&project, FILE, "\"EXISTS\"", "\"EXIST\"");
    project.proctor(["request", "retest", "--task", "T102"]).status(4);
    assert_eq!(report(&project, "T102")["executionSummary"]["overallStatus"], "SPECIFICATION_ERROR");
}
