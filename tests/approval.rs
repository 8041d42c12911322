//! Tests the approval of tasks (S7) by running the program: the first run approves, a change that is free is approved by itself, other
//! rules are carried out and prove nothing until a person approves them, and what opens the machine waits for a person.

pub(crate) mod changed_rules;
mod identity;
mod leaves_nothing;
mod levels;
mod protected;
mod settings;
pub(crate) mod signed;
mod specification_edits;
mod team_day;
mod waiting;

use std::time::Duration;

use serde_json::{Value, json};

use crate::common::{APPROVAL_QUESTION, Project, python_plain};
use crate::specification_runs::{FILE, project, specification, task};

/// Saves a specification whose only task is T117, after `change` has edited the task.
fn save(project: &Project, change: impl Fn(&mut Value)) {
    let mut task = task("T117");
    change(&mut task);
    project.save(FILE, &specification(&[task]));
}

fn step(task: &mut Value, number: usize) -> &mut Value {
    &mut task["testExecution"]["steps"][number]
}

fn weaken(task: &mut Value) {
    step(task, 1)["parameters"]["expectedExitCodes"] = json!([0, 1]);
    step(task, 0)["parameters"]["command"] = json!("cat other.txt");
    task["validationCriteria"]["expectedOutput"] = json!({});
}

#[track_caller]
fn approvals(project: &Project) -> Vec<Value> {
    let lines = project.store().ledger().into_iter();
    lines.map(|line| line["body"].clone()).filter(|body| body["kind"] == "approval").collect()
}

#[track_caller]
fn state(project: &Project) -> Value {
    let status = project.proctor(["status", "--task", "T117", "--json"]).success().json();
    status["projects"][0]["tasks"][0].clone()
}

#[test]
fn the_first_run_approves_and_any_other_number_is_named() {
    let project = project(&[task("T117")]);
    let first = project.proctor(["run", "--task", "T117"]).success();
    assert!(first.stderr.contains("is new here; its plan is approved by this run"), "{}", first.snapshot());
    let lines = approvals(&project);
    let reasons: Vec<&Value> = lines.iter().map(|line| &line["reason"]).collect();
    assert_eq!((reasons, &lines[0]["task"], &lines[0]["file"]), (vec![&json!("newTask")], &"T117".into(), &FILE.into()));
    let again = project.proctor(["run", "--task", "T117"]).success();
    assert!(!again.stderr.contains("approved"), "it is said once: {}", again.snapshot());
    for milliseconds in [5000, 301_000] {
        save(&project, |task| step(task, 0)["timeout"] = json!(milliseconds));
        let other = project.proctor(["run", "--task", "T117"]).success();
        assert!(other.stdout.contains("judged by changed rules: STEP.1: timeout"), "{}", other.snapshot());
        assert_eq!(other_rules(&project), ["STEP.1: timeout"]);
    }
    assert_eq!(approvals(&project).len(), 1);
}

/// Returns which rules of T117 nobody has approved.
#[track_caller]
fn other_rules(project: &Project) -> Vec<String> {
    let named = state(project)["rulesChanged"].as_array().cloned().unwrap_or_default();
    named.iter().map(|one| one.as_str().expect("a text").to_owned()).collect()
}

