//! Tests of turns that begin while a run is under way, and of agents that work in several projects.

use std::time::Duration;

use serde_json::{Value, json};

use super::{SETTINGS, claims, hook, prompt, registered, stop};
use crate::common::{Project, WRITES_TO_SHARED, poll};
use crate::daemon::start_serving;

/// The bound of every wait. A wait normally takes far less.
const LATE: Duration = Duration::from_secs(60);
/// A check that goes on while a file says so, and passes while `code.txt` says `good`.
const HELD: &str = "[[check]]\nname = \"tests\"\ncommand = [\"fake-tool\", \"--script\", '''while test -e ../shared/hold; do sleep 0.02; done; grep -q good code.txt''']\n\n[evidence]\nlink = \"\"\n";

fn held() -> Project {
    let project = Project::new().toml(&format!("{WRITES_TO_SHARED}{HELD}")).file("code.txt", "good\n");
    project.proctor(["run"]).success();
    project
}

fn hold(project: &Project) {
    std::fs::write(project.shared("hold"), "").expect("the directory is ours");
}

fn let_go(project: &Project) {
    std::fs::remove_file(project.shared("hold")).expect("it was made");
}

fn state(project: &Project) -> Value {
    project.proctor(["status", "--json"]).success().json()["projects"][0]["tasks"][0].clone()
}

#[track_caller]
fn wait_for_a_run(project: &Project) {
    poll(LATE, "a run under way", || {
        let task = state(project);
        if task["state"] == "running" { Ok(()) } else { Err(task["state"].to_string()) }
    });
}

#[test]
fn a_turn_that_begins_while_a_run_is_under_way_is_guarded_as_any_other() {
    let project = held();
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    hold(&project);
    project.save("code.txt", "good, by a person\n");
    wait_for_a_run(&project);
    prompt(&project);
    // An idle turn has nothing to wait for, although the run goes on.
    assert_eq!(stop(&project, "The rounding is in line 3."), Value::Null);
    assert_eq!(state(&project)["state"], "running");
    prompt(&project);
    project.save("code.txt", "bad\n");
    let_go(&project);
    let answer = stop(&project, "I changed the rounding.");
    assert_eq!(answer["decision"], "block", "{answer}");
    let reason = answer["reason"].as_str().expect("a reason");
    assert!(reason.contains("did not when they were last tested before this turn"), "{reason}");
    assert!(claims(&project).is_empty());
    daemon.interrupt();
}

#[test]
fn what_the_run_that_was_under_way_found_is_older_than_the_turn() {
    let project = held();
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    hold(&project);
    project.save("code.txt", "bad, by a person\n");
    wait_for_a_run(&project);
    prompt(&project);
    let_go(&project);
    project.proctor(["wait", "--fresh"]).failure();
    project.save("notes.txt", "the agent's\n");
    let answer = stop(&project, "I wrote a note.");
    assert_eq!(answer["decision"], Value::Null, "{answer}");
    daemon.interrupt();
}

#[test]
fn without_the_service_a_run_of_somebody_else_is_no_hole_either() {
    let project = held();
    hold(&project);
    project.save("code.txt", "good, by a person\n");
    let run = project.proctor(["run"]).watch();
    wait_for_a_run(&project);
    prompt(&project);
    let_go(&project);
    assert_eq!(run.ended().status, 0);
    project.save("code.txt", "bad\n");
    let answer = stop(&project, "I changed the rounding.");
    assert_eq!(answer["decision"], "block", "{answer}");
}

#[test]
fn a_check_that_was_renamed_in_the_turn_is_no_new_failure() {
    let project = registered();
    project.save("code.txt", "bad\n");
    project.proctor(["run"]).failure();
    prompt(&project);
    project.save("proctor.toml", &SETTINGS.replace("\"tests\"", "\"unit tests\""));
    let answer = stop(&project, "I renamed the check; it fails as before.");
    assert_eq!(answer["decision"], Value::Null, "{answer}");
    assert!(answer["systemMessage"].as_str().is_some_and(|text| text.contains("failed before this turn")), "{answer}");
}

