//! Tests that everything which tells how a task stands says why a person is asked: the reason, since when, by which run, and
//! the whole command.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::{EMPTY, FAILING, PASSING, last_line, project, routed, run, tdd};
use crate::common::{APPROVAL_QUESTION, Project, poll, redact};
use crate::daemon::start_serving;

const LATE: Duration = Duration::from_secs(60);

const RESOLVE: &str = "`proctor tdd resolve default --to NODE --reason TEXT`";

/// Returns what is asked about the task, of every answer in JSON.
fn asked(project: &Project) -> [Value; 2] {
    let status = project.proctor(["status", "--json"]).any_status().json();
    let list = project.proctor(["service", "list", "--json"]).success().json();
    [status["projects"][0]["tasks"][0]["person"].clone(), list["projects"][0]["standing"]["person"].clone()]
}

/// Waits until the service has made this many runs.
#[track_caller]
fn wait_for_runs(project: &Project, count: usize) {
    poll(LATE, "the runs of the service", || match project.store().committed_runs().len() {
        runs if runs >= count => Ok(()),
        runs => Err(format!("{runs} runs")),
    });
}

#[test]
fn every_answer_says_why_a_task_waits_for_a_person() {
    let project = project("");
    tdd(&project, &["start", "--phase", "GREEN"]);
    run(&project, EMPTY, 1);
    run(&project, EMPTY, 1);
    run(&project, EMPTY, 3);
    let told = |arguments: &[&str], status: i32| {
        let output = project.proctor(arguments).any_status();
        assert_eq!(output.status, status, "{}", output.snapshot());
        redact(&output.stdout, &project.redactions())
    };
    let third = project.store().committed_runs()[2]["runId"].clone();
    let number: u64 = third.as_str().and_then(|id| id.rsplit('-').next()?.parse().ok()).expect("a run's number");
    let sentence = format!(
        "needs a person since <date> (run {number}): Scaffold retry limit (3) exceeded; {RESOLVE} decides on a terminal how it goes on"
    );
    for (arguments, status) in [(vec!["status"], 0), (vec!["wait", "--fresh"], 3), (vec!["service", "list"], 0), (vec!["log"], 0)]
    {
        let text = told(&arguments, status);
        assert!(text.contains(&sentence), "{arguments:?}: {text}");
    }
    let [of_status, of_list] = asked(&project);
    assert_eq!(of_status, of_list);
    assert_eq!((&of_status["askedFor"], &of_status["reason"]), (&json!("decision"), &json!("Scaffold retry limit (3) exceeded")));
    assert_eq!(of_status["command"], RESOLVE.trim_matches('`'));
    assert_eq!(of_status["runId"], third);
    let runs = project.proctor(["log", "--json"]).success().json();
    assert_eq!((&runs["runs"][0]["person"], &runs["runs"][1]["person"]), (&of_status, &Value::Null));
    let status = project.proctor(["status", "--json"]).success().json();
    let counted = &status["projects"][0]["tasks"][0]["tdd"];
    assert_eq!(counted["exitCodeHistory"], json!([5, 5, 5]));
    assert_eq!(counted["route"]["kind"], "retry-limit");
}

#[test]
fn without_a_cycle_the_third_scaffold_error_in_a_row_asks_a_person_to_look_and_pauses_nothing() {
    let project = project("");
    project.save("test_it.py", EMPTY);
    let service = start_serving(&project);
    project.proctor(["wait", "--fresh"]).failure();
    for (runs, tests) in [(2, "# nothing yet\n"), (3, "# nothing at all\n")] {
        project.save("test_it.py", tests);
        wait_for_runs(&project, runs);
    }
    project.proctor(["wait", "--fresh"]).failure();
    let reason = "third scaffold error in a row: a person should look";
    let [of_status, of_list] = asked(&project);
    assert_eq!((&of_status["askedFor"], &of_status["reason"]), (&json!("look"), &json!(reason)));
    assert_eq!((&of_status, &of_status["command"]), (&of_list, &json!("proctor tdd show default")));
    for command in [&["status"][..], &["service", "list"], &["log"]] {
        let text = project.proctor(command).success().stdout;
        assert!(text.contains(reason), "{command:?}: {text}");
    }
    let shown = tdd(&project, &["show"]).stdout;
    assert_eq!(shown.lines().filter(|line| line.contains("exit 5")).count(), 3, "{shown}");
    assert!(shown.contains("HUMAN_REVIEW  third scaffold error"), "{shown}");
    // The fourth save is run as every other, and a run with tests is the end of it.
    project.save("test_it.py", PASSING);
    project.proctor(["wait", "--fresh"]).success();
    assert_eq!(asked(&project), [Value::Null, Value::Null]);
    let service = service.interrupt();
    let log = redact(&format!("{}{}", service.stdout, service.stderr), &project.redactions());
    assert!(log.contains("a person should look since <date>"), "{log}");
}

/// Returns the project with a desktop: what is shown on it stands in a file, one line for each notification.
fn with_desktop(project: Project) -> (Project, PathBuf) {
    let (program, shown) = (project.root().join("desktop/notify-send"), project.root().join("shown"));
    fs::create_dir(project.root().join("desktop")).expect("it is ours");
    fs::write(&program, format!("#!/bin/sh\nprintf '%s\\n' \"$4\" >> '{}'\n", shown.display())).expect("it is ours");
    fs::set_permissions(&program, Permissions::from_mode(0o755)).expect("it is ours");
    (project.with_program(&program), shown)
}

