//! Everyday edits of a test specification that has run: `request fix` and what a run does never contradict each other (C80, S7).

use serde_json::{Value, json};

use crate::common::Project;
use crate::specification_runs::{FILE, project, specification, task};

/// An edit of a task, in words, and what makes it.
type Edit = (&'static str, fn(&mut Value));

fn execution(task: &mut Value) -> &mut Value {
    &mut task["testExecution"]
}

/// A prerequisite or clean-up that runs a command.
fn command(id: &str, command: &str) -> Value {
    json!({
        "actionId": id, "type": "TERMINAL_COMMAND", "description": "makes what the steps need",
        "parameters": { "command": command, "workingDirectory": "/srv/billing" }
    })
}

/// Edits that run at once, by changed rules or by the approved ones.
const EDITS: [Edit; 19] = [
    ("a corrected command", |task| execution(task)["steps"][0]["parameters"]["command"] = json!("cat ./totals.txt")),
    ("another path", |task| {
        execution(task)["prerequisites"][0]["parameters"]["filePath"] = json!(format!("/srv/billing/{FILE}"));
    }),
    ("another directory", |task| {
        execution(task)["steps"][0]["parameters"] =
            json!({ "command": "cat ../totals.txt", "workingDirectory": "/srv/billing/specs" });
    }),
    ("a stricter condition", |task| {
        task["validationCriteria"]["successConditions"][0]["condition"] = json!("STEP.2.exitCode === 0 && STEP.2.success");
    }),
    ("another condition", |task| {
        task["validationCriteria"]["successConditions"][0]["condition"] = json!("STEP.2.exitCode < 1");
    }),
    ("one more condition", |task| {
        let more = json!({ "condition": "STEP.1.exitCode === 0", "description": "the totals are printed" });
        task["validationCriteria"]["successConditions"].as_array_mut().expect("a list").push(more);
    }),
    ("a condition less", |task| task["validationCriteria"]["failureConditions"] = json!([])),
    ("a variable", |task| execution(task)["steps"][0]["parameters"]["environment"] = json!({ "MODE": "plain" })),
    ("another attempt", |task| execution(task)["steps"][0]["retryAttempts"] = json!(2)),
    ("another time-out", |task| execution(task)["steps"][0]["timeout"] = json!(20_000)),
    ("a prerequisite that looks", |task| {
        let mut more = execution(task)["prerequisites"][0].clone();
        more["actionId"] = json!("PREREQ.2");
        execution(task)["prerequisites"].as_array_mut().expect("a list").push(more);
    }),
    ("a prerequisite that may fail", |task| execution(task)["prerequisites"][0]["continueOnFailure"] = json!(true)),
    ("one more step", |task| {
        execution(task)["steps"].as_array_mut().expect("a list").push(command("STEP.3", "test -s totals.txt"));
    }),
    ("a step less", |task| drop(execution(task)["steps"].as_array_mut().expect("a list").remove(0))),
    ("another id", |task| execution(task)["steps"][0]["actionId"] = json!("STEP.7")),
    ("other expected output", |task| {
        task["validationCriteria"]["expectedOutput"] = json!({ "stdoutContains": ["2.66"] });
    }),
    ("other required evidence", |task| task["completionCriteria"]["requiredEvidence"] = json!([])),
    ("other words", |task| task["title"] = json!("Half-even rounding of all totals")),
    ("a step that may not fail", |task| execution(task)["steps"][0]["continueOnFailure"] = json!(false)),
];

/// The edits that change no rule: words, and what decides only which step comes next (E7).
const FREE: [&str; 2] = ["other words", "a step that may not fail"];

/// Edits that make what later runs find, so a person is asked before anything runs.
const OPENING: [Edit; 2] = [
    ("a prerequisite that runs a command", |task| {
        execution(task)["prerequisites"].as_array_mut().expect("a list").push(command("PREREQ.2", "touch made"));
    }),
    ("a clean-up", |task| execution(task)["cleanup"] = json!([command("CLEANUP.1", "rm -f made")])),
];

fn edited(edit: fn(&mut Value)) -> String {
    let mut one = task("T117");
    edit(&mut one);
    specification(&[one])
}

/// Returns the answer about the file as it is.
#[track_caller]
fn fix(project: &Project, status: i32) -> Value {
    project.proctor(["request", "fix", "--task", "T117", "--json"]).status(status).json()
}

#[test]
fn c80_nineteen_everyday_edits_run_at_once_and_fix_says_which_rules_prove_nothing_yet() {
    let project = project(&[task("T117")]);
    project.proctor(["run", "--task", "T117"]).success();
    for (what, edit) in EDITS {
        project.save(FILE, &edited(edit));
        let answer = fix(&project, 0);
        let output = project.proctor(["run", "--task", "T117"]).any_status();
        assert_eq!(output.status, 0, "{what}: {}", output.snapshot());
        let changed = answer["changes"].as_array().expect("a list");
        let said = output.stdout.contains("judged by changed rules");
        assert_eq!(!changed.is_empty(), said, "{what}: {answer} {}", output.snapshot());
        assert_eq!((&answer["accepted"], &answer["person"]), (&json!(true), &Value::Null), "{what}: {answer}");
        assert_eq!(said, !FREE.contains(&what), "{what}: {}", output.snapshot());
    }
}

#[test]
fn fix_retest_and_run_agree_about_what_a_person_approves_first() {
    let project = project(&[task("T117")]);
    project.proctor(["run", "--task", "T117"]).success();
    for (what, edit) in OPENING {
        let proposal = project.root().join("proposal.json");
        std::fs::write(&proposal, edited(edit)).expect("it is ours");
        let proposal = proposal.to_str().expect("a plain path");
        let proposed = project.proctor(["request", "fix", "--task", "T117", "--proposal", proposal, "--json"]).status(3).json();
        project.save(FILE, &edited(edit));
        let answer = fix(&project, 3);
        assert_eq!(answer, proposed, "{what}: the proposal is judged as the file is");
        assert_eq!((&answer["accepted"], &answer["errors"]), (&json!(false), &json!([])), "{what}: {answer}");
        assert_eq!(answer["person"]["command"], "proctor approve --task T117", "{what}: {answer}");
        let shown = project.proctor(["request", "fix", "--task", "T117"]).status(3).stdout;
        assert!(shown.contains("the specification is right, and needs a person"), "{what}: {shown}");
        assert!(shown.contains("`proctor approve --task T117`"), "{what}: {shown}");
        project.proctor(["run", "--task", "T117"]).status(3);
        let refused = project.proctor(["request", "retest", "--task", "T117"]).status(3);
        assert!(refused.stderr.contains("proctor approve --task T117"), "{what}: {}", refused.snapshot());
    }
    // No retest was spent on what was refused; after the approval the first one is granted.
    let mut terminal = project.proctor(["approve", "--task", "T117"]).at_terminal();
    terminal.type_name();
    assert_eq!(terminal.ended().status, 0);
    let granted = project.proctor(["request", "retest", "--task", "T117"]).success();
    assert!(granted.stderr.contains("retest 1 of 5"), "{}", granted.snapshot());
    let answer = fix(&project, 0);
    assert_eq!((&answer["changes"], &answer["person"]), (&json!([]), &Value::Null), "{answer}");
}

/// A command that never worked is corrected by an agent, and the retest runs it.
#[test]
fn a_command_that_never_worked_is_mended_and_the_retest_runs_it() {
    let mut wrong = task("T117");
    execution(&mut wrong)["steps"][1]["parameters"] =
        json!({ "command": "grpe 2.66 totals.txt", "workingDirectory": "/srv/billing" });
    let project = project(&[wrong.clone()]);
    project.proctor(["run", "--task", "T117"]).failure();
    execution(&mut wrong)["steps"][1]["parameters"]["command"] = json!("grep 2.66 totals.txt");
    project.save(FILE, &specification(&[wrong]));
    assert!(fix(&project, 0)["changes"].to_string().contains("STEP.2: command"));
    let retest = project.proctor(["request", "retest", "--task", "T117"]).success();
    assert!(retest.stdout.contains("judged by changed rules: STEP.2: command"), "{}", retest.snapshot());
}
