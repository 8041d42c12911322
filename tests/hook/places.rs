//! Tests of turns in linked working trees, in directories that are moved, and of what begins a turn anew.

use std::os::unix::fs::DirBuilderExt as _;

use serde_json::{Value, json};

use super::{SETTINGS, hook, input, prompt, registered, stop};
use crate::common::{Project, WRITES_TO_SHARED, Watch, proctor};
use crate::daemon::{LATE, start_serving};
use crate::gate::git;

/// A registered project in a repository, and the path of a linked working tree of it, in which nothing was run.
fn with_work_tree() -> (Project, String) {
    let project = Project::new().toml(SETTINGS).file("code.txt", "good\n");
    git(&project, &["init", "--quiet"]);
    git(&project, &["add", "."]);
    git(&project, &["commit", "--quiet", "-m", "a change"]);
    project.proctor(["run"]).success();
    let side = project.shared("side").to_str().expect("text").to_owned();
    git(&project, &["worktree", "add", "--quiet", "--detach", &side]);
    (project, side)
}

/// Tells the hook of an event of an agent that works in this directory.
#[track_caller]
fn event_in(project: &Project, directory: &str, event: &str, message: &str) -> Value {
    let input = json!({"session_id": "s1", "cwd": directory, "last_assistant_message": message, "prompt": "Go on."});
    let output = hook(project, "claude", event, &input);
    assert_eq!(output.status, 0, "{}", output.stderr);
    if output.stdout.is_empty() { Value::Null } else { serde_json::from_str(&output.stdout).expect("one JSON document") }
}

#[test]
fn a_linked_working_tree_of_a_registered_project_is_guarded() {
    let (project, side) = with_work_tree();
    event_in(&project, &side, "UserPromptSubmit", "");
    std::fs::write(format!("{side}/code.txt"), "bad\n").expect("the working tree is ours");
    let answer = event_in(&project, &side, "Stop", "I changed the code.");
    // The main working tree tested what was there when the turn began, so it is known that nothing failed then.
    assert_eq!(answer["decision"], "block", "{answer}");
    assert_eq!(event_in(&project, &side, "Stop", "All tests pass.")["decision"], "block");
    std::fs::write(format!("{side}/code.txt"), "good again\n").expect("the working tree is ours");
    assert_eq!(event_in(&project, &side, "Stop", "All tests pass."), Value::Null);
    event_in(&project, &side, "UserPromptSubmit", "");
    std::fs::write(format!("{side}/code.txt"), "bad\n").expect("the working tree is ours");
    assert_eq!(event_in(&project, &side, "Stop", "I changed the code.")["decision"], "block");
    project.proctor(["status", &side]).success();
}

#[test]
fn a_command_in_a_linked_working_tree_means_the_project_that_a_run_there_means() {
    let (project, side) = with_work_tree();
    let status = project.proctor(["status", "--json"]).directory(&side).success().json();
    assert_eq!(status["projects"][0]["root"], json!(side), "without a slash at the end");
    project.proctor(["run"]).directory(&side).success();
    project.proctor(["run", &side]).success();
}

#[test]
fn the_service_watches_a_linked_working_tree_of_what_it_watches() {
    let (project, side) = with_work_tree();
    let daemon = start_serving(&project);
    let waited = project.proctor(["wait", "--fresh", "--json", &side]).success().json();
    assert_eq!((&waited["project"]["serving"], &waited["project"]["tasks"][0]["result"]), (&json!("served"), &json!("PASSED")));
    event_in(&project, &side, "UserPromptSubmit", "");
    std::fs::write(format!("{side}/code.txt"), "bad\n").expect("the working tree is ours");
    let answer = event_in(&project, &side, "Stop", "I changed the code.");
    assert_eq!(answer["decision"], "block", "{answer}");
    let listed = |project: &Project| {
        project.proctor(["service", "list", "--json"]).any_status().json()["projects"].as_array().map(Vec::len)
    };
    assert_eq!(listed(&project), Some(2));
    git(&project, &["worktree", "remove", "--force", &side]);
    assert_eq!(listed(&project), Some(1), "a working tree that git removed");
    daemon.interrupt();
}

