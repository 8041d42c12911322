//! The helpers of the tests fail when they must: at an unexpected exit code, after a wait without success, and when a
//! process is left behind.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Duration;

use crate::common::{Invocation, Output, Project, Redactions, Watch, fake_tool, poll, processes_of, proctor, redact};

const SOON: Duration = Duration::from_millis(200);
const LATE: Duration = Duration::from_secs(30);

#[test]
fn a_command_sees_only_the_environment_of_its_project() {
    let project = Project::new().env("EXTRA", "1");
    let output = shell(&project, "env; pwd").env("MORE", "2").success();
    let mut names: Vec<&str> = output.stdout.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    names.sort_unstable();
    names.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(name));
    let expected = [
        "EXTRA",
        "HOME",
        "LANG",
        "MORE",
        "PATH",
        "PROCTOR_TEST_ROOT",
        "TMPDIR",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_RUNTIME_DIR",
        "XDG_STATE_HOME",
    ];
    assert_eq!(names, expected);
    assert!(output.snapshot().ends_with("<project>\n"), "{}", output.snapshot());
}

#[test]
fn files_and_programs_are_there_when_the_command_starts() {
    let project = Project::new()
        .file("deep/data.txt", "data\n")
        .toml("# settings\n")
        .executable("bin/tool", "#!/bin/sh\ncat data.txt ../proctor.toml\n");
    let tool = project.path().join("bin/tool");
    let project = project.with_program(&tool);
    let output = shell(&project, "tool; echo done >&2").directory("deep").success();
    insta::assert_snapshot!(output.snapshot(), @"
    exit status: 0
    --- stdout
    data
    # settings
    --- stderr
    done
    ");
}

#[test]
fn a_command_that_ends_otherwise_fails_the_test_with_what_it_said() {
    let project = Project::new();
    let message = panic_of(|| drop(shell(&project, "echo why; exit 3").success()));
    assert!(message.contains("exit status: 3") && message.contains("why"), "{message}");
    let message = panic_of(|| drop(shell(&project, "exit 0").failure()));
    assert!(message.contains("exit status: 0"), "{message}");
    let killed: Output = shell(&project, "kill -9 $$").status(137);
    assert_eq!((killed.stdout.as_str(), killed.stderr.as_str(), killed.status), ("", "", 137));
}

#[test]
fn a_command_that_does_not_end_is_killed_and_fails_the_test() {
    let project = Project::new();
    let message = panic_of(|| drop(shell(&project, "echo so far; exec sleep 600").bound(SOON).success()));
    assert!(message.contains("did not end within 200ms") && message.contains("so far"), "{message}");
}

#[test]
fn a_process_left_behind_fails_the_test_and_is_killed() {
    let project = Project::new();
    let root = project.root().to_owned();
    let script = "setsid sleep 600 </dev/null >/dev/null 2>&1 &\nenv -i HOME=$HOME setsid sleep 600 </dev/null >/dev/null 2>&1 &";
    shell(&project, script).directory("/").success();
    // The two processes belong to the project from their start, but are still the shell and `env` until they execute
    // `sleep`.
    poll(LATE, "both to sleep", || {
        let left = processes_of(&root);
        let sleep = left.iter().filter(|(_, command)| command.ends_with("sleep 600")).count();
        if (left.len(), sleep) == (2, 2) { Ok(()) } else { Err(format!("{left:?}")) }
    });
    let message = panic_of(|| drop(project));
    assert!(message.contains("processes were left behind") && message.contains("sleep 600"), "{message}");
    assert_eq!(processes_of(&root), []);
    assert!(!root.exists(), "the directory goes even when the test fails");
}

#[test]
fn a_read_only_directory_is_no_leftover() {
    let project = Project::new().file("kept/file", "");
    shell(&project, "chmod 444 kept/file; chmod 555 kept").success();
    let root = project.root().to_owned();
    drop(project);
    assert!(!root.exists());
}

#[test]
fn a_wait_says_what_it_last_saw() {
    let message = panic_of(|| poll(SOON, "rain", || Err::<(), _>("sunshine")));
    assert_eq!(message, "waited 200ms for rain; last seen: sunshine");
    let message = panic_of(|| poll(SOON, "rain", || None::<()>));
    assert_eq!(message, "waited 200ms for rain; last seen: nothing");
}

#[test]
fn reports_and_ledger_are_read_by_the_promised_layout() {
    let project = Project::new();
    committed(&project, 1);
    let output = shell(&project, "echo quotes-0123abcd").success();
    assert_eq!(output.report()["number"], 1);
    assert!(output.run_directory().ends_with("runs/1"), "{}", output.run_directory().display());
    assert_eq!(output.ledger().len(), 2);
    assert_eq!(output.snapshot(), "exit status: 0\n--- stdout\n<project-id>\n");
    let json = shell(&project, "echo '{\"one\": 1}'").success();
    assert_eq!(json.json()["one"], 1);
    let message = panic_of(|| drop(shell(&project, "echo '{} {}'").success().json()));
    assert!(message.contains("stdout is not one JSON document"), "{message}");
}

#[test]
fn a_watch_hands_out_lines_verdicts_and_its_end() {
    let project = Project::new();
    committed(&project, 1);
    let ready = "trap 'echo bye; exit 130' INT; echo ready >&2; while :; do sleep 0.01; done";
    // Tests that were started with `nohup` or `&` ignore SIGINT, and their children would inherit that.
    let heeding = ["--default-signal=INT", "sh", "-c", ready];
    let mut watch = project.command(Path::new("env"), heeding).watch();
    assert_eq!(watch.wait_for_line("the start", LATE, |line| line.starts_with("rea")), "ready");
    committed(&project, 2);
    assert_eq!(watch.wait_for_verdict()["runId"], "2", "the one from before does not count");
    let output = watch.interrupt();
    assert_eq!((output.status, output.stdout.as_str(), output.stderr.as_str()), (130, "bye\n", "ready\n"));
}

#[test]
fn a_watch_that_says_nothing_or_ends_fails_the_test_with_what_it_said() {
    let project = Project::new();
    let message = panic_of(|| {
        let mut watch = shell(&project, "echo something else; exec sleep 600").watch();
        watch.wait_for_line("the start", SOON, |line| line == "ready")
    });
    assert!(message.contains("waited 200ms for the start") && message.contains("something else"), "{message}");
    let message =
        panic_of(|| shell(&project, "echo last words").watch().wait_for_line("the start", LATE, |line| line == "ready"));
    assert!(message.contains("the command ended") && message.contains("last words"), "{message}");
    let message = panic_of(|| shell(&project, "echo last words; exit 4").watch().wait_for_verdict());
    assert!(message.contains("the command ended with Some(4)"), "{message}");
}

#[test]
fn a_watch_that_ends_by_itself_is_waited_for() {
    let project = Project::new();
    let output = project.watch(["--help"]).ended();
    assert_eq!((output.status, output.stderr.as_str()), (0, ""));
}

#[test]
fn a_dropped_watch_is_killed() {
    let project = Project::new();
    let mut watch: Watch<'_> = shell(&project, "trap '' INT TERM; echo ready; exec sleep 600").watch();
    watch.wait_for_line("the start", LATE, |line| line == "ready");
    drop(watch);
    assert_eq!(processes_of(project.root()), []);
}

#[test]
fn what_differs_from_run_to_run_is_redacted() {
    let mut redactions = Redactions::new();
    redactions.add("/somewhere/project", "<project>");
    redactions.add("/somewhere", "<root>");
    for (text, expected) in [
        ("exec-20260304T093000.120Z-000042, then", "<run>, then"),
        ("at 2026-03-04T09:30:00.120Z and 09:30:01", "at <date> and <date>"),
        ("2026-03-04 09:30:00 x", "<date> x"),
        ("tree 0123456789ab, 0123456789abg", "tree <digest>, 0123456789abg"),
        (&"e3b0".repeat(16), "<digest>"),
        ("tree 0123abcd…, 0123abcd, 0123abcde…", "tree <digest>, 0123abcd, 0123abcde…"),
        ("passed in 0.02s (12 ms)", "passed in <time> (<time>)"),
        ("took 2 min 3 s, at most 1m 02s.", "took <time>, at most <time>."),
        ("pytest   12 ms  ok\neslint  1.2 s   ok", "pytest <time> ok\neslint <time> ok"),
        ("2 seconds of 3 steps, 4 s4s", "<time> of 3 steps, 4 s4s"),
        ("pid 4242, \"pid\": 7", "pid <pid>, \"pid <pid>"),
        ("/somewhere/project/a.py in /somewhere", "<project>/a.py in <root>"),
        ("exit 1, 3 passed, v1.5.0, a12s", "exit 1, 3 passed, v1.5.0, a12s"),
        ("größe 5 µs · ✓", "größe <time> · ✓"),
    ] {
        assert_eq!(redact(text, &redactions), expected, "{text}");
        assert_eq!(redact(expected, &redactions), expected, "redacting twice changes nothing");
    }
}

#[test]
fn a_bundled_project_is_copied() {
    let project = Project::bundled("quotes");
    assert!(project.path().join("pyproject.toml").is_file());
    project.save("pyproject.toml", "");
    let original = crate::common::repository().join("fixtures/projects/quotes/pyproject.toml");
    assert_ne!(fs::metadata(original).unwrap().len(), 0, "the copy is not the original");
}

#[test]
fn the_programs_under_test_are_there() {
    for program in [proctor(), fake_tool()] {
        assert!(program.is_file(), "{}", program.display());
    }
}

fn shell<'project>(project: &'project Project, script: &str) -> Invocation<'project> {
    project.command(Path::new("/bin/sh"), ["-c", script])
}

