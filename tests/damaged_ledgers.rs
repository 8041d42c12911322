//! A ledger that was cut, edited or lost is evidence that was changed: commands about its project end with 6 and say what to do.
//! Commands about other projects go on.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::common::{KeptEvidence, Output, Project};

const CHECK: &str = "[[check]]\nname = \"check\"\ncommand = \"true\"\n";
const OTHER: &str = "../shared/other";

fn state(project: &Project) -> PathBuf {
    project.root().join("state/proctor")
}

/// Returns a store with two projects of two runs each, and the ledger of the first project.
fn two_projects() -> (Project, PathBuf) {
    let project = Project::new().toml(CHECK);
    project.proctor(["run"]).success();
    let ledger = KeptEvidence::only(&state(&project)).ledger;
    project.proctor(["run"]).success();
    project.save(&format!("{OTHER}/proctor.toml"), CHECK);
    project.proctor(["run", OTHER]).success();
    project.proctor(["run", OTHER]).success();
    (project, ledger)
}

/// Removes the index with the files that SQLite keeps beside it.
fn remove_index(project: &Project) {
    for entry in fs::read_dir(state(project)).expect("the store").flatten() {
        if entry.file_name().to_string_lossy().starts_with("state.db") {
            fs::remove_file(entry.path()).expect("the store is ours");
        }
    }
}

fn text_of(ledger: &Path) -> String {
    fs::read_to_string(ledger).expect("a project has a ledger")
}

/// The ways in which a ledger of three lines is damaged, each with what is said about it.
fn damages(sound: &str) -> [(&'static str, String, &'static str); 5] {
    let lines: Vec<&str> = sound.lines().collect();
    let upto = |count: usize| lines[..count].join("\n") + "\n";
    let (before, after) = sound.rsplit_once("PASSED").expect("the last run passed");
    [
        ("cut after a line", upto(2), "lacks lines"),
        ("cut within a line", sound[..sound.len() - 40].to_owned(), "lacks lines"),
        ("emptied", String::new(), "lacks lines"),
        ("edited at its end", format!("{before}FAILED{after}"), "line 3"),
        ("with nonsense behind", format!("{sound}nonsense\n"), "line 4"),
    ]
}

#[test]
fn a_damaged_ledger_ends_the_commands_of_its_own_project_with_6() {
    let (project, ledger) = two_projects();
    let sound = text_of(&ledger);
    for (what, damaged, said) in damages(&sound) {
        fs::write(&ledger, damaged).expect("the store is ours");
        for command in [&["status"][..], &["run"], &["wait", "--fresh", "--timeout", "0s"], &["tdd", "show"], &["prune"]] {
            let output = project.proctor(command).any_status();
            assert_eq!(output.status, 6, "{what}, {command:?}: {}", output.snapshot());
            let told = output.stderr.contains(said) && output.stderr.contains("put it back from a backup");
            assert!(told && !output.stderr.contains("state.db"), "{what}, {command:?}: {}", output.snapshot());
        }
        fs::write(&ledger, &sound).expect("the store is ours");
        project.proctor(["status"]).success();
    }
}

#[test]
fn other_projects_go_on_beside_a_damaged_ledger_and_name_it() {
    let (project, ledger) = two_projects();
    let sound = text_of(&ledger);
    let id = ledger.file_stem().and_then(|name| name.to_str()).expect("a project's id").to_owned();
    let first_line = sound.replacen("\"sequence\":1", "\"sequence\":7", 1);
    let damages = damages(&sound).map(|(what, damaged, _)| (what, damaged));
    for (what, damaged) in damages.into_iter().chain([("edited in its first line", first_line)]) {
        for with_index in [true, false] {
            fs::write(&ledger, &damaged).expect("the store is ours");
            if !with_index {
                remove_index(&project);
            }
            let run_or_show = if with_index { &["run", OTHER][..] } else { &["show", "--project", OTHER] };
            for command in [run_or_show, &["status", OTHER]] {
                let output = project.proctor(command).any_status();
                assert_eq!(output.status, 0, "{what}, index: {with_index}, {command:?}: {}", output.snapshot());
            }
            let listed = project.proctor(["service", "list"]).any_status();
            assert!(listed.stdout.contains("other-"), "{what}, index: {with_index}: {}", listed.snapshot());
            // The index knows how far the ledger went, and does not read again what it has read.
            let is_seen = if with_index {
                what != "edited in its first line"
            } else {
                what.contains("edited") || what.contains("nonsense")
            };
            let is_named = listed.stderr.contains(&id) && listed.stderr.contains("cannot be read");
            assert_eq!(is_named, is_seen, "{what}, index: {with_index}: {}", listed.snapshot());
            fs::write(&ledger, &sound).expect("the store is ours");
            project.proctor(["status"]).success();
            project.proctor(["service", "list"]).success();
        }
    }
}

