//! What a person is told while a check runs: on a terminal, and in a file or a pipe.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::common::{Output, Project, fake_tool, proctor};

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

/// Runs proctor with these words on a terminal of 80 columns, and returns what it shows there.
fn at_80_columns(project: &Project, words: &[&str]) -> Output {
    let program = proctor().to_str().expect("the build directory is UTF-8");
    let words = ["-c", "stty cols 80; exec \"$0\" \"$@\"", program].into_iter().chain(words.iter().copied());
    project.command(Path::new("sh"), words).at_terminal().ended()
}

#[test]
fn nothing_is_broken_inside_a_word_at_80_columns() {
    let script =
        "echo 'it says \\\"a few words\\\" more than a terminal of eighty columns has room for in one line of it'; exit 1";
    let toml = format!("[[check]]\nname = \"unit\"\ncommand = [\"fake-tool\", \"--script\", \"{script}\"]\n");
    let project = Project::new().with_program(fake_tool()).toml(&toml);
    let run = at_80_columns(&project, &["run"]).stdout.replace('\r', "");
    let parted =
        "       │ it says \"a few words\" more than a terminal of eighty columns has room\n       │   for in one line of it\n";
    assert!(run.contains(parted), "{run}");
    for words in [&["show"][..], &["--help"], &["run", "--help"], &["service", "--help"], &["show", "99"], &["prune", "--keep"]] {
        let shown = at_80_columns(&project, words);
        let lines = shown.stdout.lines().map(|line| line.trim_end());
        let wide: Vec<&str> = lines.filter(|line| line.chars().count() > 80 && !line.contains("/runs/")).collect();
        assert_eq!(wide, [""; 0], "{words:?}");
        assert!(!shown.stdout.contains("as a value"), "{}", shown.stdout);
    }
}

#[test]
fn the_path_of_a_report_is_openable_from_where_a_person_stands() {
    let project = Project::new().with_program(fake_tool()).toml("[[check]]\nname = \"a\"\ncommand = [\"fake-tool\"]\n");
    let path_of = |shown: String| shown.trim_end().rsplit(' ').next().unwrap_or_default().to_owned();
    let beside = path_of(project.proctor(["run", "../project"]).directory("../shared").success().stdout);
    assert!(project.shared("").join(&beside).is_file(), "{beside}");
    assert_eq!(path_of(project.proctor(["run"]).success().stdout), "evidence/default/execution-report.json");
    let first = path_of(project.proctor(["show", "1"]).success().stdout);
    assert!(first.starts_with("evidence/default/runs/") && project.path().join(&first).is_file(), "{first}");
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

/// A rule between two parts of the output would only fill the line.
#[test]
fn a_line_about_a_running_check_ends_with_the_last_line_that_says_something() {
    let rule = "=".repeat(200);
    let script = format!("echo collecting; echo {rule}; until test -e ../shared/go; do sleep 0.02; done");
    let check = format!("[[check]]\nname = \"tests\"\ncommand = [\"fake-tool\", \"--script\", \"{script}\"]\n");
    let project = Project::new().toml(&format!("[sandbox]\nwritable = [\"../shared\"]\n{check}"));
    let mut watch = project.watch(["."]);
    let line =
        watch.wait_for_line("a line about the running check", BOUND, |line| line.starts_with("  … tests") && line.contains(" s"));
    assert_eq!(line.replace("2 s", "1 s"), "  … tests  1 s · collecting");
    fs::write(project.shared("go"), "").expect("the directory is ours");
    watch.wait_for_verdict();
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
