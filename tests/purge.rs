//! Tests `proctor service remove --purge`: the only way in which evidence goes with its project. A person at a terminal is told what goes
//! and types the project's name; the ledger says it first and stays; a purge whose process dies is finished by the next one.

use std::fs;

use serde_json::Value;

use crate::common::{Extent, Project, fake_tool};

const GREEN: &str = "[[check]]\nname = \"says\"\ncommand = \"fake-tool --stdout said\"\n";
const QUESTION: &str = "anything else removes nothing: ";
/// The exit status of a command that was killed, as a shell reports it.
const KILLED: i32 = 137;

/// Returns a project with `runs` runs. Its directory is called `project`.
fn with_runs(runs: usize) -> Project {
    let project = Project::new().with_program(fake_tool()).toml(GREEN);
    (0..runs).for_each(|_| drop(project.proctor(["run"]).success()));
    project
}

/// Purges the project at a terminal, and returns what was drawn and the exit status. `PROCTOR_TEST_…` variables may be set.
fn purge(project: &Project, name: &str, variables: &[(&str, &str)]) -> (String, i32) {
    let asking = variables
        .iter()
        .fold(project.proctor(["service", "remove", "--purge"]), |command, (name, value)| command.env(name, value));
    let mut terminal = asking.at_terminal();
    // A command that was to die may have died before the question.
    if terminal.draws_one_of(&[QUESTION]).is_some() {
        terminal.press(&format!("{name}\n"));
    }
    let ended = terminal.ended();
    (ended.stdout, ended.status)
}

fn evidence(project: &Project) -> std::path::PathBuf {
    project.root().join("state/proctor/evidence").join(&project.store().project_ids()[0])
}

fn last_line(project: &Project) -> Value {
    project.store().ledger().pop().expect("a line")
}

#[test]
fn a_purge_shows_what_goes_asks_for_the_name_and_leaves_the_ledger_and_other_projects() {
    let project = with_runs(3);
    let id = project.store().project_ids()[0].clone();
    project.save("../other/proctor.toml", GREEN);
    project.proctor(["run", "../other"]).success();
    let lines = || project.proctor(["verify", "--json"]).success().json()["lines"].clone();
    let before = lines();
    // Without a terminal nobody can agree, and nothing is removed.
    let refused = project.proctor(["service", "remove", "--purge"]).status(3);
    for words in ["only a person at a terminal", "3 runs, ", " bytes, started from 2", "the ledger with every verdict"] {
        assert!(refused.stderr.contains(words), "{words}: {}", refused.snapshot());
    }
    let (drawn, status) = purge(&project, "no", &[]);
    assert!(status == 3 && drawn.contains("nothing was removed"), "{status}: {drawn}");
    assert_eq!((lines(), project.path().join("evidence").is_dir()), (before, true));
    let (drawn, status) = purge(&project, "project", &[]);
    assert!(status == 0 && drawn.contains("goes: 3 runs, ") && drawn.contains("purged: 3 runs, "), "{status}: {drawn}");
    assert!(!project.root().join("state/proctor/evidence").join(&id).exists(), "its evidence is gone");
    assert!(project.path().join("evidence").symlink_metadata().is_err(), "its link is gone");
    let body = project.proctor(["verify", "--all", "--json"]).success().json();
    assert_eq!((&body["purged"], &body["pruned"], &body["runs"]), (&3.into(), &3.into(), &1.into()), "{body}");
    let verified = project.proctor(["verify"]).success();
    assert!(verified.stdout.contains("purged: 3 runs of a removed project"), "{}", verified.snapshot());
    project.proctor(["verify", "--project", "../other"]).success();
    project.proctor(["show", "--project", "../other"]).success();
    let log = project.proctor(["log"]).success().stdout;
    assert_eq!(log.matches("pruned (remove --purge)").count(), 3, "{log}");
    let shown = project.proctor(["show"]).success().stdout;
    assert!(shown.contains("a person removed the project with its evidence"), "{shown}");
    // The project may come back: it goes on with its ledger.
    project.proctor(["run"]).success();
    project.proctor(["show"]).success();
    project.proctor(["verify", "--all"]).success();
    fs::remove_file(project.root().join("state/proctor/state.db")).expect("the index is ours");
    assert_eq!(project.proctor(["log"]).success().stdout.matches("pruned (remove --purge)").count(), 3, "the ledger has it");
    project.proctor(["verify", "--all"]).success();
}

