//! Tests `proctor approve --list`: what waits for a person's approval, in all registered projects.

use serde_json::json;

use super::{UNIT, save, weaken};
use crate::common::Project;
use crate::specification_runs::{project, task};

#[test]
fn the_list_names_what_waits_in_every_project_and_the_command_that_approves_it() {
    let project = project(&[task("T117")]);
    project.proctor(["run", "--task", "T117"]).success();
    project.save("../shared/other one/proctor.toml", UNIT);
    project.proctor(["run", "../shared/other one"]).success();
    assert_eq!(project.proctor(["approve", "--list"]).success().stdout, "nothing waits for approval\n");
    assert_eq!(project.proctor(["approve", "--list", "--json"]).success().json(), json!({"projects": []}));

    save(&project, weaken);
    project.save("../shared/other one/proctor.toml", &UNIT.replace("20s", "6m"));
    let lines = |project: &Project| (project.store().ledger().len(), project.store().committed_runs().len());
    let before = lines(&project);
    let listed = project.proctor(["approve", "--list"]).success().stdout;
    for expected in [
        "  task `T117` of `specs/T117-test-specification.json` has other rules than were approved\n",
        "    changed: STEP.2: expected_exit_codes: [0,1] instead of [0]\n",
        &format!("    approve it: `proctor approve {} --task T117`\n", project.path().display()),
        "  task `default` of `proctor.toml` has other rules than were approved\n",
        "    changed: unit: timeout: 6m instead of 20s\n",
        &format!("    approve it: `proctor approve '{}'`\n", project.shared("other one").display()),
    ] {
        assert!(listed.contains(expected), "{expected}: {listed}");
    }
    let document = project.proctor(["approve", "--list", "--json"]).success().json();
    let projects = document["projects"].as_array().expect("a list");
    let other = projects.iter().find(|project| project["waiting"][0]["task"] == "default").expect("the other project");
    assert_eq!(other["root"], json!(project.shared("other one")));
    assert_eq!(other["waiting"][0]["differences"]["changed"], json!(["unit: timeout: 6m instead of 20s"]));
    assert_eq!(lines(&project), before, "nothing is run or written");

    // A project that cannot be read does not hide the others.
    project.save("../shared/other one/proctor.toml", "[");
    let listed = project.proctor(["approve", "--list"]).success().stdout;
    assert!(listed.contains("task `T117`") && listed.contains("the configuration is wrong"), "{listed}");
    project.proctor(["approve", "--list", "--task", "T117"]).status(2);
    project.proctor(["approve", "--json"]).status(2);
}

#[test]
fn settings_and_files_that_left_the_tree_are_listed_once_for_all_tasks() {
    let project = project(&[task("T117"), task("T118")]).allowing_nothing().file("src/calc.py", "ok = True\n");
    project.proctor(["run", "--task", "T117"]).success();
    project.proctor(["run", "--task", "T118"]).success();
    project.save(".gitignore", "src/\n");
    let listed = project.proctor(["approve", "--list"]).success().stdout;
    let count = |text: &str| listed.matches(text).count();
    assert_eq!(count("tree: without src/calc.py"), 1, "{listed}");
    assert_eq!(count("approve it: "), 1, "{listed}");
}

#[test]
fn settings_are_approved_where_the_project_has_no_checks_of_its_own() {
    let wide = "[sandbox]\nmode = \"off\"\n";
    let project = project(&[task("T117")]).allowing_nothing().toml(wide);
    assert!(project.proctor(["run", "--task", "T117"]).status(3).stderr.contains("sandbox: mode"));
    let shown = project.approve();
    assert!(shown.contains("no checks of its own: this is about its settings and task `T117`"), "{shown}");
    assert!(shown.contains("opens: sandbox: mode: \"off\" instead of \"auto\""), "{shown}");
    project.proctor(["run", "--task", "T117"]).success();
    assert!(project.proctor(["approve"]).success().stdout.contains("task `T117` has the rules that were approved"));
}

#[test]
fn a_project_without_anything_to_run_has_nothing_to_approve_and_names_the_settings_that_will_be_asked_for() {
    let project = Project::new().allowing_nothing().toml("[sandbox]\nmode = \"off\"\nvisible = [\"~/.ssh\"]\n");
    insta::assert_snapshot!(project.proctor(["approve"]).status(4).snapshot(), @r#"
    exit status: 4
    --- stderr
    error: the project has no checks, and none were found in its files
      so nothing is run, and nothing waits for an approval
      the first run will ask for these settings:
        sandbox: mode: "off" instead of "auto"
        sandbox: visible: ["~/.ssh"] instead of []
      hint: write what you type to test it into `proctor.toml`: `[[check]]`, below it `name = "tests"` and `command = "…"`
      hint: `proctor init --print` shows every setting with its default
    "#);
    assert_eq!(project.store().ledger().len(), 0, "nothing is registered");
}
