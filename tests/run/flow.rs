//! Tests how the steps of a run affect each other: attempts, failures after which the run stops, dependencies, order,
//! the time limit of the whole run.

use std::time::Duration;

use proctor_model::{ActionId, FileCheck, Plan};
use serde_json::{Value, json};

use crate::common::{Project, WRITES_TO_SHARED};
use crate::run::planned::{file, run_plan};
use crate::run::{check, cleanup, prerequisite, project, result};

fn id(number: usize) -> ActionId {
    ActionId::numbered("STEP", number)
}

fn steps(report: &Value) -> Vec<(String, Value)> {
    let results = report["stepExecution"]["results"].as_array().expect("a list");
    let of = |one: &Value| {
        let word = if one["status"].is_null() { one["skipReason"].clone() } else { one["status"].clone() };
        (one["actionId"].as_str().expect("an id").to_owned(), word)
    };
    results.iter().map(of).collect()
}

fn ids(report: &Value) -> Vec<String> {
    steps(report).into_iter().map(|(id, _)| id).collect()
}

/// A project whose check fails `failures` times and then succeeds. The check counts its attempts in a file beside the
/// project.
fn flaky(failures: usize) -> Project {
    let script = "#!/bin/sh\ncount=$(cat ../shared/count 2>/dev/null || echo 0)\necho \"attempt $((count + 1))\"\necho $((count + 1)) > ../shared/count\n[ \"$count\" -ge FAILURES ]\n";
    let toml = WRITES_TO_SHARED.to_owned() + "[[check]]\nname = \"flaky\"\ncommand = [\"bin/flaky\"]\n";
    project(&toml).executable("bin/flaky", &script.replace("FAILURES", &failures.to_string()))
}

#[test]
fn a_step_that_succeeds_at_its_third_attempt_is_a_success_and_shown_as_flaky_with_every_attempt_kept() {
    let project = flaky(2);
    let report = run_plan(&project, |plan| plan.steps[0].retry_attempts = 3);
    let entry = result(&report, "STEP.1");
    assert_eq!((&entry["status"], &entry["attempts"], &entry["flaky"]), (&json!("SUCCESS"), &json!(3), &json!(true)));
    assert_eq!(
        (&entry["evidence"], &entry["result"]["stdout"]),
        (&json!("STEP.1-attempt-3-terminal-output.log"), &json!("attempt 3\n"))
    );
    let earlier = entry["earlierAttempts"].as_array().expect("a list");
    assert_eq!(
        earlier.iter().map(|one| one["status"].clone()).collect::<Vec<_>>(),
        [json!("EXECUTION_ERROR"), json!("EXECUTION_ERROR")]
    );
    let directory = project.store().run_directory("default");
    for (number, name) in ["STEP.1-terminal-output.log", "STEP.1-attempt-2-terminal-output.log"].iter().enumerate() {
        assert_eq!(std::fs::read_to_string(directory.join(name)).expect("it is kept"), format!("attempt {}\n", number + 1));
        assert!(earlier[number]["evidenceFiles"].as_array().expect("a list").contains(&json!(name)));
    }
    assert_eq!(report["executionSummary"]["actionCounts"]["executed"], 1, "an action is counted once");
}

