//! Freshness by check: a check that did not run on the current tree keeps its task stale, whatever its `paths` say, and
//! `proctor wait --fresh` runs the missing checks and no others.

use std::fs;

use serde_json::{Value, json};

use crate::common::{Project, WRITES_TO_SHARED, poll};
use crate::daemon::{LATE, start_serving};

/// Returns a project with two checks that say when they run. `types` is triggered by `web/` only, and reads `shared/` too.
fn two_checks(settings: &str) -> Project {
    let check = |name: &str, paths: &str, command: &str| {
        format!(
            "[[check]]\nname = \"{name}\"\npaths = [\"{paths}\"]\ncommand = [\"fake-tool\", \"--script\", 'echo {name} >>../shared/steps; {command}']\n"
        )
    };
    let types = check("types", "web/**", "grep -q ok shared/a && grep -q ok web/a");
    let checks = check("tests", "py/**", "grep -q ok py/a") + &types;
    let toml = format!("{WRITES_TO_SHARED}{checks}\n[evidence]\nlink = \"\"\n{settings}");
    Project::new().toml(&toml).file("py/a", "ok\n").file("web/a", "ok\n").file("shared/a", "ok\n")
}

/// Returns the names of the checks that were carried out so far, in order.
#[track_caller]
fn carried_out(project: &Project) -> Vec<String> {
    let text = fs::read_to_string(project.shared("steps")).expect("a check wrote it");
    text.lines().map(str::to_owned).collect()
}

#[track_caller]
fn task(project: &Project) -> Value {
    project.proctor(["status", "--json"]).success().json()["projects"][0]["tasks"][0].clone()
}

/// Returns the state of each check: `fresh`, `stale` or `noResult`.
fn states(task: &Value) -> Vec<&str> {
    let checks = task["checks"].as_array().map(Vec::as_slice).unwrap_or_default();
    checks.iter().map(|check| check["state"].as_str().expect("a state")).collect()
}

#[track_caller]
fn wait_for_runs(project: &Project, count: usize) {
    poll(LATE, "the run of the save", || match project.store().committed_runs().len() {
        found if found >= count => Ok(()),
        found => Err(found),
    });
}

#[track_caller]
fn request_status(project: &Project, status: i32) -> Value {
    let request = ["request", "status", "COMPLETE", "--json"];
    project.proctor(request).status(status).json()
}

/// A change that no check's `paths` name must not be forgotten when a later save triggers a check (V2).
#[test]
fn a_save_does_not_launder_a_change_that_no_check_is_triggered_by() {
    for reuse in ["off", "watch"] {
        let project = two_checks(&format!("[run]\nreuse = \"{reuse}\"\n"));
        let daemon = start_serving(&project);
        project.proctor(["wait", "--fresh"]).success();
        assert_eq!(states(&task(&project)), ["fresh", "fresh"]);
        project.save("shared/a", "bad\n");
        poll(LATE, "the state", || match task(&project)["state"].as_str() {
            Some("stale") => Ok(()),
            other => Err(format!("{other:?}")),
        });
        project.save("py/a", "ok, saved\n");
        wait_for_runs(&project, 2);
        poll(LATE, "the state", || match task(&project) {
            task if (&task["state"], &task["outdated"]) == (&json!("stale"), &json!("checks")) => Ok(()),
            task => Err(task.to_string()),
        });
        let standing = task(&project);
        assert_eq!((states(&standing), &standing["exitCode"]), (vec!["fresh", "stale"], &json!(5)), "{standing}");
        let report = project.proctor(["show", "--json"]).success().json();
        assert_eq!(report["executionSummary"]["overallStatus"], "PARTIAL_SUCCESS", "{reuse}");
        assert!(project.proctor(["show"]).success().stdout.contains("1 of 2 checks"));
        let answer = request_status(&project, 5);
        assert_eq!(answer["computedStatus"], "INCOMPLETE", "{reuse}: {answer}");
        assert!(answer["reasons"].to_string().contains("1 of 2 checks: tests PASS on this tree; types last PASS on"), "{answer}");
        let said = project.proctor(["status"]).success();
        assert!(said.stdout.contains("1 of 2 checks: tests PASS on this tree; types last PASS on"), "{}", said.snapshot());
        assert!(said.stdout.contains(", 2 files since"), "{}", said.snapshot());
        project.proctor(["wait", "--fresh", "--timeout", "0"]).status(5);
        assert_eq!(carried_out(&project), ["tests", "types", "tests"], "nothing has run the other check yet");
        project.proctor(["wait", "--fresh"]).status(1);
        assert_eq!(carried_out(&project), ["tests", "types", "tests", "types"], "what was missing, and no more");
        daemon.interrupt();
    }
}