#[test]
fn other_rules_are_named_and_complete_nothing_until_a_person_approves_them_at_a_terminal() {
    let project = project(&[task("T117")]);
    project.proctor(["run", "--task", "T117"]).success();
    save(&project, weaken);
    project.save("other.txt", "half-even 2.66\n");
    let run = project.proctor(["run", "--task", "T117", "--json"]).any_status();
    let report = run.json();
    assert_eq!(report["rulesChanged"], json!(["STEP.1: command", "STEP.2: expected_exit_codes", "plan: expected_output"]));
    assert_eq!(report["completionCriteriaEvaluation"]["completionStatus"], "INCOMPLETE", "{report:#}");
    let shown = project.proctor(["status", "--task", "T117"]).success().stdout;
    assert!(shown.contains("judged by changed rules: STEP.1: command; STEP.2: expected_exit_codes"), "{shown}");
    project.proctor(["request", "status", "COMPLETE", "--task", "T117"]).status(3);
    project.proctor(["approve", "--task", "T117"]).status(3);
    assert_eq!(approvals(&project).len(), 1);

    let mut refusing = project.proctor(["approve", "--task", "T117"]).at_terminal();
    refusing.wait_for(APPROVAL_QUESTION, Duration::from_secs(60));
    refusing.press("yes\n");
    assert_eq!(refusing.ended().status, 3);
    assert_eq!(approvals(&project).len(), 1);
    let mut approving = project.proctor(["approve", "--task", "T117"]).at_terminal();
    // What was typed before the question was shown is no answer.
    approving.press("STEP.1\n");
    let asked = approving.type_name();
    assert!(asked.contains("changed: STEP.2: expected_exit_codes: [0,1] instead of [0]"), "{asked}");
    assert_eq!(approving.ended().status, 0);
    let lines = approvals(&project);
    assert_eq!((lines.len(), &lines[1]["reason"]), (2, &"person".into()));
    assert_eq!(lines[1]["weakened"].as_array().map(Vec::len), Some(3));
    let asker = project.store().ledger().pop().expect("a line")["asker"]["terminal"].clone();
    assert!(asker.is_string(), "{asker}");
    project.proctor(["run", "--task", "T117"]).success();
    assert_eq!((state(&project)["state"].as_str(), other_rules(&project)), (Some("fresh"), Vec::new()));
    project.proctor(["approve", "--task", "T117"]).success();
}

#[test]
fn what_was_approved_once_runs_again_when_it_is_taken_back() {
    let project = project(&[task("T117")]);
    project.proctor(["run", "--task", "T117"]).success();
    save(&project, weaken);
    project.proctor(["run", "--task", "T117"]).any_status();
    assert_ne!(other_rules(&project), Vec::<String>::new());
    save(&project, |_| ());
    project.proctor(["run", "--task", "T117"]).success();
    assert_eq!((approvals(&project).len(), other_rules(&project)), (1, Vec::new()));
    // The approval of T117 does not apply to another task: the first run of that task approves its own plan.
    let mut other = task("T118");
    weaken(&mut other);
    project.save("other-test-specification.json", &specification(&[other]));
    project.save("other.txt", "half-even 2.66\n");
    project.proctor(["run", "--task", "T118"]).success();
}

const UNIT: &str = "[[check]]\nname = \"unit\"\ncommand = [\"true\"]\ntimeout = \"20s\"\n";
pub(crate) const LINT: &str = "[[check]]\nname = \"lint\"\ncommand = [\"true\", \"lint\"]\n";

#[test]
fn the_checks_of_proctor_toml_are_approved_with_their_project() {
    let project = Project::new().toml(UNIT);
    project.proctor(["run"]).success();
    let said = project.proctor(["approve", "--task", "default"]).success();
    assert!(said.stdout.contains("has the rules that were approved"), "{}", said.snapshot());
    project.proctor(["run"]).success();
    assert_eq!(approvals(&project), Vec::<Value>::new());
    let registered = &project.store().ledger()[0]["body"];
    assert_eq!((&registered["kind"], &registered["terms"]["actions"]["STEP.1"]["name"]), (&"registered".into(), &"unit".into()));
}

#[test]
fn a_free_change_of_the_checks_approves_itself_in_the_ledger() {
    let project = Project::new().toml(UNIT);
    project.proctor(["run"]).success();
    // A check that is inserted in front changes the number of the next check, and no rule of it.
    for (toml, lines) in [(format!("{LINT}{UNIT}"), 1), (format!("# a comment\n{LINT}{UNIT}"), 1), (format!("{UNIT}{LINT}"), 2)] {
        project.save("proctor.toml", &toml);
        let run = project.proctor(["run"]).success();
        assert!(!run.stdout.contains("changed rules"), "{}", run.snapshot());
        let found = approvals(&project);
        assert_eq!(found.len(), lines, "{toml}: {found:?}");
        assert_eq!((&found[lines - 1]["reason"], &found[lines - 1]["file"]), (&"weakensNothing".into(), &"proctor.toml".into()));
    }
}

