//! Tests who may ask the service: a client of the user, and no process of an action, however it hides where it comes
//! from.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{LATE, ask, project, project_id, settings, socket, start, start_serving};
use crate::common::{Project, SHARED_AND_IN_PLACE, poll};

/// A project counts as at rest if no run begins for this long. With the settings of the test, the longest pause before a
/// repetition is half as long.
const REST: Duration = Duration::from_secs(2);

/// The levels at which a check tries what it can do to the service.
const LEVELS: [&str; 3] = ["namespace", "landlock", "process-group"];

/// Returns a project whose check sends requests to the service in every way of `ask_from_a_check.py`.
fn asking_project(level: &str) -> Project {
    let project = Project::new()
        .env("PROCTOR_TEST_ISOLATION", level)
        .file("ask.py", include_str!("ask_from_a_check.py"))
        .file("a.txt", "one\n")
        .file("stranger/proctor.toml", "[[check]]\nname = \"free\"\ncommand = [\"true\"]\n[sandbox]\nmode = \"off\"\n");
    let (socket, stranger) = (socket(&project), project.path().join("stranger"));
    let check = settings(&format!("python3 ask.py {} {}", socket.display(), stranger.display()));
    // The socket is opened to the check by the settings: what is tested is that the service refuses.
    project.toml(&format!("{check}\n[sandbox]\nsockets = [{:?}]\n", socket.display().to_string()))
}

/// Returns the log of the last run's check.
#[track_caller]
fn log_of(project: &Project) -> String {
    project.proctor(["show", "--log", "check"]).any_status().stdout
}

#[test]
fn an_action_gets_nothing_from_the_control_socket() {
    for level in LEVELS {
        let project = asking_project(level);
        let mut daemon = start_serving(&project);
        project.proctor(["wait", "--fresh", "--timeout", "120s"]).any_status();
        let report = project.proctor(["show", "--json"]).any_status().json();
        let log = log_of(&project);
        assert_eq!(report["isolation"]["level"], level, "{report:#}");
        assert_eq!(report["stepExecution"]["results"][0]["result"]["exitCode"], 0, "{level}: {log}");
        assert!(log.contains("itself: GET /v1/status: closed"), "{level}: the socket was reached: {log}");
        assert!(log.contains("an orphan: POST /v1/projects: closed"), "{level}: {log}");
        assert!(!log.contains("FAULT"), "{level}: {log}");
        let note = |note: &Value| note["subject"] == "control socket";
        assert!(report["notes"].as_array().is_some_and(|notes| notes.iter().any(note)), "{level}: {:#}", report["notes"]);
        let (code, projects) = ask(&project, "GET /v1/projects", "");
        assert_eq!((code, projects["projects"].as_array().map(Vec::len)), (200, Some(1)), "{level}: {projects}");
        let said = daemon.text();
        assert_eq!(said.matches("an action sent a request to the control socket").count(), 1, "{level}: {said}");
        daemon.interrupt();
    }
}

#[test]
fn a_process_with_nothing_but_the_mark_of_an_action_is_refused_and_told_in_the_log() {
    let project = project("true");
    let mut daemon = start(&project);
    let curl = format!("curl -s --unix-socket {} http://x/v1/status", socket(&project).display());
    let bash = |script: String| project.command(Path::new("/bin/bash"), ["-c", script.as_str()]).any_status();
    assert!(bash(curl.clone()).json()["service"]["pid"].is_u64(), "a program of the user is answered");
    // The keeper (the process that starts one action's first process) marks the processes of the action by this resource
    // limit; inside of an action, by a lower one. So the command stands for a process of an action whose launcher and keeper are dead.
    let answer = bash(format!("ulimit -x $(ulimit -Hx | sed s/unlimited/5263940/ | awk '{{ print $1 - 1 }}') && {curl}"));
    assert!(answer.status != 0 && answer.stdout.is_empty(), "{}", answer.stdout);
    daemon.wait_for_line("the attempt", LATE, |line| line.contains("it carries the limit that marks actions"));
    daemon.interrupt();
}

#[test]
fn no_request_registers_a_project_and_proctor_add_does() {
    let project = project("true");
    let daemon = start(&project);
    let root = format!("{{\"root\": {:?}}}", project.path().display().to_string());
    let (code, answer) = ask(&project, "POST /v1/projects", &root);
    assert_eq!((code, answer["error"]["kind"].as_str()), (409, Some("personNeeded")), "{answer}");
    assert!(answer["error"]["hint"].as_str().is_some_and(|hint| hint.contains("proctor service add")), "{answer}");
    assert_eq!(ask(&project, "GET /v1/projects", "").1["projects"], Value::Array(Vec::new()));
    project.proctor(["service", "add"]).success();
    let id = project_id(&project);
    // A request may have the service watch a registered project again.
    assert_eq!(ask(&project, &format!("DELETE /v1/projects/{id}"), "").0, 200);
    let (code, answer) = poll(LATE, "the project to be closed", || match ask(&project, "POST /v1/projects", &root) {
        (201, answer) => Ok((201, answer)),
        other => Err(format!("{other:?}")),
    });
    assert_eq!((code, answer["project"]["id"].as_str()), (201, Some(id.as_str())), "{answer}");
    daemon.interrupt();
}

#[test]
#[ignore = "long tier"]
fn a_check_that_swaps_files_of_the_project_ends_as_unstable_and_a_run_that_was_handed_over_returns() {
    for level in LEVELS {
        // The files are swapped through a third one, whose name is another one in every run.
        let (project, output) = rests_after("t=t$$; mv a.txt $t; mv b.txt a.txt; mv $t b.txt", level);
        assert_ne!(output, 0, "{level}");
        let status = project.proctor(["status", "--json"]).any_status().json();
        let task = &status["projects"][0]["tasks"][0];
        let paths = serde_json::json!(["a.txt", "b.txt"]);
        assert_eq!((task["state"].as_str(), &task["paths"]), (Some("unstable"), &paths), "{level}: {task}");
    }
}

#[test]
#[ignore = "long tier"]
fn a_check_that_makes_and_removes_files_of_the_project_runs_a_bounded_number_of_times() {
    for level in LEVELS {
        let (_, status) = rests_after("touch t$$; sleep 0.2; rm t$$", level);
        // A check that a save stops leaves its file behind, so the tree may have changed at the end.
        assert!([0, 5].contains(&status), "{level}: {status}");
    }
}

/// Has the service run a check in the project itself at a level of isolation, hands a run over, and waits until nothing runs any more. Returns the
/// project and the exit status of the run that was handed over.
#[track_caller]
fn rests_after(check: &str, level: &str) -> (Project, i32) {
    let quick = "\n[watch]\nlongest_burst = \"60ms\"\n";
    let project = Project::new().toml(&(SHARED_AND_IN_PLACE.to_owned() + &settings(check) + quick));
    let project = project.file("a.txt", "one\n").file("b.txt", "two\n").env("PROCTOR_TEST_ISOLATION", level);
    let daemon = start_serving(&project);
    let output = project.proctor(["run"]).any_status();
    let runs = || project.store().committed_runs().len();
    let mut seen = (runs(), Instant::now());
    let settled = poll(LATE, "the runs to end", || {
        let now = runs();
        if now != seen.0 {
            seen = (now, Instant::now());
        }
        if seen.1.elapsed() >= REST { Ok(now) } else { Err(now) }
    });
    // At most 40 runs can begin: the first runs of the service, the run that was handed over to it, and up to five
    // repetitions of each of these runs, with their restarts.
    assert!(settled <= 40, "{settled} runs");
    daemon.interrupt();
    (project, output.status)
}
