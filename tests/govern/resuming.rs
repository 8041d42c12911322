//! Tests scenarios 150 and 160: processes that are killed, and two workflows at the same time.

use nix::sys::signal::Signal;

use crate::common::{Output, Terminal};
use crate::govern::scene::{APPROVE, BOUND, COLLISION, RECOVER, SEND, Scene, ended, say};

#[test]
fn s150_a_process_that_is_killed_at_a_gate_is_asked_the_same_again() {
    let scene = Scene::new();
    scene.put("tracker/fail", "");
    let mut terminal = scene.begin();
    terminal.wait_for(SEND, BOUND);
    let before = scene.names("active/notes");
    terminal.signal(Signal::SIGKILL);
    ended(terminal, 128 + 9);
    assert_eq!(scene.names("active/notes"), before);

    let mut terminal = scene.resume();
    let shown = say(&mut terminal, SEND, "S");
    assert!(shown.contains("Iteration 1 | Draft #1"), "{shown}");
    terminal.wait_for(APPROVE, BOUND);
    terminal.signal(Signal::SIGKILL);
    ended(terminal, 128 + 9);

    let mut terminal = scene.resume();
    let shown = say(&mut terminal, APPROVE, "A");
    assert!(shown.contains("Iteration 1 | Draft #1 | Verdict #1"), "{shown}");
    terminal.wait_for(RECOVER, BOUND);
    terminal.signal(Signal::SIGKILL);
    ended(terminal, 128 + 9);

    let mut terminal = scene.resume();
    say(&mut terminal, RECOVER, "R");
    ended(terminal, 0);
    assert_eq!((scene.asked("drafter"), scene.asked("reviewer"), scene.calls("issue create")), (1, 1, 2));
    assert_eq!(scene.names("done/62-notes").last().map(String::as_str), Some("008-filed.json"));
}

/// A process dies at one of its first points (moments at which a crash must not change how the workflow ends): at the
/// first, or at the latest at the point with this number. Processes that always died at their first point would make no
/// progress, so the number changes from process to process.
const LONGEST_LIFE: u32 = 9;

/// Runs one process after another until the workflow is over, and answers every question. Each process dies at another
/// point than the one before. Returns how many processes died.
fn carry_on_dying(scene: &Scene, first: u32) -> u32 {
    let mut deaths = 0;
    let mut arguments = vec!["--brief", "ideas/notes.md"];
    loop {
        let point = 1 + (first + deaths) % LONGEST_LIFE;
        let invocation = scene.project.govern(&arguments);
        let terminal = invocation.env("PROCTOR_TEST_DIE_AT_POINT", point.to_string()).at_terminal();
        let output = answer_until_the_end(terminal);
        match output.status {
            0 => return deaths,
            137 => deaths += 1,
            other => panic!("point {point}, {deaths} deaths, status {other}:\n{}", output.stdout),
        }
        assert!(deaths < 100, "it does not come any further:\n{}", output.stdout);
        if scene.trail("active/notes").exists() || scene.trail("done/62-notes").exists() {
            arguments = vec!["--resume", "notes"];
        }
    }
}

/// Answers every question until the process has ended. If an earlier process died after its first checkpoint, the slug is taken, and the
/// answer `R` resumes that workflow.
fn answer_until_the_end(mut terminal: Terminal<'_>) -> Output {
    while let Some(which) = terminal.draws_one_of(&[COLLISION, SEND, APPROVE]) {
        terminal.press(["R\n", "S\n", "A\n"][which]);
    }
    terminal.ended()
}

#[test]
#[ignore = "long tier"]
fn s150_whenever_a_process_dies_the_workflow_ends_as_if_none_had() {
    let undisturbed = Scene::new();
    undisturbed.filed();
    let names = undisturbed.names("done/62-notes");
    for first in 0..4 {
        let scene = Scene::new();
        let deaths = carry_on_dying(&scene, first);
        assert!(deaths > 5, "{first}: {deaths} deaths");
        assert_eq!(scene.names("active"), Vec::<String>::new());
        assert_eq!(scene.git(&["rev-list", "--count", "HEAD"]).trim(), "2", "{first}: one commit");
        let issues = std::fs::read_dir(scene.project.shared("tracker/issues")).expect("there").count();
        assert_eq!(issues, 1, "{first}");
        assert_eq!(scene.names("done/62-notes"), names, "{first}");
    }
}

#[test]
fn s160_two_briefs_go_on_beside_each_other_and_one_name_has_one_process() {
    let scene = Scene::new();
    scene.project.save("ideas/other.md", "We want shared searches.\n");
    let mut first = scene.begin();
    first.wait_for(SEND, BOUND);
    let mut second = scene.govern(&["--brief", "ideas/other.md"]);
    second.wait_for(SEND, BOUND);
    let refused = ended(scene.resume(), 1);
    assert!(refused.stdout.contains("another process is working on the workflow"), "{}", refused.stdout);
    for terminal in [&mut first, &mut second] {
        terminal.press("S\n");
        say(terminal, APPROVE, "A");
    }
    ended(first, 0);
    ended(second, 0);
    assert_eq!(scene.names("done"), ["62-notes", "63-other"]);
    assert_eq!(scene.names("active"), Vec::<String>::new());
}
