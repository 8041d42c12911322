//! The order of a specification's steps, and programs that a launcher does not find.

use serde_json::json;

use crate::common::Project;
use crate::specification_actions::{judged, shell, specification, step, with_specification, with_steps};

/// Steps that need what the step before them wrote, in another order than they are written.
fn dependent() -> serde_json::Value {
    let steps = [
        shell("cat two | grep 2 && echo 3 > three"),
        shell("test -f one && echo 2 > two"),
        shell("test ! -e two && echo 1 > one"),
    ];
    let mut specification = specification("/srv/shop", &steps);
    specification["tasks"]["T200"]["executionWorkflow"] = json!({ "executionOrder": ["STEP.3", "STEP.2", "STEP.1"] });
    specification
}

#[test]
fn steps_run_in_their_order_and_see_what_the_steps_before_them_wrote() {
    for settings in ["", "[run]\nparallel = true\n", "[run]\norder = \"failed-first\"\n"] {
        let project = with_specification(Project::new(), &dependent()).toml(settings);
        project.proctor(["run", "--task", "T200"]).success();
        // A snapshot drops what a step wrote, so the same run succeeds again.
        project.proctor(["run", "--task", "T200"]).success();
    }
}

#[test]
fn a_step_that_failed_before_is_not_moved_before_what_it_needs() {
    let steps = [shell("echo 1 > one"), shell("test -f one && test -f fixed")];
    let project = with_steps(Project::new(), &steps).toml("[run]\norder = \"failed-first\"\n");
    project.proctor(["run", "--task", "T200"]).failure();
    project.save("fixed", "");
    project.proctor(["run", "--task", "T200"]).success();
}

#[test]
fn steps_run_side_by_side_only_where_the_specification_says_so() {
    let mut specification = specification("/srv/shop", &[shell("echo 1 > one"), shell("test ! -e one")]);
    let run = |specification: &serde_json::Value| {
        let project = with_specification(Project::new(), specification).toml("");
        project.proctor(["run", "--task", "T200", "--json"]).any_status().json()
    };
    assert_eq!(judged(&run(&specification), "STEP.2").0, "UNEXPECTED_EXIT", "it sees what STEP.1 wrote");
    specification["tasks"]["T200"]["executionWorkflow"] = json!({ "parallelExecution": true });
    assert_eq!(judged(&run(&specification), "STEP.2").0, "EXPECTED_EXIT", "side by side no step sees another's files");
}

#[test]
fn s7_a_package_that_a_launcher_does_not_find_is_a_missing_tool() {
    // Stands for `npx`, and prints what it prints.
    let npx = "#!/bin/sh\necho 'npm error code E404' >&2\necho 'npm error 404 Not Found - GET https://registry.example/gone' >&2\nexit ${NPX_EXIT:-1}\n";
    let command = |command: &str| step("TERMINAL_COMMAND", json!({ "command": command, "workingDirectory": "/srv/shop" }));
    let with_code = step(
        "TERMINAL_COMMAND",
        json!({ "command": "npx gone", "workingDirectory": "/srv/shop", "environment": { "NPX_EXIT": "3" } }),
    );
    let steps = [command("npx gone"), with_code, command("bin/npx-like")];
    let project = with_steps(Project::new().executable("bin/npx", npx).executable("bin/npx-like", npx), &steps).toml("");
    let launcher = project.path().join("bin/npx");
    let report = project.with_program(&launcher).proctor(["run", "--task", "T200", "--json"]).any_status().json();
    let (code, reason) = judged(&report, "STEP.1");
    assert_eq!(code, "TOOL_NOT_FOUND", "{reason}");
    assert!(reason.contains("`npm install --save-dev gone`"), "{reason}");
    assert_eq!(judged(&report, "STEP.2").0, "UNEXPECTED_EXIT", "npx ends otherwise");
    assert_eq!(judged(&report, "STEP.3").0, "UNEXPECTED_EXIT", "it is no launcher, whatever it prints");
}