/// Waits until a notification on the desktop contains `reason`, and returns it.
#[track_caller]
fn wait_for_desktop(shown: &Path, reason: &str) -> String {
    let mut found = String::new();
    poll(LATE, "a notification", || {
        let text = fs::read_to_string(shown).unwrap_or_default();
        found = text.lines().find(|line| line.contains(reason)).unwrap_or_default().to_owned();
        if found.is_empty() { Err(text) } else { Ok(()) }
    });
    found
}

#[test]
fn the_desktop_says_why_since_when_by_which_run_and_what_to_type() {
    let (project, shown) = with_desktop(project("[watch]\nnotify = true\n"));
    project.save("test_it.py", EMPTY);
    tdd(&project, &["start", "--phase", "GREEN"]);
    let service = start_serving(&project);
    for runs in 1..=3 {
        project.save("test_it.py", &format!("# nothing yet, {runs}\n"));
        wait_for_runs(&project, runs);
        project.proctor(["wait", "--fresh"]).any_status();
    }
    let told = wait_for_desktop(&shown, "Scaffold retry limit (3) exceeded");
    let [person, _] = asked(&project);
    let since = person["since"].as_str().expect("a time");
    let run: u64 = person["runId"].as_str().and_then(|id| id.rsplit('-').next()?.parse().ok()).expect("a run's number");
    assert!(told.contains(&format!("needs a person since {since} (run {run}): ")) && told.contains(RESOLVE), "{told}");
    service.interrupt();
}

/// Returns settings of the project `shop`, which shows on the desktop what a person is asked. `more` is added to its check.
fn approval_settings(more: &str) -> String {
    let check = format!("[[check]]\nname = \"check\"\ncommand = [\"true\"]\n{more}");
    format!("{check}[project]\nname = \"shop\"\n[watch]\nnotify = true\n")
}

#[test]
fn an_approval_that_watch_asks_for_at_its_terminal_is_told_once_on_the_desktop_by_the_project_s_name() {
    let (project, shown) = with_desktop(Project::new().toml(&approval_settings("")).file("a.txt", "one\n"));
    let project = project.env("TERM", "xterm");
    project.proctor(["run"]).success();
    let mut terminal = project.proctor(["watch"]).at_terminal();
    terminal.wait_for("r again, f", LATE);
    project.save("proctor.toml", &approval_settings("snapshot = \"off\"\n"));
    terminal.wait_for(APPROVAL_QUESTION, LATE);
    let told = wait_for_desktop(&shown, "it asks for more than was approved");
    assert!(told.starts_with("shop needs a person: ") && told.contains("check: snapshot"), "{told}");
    // A save withdraws the question, and the same question is asked again.
    project.save("a.txt", "two\n");
    terminal.wait_for("the question is withdrawn", LATE);
    terminal.wait_for(APPROVAL_QUESTION, LATE);
    terminal.press("no\n");
    terminal.wait_for("nothing was approved", LATE);
    terminal.press("q");
    assert_eq!(terminal.ended().status, 0);
    let text = fs::read_to_string(&shown).expect("something was shown");
    assert_eq!(text.matches("it asks for more than was approved").count(), 1, "{text}");
}

#[test]
fn an_approval_is_asked_for_on_the_desktop_by_the_service_and_by_watch() {
    let settings = approval_settings;
    for is_service in [true, false] {
        let (project, shown) = with_desktop(Project::new().toml(&settings("")).file("a.txt", "one\n"));
        project.proctor(["run"]).success();
        let mut running = if is_service { start_serving(&project) } else { project.watch([] as [&str; 0]) };
        if is_service {
            project.proctor(["wait", "--fresh"]).success();
        } else {
            running.wait_for_line("a verdict", LATE, |line| line.starts_with("PASSED"));
        }
        project.save("proctor.toml", &settings("snapshot = \"off\"\n"));
        let told = wait_for_desktop(&shown, "it asks for more than was approved");
        assert!(
            told.contains("needs a person: ") && told.contains("check: snapshot") && told.contains("`proctor approve`"),
            "{told}"
        );
        running.interrupt();
    }
}

#[test]
fn a_save_of_the_red_phase_that_passes_is_not_red_yet_and_the_failing_test_after_it_is_run() {
    let project = project("");
    run(&project, PASSING, 0);
    tdd(&project, &["start"]);
    let service = start_serving(&project);
    project.save("app.py", "# a comment\n");
    wait_for_runs(&project, 2);
    let waited = project.proctor(["wait", "--fresh"]).failure();
    assert!(waited.stdout.contains("not red yet"), "{}", waited.snapshot());
    let state = tdd(&project, &["show", "--json"]).json();
    assert_eq!(json!([state["attempts"], state["paused"], state["routeHistory"][1]["kind"]]), json!([0, null, "not-red-yet"]));
    // A test file that changed is an attempt to be red.
    project.save("test_it.py", &format!("{PASSING}\n# more\n"));
    wait_for_runs(&project, 3);
    project.proctor(["wait", "--fresh"]).failure();
    assert_eq!(tdd(&project, &["show", "--json"]).json()["attempts"], 1);
    project.save("test_it.py", FAILING);
    let red = project.proctor(["wait", "--fresh"]).success();
    assert!(red.stdout.contains("valid RED"), "{}", red.snapshot());
    assert_eq!(tdd(&project, &["show", "--json"]).json()["phase"], "GREEN");
    service.interrupt();
}

#[test]
fn a_pass_in_red_that_somebody_asked_for_is_answered_as_the_router_does() {
    let project = project("");
    tdd(&project, &["start"]);
    let passed = run(&project, PASSING, 3);
    assert_eq!(last_line(&passed), "PASSED · RED → HUMAN_REVIEW a person decides");
    assert_eq!(routed(&passed), json!(["HUMAN_REVIEW", "routed", "RED", "RED", 1]));
}
