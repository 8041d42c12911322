//! Tests scenarios 010 to 040: how a workflow begins.

use std::fs;

use crate::govern::scene::{APPROVE, BOUND, COLLISION, SEND, Scene, ended, say};

#[test]
fn s010_a_brief_that_is_approved_at_once_becomes_an_issue() {
    let scene = Scene::new();
    let output = scene.filed();
    assert!(output.stdout.contains("Issue #62 filed\nhttps://tracker.example/o/r/issues/62\n"), "{}", output.stdout);
    let expected = [
        "001-brief.md",
        "002-consultation.json",
        "002-draft-human.md",
        "002-draft.md",
        "003-gate.json",
        "004-consultation.json",
        "004-draft-human.md",
        "004-verdict-human.md",
        "004-verdict.md",
        "005-gate.json",
        "006-issue.md",
        "007-filed.json",
    ];
    assert_eq!(scene.names("done/62-notes"), expected);
    assert_eq!((scene.asked("drafter"), scene.asked("reviewer"), scene.calls("issue create")), (1, 1, 1));
    assert_eq!(scene.got("tracker/title-62"), "Saved searches\n");
    let records = scene.project.store().ledger();
    let kept = records.iter().filter(|line| line["body"]["kind"] == "governance").count();
    assert!(kept >= 5, "{records:#?}");
    scene.project.proctor(["verify"]).success();
}

#[test]
fn s020_a_brief_that_is_not_there_ends_it_and_makes_nothing() {
    let scene = Scene::new();
    let output = ended(scene.govern(&["--brief", "ideas/gone.md"]), 1);
    assert!(output.stdout.contains("ideas/gone.md"), "{}", output.stdout);
    assert!(!scene.trail("").exists());
}

#[test]
fn s025_a_name_that_is_taken_is_asked_about_and_nothing_is_overwritten() {
    let scene = Scene::new();
    fs::create_dir_all(scene.trail("active/notes")).expect("made");
    let mut terminal = scene.begin();
    let shown = terminal.wait_for(COLLISION, BOUND);
    assert!(shown.contains("Slug 'notes' already exists in active/"), "{shown}");
    terminal.press("what\n");
    let shown = say(&mut terminal, COLLISION, "A");
    assert!(shown.contains("`what` is no answer here"), "{shown}");
    ended(terminal, 0);
    assert_eq!(scene.names("active/notes"), Vec::<String>::new());
}

#[test]
fn s026_resume_goes_on_where_it_stood() {
    let scene = Scene::new();
    let mut terminal = scene.at_verdict();
    say(&mut terminal, APPROVE, "M");
    ended(terminal, 3);
    let mut terminal = scene.begin();
    say(&mut terminal, COLLISION, "R");
    say(&mut terminal, APPROVE, "A");
    ended(terminal, 0);
    assert_eq!((scene.asked("drafter"), scene.asked("reviewer")), (1, 1), "what was done is not done again");
}

#[test]
fn s026_resume_without_a_checkpoint_says_so() {
    let scene = Scene::new();
    fs::create_dir_all(scene.trail("active/notes")).expect("made");
    let mut terminal = scene.begin();
    say(&mut terminal, COLLISION, "R");
    let output = ended(terminal, 1);
    assert!(output.stdout.contains("there is no workflow `notes`"), "{}", output.stdout);
}

#[test]
fn s027_a_new_name_is_used_unless_it_is_taken_too() {
    let scene = Scene::new();
    for name in ["notes", "bar"] {
        fs::create_dir_all(scene.trail("active").join(name)).expect("made");
    }
    let mut terminal = scene.begin();
    say(&mut terminal, COLLISION, "N");
    say(&mut terminal, "Enter new slug: ", "bar");
    let shown = say(&mut terminal, "Enter new slug: ", "foo");
    assert!(shown.contains("Slug 'bar' already exists in active/"), "{shown}");
    terminal.wait_for(SEND, BOUND);
    assert!(scene.trail("active/foo/001-brief.md").exists());
    assert_eq!((scene.names("active/notes").len(), scene.names("active/bar").len()), (0, 0));
}

#[test]
fn s028_abort_changes_nothing() {
    let scene = Scene::new();
    fs::create_dir_all(scene.trail("active/notes")).expect("made");
    let mut terminal = scene.begin();
    say(&mut terminal, COLLISION, "A");
    ended(terminal, 0);
    assert_eq!((scene.names("active"), scene.asked("drafter")), (vec!["notes".to_owned()], 0));
}

#[test]
fn s030_without_an_editor_nothing_begins() {
    let scene = Scene::new();
    fs::remove_file(scene.project.shared("bin/test-editor")).expect("it is there");
    let output = ended(scene.begin(), 1);
    assert!(output.stdout.contains("`test-editor` was not found"), "{}", output.stdout);
    assert!(!scene.trail("").exists() && scene.asked("drafter") == 0);
    scene.project.save(
        "proctor.toml",
        &fs::read_to_string(scene.project.path().join("proctor.toml")).expect("read").replace("editor = [\"test-editor\"]\n", ""),
    );
    let output = ended(scene.begin(), 1);
    let words = "VS Code CLI not found. Install VS Code and ensure 'code' is in PATH.";
    assert!(output.stdout.contains(words), "{}", output.stdout);
}

#[test]
fn s040_without_a_tracker_that_knows_us_nothing_begins() {
    let scene = Scene::new();
    scene.put("tracker/logged-out", "");
    let output = ended(scene.begin(), 1);
    assert!(output.stdout.contains("gh auth login"), "{}", output.stdout);
    fs::remove_file(scene.project.shared("bin/gh")).expect("it is there");
    let output = ended(scene.begin(), 1);
    assert!(output.stdout.contains("`gh`"), "{}", output.stdout);
    assert!(!scene.trail("").exists() && scene.asked("drafter") == 0);
}

#[test]
fn where_nobody_can_be_asked_it_waits_with_3_and_a_pipe_answers_nothing() {
    let scene = Scene::new();
    let output = scene.project.govern(["--brief", "ideas/notes.md"]).status(3);
    assert!(output.stderr.contains("nobody is at a terminal") && output.stderr.contains("--resume notes"), "{}", output.stderr);
    assert_eq!((scene.asked("drafter"), scene.asked("reviewer")), (1, 0));
    let mut terminal = scene.resume();
    terminal.wait_for(SEND, BOUND);
    terminal.press("\u{4}");
    let output = ended(terminal, 3);
    assert!(output.stdout.contains("--resume notes"), "the end of the input answers nothing: {}", output.stdout);
}

#[test]
fn without_models_or_a_repository_it_says_what_is_missing() {
    let scene = Scene::new();
    let toml = fs::read_to_string(scene.project.path().join("proctor.toml")).expect("read");
    scene.project.save("proctor.toml", &toml.replace("command = [\"tools/model\", \"reviewer\"]\n", ""));
    let output = ended(scene.begin(), 4);
    assert!(output.stdout.contains("no reviewer is configured"), "{}", output.stdout);
    scene.project.save("proctor.toml", &toml);
    fs::remove_dir_all(scene.project.path().join(".git")).expect("it is there");
    let output = ended(scene.begin(), 1);
    assert!(output.stdout.contains("in no git repository"), "{}", output.stdout);
}
