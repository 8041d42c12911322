//! What a person is told while a check runs: on a terminal, and in a file or a pipe.

use std::fs;
use std::time::Duration;

use crate::common::Project;

const BOUND: Duration = Duration::from_secs(60);

/// A project whose check prints like pytest, then waits until the file `go` is made in the shared directory.
fn waiting() -> Project {
    let script = "echo 'collected 9 items'; echo 'tests/test_a.py ... [ 33%]'; until test -e ../shared/go; do sleep 0.02; done";
    let toml = format!(
        "[sandbox]\nwritable = [\"../shared\"]\n[[check]]\nname = \"tests\"\ncommand = [\"fake-tool\", \"--script\", \"{script}\"]\n"
    );
    Project::new().toml(&toml)
}

#[test]
fn a_terminal_shows_the_time_the_tests_so_far_and_the_last_line() {
    let project = waiting();
    let mut terminal = project.proctor(["run"]).at_terminal();
    terminal.wait_for("1 s · 33 % of 9 tests · tests/test_a.py ... [ 33%]", BOUND);
    terminal.wait_for("2 s · 33 % of 9 tests", BOUND);
    fs::write(project.shared("go"), "").expect("the directory is ours");
    terminal.wait_for("PASSED", BOUND);
}

#[test]
fn a_pipe_gets_a_line_for_a_check_that_is_not_over_after_a_second() {
    let project = waiting();
    let mut watch = project.watch(["."]);
    let line =
        watch.wait_for_line("a line about the running check", BOUND, |line| line.starts_with("  … tests") && line.contains(" s"));
    assert_eq!(line.replace("2 s", "1 s"), "  … tests  1 s · 33 % of 9 tests · tests/test_a.py ... [ 33%]");
    fs::write(project.shared("go"), "").expect("the directory is ours");
    watch.wait_for_verdict();
    // From now on the check takes no time, so the usual duration and a line about it would only be in the way.
    let quick = project.proctor(["run"]).success();
    assert!(!quick.stdout.contains("  … STEP"), "{}", quick.snapshot());
    watch.interrupt();
}

#[test]
fn the_usual_duration_is_that_of_the_last_run() {
    let project = waiting();
    let mut first = project.proctor(["run"]).at_terminal();
    first.wait_for("3 s · ", BOUND);
    fs::write(project.shared("go"), "").expect("the directory is ours");
    first.wait_for("PASSED", BOUND);
    fs::remove_file(project.shared("go")).expect("it was made");
    let mut second = project.proctor(["run"]).at_terminal();
    second.wait_for("1 s of about ", BOUND);
    fs::write(project.shared("go"), "").expect("the directory is ours");
    second.wait_for("PASSED", BOUND);
}
