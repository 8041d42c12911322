//! Tests a watch at a terminal: the live line, the keys, and the terminal modes after the end of the watch.

use crate::watch_cli::{LATE, hold, project, release, steps, wait_for_steps};

const KEYS: &str = "watching (r again, f failed, o page, d since green, l log, ? keys, q quit)";

#[test]
fn keys_run_again_and_what_failed_and_everything_clear_and_quit() {
    let second = "[[check]]\nname = \"second\"\ncommand = [\"/bin/sh\", \"second.sh\"]\n";
    let project = project(second).file("second.sh", "echo second >> \"../shared/steps\"\n").env("TERM", "xterm");
    let mut terminal = project.proctor(["watch"]).at_terminal();
    let cooked = terminal.modes();
    terminal.wait_for(KEYS, LATE);
    assert!(!terminal.is_cooked(), "keys are to come at once and without echo");
    assert_eq!(steps(&project), ["check", "second"]);

    terminal.press("f");
    terminal.wait_for("nothing failed last time: press Enter to run everything", LATE);
    terminal.press("r");
    terminal.wait_for(KEYS, LATE);
    assert_eq!(steps(&project)[2..], ["check", "second"]);

    project.save("state.txt", "wrong\n");
    terminal.wait_for("FAILED", LATE);
    terminal.wait_for(KEYS, LATE);
    terminal.press("f");
    terminal.wait_for("1 of 2 checks", LATE);
    terminal.wait_for(KEYS, LATE);
    assert_eq!(steps(&project)[6..], ["check"]);
    terminal.press("a");
    terminal.wait_for(KEYS, LATE);
    assert_eq!(steps(&project)[7..], ["check", "second"]);

    terminal.press("d");
    terminal.wait_for("state.txt", LATE);
    terminal.press("l");
    terminal.wait_for("log of check, run ", LATE);
    terminal.press("x");
    terminal.press("?");
    terminal.wait_for("?, h   show these keys", LATE);
    terminal.press("c");
    terminal.wait_for("\x1b[2J\x1b[H", LATE);
    let again = terminal.wait_for(KEYS, LATE);
    assert!(again.contains("FAILED") && again.contains(" failed ·"), "the verdict is shown again: {again:?}");
    terminal.press("q");
    let (ended, modes) = terminal.ended_with_modes();
    assert_eq!(ended.status, 0, "{}", ended.stdout);
    assert_eq!(modes.local_flags, cooked.local_flags, "the terminal is as it was");
}

#[test]
fn the_action_under_way_has_a_line_that_its_result_replaces() {
    let project = project("").env("TERM", "xterm");
    hold(&project);
    let mut terminal = project.proctor(["watch"]).at_terminal();
    wait_for_steps(&project, 1);
    let drawn = terminal.wait_for("  … check", LATE);
    assert!(!drawn.contains('✓'), "{drawn:?}");
    release(&project);
    let drawn = terminal.wait_for("done  ", LATE);
    assert!(drawn.contains("\r\x1b[2K\r") && drawn.contains('✓'), "the live line is wiped before its result: {drawn:?}");
    terminal.wait_for(KEYS, LATE);
    terminal.press("q");
    assert_eq!(terminal.ended().status, 0);
}

#[test]
fn keys_during_a_run_show_it_again_and_ask_for_the_next() {
    let project = project("").env("TERM", "xterm");
    hold(&project);
    let mut terminal = project.proctor(["watch"]).at_terminal();
    wait_for_steps(&project, 1);
    terminal.wait_for("  … check", LATE);
    terminal.press("\r");
    let drawn = terminal.wait_for("asked: when this run is over, everything runs again", LATE);
    assert!(drawn.contains("\x1b[2K\r"), "the live line is wiped first: {drawn:?}");
    terminal.wait_for("  … check", LATE);
    terminal.press("c");
    terminal.wait_for("\x1b[2J\x1b[H", LATE);
    let again = terminal.wait_for("  … check", LATE);
    assert!(again.contains("proctor "), "the header is shown again: {again:?}");
    release(&project);
    terminal.wait_for("PASSED", LATE);
    terminal.wait_for("PASSED", LATE);
    terminal.wait_for(KEYS, LATE);
    assert_eq!(steps(&project), ["check", "check"]);
    terminal.press("q");
    assert_eq!(terminal.ended().status, 0);
}

#[test]
fn quitting_during_a_run_stops_it() {
    let project = project("").env("TERM", "xterm");
    hold(&project);
    let mut terminal = project.proctor(["watch"]).at_terminal();
    wait_for_steps(&project, 1);
    terminal.press("q");
    let ended = terminal.ended();
    assert_eq!(ended.status, 0);
    assert!(ended.stdout.contains("INTERRUPTED"), "{}", ended.stdout);
}

#[test]
fn a_terminal_that_obeys_no_control_sequences_gets_none() {
    let project = project("").env("TERM", "dumb");
    let ended = project.proctor(["run"]).at_terminal().ended();
    assert_eq!(ended.status, 0, "{}", ended.stdout);
    assert!(ended.stdout.contains("PASSED") && !ended.stdout.contains('\x1b'), "{:?}", ended.stdout);
}