#[test]
fn every_workspace_root_of_an_agent_is_looked_at() {
    let first = registered();
    // Both are in one store, as the projects of one person are.
    let second = first.root().join("second");
    std::fs::create_dir(&second).expect("the root is ours");
    for (name, text) in [("proctor.toml", SETTINGS), ("code.txt", "good\n")] {
        write(&second.join(name), text);
    }
    first.proctor(["run", "--project", second.to_str().expect("a text")]).success();
    let input = json!({
        "conversation_id": "c1", "workspace_roots": [first.path(), &second, first.root().join("nothing")],
        "prompt": "Go on.", "status": "completed",
    });
    assert_eq!(hook(&first, "cursor", "beforeSubmitPrompt", &input).json(), json!({}));
    write(&second.join("code.txt"), "bad\n");
    first.save("code.txt", "bad\n");
    let both = hook(&first, "cursor", "stop", &input).json();
    let text = both["followup_message"].as_str().expect("a block");
    assert!(text.contains("new in this turn"), "{text}");
    for root in [first.path(), second.clone()] {
        assert!(text.contains(&format!("In “{}”: proctor: the checks fail", root.display())), "{text}");
    }
    assert!(text.chars().count() <= 2000, "{text}");
}

#[test]
fn a_project_with_test_specifications_alone_is_not_said_to_be_untestable() {
    let project = crate::specification_runs::project(&[crate::specification_runs::task("T117")]);
    project.proctor(["run", "--task", "T117"]).success();
    let daemon = start_serving(&project);
    prompt(&project);
    project.save("totals.txt", "half-even 2.66, and a word more\n");
    assert_eq!(stop(&project, "I added a word.")["decision"], Value::Null);
    prompt(&project);
    project.save("totals.txt", "nothing\n");
    let answer = stop(&project, "I removed the totals.");
    assert!(answer["reason"].as_str().is_some_and(|text| text.contains("the checks fail on the files")), "{answer}");
    daemon.interrupt();
}

#[test]
fn a_block_that_comes_back_as_a_prompt_begins_no_turn_in_any_project() {
    let first = registered();
    let second = first.root().join("second");
    std::fs::create_dir(&second).expect("the root is ours");
    for (name, text) in [("proctor.toml", SETTINGS), ("code.txt", "good\n")] {
        write(&second.join(name), text);
    }
    first.proctor(["run", "--project", second.to_str().expect("a text")]).success();
    let saying = |prompt: &str| json!({"conversation_id": "c1", "workspace_roots": [first.path(), &second], "prompt": prompt, "status": "completed"});
    hook(&first, "cursor", "beforeSubmitPrompt", &saying("Go on."));
    first.save("code.txt", "bad\n");
    let blocked = hook(&first, "cursor", "stop", &saying("")).json();
    let text = blocked["followup_message"].as_str().expect("a block");
    // The agent breaks the second project and mends the first one, in the same turn.
    write(&second.join("code.txt"), "bad\n");
    first.save("code.txt", "good\n");
    assert_eq!(hook(&first, "cursor", "beforeSubmitPrompt", &saying(text)).json(), json!({}));
    let answer = hook(&first, "cursor", "stop", &saying("")).json();
    assert!(answer["followup_message"].as_str().is_some_and(|text| text.contains("new in this turn")), "{answer}");
    // A person who quotes a line of it begins a turn.
    let line = text.lines().next().expect("a line");
    hook(&first, "cursor", "beforeSubmitPrompt", &saying(&format!("What does this mean: {line}")));
    assert_eq!(hook(&first, "cursor", "stop", &saying("")).json()["followup_message"], Value::Null);
}

fn write(path: &std::path::Path, text: &str) {
    std::fs::write(path, text).expect("the directory is ours");
}

#[test]
fn a_configuration_that_becomes_wrong_in_the_turn_is_to_be_mended() {
    let project = registered();
    prompt(&project);
    project.save("proctor.toml", "[[check]\n");
    let answer = stop(&project, "I changed the settings.");
    assert!(answer["reason"].as_str().is_some_and(|text| text.contains("cannot be tested")), "{answer}");
    let told = stop(&project, "Nothing was tested.");
    assert!(told["systemMessage"].as_str().is_some_and(|text| text.contains("stops now")), "it blocks once: {told}");
    prompt(&project);
    assert_eq!(stop(&project, "It is still wrong.")["decision"], Value::Null, "it was so before the turn");
    project.save("proctor.toml", SETTINGS);
    prompt(&project);
    assert_eq!(stop(&project, "All tests pass."), Value::Null);
}