#[test]
fn a_plugin_that_a_person_changed_is_neither_replaced_nor_removed() {
    let project = registered();
    let path = project.path().join(".opencode/plugin/proctor.js");
    project.proctor(["hook", "install", "opencode", "--project"]).success();
    let written = std::fs::read_to_string(&path).expect("it was written");
    let changed = format!("{written}\nexport const Mine = async () => ({{}})\n");
    std::fs::write(&path, &changed).expect("the project is ours");
    for command in ["install", "uninstall"] {
        let refused = project.proctor(["hook", command, "opencode", "--project"]).status(2);
        assert!(refused.stderr.contains("not the plugin as proctor writes it"), "{}", refused.stderr);
        assert!(refused.stderr.contains("move your lines into a file of their own"), "{}", refused.stderr);
        assert_eq!(std::fs::read_to_string(&path).expect("it is there"), changed, "{command}");
    }
    std::fs::write(&path, written).expect("the project is ours");
    project.proctor(["hook", "uninstall", "opencode", "--project"]).success();
    assert!(!path.exists());
}

/// Binds a socket, has another process listen on it, as a service manager does, and becomes the service that gets it.
const HANDED_IN: &str = "import os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
if os.fork() == 0:
    s.listen()
    os._exit(0)
os.wait()
os.dup2(s.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1')
os.execv(sys.argv[2], ['proctor', 'daemon'])
";

#[test]
fn another_store_in_the_environment_of_the_hook_is_said_and_not_asked() {
    expect_the_service_s_store(start_serving);
}

#[test]
fn the_store_of_a_service_whose_socket_was_handed_in_is_asked_too() {
    expect_the_service_s_store(|project| {
        let directory = project.root().join("runtime/proctor");
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory).expect("the root is ours");
        let socket = directory.join("control.sock");
        let words = ["python3".as_ref(), "-c".as_ref(), HANDED_IN.as_ref(), socket.as_os_str(), proctor().as_os_str()];
        let mut daemon = project.command("/usr/bin/env".as_ref(), words).watch();
        daemon.wait_for_line("the socket", LATE, |line| line.starts_with("listening on"));
        project.proctor(["service", "add"]).success();
        daemon
    });
}

fn expect_the_service_s_store(start: impl Fn(&Project) -> Watch<'_>) {
    let project = registered();
    let daemon = start(&project);
    prompt(&project);
    project.save("code.txt", "bad\n");
    let other = project.shared("other");
    std::fs::create_dir_all(&other).expect("the directory is ours");
    let file = project.root().join("hook-input.json");
    std::fs::write(&file, input(&project, "I changed the code.").to_string()).expect("the root is ours");
    let script = r#""$0" hook run Stop --agent claude < "$1""#;
    let stop_with = |name: &str| {
        let words: [&std::ffi::OsStr; 4] = ["-c".as_ref(), script.as_ref(), proctor().as_os_str(), file.as_os_str()];
        project.command("/bin/sh".as_ref(), words).env(name, &other).success()
    };
    let answer = stop_with("XDG_STATE_HOME");
    assert!(answer.stdout.contains("\"block\"") && answer.stderr.contains("the service's own"), "{}", answer.snapshot());
    // HOME decides nothing where XDG_STATE_HOME is set, and the session's state is in the service's store.
    assert!(!stop_with("HOME").stderr.contains("the service's own"));
    assert!(!other.join("proctor").exists(), "nothing is written there");
    daemon.interrupt();
}