#[test]
fn a_running_watch_names_changed_rules_and_says_so_until_they_are_approved() {
    let project = Project::new().toml(&format!("{UNIT}{LINT}")).file("a.txt", "one\n");
    let mut watch = project.watch([] as [&str; 0]);
    watch.wait_for_line("the first verdict", Duration::from_secs(60), |line| line.starts_with("PASSED"));
    project.save("proctor.toml", UNIT);
    watch.wait_for_line("the change", Duration::from_secs(60), |line| line.contains("judged by changed rules: lint: removed"));
    watch.wait_for_line("the verdict", Duration::from_secs(60), |line| line.starts_with("PASSED"));
    project.approve();
    project.save("a.txt", "two\n");
    watch.wait_for_line("the verdict", Duration::from_secs(60), |line| line.starts_with("PASSED"));
    assert_eq!(watch.interrupt().status, 130);
    assert_eq!(approvals(&project).len(), 1);
}

#[test]
fn checks_that_are_found_are_compared_too_and_another_interpreter_is_no_weakening() {
    let project = Project::new().with_program(&python_plain()).file("pytest.ini", "[pytest]\n");
    project.save("test_it.py", "def test_it():\n    pass\n");
    project.proctor(["run"]).success();
    project.save("proctor.toml", "[defaults]\ntimeout = \"3h\"\n");
    let other = project.proctor(["run"]).success();
    assert!(other.stdout.contains("judged by changed rules: pytest: timeout"), "{}", other.snapshot());
    project.save("proctor.toml", "");
    let interpreter = format!("#!/bin/sh\nexec {} \"$@\"\n", python_plain().display());
    let project = project.executable(".venv/bin/python", &interpreter);
    let other = project.proctor(["run"]).success();
    assert!(other.stderr.contains("has the rules that were approved"), "{}", other.snapshot());
    // `proctor init` writes the checks that proctor has found into `proctor.toml`, and which saves start them. That is no rule.
    std::fs::remove_file(project.path().join("proctor.toml")).expect("it was there");
    project.proctor(["init"]).success();
    let written = project.proctor(["run"]).success();
    assert!(!written.stdout.contains("judged by changed rules"), "{}", written.snapshot());
    let reasons: Vec<Value> = approvals(&project).iter().map(|line| line["reason"].clone()).collect();
    assert!(!reasons.is_empty() && reasons.iter().all(|reason| reason == "weakensNothing"), "{reasons:?}");
}

/// A command that is typed on the command line gives no verdict on the project's checks. The failure of the checks
/// stays their last result, and a retest on the same tree is refused because it would prove nothing.
#[test]
fn a_command_that_is_typed_says_nothing_about_the_projects_checks() {
    let project = Project::new().toml("[[check]]\nname = \"unit\"\ncommand = \"false\"\n");
    project.proctor(["run"]).status(1);
    let known = project.store().run_directory("default");
    project.proctor(["tdd", "start"]).success();
    let cycle = || {
        let mut shown = project.proctor(["tdd", "show", "--json"]).success().json();
        ["phase", "started", "attempts", "phaseHistory", "routeHistory"].map(|key| shown[key].take())
    };
    let before = cycle();
    let mut watch = project.watch([".", "--", "true"]);
    watch.wait_for_line("a verdict", Duration::from_secs(60), |line| line.starts_with("PASSED"));
    assert_eq!(watch.interrupt().status, 130);
    assert_eq!(project.store().run_directory("default"), known);
    assert_eq!(cycle(), before);
    let refused = project.proctor(["request", "retest"]).status(1);
    assert!(refused.stderr.contains("nothing has changed since run"), "{}", refused.stderr);
}

#[test]
fn a_command_that_is_typed_is_approved_by_that_and_approves_nothing_else() {
    let project = Project::new().toml(UNIT);
    project.proctor(["run"]).success();
    let mut watch = project.watch([".", "--", "true"]);
    watch.wait_for_line("a verdict", Duration::from_secs(60), |line| line.starts_with("PASSED"));
    assert_eq!(watch.interrupt().status, 130);
    assert_eq!(approvals(&project), Vec::<Value>::new());
    project.save("proctor.toml", LINT);
    let other = project.proctor(["run"]).success();
    assert!(other.stdout.contains("judged by changed rules: unit: removed"), "{}", other.snapshot());
}