/// Writes the files of a store whose newest committed run is `number`, with only the contents that the tests' helpers
/// read.
fn committed(project: &Project, number: u32) {
    let state = project.root().join("state/proctor");
    let task = state.join("evidence/quotes-0123abcd/default");
    let run = task.join(format!("runs/{number}"));
    fs::create_dir_all(&run).expect("the state directory is ours");
    fs::write(run.join("execution-report.json"), format!("{{\"number\": {number}}}")).expect("the state directory is ours");
    let _ = fs::remove_file(task.join("latest"));
    std::os::unix::fs::symlink(format!("runs/{number}"), task.join("latest")).expect("the state directory is ours");
    let lines = (1..=number).map(|number| format!("{{\"body\": {{\"kind\": \"run\", \"runId\": \"{number}\"}}}}\n"));
    let ledger: String = ["{\"body\": {\"kind\": \"registered\"}}\n".to_owned()].into_iter().chain(lines).collect();
    fs::create_dir_all(state.join("ledger")).expect("the state directory is ours");
    fs::write(state.join("ledger/quotes-0123abcd.jsonl"), format!("{ledger}{{\"torn")).expect("the state directory is ours");
}

fn panic_of<T>(action: impl FnOnce() -> T) -> String {
    let panic = catch_unwind(AssertUnwindSafe(action)).err().expect("it must panic");
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).expect("a panic says something")
}