#[test]
fn where_nothing_is_guarded_the_session_is_told() {
    let project = Project::new().toml(SETTINGS).file("code.txt", "good\n");
    let told = event_in(&project, &project.path().display().to_string(), "SessionStart", "");
    let text = told["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default();
    assert!(text.contains("not guarded") && text.contains("`proctor run`"), "{told}");
    // A directory that has nothing to do with proctor is left alone.
    let plain = project.shared("plain");
    std::fs::create_dir_all(&plain).expect("the directory is ours");
    assert_eq!(event_in(&project, &plain.display().to_string(), "SessionStart", ""), Value::Null);
}

#[test]
fn a_project_that_is_moved_in_a_turn_keeps_the_agent_from_stopping() {
    let project = registered();
    prompt(&project);
    let elsewhere = project.shared("elsewhere");
    let input = project.root().join("hook-input.json");
    let said = json!({"session_id": "s1", "cwd": elsewhere, "last_assistant_message": "I tidied up."});
    std::fs::write(&input, said.to_string()).expect("the root is ours");
    let script = r#"mv "$1" "$2" && "$0" hook run Stop --agent claude < "$3"; mv "$2" "$1""#;
    let root = project.path().to_owned();
    let words: [&std::ffi::OsStr; 6] =
        ["-c".as_ref(), script.as_ref(), proctor().as_os_str(), root.as_os_str(), elsewhere.as_os_str(), input.as_os_str()];
    let answer = project.command("/bin/sh".as_ref(), words).success().json();
    let reason = answer["reason"].as_str().unwrap_or_default();
    assert!(answer["decision"] == "block" && reason.contains("is not there any more"), "{answer}");
    assert_eq!(stop(&project, "I moved it back."), Value::Null);
}

#[test]
fn a_turn_that_is_begun_anew_by_hand_is_still_the_same() {
    let project = registered();
    prompt(&project);
    project.save("code.txt", "bad\n");
    project.proctor(["run"]).failure();
    prompt(&project);
    let resumed = json!({"session_id": "s1", "cwd": project.path(), "source": "resume"});
    assert_eq!(hook(&project, "claude", "SessionStart", &resumed).status, 0);
    assert_eq!(stop(&project, "I changed the rounding.")["decision"], "block");
    // After a stop, what a person breaks is older than the turn.
    project.save("code.txt", "good again\n");
    assert_eq!(stop(&project, "Mended."), Value::Null);
    project.save("code.txt", "bad, by a person\n");
    project.proctor(["run"]).failure();
    prompt(&project);
    project.save("notes.txt", "the agent's\n");
    let told = hook(&project, "claude", "Stop", &input(&project, "I wrote a note.")).stdout;
    assert!(!told.contains("\"block\""), "{told}");
}

#[test]
fn a_test_that_is_moved_into_an_ignored_directory_is_named_once() {
    let one = "def test_one():\n    assert 1 == 1\n";
    let project =
        crate::tdd::project("[evidence]\nlink = \"\"\n").file("test_a.py", one).file("test_b.py", "def test_two():\n    pass\n");
    project.proctor(["run"]).success();
    prompt(&project);
    project.save("build/test_a.py", one);
    project.save(".gitignore", "build/\n");
    std::fs::remove_file(project.path().join("test_a.py")).expect("it is there");
    let answer = stop(&project, "Tidied up. All tests pass.");
    let reason = answer["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("test_one") && reason.contains("gone or skipped"), "{answer}");
    assert_eq!(stop(&project, "test_one is gone, because nobody needs it.")["decision"], Value::Null);
}

#[test]
fn a_test_that_goes_away_in_the_first_turn_of_a_linked_working_tree_is_named() {
    let project = crate::tdd::project("[evidence]\nlink = \"\"\n")
        .file("test_a.py", "def test_one():\n    assert 1 == 1\n")
        .file("test_b.py", "def test_two():\n    pass\n")
        .file(".gitignore", "__pycache__/\n");
    git(&project, &["init", "--quiet"]);
    git(&project, &["add", "."]);
    git(&project, &["commit", "--quiet", "-m", "the tests"]);
    project.proctor(["run", "--fresh-caches"]).success();
    let side = project.shared("side").to_str().expect("text").to_owned();
    git(&project, &["worktree", "add", "--quiet", "--detach", &side]);
    event_in(&project, &side, "UserPromptSubmit", "");
    std::fs::write(format!("{side}/test_a.py"), "def check_one():\n    assert 1 == 1\n").expect("it is ours");
    let answer = event_in(&project, &side, "Stop", "Tidied up.");
    let reason = answer["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("test_one") && reason.contains("gone or skipped"), "{answer}");
}

#[test]
fn a_failure_that_the_agents_own_runs_made_flaky_is_new() {
    // The check depends on a file that belongs to no tree.
    let check = SETTINGS.replace("grep -q good code.txt", "test ! -e ../shared/flag && grep -q good code.txt");
    let settings = format!("{WRITES_TO_SHARED}{check}");
    let project = Project::new().toml(&settings).file("code.txt", "good\n");
    project.proctor(["run"]).success();
    prompt(&project);
    std::fs::write(project.shared("flag"), "").expect("the directory is ours");
    project.save("code.txt", "good, and changed\n");
    project.proctor(["run"]).failure();
    std::fs::remove_file(project.shared("flag")).expect("it was made");
    project.proctor(["run"]).any_status();
    project.save("code.txt", "bad\n");
    let answer = stop(&project, "I changed the code.");
    assert_eq!(answer["decision"], "block", "{answer}");
}
