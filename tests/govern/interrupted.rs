//! Tests that neither a signal nor a text that is typed before a question is asked counts as an answer.

use nix::sys::signal::Signal;
use nix::sys::termios::LocalFlags;
use serde_json::json;

use crate::common::{expect_all_to_be_gone, family_of};
use crate::govern::scene::{APPROVE, BOUND, COLLISION, DRAFT, RECOVER, SEND, Scene, ended, say};

const AGAIN: &str = "go on with `proctor-govern --resume notes`";

#[test]
fn a_signal_at_a_gate_is_no_answer_and_the_same_is_asked_again() {
    let scene = Scene::new();
    for (signal, status) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143), (Signal::SIGHUP, 143)] {
        let mut terminal = if scene.asked("drafter") == 0 { scene.begin() } else { scene.resume() };
        terminal.wait_for(SEND, BOUND);
        let family = family_of(terminal.id());
        terminal.signal(signal);
        let (output, modes) = terminal.ended_with_modes();
        assert_eq!(output.status, status, "{signal}: {}", output.stdout);
        assert!(output.stdout.contains("interrupted: `notes` waits") && output.stdout.contains(AGAIN), "{}", output.stdout);
        assert!(modes.local_flags.contains(LocalFlags::ICANON | LocalFlags::ECHO), "{signal}");
        expect_all_to_be_gone(&family);
    }
    assert_eq!((scene.asked("drafter"), scene.asked("reviewer")), (1, 0));
    let mut terminal = scene.resume();
    say(&mut terminal, SEND, "S");
    say(&mut terminal, APPROVE, "A");
    ended(terminal, 0);
}

#[test]
fn a_model_that_is_interrupted_leaves_nothing_behind_and_is_asked_again_on_resume() {
    let scene = Scene::new();
    scene.put("models/drafter/hook", "setsid sleep 600 &\n: > \"$here/begun\"\nsleep 600\n");
    let mut terminal = scene.begin();
    terminal.wait_for("drafts the issue", BOUND);
    crate::common::poll(BOUND, "the drafter to begin", || {
        if scene.project.shared("models/drafter/begun").exists() { Ok(()) } else { Err("it has not".to_owned()) }
    });
    let family = family_of(terminal.id());
    terminal.signal(Signal::SIGINT);
    let output = ended(terminal, 130);
    assert!(output.stdout.contains(AGAIN), "{}", output.stdout);
    expect_all_to_be_gone(&family);
    assert_eq!(scene.json("active/notes/002-consultation.json")["end"], "it was stopped");
    std::fs::remove_file(scene.project.shared("models/drafter/hook")).expect("it is there");
    let mut terminal = scene.resume();
    terminal.wait_for(SEND, BOUND);
    assert_eq!((scene.asked("drafter"), scene.read("active/notes/003-draft.md")), (2, DRAFT.to_owned()));
}

#[test]
fn an_editor_is_ended_with_a_termination_and_has_an_interruption_to_itself() {
    let scene = Scene::new();
    scene.put(
        "edit",
        "trap 'exit 0' INT; : > SHARED/open; while :; do sleep 0.01; done\n".replace("SHARED", &shared(&scene)).as_str(),
    );
    let begin = |signals: &[Signal]| {
        let mut terminal = if scene.asked("drafter") == 0 { scene.begin() } else { scene.resume() };
        crate::common::poll(BOUND, "the editor to be open", || {
            if scene.project.shared("open").exists() { Ok(()) } else { Err("it is not".to_owned()) }
        });
        std::fs::remove_file(scene.project.shared("open")).expect("it is there");
        let family = family_of(terminal.id());
        signals.iter().for_each(|signal| terminal.signal(*signal));
        (terminal, family)
    };
    let (terminal, family) = begin(&[Signal::SIGTERM]);
    let output = ended(terminal, 143);
    assert!(output.stdout.contains(AGAIN), "{}", output.stdout);
    expect_all_to_be_gone(&family);

    // As at a real terminal, the editor gets the signal too. It ends with exit code 0, and the workflow is not interrupted.
    let (mut terminal, family) = begin(&[Signal::SIGINT]);
    let editors =
        family.iter().filter(|process| std::fs::read(format!("/proc/{process}/cmdline")).is_ok_and(|words| contains(&words)));
    for editor in editors {
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(*editor), Signal::SIGINT).expect("it is there");
    }
    terminal.wait_for(SEND, BOUND);
}

fn contains(words: &[u8]) -> bool {
    String::from_utf8_lossy(words).contains("test-editor")
}

fn shared(scene: &Scene) -> String {
    scene.project.shared("").to_string_lossy().trim_end_matches('/').to_owned()
}