#[test]
fn the_ledger_line_of_a_purge_says_what_went_and_the_head_before_it() {
    let project = with_runs(2);
    let before = last_line(&project);
    let (drawn, status) = purge(&project, "project", &[]);
    assert_eq!(status, 0, "{drawn}");
    let line = last_line(&project);
    let body = &line["body"];
    assert_eq!((&body["kind"], &body["purgedRuns"], &body["head"]), (&"purged".into(), &2.into(), &line["previous"]), "{line}");
    assert!(body["bytes"].as_u64() > Some(100) && body["first"].is_string() && body["last"].is_string(), "{line}");
    let runs = body["runs"].as_array().expect("a list");
    assert!(runs.len() == 2 && runs.iter().all(|run| run["why"] == "purged"), "{line}");
    assert!(line["sequence"].as_u64() > before["sequence"].as_u64(), "{line}");
}

/// A purge of a project that the service serves ends its serving too.
#[test]
fn a_served_project_is_left_alone_by_the_service_and_purged() {
    let project = with_runs(1);
    let daemon = crate::daemon::start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    let (drawn, status) = purge(&project, "project", &[]);
    assert_eq!(status, 0, "{drawn}");
    assert!(!evidence(&project).exists());
    let listed = project.proctor(["service", "list", "--json"]).success().json();
    assert_eq!(listed["projects"][0]["serving"], "notServed", "{listed}");
    daemon.interrupt();
    project.proctor(["verify", "--all"]).success();
}

/// At every operation by which a purge changes the store: either nothing is removed, or the next writer removes the rest.
#[test]
#[ignore = "long tier"]
fn a_purge_that_dies_anywhere_is_undone_or_finished_and_the_store_verifies_all_the_time() {
    let passed = |project: &Project| project.root().join("passed").display().to_string();
    let first = with_runs(2);
    let (drawn, status) = purge(&first, "project", &[("PROCTOR_TEST_PASSED", &passed(&first))]);
    assert_eq!(status, 0, "{drawn}");
    let text = fs::read_to_string(first.root().join("passed")).expect("the purge changed something");
    let places: Vec<String> = text.lines().filter(|line| !line.starts_with("done ")).map(str::to_owned).collect();
    assert!(places.len() > 5, "{places:?}");
    for (number, place) in Extent::OneIn(4).of(places).into_iter().enumerate() {
        let project = with_runs(2);
        let (drawn, status) = purge(&project, "project", &[("PROCTOR_TEST_DIE_AT", &place)]);
        assert_eq!(status, KILLED, "{place}: {drawn}");
        let verified = project.proctor(["verify", "--all"]).any_status();
        assert_eq!(verified.status, 0, "{place}: {}", verified.snapshot());
        let was_said = last_line(&project)["body"]["kind"] == "purged";
        // By turns the next writer is a run, and the purge once more.
        if number % 2 == 0 {
            project.proctor(["run"]).success();
        } else {
            let (drawn, status) = purge(&project, "project", &[]);
            assert_eq!(status, 0, "{place}: {drawn}");
        }
        let left = project.proctor(["log"]).success().stdout;
        let gone = left.matches("pruned (remove --purge)").count();
        assert_eq!(gone, if was_said || number % 2 == 1 { 2 } else { 0 }, "{place}: {left}");
        let verified = project.proctor(["verify", "--all"]).any_status();
        assert_eq!(verified.status, 0, "{place}: {}", verified.snapshot());
        assert_eq!(
            project.proctor(["verify", "--all", "--json"]).success().json()["unfinished"],
            serde_json::json!([]),
            "{place}"
        );
    }
}
