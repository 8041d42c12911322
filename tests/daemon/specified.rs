//! Tests tasks of test specifications in the service, which runs them after a save, answers questions about them, and
//! keeps a state for each.

use serde_json::{Value, json};

use super::{LATE, ask, project_id, settings, start_serving};
use crate::common::{Project, poll};
use crate::specification_runs::{FILE, project as specified, specification, task};

/// A project with a check. The tasks in `watched` are run after a save.
fn project(tasks: &[Value], watched: &str) -> Project {
    specified(tasks).toml(&with_tasks(watched))
}

fn with_tasks(watched: &str) -> String {
    format!("{}\n[watch]\ntasks = {watched}\n", settings("grep -q half-even totals.txt"))
}

/// Waits until a task has a fresh verdict, expects the exit code `status`, and returns the task's entry.
#[track_caller]
fn fresh(project: &Project, task: &str, status: i32) -> Value {
    let answer = project.proctor(["wait", "--fresh", "--task", task, "--json"]).status(status).json();
    answer["project"]["tasks"][0].clone()
}

#[track_caller]
fn state(project: &Project, task: &str) -> Value {
    let status = project.proctor(["status", "--task", task, "--json"]).success().json();
    assert!(status["service"].is_object(), "the service answers: {status}");
    status["projects"][0]["tasks"][0].clone()
}

/// Returns the tasks of the sealed runs, in the order of their commits.
#[track_caller]
fn runs(project: &Project) -> Vec<String> {
    project.store().committed_runs().iter().map(|run| run["task"].as_str().expect("a task").to_owned()).collect()
}

/// Waits until `count` runs are sealed. No command asks for these runs.
#[track_caller]
fn wait_for_runs(project: &Project, count: usize) -> Vec<String> {
    poll(LATE, "the runs", || {
        let runs = runs(project);
        if runs.len() >= count { Ok(runs) } else { Err(format!("{runs:?}")) }
    })
}