/// Returns the private half of the key in use.
fn private_half(project: &Project) -> PathBuf {
    let keys = fs::read_dir(state(project).join("keys")).expect("there is a key").flatten();
    let private = keys.map(|entry| entry.path()).find(|path| path.extension().is_some_and(|end| end == "pem"));
    private.expect("there is a private half")
}

/// Says at a terminal that the key is lost, and answers the question.
fn lose_key(project: &Project, answer: &str) -> Output {
    let mut terminal = project.proctor(["key", "rotate", "--lost"]).at_terminal();
    terminal.wait_for("anything else replaces nothing: ", Duration::from_secs(60));
    terminal.press(&format!("{answer}\n"));
    terminal.ended()
}

#[test]
fn the_key_is_not_replaced_while_lines_are_missing() {
    let (project, ledger) = two_projects();
    let sound = text_of(&ledger);
    for (what, damaged, said) in damages(&sound) {
        fs::write(&ledger, damaged).expect("the store is ours");
        let output = project.proctor(["key", "rotate"]).any_status();
        assert_eq!(output.status, 6, "{what}: {}", output.snapshot());
        assert!(output.stderr.contains(said) && output.stderr.contains("was not replaced"), "{what}: {}", output.snapshot());
        let (private, aside) = (private_half(&project), project.shared("key aside"));
        fs::rename(&private, &aside).expect("the store is ours");
        let output = lose_key(&project, "lost");
        assert_eq!(output.status, 6, "{what}: {}", output.snapshot());
        assert!(output.stdout.contains(said) && output.stdout.contains("was not replaced"), "{what}: {}", output.snapshot());
        fs::rename(&aside, &private).expect("the store is ours");
        assert_eq!(project.proctor(["key", "show"]).success().stdout.matches("key ").count(), 1, "{what}");
    }
    fs::write(&ledger, &sound).expect("the store is ours");
    project.proctor(["key", "rotate"]).success();
    project.proctor(["run"]).success();
    project.proctor(["verify", "--all"]).success();
}

#[test]
fn a_ledger_that_was_moved_aside_begins_anew() {
    let (project, ledger) = two_projects();
    fs::rename(&ledger, ledger.with_extension("aside")).expect("the store is ours");
    project.proctor(["run"]).success();
    project.proctor(["status"]).success();
    assert_eq!(KeptEvidence::all(&state(&project)).len(), 2);
}

#[test]
fn a_lost_private_key_is_said_with_what_to_do() {
    let (project, _) = two_projects();
    let refused = project.proctor(["key", "rotate", "--lost"]).status(2);
    assert!(
        refused.stderr.contains("the key is not lost") && refused.stderr.contains("`proctor key rotate`"),
        "{}",
        refused.stderr
    );
    fs::remove_file(private_half(&project)).expect("the store is ours");
    assert_eq!(project.proctor(["status"]).success().stderr, "", "the rows have their seal");
    remove_index(&project);
    for _ in 0..2 {
        let told = project.proctor(["status"]).success();
        assert_eq!(told.stderr.matches("proctor key rotate --lost").count(), 1, "{}", told.snapshot());
    }
    let unasked = project.proctor(["key", "rotate", "--lost"]).status(3);
    assert!(unasked.stderr.contains("only a person at a terminal"), "{}", unasked.stderr);
    assert_eq!(lose_key(&project, "yes").status, 3, "another answer replaces nothing");
    assert_eq!(project.proctor(["key", "show"]).success().stdout.matches("key ").count(), 1);
    let replaced = lose_key(&project, "lost");
    assert_eq!(replaced.status, 0, "{}", replaced.snapshot());
    project.proctor(["service", "list"]).success();
    assert_eq!(project.proctor(["status"]).success().stderr, "");
    project.proctor(["run"]).success();
}
