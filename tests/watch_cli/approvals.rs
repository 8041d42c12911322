//! Tests that a watch asks the person at its terminal for an approval, and that it notices an approval that is given in another
//! process, without a save.

use std::fs;

use crate::common::{APPROVAL_QUESTION, Project, Terminal, poll};
use crate::watch_cli::{LATE, expect_no_further_run, project, report_of, steps, wait_until_it_watches};

const KEYS: &str = "r again, f";

/// A setting of the check that a person has to approve.
const WEAKER: &str = "snapshot = \"off\"\n";

#[test]
fn an_approval_in_another_process_starts_the_refused_run_at_once_and_once() {
    let project = project("");
    let mut watch = project.watch(["."]);
    watch.wait_for_verdict();
    wait_until_it_watches(&mut watch);
    let settings = fs::read_to_string(project.path().join("proctor.toml")).expect("it was written");
    project.save("proctor.toml", &(settings + WEAKER));
    watch.wait_for_line("the refusal", LATE, |line| line.contains("check: snapshot: "));
    wait_until_it_watches(&mut watch);
    let runs = project.store().committed_runs().len();
    // A run in another process is refused too. It opens the ledger, and approves nothing.
    project.proctor(["run"]).status(3);
    expect_no_further_run(&project);

    project.approve();
    let verdict = watch.wait_for_verdict();
    assert_eq!(verdict["overallResult"], "PASSED");
    assert_eq!(report_of(&project, &verdict)["trigger"]["kind"], "request", "no file was saved");
    expect_no_further_run(&project);
    assert_eq!(project.store().committed_runs().len(), runs + 1);
    watch.interrupt();
}

/// Makes the check weaker, and waits until the watch asks about it. Returns what was drawn.
#[track_caller]
fn weaken(project: &Project, terminal: &mut Terminal<'_>) -> String {
    let settings = fs::read_to_string(project.path().join("proctor.toml")).expect("it was written");
    project.save("proctor.toml", &(settings + WEAKER));
    terminal.wait_for(APPROVAL_QUESTION, LATE)
}

#[test]
fn a_watch_at_a_terminal_asks_in_place_and_runs_after_the_name_was_typed() {
    let project = project("").env("TERM", "xterm");
    let mut terminal = project.proctor(["watch"]).at_terminal();
    terminal.wait_for(KEYS, LATE);
    let asked = weaken(&project, &mut terminal);
    assert_eq!(asked.matches("opens: check: snapshot: ").count(), 1, "{asked}");
    assert!(asked.contains("type `check` to approve this"), "{asked}");
    assert!(terminal.is_cooked(), "a person sees what they type");
    terminal.press("check\n");
    terminal.wait_for("approved as it is now", LATE);
    terminal.wait_for("PASSED", LATE);
    terminal.wait_for(KEYS, LATE);
    assert!(!terminal.is_cooked(), "keys come at once again");
    assert_eq!(steps(&project), ["check", "check"]);
    let person = |line: &serde_json::Value| line["body"]["reason"] == "person";
    assert_eq!(project.store().ledger().iter().filter(|line| person(line)).count(), 1);
    terminal.press("q");
    assert_eq!(terminal.ended().status, 0);
}

#[test]
fn a_watch_at_a_terminal_offers_the_approval_of_changed_rules_after_the_result_once_for_each_difference() {
    let project = project("").env("TERM", "xterm");
    let mut terminal = project.proctor(["watch"]).at_terminal();
    terminal.wait_for(KEYS, LATE);
    let settings = fs::read_to_string(project.path().join("proctor.toml")).expect("it was written");
    project.save("proctor.toml", &(settings + "timeout = \"7m\"\n"));
    let shown = terminal.wait_for(APPROVAL_QUESTION, LATE);
    assert!(shown.contains("judged by changed rules: check: timeout") && shown.contains("PASSED"), "{shown}");
    terminal.press("no\n");
    terminal.wait_for("nothing was approved", LATE);
    project.save("other.txt", "anything\n");
    let shown = terminal.wait_for(KEYS, LATE);
    assert!(!shown.contains(APPROVAL_QUESTION), "{shown}");
    terminal.press("\r");
    terminal.wait_for(APPROVAL_QUESTION, LATE);
    terminal.press("check\n");
    terminal.wait_for("approved as it is now", LATE);
    let person = |line: &serde_json::Value| line["body"]["reason"] == "person";
    poll(LATE, "the approval", || project.store().ledger().iter().any(person).then_some(()));
    terminal.press("q");
    assert_eq!(terminal.ended().status, 0);
}

#[test]
fn a_watch_approves_nothing_by_any_other_answer_and_asks_once_about_the_same_difference() {
    let project = project("").env("TERM", "xterm");
    let mut terminal = project.proctor(["watch"]).at_terminal();
    terminal.wait_for(KEYS, LATE);
    weaken(&project, &mut terminal);
    terminal.press("yes\n");
    terminal.wait_for("nothing was approved", LATE);
    // A save that leaves the difference as it is asks nothing again.
    project.save("other.txt", "anything\n");
    let shown = terminal.wait_for("have a person approve it at a terminal", LATE);
    assert!(!shown.contains(APPROVAL_QUESTION), "{shown}");
    terminal.wait_for(KEYS, LATE);
    // Enter asks again. Several lines that arrive together are no answer, and neither is an empty one.
    for answer in ["check\ncheck\n", "\n", "Check\n", " check\n"] {
        terminal.press("\r");
        terminal.wait_for(APPROVAL_QUESTION, LATE);
        terminal.press(answer);
        terminal.wait_for("nothing was approved", LATE);
    }
    assert_eq!(steps(&project), ["check"], "nothing was run");
    terminal.press("q");
    assert_eq!(terminal.ended().status, 0);
}

#[test]
fn a_save_withdraws_the_question_and_so_does_an_approval_elsewhere() {
    let project = project("").env("TERM", "xterm");
    let mut terminal = project.proctor(["watch"]).at_terminal();
    terminal.wait_for(KEYS, LATE);
    let before = fs::read_to_string(project.path().join("proctor.toml")).expect("it was written");
    weaken(&project, &mut terminal);
    // What was typed when the question is withdrawn answers nothing.
    terminal.press("chec");
    project.save("proctor.toml", &before);
    terminal.wait_for("the question is withdrawn", LATE);
    terminal.wait_for(KEYS, LATE);
    weaken(&project, &mut terminal);
    project.approve();
    terminal.wait_for("the question is withdrawn", LATE);
    terminal.wait_for("PASSED", LATE);
    terminal.wait_for(KEYS, LATE);
    // The end of the watch leaves the terminal as it was, also while a question is open.
    project.save("proctor.toml", &(before + "writes = [\"made/**\"]\n"));
    terminal.wait_for(APPROVAL_QUESTION, LATE);
    terminal.signal(nix::sys::signal::Signal::SIGINT);
    let (ended, modes) = terminal.ended_with_modes();
    assert_eq!(ended.status, 130, "{}", ended.stdout);
    assert!(modes.local_flags.contains(nix::sys::termios::LocalFlags::ICANON | nix::sys::termios::LocalFlags::ECHO));
}