#[test]
fn a_task_is_run_waited_for_and_asked_about_by_its_name() {
    let project = project(&[task("T117")], r#"["default"]"#);
    let daemon = start_serving(&project);
    let id = project_id(&project);
    project.proctor(["wait", "--fresh"]).success();
    assert_eq!(state(&project, "T117")["state"], "noVerdict", "nobody has run it");
    assert_eq!(runs(&project), ["default"], "a save runs what is configured");
    let standing = fresh(&project, "T117", 0);
    assert_eq!((&standing["task"], &standing["state"], &standing["result"]), (&"T117".into(), &"fresh".into(), &"PASSED".into()));
    assert_eq!(runs(&project), ["default", "T117"]);
    let (code, answer) = ask(&project, &format!("GET /v1/projects/{id}/verdict?task=T117"), "");
    assert_eq!(
        (code, &answer["exitCode"], &answer["project"]["tasks"][0]["state"]),
        (200, &0.into(), &"fresh".into()),
        "{answer}"
    );
    assert_eq!(answer["project"]["tasks"][1]["task"], "default");
    let (code, run) = ask(&project, &format!("POST /v1/projects/{id}/runs"), r#"{"task": "T117"}"#);
    assert_eq!((code, &run["task"], &run["outcome"], &run["exitCode"]), (200, &"T117".into(), &"judged".into(), &0.into()));
    let report = project.proctor(["run", "--task", "T117", "--check", "STEP.2", "--json"]).any_status().json();
    assert_eq!(report["stepExecution"]["results"][0]["disposition"], "SKIPPED");

    // A verdict on a task also depends on its specification, so a change of the specification needs a new verdict.
    let mut stricter = task("T117");
    stricter["testExecution"]["steps"][0]["timeout"] = json!(5000);
    project.save(FILE, &specification(&[stricter]));
    fresh(&project, "default", 0);
    let standing = state(&project, "T117");
    assert_eq!((&standing["state"], &standing["outdated"]), (&"stale".into(), &"treeAndPlan".into()), "{standing}");
    fresh(&project, "T117", 0);

    let (code, run) = ask(&project, &format!("POST /v1/projects/{id}/runs"), r#"{"task": "T171"}"#);
    assert_eq!((code, &run["outcome"]), (200, &"configurationWrong".into()), "{run}");
    let unknown = fresh(&project, "T171", 4);
    assert_eq!(unknown["state"], "specificationWrong", "{unknown}");
    assert!(unknown["problems"][0].as_str().is_some_and(|text| text.contains("no test specification has a task")), "{unknown}");
    daemon.interrupt();
}

#[test]
fn a_save_runs_every_task_that_is_configured_and_a_faulty_one_keeps_none_of_the_others() {
    let project = project(&[task("T117"), task("T118")], r#"["default", "T117", "T118"]"#);
    let daemon = start_serving(&project);
    assert_eq!(wait_for_runs(&project, 3), ["default", "T117", "T118"], "at the start, too");
    project.save("totals.txt", "half-even 2.66 again\n");
    assert_eq!(wait_for_runs(&project, 6)[3..], ["default", "T117", "T118"]);
    for task in ["default", "T117", "T118"] {
        assert_eq!(fresh(&project, task, 0)["result"], "PASSED", "{task}");
    }
    assert_eq!(runs(&project).len(), 6, "each had its verdict already");
    // An error in one task leaves every task of the same file without a plan.
    let mut wrong = task("T118");
    wrong["testExecution"]["steps"][1]["actionId"] = json!("STEP.1");
    project.save(FILE, &specification(&[task("T117"), wrong.clone()]));
    assert_eq!(fresh(&project, "default", 0)["result"], "PASSED");
    let standing = fresh(&project, "T118", 4);
    assert_eq!(standing["state"], "specificationWrong", "{standing}");
    let problems = standing["problems"].to_string();
    assert!(problems.contains("STEP.1") && problems.contains("hint: "), "place and next step: {problems}");
    let shown = project.proctor(["status", "--task", "T118"]).success();
    assert!(shown.stdout.contains("T118 · specification error\n"), "{}", shown.snapshot());
    // If the wrong task is in a file of its own, the tasks of other files are not affected.
    project.save("wrong-test-specification.json", &specification(&[wrong]));
    project.save(FILE, &specification(&[task("T117")]));
    assert_eq!(fresh(&project, "T117", 0)["result"], "PASSED");
    assert_eq!(fresh(&project, "T118", 4)["state"], "specificationWrong");
    project.save("wrong-test-specification.json", &specification(&[task("T118")]));
    assert_eq!(fresh(&project, "T118", 0)["result"], "PASSED", "it is read anew");
    daemon.interrupt();
}

#[test]
fn every_task_of_every_specification_is_run_also_one_that_is_added() {
    let project = project(&[task("T117")], r#"["*"]"#);
    let daemon = start_serving(&project);
    assert_eq!(wait_for_runs(&project, 1), ["T117"]);
    project.save("more-test-specification.json", &specification(&[task("T200")]));
    let runs = wait_for_runs(&project, 3);
    assert!(runs[1..].contains(&"T117".to_owned()) && runs[1..].contains(&"T200".to_owned()), "{runs:?}");
    let (_, status) = ask(&project, "GET /v1/status", "");
    let tasks: Vec<&Value> = status["projects"][0]["tasks"].as_array().expect("tasks").iter().map(|task| &task["task"]).collect();
    assert_eq!(tasks, ["default", "T117", "T200"]);
    // A change of the list of watched tasks has effect at once, too.
    project.save("proctor.toml", &with_tasks(r#"["default"]"#));
    fresh(&project, "default", 0);
    daemon.interrupt();
}

#[test]
fn what_weakens_a_task_is_not_run_on_a_save() {
    let project = project(&[task("T117")], r#"["default", "T117"]"#);
    let daemon = start_serving(&project);
    wait_for_runs(&project, 2);
    let mut weaker = task("T117");
    weaker["testExecution"]["steps"].as_array_mut().expect("steps").pop();
    weaker["validationCriteria"]["successConditions"][0]["condition"] = json!("STEP.1.exitCode === 0");
    project.save(FILE, &specification(&[weaker]));
    let standing = fresh(&project, "T117", 0);
    assert_eq!(standing["state"], "fresh", "{standing}");
    assert_eq!(standing["rulesChanged"], json!(["STEP.2: removed", "plan: success"]));
    let run = project.proctor(["run", "--task", "T117"]).success();
    assert!(run.stdout.contains("judged by changed rules: STEP.2: removed"), "{}", run.snapshot());
    let id = project_id(&project);
    let (code, _) = ask(&project, &format!("POST /v1/projects/{id}/approval"), "");
    assert_eq!(code, 409, "no request approves");
    let mut approving = project.proctor(["approve", "--task", "T117"]).at_terminal();
    approving.type_name();
    assert_eq!(approving.ended().status, 0);
    assert_eq!(fresh(&project, "T117", 0)["state"], "fresh", "with the service up");
    daemon.interrupt();
}

#[test]
fn a_task_waits_for_its_dependencies_in_the_service_too() {
    let mut later = task("T118");
    later["dependencies"] = json!(["T117"]);
    let project = project(&[task("T117"), later], r#"["default"]"#);
    let daemon = start_serving(&project);
    let refused = project.proctor(["run", "--task", "T118"]).status(1);
    assert!(refused.stderr.contains("T117: it has no verdict yet"), "{}", refused.snapshot());
    project.save("proctor.toml", &with_tasks(r#"["T117", "T118"]"#));
    assert_eq!(fresh(&project, "T118", 0)["state"], "fresh");
    daemon.interrupt();
}

#[test]
fn cycle_and_requests_of_a_task_are_its_own_with_and_without_the_service() {
    let project = project(&[task("T117")], r#"["default"]"#);
    let asked = |verb: &[&str], status: i32| {
        let arguments = [&["request"], verb, &["--task", "T117", "--json"]].concat();
        project.proctor(arguments).status(status).json()
    };
    project.proctor(["run", "--task", "T117"]).success();
    let here = asked(&["status", "COMPLETE"], 0);
    assert_eq!((&here["taskId"], &here["computedStatus"]), (&"T117".into(), &"COMPLETE".into()), "{here}");
    let daemon = start_serving(&project);
    assert_eq!(asked(&["status", "COMPLETE"], 0), here);
    assert_eq!(asked(&["fix"], 0)["accepted"], true);
    let refused = project.proctor(["request", "retest", "--task", "T117"]).status(0);
    assert!(refused.stderr.contains("nothing has changed") && refused.stderr.contains("it passed"), "{}", refused.snapshot());
    project.save("totals.txt", "odd\n");
    assert_eq!(asked(&["status", "COMPLETE"], 5)["accepted"], false);
    let report = asked(&["retest"], 1);
    assert_eq!(report["testSpecification"]["taskId"], "T117");
    project.proctor(["tdd", "start", "T117"]).success();
    let shown = |task: &str| project.proctor(["tdd", "show", task, "--json"]).success().json();
    assert_eq!((&shown("T117")["started"], &shown("default")["started"]), (&true.into(), &false.into()));
    daemon.interrupt();
    project.proctor(["request", "status", "--task", "T171"]).status(2);
}
