//! `proctor request fix` for a task of a test specification: it checks the same things as a run of the task, and
//! reports the same errors.

use std::fs;

use serde_json::{Value, json};

use crate::common::Project;
use crate::specification_runs::{FILE, project, specification, task};

#[test]
fn fix_of_a_task_needs_no_checks_of_the_project_itself() {
    let project = project(&[task("T117")]);
    let answer = project.proctor(["request", "fix", "--task", "T117", "--json"]).success().json();
    assert_eq!((&answer["accepted"], &answer["errors"]), (&json!(true), &json!([])), "{answer}");
    project.proctor(["request", "fix", "--task", "T118"]).status(2);
    project.save("proctor.toml", "[run]\nordr = 1\n");
    let wrong = project.proctor(["request", "fix", "--task", "T117"]).status(4);
    assert!(wrong.stderr.contains("ordr"), "{}", wrong.snapshot());
}

/// Returns a specification with this title whose task checks types with this value of `strictMode`.
fn typed(strict: bool, title: &str) -> String {
    let mut task = task("T117");
    task["title"] = json!(title);
    task["testExecution"]["steps"][0]["parameters"]["command"] = json!("npx --no-install tsc --noEmit");
    let mut document: Value = serde_json::from_str(&specification(&[task])).expect("it is JSON");
    document["globalConfiguration"]["validationPolicy"] = json!({ "typeChecking": {
        "strategy": "BLOCK_ON_ERRORS_ALWAYS", "tools": { "typescript": { "strictMode": strict } }
    } });
    serde_json::to_string_pretty(&document).expect("it is JSON")
}

/// Asks for the errors of the specification, or for the effect of a proposal, and returns the answer.
#[track_caller]
fn fix(project: &Project, proposal: Option<&str>) -> Value {
    let path = project.root().join("proposal.json");
    let path = path.to_str().expect("a plain path");
    let mut arguments = vec!["request", "fix", "--task", "T117", "--json"];
    if let Some(text) = proposal {
        fs::write(path, text).expect("it is ours");
        arguments.extend(["--proposal", path]);
    }
    project.proctor(arguments).any_status().json()
}

#[test]
fn fix_of_a_task_knows_that_the_project_is_less_strict_than_its_specification() {
    const LOOSE: &str = "{ \"compilerOptions\": { \"strict\": false } }\n";
    let check = "[[check]]\nname = \"check\"\ncommand = [\"true\"]\n";
    let project = Project::new().toml(check).file(FILE, &typed(true, "Half-even rounding")).file("tsconfig.json", LOOSE);
    let asked = fix(&project, None);
    assert_eq!((&asked["accepted"], &asked["exitCode"]), (&json!(false), &json!(4)), "{asked}");
    assert!(asked["errors"].to_string().contains("STRICTNESS_DIFFERS"), "{asked}");
    let reworded = fix(&project, Some(&typed(true, "Half-even rounding of totals")));
    assert_eq!(reworded["exitCode"], 4, "{reworded}");
    assert!(reworded["errors"].to_string().contains("STRICTNESS_DIFFERS"), "{reworded}");
    let weakened = fix(&project, Some(&typed(false, "Half-even rounding")));
    assert_eq!((&weakened["exitCode"], &weakened["errors"]), (&json!(0), &json!([])), "nothing was approved yet: {weakened}");
    project.save("tsconfig.json", &LOOSE.replace("false", "true"));
    assert_eq!(fix(&project, None)["exitCode"], 0);
    assert_eq!(fix(&project, Some(&typed(true, "Half-even rounding of totals")))["exitCode"], 0);
}