#[test]
fn the_settings_of_a_check_say_what_it_comes_after_and_how_often_it_is_tried() {
    let toml = WRITES_TO_SHARED.to_owned()
        + "[[check]]\nname = \"last\"\ncommand = [\"fake-tool\"]\nafter = [\"flaky\"]\n"
        + "[[check]]\nname = \"flaky\"\ncommand = [\"bin/flaky\"]\nretries = 1\n";
    let project = flaky(1);
    project.save("proctor.toml", &toml);
    let output = project.proctor(["run"]).success();
    insta::assert_snapshot!(output.snapshot(), @r#"
    exit status: 0
    --- stdout
    proctor 0.1.0 · project · tree <digest>
      ✓ flaky                done <time> flaky: succeeded at attempt 2
      ✓ last                 done <time>
    PASSED · evidence/default/execution-report.json
    --- stderr
    registered `<project>` as <project-id>; its rules count as approved
    evidence in `evidence`, kept for ever: `max_bytes = "5GiB"` in `[evidence]` of proctor.toml limits its size
    note: flaky: attempt 1 of 2 did not succeed: The command ended with exit code 1; expected is 0; see the end of its log
    "#);
    let failing = flaky(9);
    failing.save("proctor.toml", &toml);
    let shown = failing.proctor(["run"]).failure().snapshot();
    assert!(shown.contains("2 attempts"), "{shown}");
    assert!(shown.contains("- last                 skipped: it comes after one that failed"), "{shown}");
}

#[test]
fn a_step_that_never_succeeds_has_its_last_attempts_result_and_is_not_flaky() {
    let project = flaky(9);
    let report = run_plan(&project, |plan| plan.steps[0].retry_attempts = 1);
    let entry = result(&report, "STEP.1");
    assert_eq!((&entry["status"], &entry["attempts"], entry.get("flaky")), (&json!("EXECUTION_ERROR"), &json!(2), None));
    let plain = run_plan(&flaky(0), |plan| plan.steps[0].retry_attempts = 5);
    let entry = result(&plain, "STEP.1");
    assert_eq!((entry.get("attempts"), entry.get("earlierAttempts")), (None, None), "a first success needs no second");
}

#[test]
fn after_a_failure_that_is_not_gone_on_after_the_rest_is_skipped_and_the_cleanup_runs() {
    let toml = check("one", &[]) + &check("two", &["--exit", "1"]) + &check("three", &[]) + &cleanup("end", &[]);
    let project = project(&toml);
    let report = run_plan(&project, |plan| plan.steps[1].continue_on_failure = false);
    let expected = [json!("SUCCESS"), json!("EXECUTION_ERROR"), json!("after-failure")];
    assert_eq!(steps(&report).into_iter().map(|(_, word)| word).collect::<Vec<_>>(), expected);
    assert_eq!(result(&report, "CLEANUP.1")["status"], "SUCCESS");
    assert_eq!(report["validationCriteriaEvaluation"]["overallResult"], "FAILED");
    let going_on = run_plan(&project, |_| {});
    assert_eq!(steps(&going_on)[2].1, json!("SUCCESS"), "as it is with `proctor.toml`");
}

#[test]
fn steps_run_after_what_they_need_and_are_skipped_where_that_failed() {
    let project = || project(&["a", "b", "c", "d"].map(|name| check(name, &[])).concat());
    let shape = |plan: &mut Plan| {
        plan.steps[0].after = vec![id(3)];
        plan.order = vec![id(4), id(1)];
    };
    let report = run_plan(&project(), shape);
    assert_eq!(ids(&report), ["STEP.4", "STEP.2", "STEP.3", "STEP.1"]);
    let report = run_plan(&project(), |plan| {
        shape(plan);
        plan.steps[2] = file(&plan.steps[2], "none", FileCheck::Exists);
    });
    let skipped = ("STEP.1".to_owned(), json!("dependency-failed"));
    assert_eq!(steps(&report).last(), Some(&skipped));
    assert_eq!(report["executionSummary"]["overallStatus"], "PARTIAL_SUCCESS");
}

#[test]
fn when_the_time_of_the_run_is_over_the_action_under_way_is_stopped_and_only_the_cleanup_runs() {
    let toml = check("quick", &[]) + &check("slow", &["--sleep", "600000"]) + &check("never", &[]) + &cleanup("end", &[]);
    let project = project(&toml);
    let report = run_plan(&project, |plan| plan.timeout = Some(Duration::from_millis(1500)));
    let expected = [json!("SUCCESS"), json!("TIMEOUT"), json!("run-timed-out")];
    assert_eq!(steps(&report).into_iter().map(|(_, word)| word).collect::<Vec<_>>(), expected);
    let stopped = &result(&report, "STEP.2")["classification"];
    assert_eq!((&stopped["limit"], &stopped["timeoutValue"]), (&json!("wall"), &json!(1500)));
    assert!(stopped["reason"].as_str().expect("a text").contains("run as a whole (1.5 s)"), "{stopped}");
    assert_eq!(result(&report, "CLEANUP.1")["status"], "SUCCESS");
}

#[test]
fn a_prerequisite_after_whose_failure_the_run_goes_on_is_a_warning_and_keeps_nothing_from_running() {
    let project = project(&(prerequisite("data", &["--exit", "1"]) + &check("one", &[])));
    let report = run_plan(&project, |plan| plan.prerequisites[0].continue_on_failure = true);
    let entry = result(&report, "PREREQ.1");
    assert_eq!((&entry["status"], &entry["classification"]["canContinue"]), (&json!("PREREQUISITE_FAILURE"), &json!(true)));
    assert_eq!(result(&report, "STEP.1")["status"], "SUCCESS");
    assert_eq!(report["validationCriteriaEvaluation"]["overallResult"], "PASSED");
}

#[test]
fn the_report_leaves_an_excerpt_out_and_the_log_has_it() {
    let project = project(&check("one", &["--stdout", "said\n"]));
    let report = run_plan(&project, |plan| plan.steps[0].capture.stdout = false);
    let shown = &result(&report, "STEP.1")["result"];
    assert_eq!((shown.get("stdout"), shown.get("stdoutShown"), &shown["stderr"]), (None, None, &json!("")));
    let log = project.store().run_directory("default").join("STEP.1-terminal-output.log");
    assert_eq!(std::fs::read_to_string(log).expect("the log is whole"), "said\n");
}
