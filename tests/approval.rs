//! Approval of tasks (S7) through the program: the first run approves, what weakens nothing approves itself, what weakens waits for a
//! person. Which change is a weakening is held to a table beside the comparison.

use std::time::Duration;

use serde_json::{Value, json};

use crate::common::Project;
use crate::specification_runs::{FILE, project, specification, task};

/// Saves the specification with a task that was changed.
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
fn the_first_run_approves_and_what_asks_for_more_approves_itself() {
    let project = project(&[task("T117")]);
    let first = project.proctor(["run", "--task", "T117"]).success();
    assert!(first.stderr.contains("is new here; its plan is approved by this run"), "{}", first.snapshot());
    let lines = approvals(&project);
    let reasons: Vec<&Value> = lines.iter().map(|line| &line["reason"]).collect();
    assert_eq!((reasons, &lines[0]["task"], &lines[0]["file"]), (vec![&json!("newTask")], &"T117".into(), &FILE.into()));
    let again = project.proctor(["run", "--task", "T117"]).success();
    assert!(!again.stderr.contains("approved"), "it is said once: {}", again.snapshot());
    save(&project, |task| step(task, 0)["timeout"] = json!(5000));
    let stricter = project.proctor(["run", "--task", "T117"]).success();
    assert!(stricter.stderr.contains("asks for nothing less than before"), "{}", stricter.snapshot());
    let lines = approvals(&project);
    assert_eq!((lines.len(), &lines[1]["reason"]), (2, &"weakensNothing".into()));
    // What was approved last counts: the former time-out is a weakening now.
    save(&project, |_| ());
    let looser = project.proctor(["run", "--task", "T117"]).status(3);
    assert!(looser.stderr.contains("STEP.1: timeout"), "{}", looser.snapshot());
    assert_eq!(approvals(&project).len(), 2);
}

#[test]
fn what_weakens_is_named_and_not_run_until_a_person_approves_it_at_a_terminal() {
    let project = project(&[task("T117")]);
    project.proctor(["run", "--task", "T117"]).success();
    let runs = project.store().committed_runs().len();
    save(&project, weaken);
    insta::assert_snapshot!(project.proctor(["run", "--task", "T117"]).status(3).snapshot(), @"
    exit status: 3
    --- stderr
    error: task `T117` of `specs/T117-test-specification.json` asks for less than was approved: nothing was run
      STEP.1: does something else: cat other.txt instead of cat totals.txt
      STEP.2: exit codes that did not succeed before succeed: 1
      these texts need not be printed any more: half-even
      hint: take it back, or have a person approve it at a terminal: `proctor approve --task T117`
    ");
    let standing = state(&project);
    assert_eq!((&standing["state"], &standing["exitCode"]), (&"notApproved".into(), &3.into()), "{standing}");
    assert_eq!(standing["problems"].as_array().map(Vec::len), Some(3), "{standing}");
    let shown = project.proctor(["status", "--task", "T117"]).success().stdout;
    assert!(shown.contains("T117 · not approved · it asks for less than was approved: `proctor approve --task T117`"), "{shown}");
    assert!(shown.contains("\n  STEP.2: exit codes that did not succeed before succeed: 1\n"), "{shown}");
    project.proctor(["wait", "--fresh", "--task", "T117"]).status(3);
    project.proctor(["approve", "--task", "T117"]).status(3);
    assert_eq!((project.store().committed_runs().len(), approvals(&project).len()), (runs, 1), "nothing was run or approved");

    let mut refusing = project.proctor(["approve", "--task", "T117"]).at_terminal();
    refusing.wait_for("[n]o ", Duration::from_secs(60));
    refusing.press("n\n");
    assert_eq!(refusing.ended().status, 3);
    assert_eq!(approvals(&project).len(), 1);
    let mut approving = project.proctor(["approve", "--task", "T117"]).at_terminal();
    let asked = approving.wait_for("[n]o ", Duration::from_secs(60));
    assert!(asked.contains("exit codes that did not succeed before succeed: 1"), "{asked}");
    approving.press("yes\n");
    assert_eq!(approving.ended().status, 0);
    let lines = approvals(&project);
    assert_eq!((lines.len(), &lines[1]["reason"]), (2, &"person".into()));
    assert_eq!(lines[1]["weakened"], standing["problems"]);
    let asker = project.store().ledger().pop().expect("a line")["asker"]["terminal"].clone();
    assert!(asker.is_string(), "{asker}");
    project.save("other.txt", "half-even 2.66\n");
    project.proctor(["run", "--task", "T117"]).success();
    assert_eq!(state(&project)["state"], "fresh");
    project.proctor(["approve", "--task", "T117"]).success();
}

#[test]
fn what_was_approved_once_runs_again_when_it_is_taken_back() {
    let project = project(&[task("T117")]);
    project.proctor(["run", "--task", "T117"]).success();
    save(&project, weaken);
    project.proctor(["run", "--task", "T117"]).status(3);
    save(&project, |_| ());
    project.proctor(["run", "--task", "T117"]).success();
    assert_eq!(approvals(&project).len(), 1);
    // Another project's directory and another task know nothing of it.
    let mut other = task("T118");
    weaken(&mut other);
    project.save("other-test-specification.json", &specification(&[other]));
    project.save("other.txt", "half-even 2.66\n");
    project.proctor(["run", "--task", "T118"]).success();
}

#[test]
fn the_checks_of_proctor_toml_are_approved_with_their_project() {
    let project = Project::new().toml("[[check]]\nname = \"unit\"\ncommand = [\"true\"]\n");
    project.proctor(["run"]).success();
    let said = project.proctor(["approve", "--task", "default"]).success();
    assert!(said.stdout.contains("asks for nothing less"), "{}", said.snapshot());
    assert_eq!(approvals(&project), Vec::<Value>::new());
}
