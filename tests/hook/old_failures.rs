//! Tests of turns in which something fails that the agent did not break.

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::{SETTINGS, input, prompt, registered, stop};
use crate::common::{Output, Project};
use crate::daemon::start_serving;

/// Tells of a prompt to a hook that is killed after so many seconds, as agents do it.
fn prompt_within(project: &Project, seconds: u32) -> Output {
    let script = format!(r#"exec timeout --signal=KILL {seconds} "$0" hook run UserPromptSubmit --agent claude < "$1""#);
    let file = project.root().join("hook-input.json");
    std::fs::write(&file, input(project, "").to_string()).expect("the root is ours");
    let arguments = ["-c".as_ref(), script.as_ref(), crate::common::proctor().as_os_str(), file.as_os_str()];
    project.command(std::path::Path::new("/bin/sh"), arguments).any_status()
}

#[test]
fn a_test_that_has_to_fail_in_the_phase_red_keeps_no_agent_from_stopping() {
    let project = crate::tdd::project("[evidence]\nlink = \"\"\n").file("test_a.py", "def test_a():\n    pass\n");
    project.proctor(["run"]).success();
    project.proctor(["tdd", "start"]).success();
    prompt(&project);
    project.save("test_new.py", "def test_new():\n    assert 1 == 2\n");
    let answer = stop(&project, "I wrote test_new; it fails as wanted.");
    assert_eq!(answer["decision"], Value::Null, "{answer}");
    let task = project.proctor(["status", "--json"]).success().json()["projects"][0]["tasks"][0].clone();
    assert_eq!((&task["result"], &task["exitCode"]), (&json!("FAILED"), &json!(0)), "{task}");
    assert_eq!(stop(&project, "All tests pass.")["decision"], "block", "a lie is one in any phase");
}

#[test]
fn tests_that_could_not_be_collected_before_the_turn_are_not_new_in_it() {
    let test = "def test_bad():\n    assert 1 == 2\n";
    let project = crate::tdd::project("[evidence]\nlink = \"\"\n").file("test_a.py", &format!("import nope\n{test}"));
    project.proctor(["run"]).failure();
    prompt(&project);
    project.save("test_a.py", test);
    let answer = stop(&project, "I removed the import.");
    assert_eq!(answer["decision"], Value::Null, "{answer}");
    // From here on it is known what fails.
    prompt(&project);
    project.save("test_b.py", "def test_other():\n    assert 1 == 3\n");
    let answer = stop(&project, "I wrote a test.");
    assert!(answer["reason"].as_str().is_some_and(|text| text.contains("test_other")), "{answer}");
}

#[test]
fn what_fails_in_a_check_that_did_not_run_before_the_turn_is_not_new_in_it() {
    let settings = format!(
        "[[check]]\nname = \"lint\"\nshell = true\ncommand = \"test -e clean\"\n\n{}",
        SETTINGS.replace("name = \"tests\"\n", "name = \"tests\"\nafter = [\"lint\"]\n")
    );
    let project = Project::new().toml(&settings).file("code.txt", "bad\n");
    project.proctor(["run"]).failure();
    prompt(&project);
    project.save("clean", "");
    let answer = stop(&project, "The linter has nothing to say any more.");
    assert_eq!(answer["decision"], Value::Null, "{answer}");
    prompt(&project);
    std::fs::remove_file(project.path().join("clean")).expect("it is there");
    let answer = stop(&project, "I removed a file.");
    assert!(answer["reason"].as_str().is_some_and(|text| text.contains("“lint”")), "{answer}");
}

#[test]
fn a_turn_whose_beginning_is_not_known_is_not_measured_by_the_one_before() {
    let project = registered();
    let mut daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    prompt(&project);
    assert_eq!(stop(&project, "The rounding is in line 3."), Value::Null);
    daemon.signal(Signal::SIGSTOP);
    assert_ne!(prompt_within(&project, 1).status, 0);
    daemon.signal(Signal::SIGCONT);
    // Somebody else breaks the code; the agent only answers.
    project.save("code.txt", "bad\n");
    project.proctor(["wait", "--fresh"]).failure();
    assert_eq!(stop(&project, "The rounding is in line 3."), Value::Null);
    daemon.interrupt();
}

#[test]
fn a_service_that_does_not_answer_delays_the_beginning_of_a_turn_by_seconds() {
    let project = registered();
    let mut daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    daemon.signal(Signal::SIGSTOP);
    // Agents wait 10 seconds.
    let output = prompt_within(&project, 10);
    assert_eq!(output.status, 0, "{}", output.stderr);
    daemon.signal(Signal::SIGCONT);
    daemon.interrupt();
}

#[test]
fn each_failure_blocks_once_and_then_a_person_is_told() {
    let project = registered();
    prompt(&project);
    project.save("code.txt", "bad\n");
    assert_eq!(stop(&project, "I changed it, and the tests fail.")["decision"], "block");
    let told = stop(&project, "The tests fail: the code says bad.");
    assert!(told["systemMessage"].as_str().is_some_and(|text| text.contains("stops now")), "{told}");
    assert_eq!(stop(&project, "The tests fail."), Value::Null, "it is told once");
}
