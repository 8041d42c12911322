//! `proctor verify` as a person uses it: what it takes, what it says, what it ends with.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use crate::common::{Project, WRITES_TO_SHARED, fake_tool, poll};

const CHECK: &str = "[[check]]\nname = \"says\"\ncommand = \"fake-tool --stdout said\"\n";

fn with_a_run() -> Project {
    let project = Project::new().with_program(fake_tool()).toml(CHECK);
    project.proctor(["run"]).success();
    project
}

#[test]
fn what_is_verified_is_a_project_a_run_a_task_a_directory_or_everything() {
    let project = with_a_run();
    project.proctor(["run"]).success();
    let runs = |arguments: &[&str]| {
        let document = project.proctor(["verify", "--json"]).arguments(arguments.iter().copied()).success().json();
        assert_eq!(document["schema"], "proctor-verify-v1");
        assert_eq!((&document["verified"], &document["faults"]), (&true.into(), &serde_json::json!([])));
        document["runs"].as_u64().expect("it is a number")
    };
    let directory = project.store().run_directory("default");
    let id = directory.file_name().expect("it has a name").to_str().expect("it is text");
    assert_eq!([runs(&[]), runs(&["--all"]), runs(&["default"])], [2, 2, 2]);
    assert_eq!([runs(&["3"]), runs(&[id]), runs(&[directory.to_str().expect("it is text")])], [1, 1, 1]);
    for unknown in ["99", "other", "./nowhere"] {
        project.proctor(["verify", unknown]).status(2);
    }
    project.proctor(["verify", "--key", "proctor.toml", directory.to_str().expect("it is text")]).status(2);
}

#[test]
fn a_fault_is_told_with_its_file_and_what_to_do() {
    let project = with_a_run();
    let log = project.store().run_directory("default").join("STEP.1-terminal-output.log");
    fs::set_permissions(&log, Permissions::from_mode(0o600)).expect("it is ours");
    fs::write(&log, "sung").expect("it is ours");
    fs::set_permissions(&log, Permissions::from_mode(0o400)).expect("it is ours");
    let said = project.proctor(["verify"]).status(6);
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert!(lines[0].ends_with("STEP.1-terminal-output.log: its bytes are not those that were sealed"), "{}", said.stdout);
    assert!(lines[1].starts_with("  fileChanged: its SHA-256 is "), "{}", said.stdout);
    assert!(lines[2].starts_with("  next: compare with a backup"), "{}", said.stdout);
    assert!(lines.last().expect("lines").starts_with("2 FAULTS · 1 runs, "), "{}", said.stdout);
    project.proctor(["verify", "default"]).status(6);
}

#[test]
fn a_run_that_goes_on_is_no_fault() {
    let project = Project::new().with_program(fake_tool());
    let (ready, go) = (project.shared("ready"), project.shared("go"));
    let words = format!("fake-tool --touch {} --wait-for {}", ready.display(), go.display());
    let project = project.toml(&format!("{WRITES_TO_SHARED}[[check]]\nname = \"waits\"\ncommand = \"{words}\"\n"));
    let run = project.proctor(["run"]).watch();
    poll(Duration::from_secs(30), "the check", || ready.exists().then_some(()).ok_or("it does not yet"));
    project.proctor(["verify"]).success();
    project.proctor(["verify", "--all"]).success();
    fs::write(&go, "").expect("the root is ours");
    assert_eq!(run.ended().status, 0);
    project.proctor(["verify"]).success();
}

#[test]
fn verifying_changes_nothing() {
    let project = with_a_run();
    let index = project.root().join("state/proctor/state.db");
    fs::write(&index, [b'x'; 4096]).expect("it is ours");
    fs::remove_file(index.with_extension("db-wal")).expect("every page of a young index is in its log");
    let before = fs::read(&index).expect("it is there");
    let said = project.proctor(["verify"]).status(6);
    assert!(said.stdout.contains("indexDamaged"), "{}", said.stdout);
    assert_eq!(fs::read(&index).expect("it is there"), before, "the next run sets it aside and makes it anew");
    project.proctor(["run"]).success();
    project.proctor(["verify"]).success();
}