#[test]
fn what_is_typed_before_a_question_or_pasted_behind_an_answer_answers_nothing() {
    let scene = Scene::new();
    scene.put("models/drafter/hook", "while [ ! -e \"$here/go\" ]; do sleep 0.01; done\n");
    let mut terminal = scene.begin();
    terminal.wait_for("drafts the issue", BOUND);
    terminal.press("S\nA\n");
    scene.put("models/drafter/go", "");
    say(&mut terminal, SEND, "R");
    terminal.wait_for("Enter feedback for Claude: ", BOUND);
    terminal.press("name the limits\nS\nand the users\n");
    let shown = terminal.wait_for(SEND, BOUND);
    assert!(shown.contains("Iteration 2 | Draft #2"), "{shown}");
    assert_eq!(scene.asked("reviewer"), 0, "no draft goes on without an answer to its question");
    assert_eq!(scene.read("active/notes/004-feedback.txt"), "name the limits\nS\nand the users\n");
    terminal.press("S\nS\n");
    let shown = terminal.wait_for(SEND, BOUND);
    assert!(shown.contains("is no answer here"), "{shown}");
}

#[test]
fn bytes_that_are_no_text_are_no_answer_and_the_question_is_asked_again() {
    let scene = Scene::new();
    let mut terminal = scene.begin();
    terminal.wait_for(SEND, BOUND);
    terminal.press_bytes(b"\xff\xfe\n");
    let shown = say(&mut terminal, SEND, "M");
    assert!(shown.contains("is no answer here"), "{shown}");
    ended(terminal, 3);
}

#[test]
fn the_list_says_what_waits_for_whom_and_how_to_go_on() {
    let scene = Scene::new();
    let listed = || scene.project.govern(["--list", "--json"]).success().json();
    assert_eq!(listed(), json!({ "schema": "proctor-workflows-v1", "workflows": [] }));
    let output = scene.project.govern(["--list"]).success();
    assert!(output.stderr.contains("no workflow waits"), "{}", output.stderr);

    scene.put("tracker/fail", "");
    let mut terminal = scene.at_verdict();
    terminal.wait_for(APPROVE, BOUND);
    let waiting = listed()["workflows"][0].clone();
    assert_eq!((&waiting["slug"], &waiting["node"], &waiting["gate"]), (&json!("notes"), &json!("N5"), &json!("VERDICT")));
    assert_eq!((&waiting["verdict"], &waiting["drafts"], &waiting["issue"]), (&json!("APPROVE"), &json!(1), &json!(null)));
    assert_eq!(waiting["next"], json!(["proctor-govern", "--resume", "notes"]));
    assert!(waiting["since"].as_str().is_some_and(|since| since.ends_with('Z')), "{waiting}");
    terminal.press("A\n");
    terminal.wait_for(RECOVER, BOUND);
    terminal.press("\u{4}");
    ended(terminal, 3);

    let before = listed();
    assert_eq!((&before["workflows"][0]["node"], &before["workflows"][0]["gate"]), (&json!("N6"), &json!("FAILURE")));
    let output = scene.project.govern(["--list"]).success();
    let expected =
        "  waits for your answer: retry, edit, abort (the verdict is APPROVE); go on with `proctor-govern --resume notes`\n";
    assert!(output.stdout.starts_with("notes · N6 · since ") && output.stdout.ends_with(expected), "{}", output.stdout);
    assert_eq!(listed(), before, "looking changes nothing");
    let mut terminal = scene.resume();
    say(&mut terminal, RECOVER, "R");
    ended(terminal, 0);
    assert_eq!(listed()["workflows"], json!([]));
    let over = scene.project.govern(["--resume", "notes"]).status(1);
    assert!(over.stderr.contains("it is over") && over.stderr.contains("docs/audit/done/62-notes"), "{}", over.stderr);
    scene.project.govern(["--list", "--resume", "notes"]).status(2);
    scene.project.govern(["--brief", "ideas/notes.md", "--json"]).status(2);
}

#[test]
fn the_repository_that_was_named_at_the_beginning_is_where_it_is_filed_after_a_resume() {
    let scene = Scene::new();
    let mut terminal = scene.govern(&["--brief", "ideas/notes.md", "--repo", "owner/name"]);
    say(&mut terminal, SEND, "M");
    ended(terminal, 3);
    let mut terminal = scene.resume();
    say(&mut terminal, SEND, "S");
    say(&mut terminal, APPROVE, "M");
    ended(terminal, 3);
    let mut terminal = scene.govern(&["--resume", "notes", "--repo", "owner/other"]);
    say(&mut terminal, APPROVE, "M");
    ended(terminal, 3);
    let mut terminal = scene.resume();
    say(&mut terminal, APPROVE, "A");
    ended(terminal, 0);
    let calls = scene.got("tracker/calls");
    let created = calls.lines().find(|line| line.starts_with("issue create")).expect("a call");
    assert!(created.contains("--repo owner/other"), "the last that was named: {created}");
}

#[test]
fn where_nothing_was_made_nobody_is_told_to_go_on_with_it() {
    let scene = Scene::new();
    std::fs::create_dir_all(scene.trail("active/notes")).expect("made");
    let mut terminal = scene.begin();
    terminal.wait_for(COLLISION, BOUND);
    terminal.press("\u{4}");
    let output = ended(terminal, 3);
    assert!(output.stdout.contains("begin again with") && !output.stdout.contains("--resume"), "{}", output.stdout);
}
