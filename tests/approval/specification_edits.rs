//! Everyday edits of a test specification through the program: each runs at once and says what decides otherwise than what was approved.

use serde_json::{Value, json};

use super::{save, step};
use crate::specification_runs::{project, task};

/// An edit of the task: what it is, how it is made, and what the run says of it; nothing for a free edit.
type Edit = (&'static str, fn(&mut Value), &'static str);

const EDITS: &[Edit] = &[
    ("a corrected title", |task| task["title"] = json!("Half-even rounding of all totals"), ""),
    (
        "a longer description",
        |task| task["description"] = json!("Totals must be rounded half-to-even, as the tax office asks."),
        "",
    ),
    ("the description of a step", |task| step(task, 0)["description"] = json!("prints all totals"), ""),
    ("the words for a condition", |task| of_criteria(task, "successConditions")[0]["description"] = json!("It is rounded"), ""),
    ("the words for a prerequisite", |task| of_execution(task, "prerequisites")[0]["description"] = json!("they are there"), ""),
    ("a shorter time", |task| step(task, 0)["timeout"] = json!(5000), "STEP.1: timeout"),
    ("a longer time", |task| step(task, 1)["timeout"] = json!(400_000), "STEP.2: timeout"),
    ("a typo in a command", |task| of_step(task, 0, "command", json!("cat ./totals.txt")), "STEP.1: command"),
    ("another command", |task| of_step(task, 1, "command", json!("grep 2.66 totals.txt")), "STEP.2: command"),
    ("another shell", |task| of_step(task, 1, "shell", json!("bash")), "STEP.2: command"),
    ("another exit code", |task| of_step(task, 1, "expectedExitCodes", json!([0, 1])), "STEP.2: expected_exit_codes"),
    ("a variable", |task| of_step(task, 0, "environment", json!({"LC_ALL": "C"})), "STEP.1: environment.LC_ALL"),
    ("a step must pass", |task| step(task, 0)["continueOnFailure"] = json!(false), ""),
    (
        "more is expected",
        |task| of_criteria(task, "expectedOutput")["stdoutContains"] = json!(["half-even", "2.66"]),
        "plan: expected_output",
    ),
    ("nothing is expected", |task| *of_criteria(task, "expectedOutput") = json!({}), "plan: expected_output"),
    (
        "another condition",
        |task| of_criteria(task, "successConditions")[0]["condition"] = json!("STEP.1.exitCode === 0"),
        "plan: success",
    ),
    ("no failure condition", |task| *of_criteria(task, "failureConditions") = json!([]), "plan: failure"),
    ("a further step", further_step, "STEP.3: added"),
    ("a step less", |task| drop(steps(task).remove(0)), "STEP.1: removed"),
    (
        "another file of a prerequisite",
        |task| {
            of_execution(task, "prerequisites")[0]["parameters"]["filePath"] = json!("/srv/billing/proctor.toml");
        },
        "PREREQ.1: kind.fileValidation.path",
    ),
];

fn of_execution<'a>(task: &'a mut Value, key: &str) -> &'a mut Value {
    &mut task["testExecution"][key]
}

fn of_criteria<'a>(task: &'a mut Value, key: &str) -> &'a mut Value {
    &mut task["validationCriteria"][key]
}

fn of_step(task: &mut Value, number: usize, key: &str, value: Value) {
    step(task, number)["parameters"][key] = value;
}

fn steps(task: &mut Value) -> &mut Vec<Value> {
    of_execution(task, "steps").as_array_mut().expect("a list")
}

fn further_step(task: &mut Value) {
    let mut third = step(task, 0).clone();
    third["actionId"] = json!("STEP.3");
    steps(task).push(third);
}

#[test]
fn everyday_edits_of_a_specification_run_at_once_and_say_what_they_change() {
    let project = project(&[task("T117")]);
    project.proctor(["run", "--task", "T117"]).success();
    let mut others = Vec::new();
    for (what, edit, expected) in EDITS {
        save(&project, edit);
        let run = project.proctor(["run", "--task", "T117", "--json"]).any_status();
        let report: Value = serde_json::from_str(&run.stdout).unwrap_or_default();
        let changed: Vec<&str> = report["rulesChanged"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if ![0, 1].contains(&run.status) || changed.join("; ") != *expected {
            others.push(format!("{what}: {} {} {}", run.status, changed.join("; "), run.stderr));
        }
    }
    assert_eq!(others, Vec::<String>::new());
}
