//! Tests how proctor finds out which registered project a directory is. In doubt proctor asks and never guesses.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Project, WRITES_TO_SHARED};
use crate::run::{beside, check, project};

const LATE: Duration = Duration::from_secs(30);

fn move_away(project: &Project) {
    fs::rename(project.path(), project.root().join("moved")).expect("the root is ours");
    // The test's commands run in the project's directory, so it must exist.
    fs::create_dir(project.path()).expect("it was moved away");
}

#[test]
fn a_directory_that_was_made_anew_at_the_same_path_is_called_another_one() {
    let project = project(&check("a", &[]));
    project.proctor(["run"]).success();
    move_away(&project);
    fs::copy(project.root().join("moved/proctor.toml"), project.path().join("proctor.toml")).expect("it is there");
    let output = project.proctor(["run"]).status(3);
    assert!(output.stderr.contains("is registered, and another directory lies there now"), "{}", output.stderr);
}

#[test]
fn a_directory_that_was_moved_is_asked_about() {
    let project = project(&check("a", &[]));
    project.proctor(["run"]).success();
    move_away(&project);
    let output = project.proctor(["run", "../moved"]).status(3);
    insta::assert_snapshot!(output.snapshot(), @"
    exit status: 3
    --- stderr
    error: `<root>/moved` resembles project <project-id>, which is registered at `<project>`
      hint: say which it is: `--identity same` goes on with its history, `--identity new` begins one
    ");
    assert_eq!(project.store().committed_runs().len(), 1);
    let json = project.proctor(["run", "../moved", "--json"]).status(3);
    let told: Value = json.json();
    assert_eq!(told["error"]["kind"], "PERSON_NEEDED");
    assert!(told["error"]["hint"].as_str().is_some_and(|hint| hint.contains("--identity same")), "{told}");
    assert_eq!(json.stderr, "", "an error is told once");
}

#[test]
fn a_moved_directory_to_which_its_old_place_links_goes_on_without_a_question() {
    let project = project(&check("a", &[]));
    project.proctor(["run"]).success();
    let (old, new) = (project.path().to_owned(), project.root().join("moved"));
    move_away(&project);
    fs::remove_dir(&old).expect("an empty directory");
    std::os::unix::fs::symlink(&new, &old).expect("a link");
    project.proctor(["run", "../moved"]).success();
    project.proctor(["run"]).success();
    assert_eq!((project.store().project_ids().len(), project.store().committed_runs().len()), (1, 3));
    // A link to another directory says nothing of where this one was.
    fs::remove_file(&old).expect("our link");
    fs::create_dir(project.root().join("other")).expect("a directory");
    std::os::unix::fs::symlink(project.root().join("other"), &old).expect("a link");
    project.proctor(["run", "../moved"]).status(3);
    fs::remove_file(&old).expect("our link");
    fs::create_dir(&old).expect("a directory");
    project.proctor(["run", "../moved"]).status(3);
}

#[test]
fn the_same_project_goes_on_with_its_history() {
    let project = project(&check("a", &[]));
    project.proctor(["run"]).success();
    move_away(&project);
    project.proctor(["run", "../moved", "--identity", "same"]).success();
    assert_eq!(project.store().project_ids().len(), 1);
    assert_eq!(project.store().committed_runs().len(), 2);
    project.proctor(["run", "../moved"]).success();
    assert_eq!(project.proctor(["log", "../moved"]).success().stdout.lines().count(), 3);
}

#[test]
fn a_new_project_begins_a_history_of_its_own() {
    let project = project(&check("a", &[]));
    project.proctor(["run"]).success();
    move_away(&project);
    let output = project.proctor(["run", "../moved", "--identity", "new"]).success();
    insta::assert_snapshot!(output.snapshot(), @r#"
    exit status: 0
    --- stdout
    proctor 0.1.0 · moved · tree <digest>
      ✓ a                    done <time>
    PASSED · <root>/moved/evidence/default/execution-report.json
    --- stderr
    registered `<root>/moved` as <project-id>; what was approved for <project-id> (`<project>`) holds here too
    evidence in `evidence`
    "#);
    let link = project.root().join("moved/evidence");
    assert_eq!(
        fs::read_dir(link.join("default/runs")).unwrap().count(),
        1,
        "the link it came with leads to its own evidence now"
    );
    assert_eq!(project.store().project_ids().len(), 2);
    assert_eq!(project.proctor(["log", "../moved"]).success().stdout.lines().count(), 1);
    project.proctor(["run", "../moved"]).success();
}

#[test]
fn a_repository_that_is_begun_later_changes_nothing() {
    let project = project(&check("a", &[]));
    project.proctor(["run"]).success();
    project.command(Path::new("git"), ["init", "--quiet"]).success();
    let output = project.proctor(["run"]).success();
    assert_eq!(project.store().project_ids().len(), 1, "{}", output.snapshot());
}

#[test]
fn a_path_through_a_link_is_the_same_project() {
    let project = project(&check("a", &[]));
    project.proctor(["run"]).success();
    std::os::unix::fs::symlink(project.path(), project.root().join("other-name")).unwrap();
    project.proctor(["run", "../other-name"]).success();
    assert_eq!(project.store().committed_runs().len(), 2);
}

#[test]
fn two_first_runs_at_once_register_one_project() {
    let project = project(&check("a", &["--sleep", "50"]));
    let runs = [(); 3].map(|()| project.proctor(["run"]).watch());
    for run in runs {
        let output = run.ended();
        assert_eq!(output.status, 0, "{}", output.snapshot());
    }
    assert_eq!(project.store().project_ids().len(), 1);
    // Those that waited for the run of another share its result.
    let runs = project.store().committed_runs().len();
    assert!((1..=3).contains(&runs), "{runs}");
    let kinds: Vec<_> = project.store().ledger().iter().map(|line| line["body"]["kind"].clone()).collect();
    assert_eq!(kinds, [vec!["registered"], vec!["run"; runs]].concat());
}

#[test]
fn a_run_that_may_not_wait_says_that_another_one_is_going_on() {
    let project = project("");
    let (running, go_on) = (beside(&project, "running"), beside(&project, "go-on"));
    project.save(
        "proctor.toml",
        &(WRITES_TO_SHARED.to_owned()
            + &check("a", &["--touch", &running, "--wait-for", &go_on])
            + "[evidence]\nlock_wait = \"0s\"\n"),
    );
    let mut first = project.proctor(["run"]).watch();
    first.wait_for_file("the first to run", LATE, &running);
    let output = project.proctor(["run"]).status(5);
    assert!(output.stderr.starts_with("error: failed to lock the project's evidence\n"), "{}", output.snapshot());
    assert!(output.stderr.contains("is in use by the proctor process"), "{}", output.snapshot());
    assert!(output.stderr.contains("  hint: wait until it is done, or stop it"), "{}", output.snapshot());
    fs::write(&go_on, "").unwrap();
    assert_eq!(first.ended().status, 0);
}

#[test]
fn a_run_that_waits_for_another_can_be_interrupted() {
    let project = project("");
    let (running, go_on) = (beside(&project, "running"), beside(&project, "go-on"));
    project.save("proctor.toml", &(WRITES_TO_SHARED.to_owned() + &check("a", &["--touch", &running, "--wait-for", &go_on])));
    let mut first = project.proctor(["run"]).watch();
    first.wait_for_file("the first to run", LATE, &running);
    let mut second = project.proctor(["run"]).watch();
    second.wait_for_line("the second to wait", LATE, |line| line.starts_with("waiting for another run"));
    let output = second.interrupt();
    insta::assert_snapshot!(output.snapshot(), @"
    exit status: 130
    --- stderr
    waiting for another run of this project to end (at most <time>)
    stopping; Ctrl-C again kills
    error: stopped while waiting for another run of this project; nothing was run
      hint: run the command again; `lock_wait` in `[evidence]` bounds the wait
    ");
    fs::write(&go_on, "").unwrap();
    assert_eq!(first.ended().status, 0);
    assert_eq!(project.store().committed_runs().len(), 1);
}

#[test]
fn a_command_below_a_project_finds_the_project_above() {
    let project = project(&check("one", &[])).file("src/deep/a.txt", "");
    let output = project.proctor(["run"]).directory("src/deep").success();
    assert!(output.stderr.contains(&format!("project: {}", project.path().display())), "{}", output.snapshot());
    let shown = project.proctor(["show"]).directory("src/deep").success();
    assert!(shown.stdout.contains("✓ one "), "{}", shown.snapshot());
    // A directory that is named on the command line is itself the project. The directories above it are not searched.
    let named = project.proctor(["run", "../deep"]).directory("src/deep").status(4);
    assert!(named.stderr.contains("no checks"), "{}", named.snapshot());
    // A registered project without a `proctor.toml` is found too, and each `--check` takes one name, so `.` is the
    // directory.
    let one = project.proctor(["run", "--check", "one", "."]).directory("src/deep").success();
    assert!(one.stdout.contains("PASSED"), "{}", one.snapshot());
}

#[test]
fn a_run_is_exported_beside_the_project_and_not_into_it() {
    let project = project(&check("one", &[])).file("src/a.txt", "");
    project.proctor(["run"]).success();
    let exported = project.proctor(["export"]).directory("src").success();
    let place = exported.stdout.split(' ').next().expect("a path");
    assert_eq!(Path::new(place).parent(), project.path().parent(), "{}", exported.snapshot());
    assert!(Path::new(place).is_dir(), "{}", exported.snapshot());
    let none = project.proctor(["log", "--limit", "0"]).status(2);
    assert!(none.stderr.contains("--limit"), "{}", none.snapshot());
}
