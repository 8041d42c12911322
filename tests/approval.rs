//! Tests the approval of tasks (S7) by running the program: the first run approves, a change that weakens nothing is
//! approved by itself, and a change that weakens something waits for a person. Which changes are weakenings is tested
//! with a table beside the code that compares two plans.

mod corrections;
mod honest;
mod identity;
mod levels;
mod other_paths;
mod protected;
mod settings;
pub(crate) mod signed;
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
    // A plan is compared with the last approved one, which has the stricter time-out of 5 s. So a time-out that is longer
    // than twice that, and longer than the default, is a weakening.
    save(&project, |task| step(task, 0)["timeout"] = json!(301_000));
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
      STEP.1: does something else: cat other.txt instead of cat totals.txt (removed `totals.txt`, added `other.txt`)
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
    refusing.wait_for(APPROVAL_QUESTION, Duration::from_secs(60));
    refusing.press("yes\n");
    assert_eq!(refusing.ended().status, 3);
    assert_eq!(approvals(&project).len(), 1);
    let mut approving = project.proctor(["approve", "--task", "T117"]).at_terminal();
    // What was typed before the question was shown is no answer.
    approving.press("STEP.1\n");
    let asked = approving.type_name();
    assert!(asked.contains("exit codes that did not succeed before succeed: 1"), "{asked}");
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
    assert!(said.stdout.contains("asks for nothing less"), "{}", said.snapshot());
    project.proctor(["run"]).success();
    assert_eq!(approvals(&project), Vec::<Value>::new());
    let registered = &project.store().ledger()[0]["body"];
    assert_eq!((&registered["kind"], &registered["terms"]["actions"]["STEP.1"]["name"]), (&"registered".into(), &"unit".into()));
}

#[test]
fn a_change_of_the_checks_that_weakens_nothing_approves_itself_in_the_ledger() {
    let project = Project::new().toml(UNIT);
    project.proctor(["run"]).success();
    // A check that is inserted in front changes the number of the next check. A new name changes nothing that is
    // executed. Neither of these two changes is a weakening.
    for (toml, lines) in [
        (format!("{LINT}{UNIT}"), 1),
        (format!("# a comment\n{LINT}{UNIT}"), 1),
        (format!("{LINT}{}", UNIT.replace("\"unit\"", "\"tests\"")), 2),
        (format!("{LINT}{}", UNIT.replace("\"unit\"", "\"tests\"").replace("20s", "10s")), 3),
    ] {
        project.save("proctor.toml", &toml);
        project.proctor(["run"]).success();
        let found = approvals(&project);
        assert_eq!(found.len(), lines, "{toml}: {found:?}");
        assert_eq!((&found[lines - 1]["reason"], &found[lines - 1]["file"]), (&"weakensNothing".into(), &"proctor.toml".into()));
    }
}

#[test]
fn a_change_of_the_checks_that_weakens_waits_for_a_person_who_is_shown_all_of_it() {
    let project = Project::new().toml(&format!("{UNIT}{LINT}"));
    project.proctor(["run"]).success();
    let runs = project.store().committed_runs().len();
    let weaker = UNIT.replace("\"unit\"", "\"tests\"").replace("20s", "6m") + "idle_timeout = \"5s\"\n";
    project.save("proctor.toml", &weaker);
    insta::assert_snapshot!(project.proctor(["run"]).status(3).snapshot(), @"
    exit status: 3
    --- stderr
    error: task `default` of `proctor.toml` asks for less than was approved: nothing was run
      unit: timeout <time> instead of <time>
      lint is removed: true lint
      hint: take it back, or have a person approve it at a terminal: `proctor approve`
    ");
    let status = project.proctor(["status", "--json"]).success().json();
    assert_eq!(status["projects"][0]["tasks"][0]["state"], "notApproved", "{status}");
    project.proctor(["wait", "--fresh"]).status(3);
    project.proctor(["approve"]).status(3);
    assert_eq!((project.store().committed_runs().len(), approvals(&project).len()), (runs, 0), "nothing was run or approved");
    let shown = project.approve();
    for line in [
        "weakened: unit: timeout 6m instead of 20s",
        "weakened: lint is removed: true lint",
        "strengthened: tests: stricter now (the way back would be: longest time without output unlimited instead of 5s)",
        "neutral: unit is called tests now",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    let found = approvals(&project);
    assert_eq!((found.len(), &found[0]["reason"], &found[0]["task"]), (1, &"person".into(), &"default".into()));
    project.proctor(["run"]).success();
    // A plan is compared with the last approved one, which has a limit on silence. The first settings have none, so a
    // return to the first settings is a weakening.
    project.save("proctor.toml", &format!("{UNIT}{LINT}"));
    let back = project.proctor(["run"]).status(3);
    assert!(back.stderr.contains("longest time without output unlimited instead of 5s"), "{}", back.snapshot());
}

#[test]
fn a_running_watch_names_a_weakening_and_goes_on_once_it_is_approved_or_taken_back() {
    let project = Project::new().toml(&format!("{UNIT}{LINT}")).file("a.txt", "one\n");
    let mut watch = project.watch([] as [&str; 0]);
    watch.wait_for_line("the first verdict", Duration::from_secs(60), |line| line.starts_with("PASSED"));
    project.save("proctor.toml", UNIT);
    watch.wait_for_line("the weakening", Duration::from_secs(60), |line| line.contains("lint is removed: true lint"));
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
    let weaker = project.proctor(["run"]).status(3);
    assert!(weaker.stderr.contains("task `default` as found in the project asks for less"), "{}", weaker.snapshot());
    assert!(weaker.stderr.contains("pytest: timeout 3h instead of"), "{}", weaker.snapshot());
    project.save("proctor.toml", "");
    let interpreter = format!("#!/bin/sh\nexec {} \"$@\"\n", python_plain().display());
    let project = project.executable(".venv/bin/python", &interpreter);
    let other = project.proctor(["run"]).success();
    assert!(other.stderr.contains("asks for nothing less than before"), "{}", other.snapshot());
    // `proctor init` writes the checks that proctor has found into `proctor.toml`. The plan stays the same, so this is
    // no weakening.
    std::fs::remove_file(project.path().join("proctor.toml")).expect("it was there");
    project.proctor(["init"]).success();
    project.proctor(["run"]).success();
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
    project.proctor(["run"]).status(3);
}