#[test]
fn a_wait_runs_what_is_missing_and_its_report_is_a_verdict_on_all_checks() {
    let project = two_checks("");
    project.proctor(["run"]).success();
    project.save("py/a", "ok, saved\n");
    project.proctor(["run", "--check", "tests"]).success();
    let standing = task(&project);
    assert_eq!((&standing["state"], states(&standing)), (&json!("stale"), vec!["fresh", "stale"]), "{standing}");
    project.proctor(["wait", "--fresh"]).success();
    assert_eq!(carried_out(&project), ["tests", "types", "tests", "types"]);
    let report = project.proctor(["show", "--json"]).success().json();
    let results = &report["stepExecution"]["results"];
    assert_eq!((&results[0]["disposition"], &results[1]["disposition"]), (&json!("REUSED"), &json!("EXECUTED")));
    assert_eq!(report["executionSummary"]["overallStatus"], "SUCCESS");
    assert_eq!(report["reused"].as_array().map(Vec::len), Some(1));
    let standing = task(&project);
    assert_eq!((&standing["state"], states(&standing)), (&json!("fresh"), vec!["fresh", "fresh"]), "{standing}");
    assert_eq!(request_status(&project, 0)["computedStatus"], "COMPLETE");
    project.proctor(["wait", "--fresh"]).success();
    assert_eq!(carried_out(&project).len(), 4, "a fresh verdict is not made again");
    project.proctor(["verify"]).success();
}

#[test]
fn one_red_check_on_this_tree_is_the_answer_and_nothing_more_is_run() {
    let project = two_checks("");
    project.proctor(["run"]).success();
    project.save("py/a", "bad\n");
    project.proctor(["run", "--check", "tests"]).status(1);
    let standing = task(&project);
    assert_eq!((&standing["state"], &standing["result"]), (&json!("fresh"), &json!("FAILED")), "{standing}");
    assert_eq!(states(&standing), ["fresh", "stale"]);
    project.proctor(["wait", "--fresh"]).status(1);
    assert_eq!(request_status(&project, 1)["computedStatus"], "INCOMPLETE");
    assert_eq!(carried_out(&project), ["tests", "types", "tests"]);
    // The file is put back: the last run of all checks is for this tree again, and the failure is for another one.
    project.save("py/a", "ok\n");
    assert_eq!(states(&task(&project)), ["stale", "fresh"]);
    project.proctor(["wait", "--fresh"]).success();
}

#[test]
fn a_check_that_fails_by_name_after_a_green_run_of_the_same_tree_is_red() {
    let project = two_checks("").file("flag", "");
    let toml = fs::read_to_string(project.path().join("proctor.toml")).expect("it is there");
    project.save("proctor.toml", &toml.replace("grep -q ok py/a", "test ! -e ../shared/red"));
    project.proctor(["run"]).success();
    fs::write(project.shared("red"), "").expect("the directory is ours");
    project.proctor(["run", "--check", "tests"]).status(1);
    assert_eq!((&task(&project)["result"], &task(&project)["exitCode"]), (&json!("FAILED"), &json!(1)));
    project.proctor(["wait", "--fresh"]).status(1);
    fs::remove_file(project.shared("red")).expect("it is there");
    project.proctor(["run", "--check", "tests"]).success();
    let before = carried_out(&project).len();
    // Both checks have succeeded on this tree. A run that starts nothing puts the two results together.
    project.proctor(["wait", "--fresh"]).success();
    assert_eq!(carried_out(&project).len(), before);
}

#[test]
fn the_ledger_names_every_check_of_the_plan_and_how_the_run_came_to_its_result() {
    let project = two_checks("");
    project.proctor(["run"]).success();
    project.proctor(["run", "--check", "tests"]).success();
    let runs = project.store().committed_runs();
    let record = |id: &str, name: &str, outcome: Value| json!({"id": id, "name": name, "outcome": outcome});
    let carried_out = |id: &str, name: &str| {
        let outcome = json!({"kind": "carriedOut", "blocking": "allowed"});
        json!({"id": id, "name": name, "outcome": outcome, "succeeded": true})
    };
    assert_eq!(runs[0]["results"], json!([carried_out("STEP.1", "tests"), carried_out("STEP.2", "types")]));
    assert_eq!(runs[1]["results"][1], record("STEP.2", "types", json!({"kind": "leftOut"})));
}

/// An ignored file is no part of the tree, and a result can depend on it.
#[test]
fn a_result_that_was_reached_with_other_ignored_files_is_not_put_together_with_others() {
    let project = two_checks("").file(".gitignore", ".env\n").file(".env", "A=1\n");
    project.proctor(["run"]).success();
    project.save("py/a", "ok, saved\n");
    project.proctor(["run", "--check", "tests"]).success();
    project.save(".env", "A=2\n");
    project.proctor(["wait", "--fresh"]).success();
    assert_eq!(carried_out(&project), ["tests", "types", "tests", "tests", "types"]);
}
