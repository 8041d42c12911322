//! Tests which changes start a run under watch, and which do not.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::common::{Project, WRITES_TO_SHARED, poll};
use crate::watch_cli::{
    LATE, expect_no_further_run, project, report_of, status_of, steps, tree_digest, wait_for_verdict_on_the_tree,
    wait_until_it_watches,
};

#[track_caller]
fn trigger(project: &Project, run: &Value) -> Value {
    report_of(project, run)["trigger"].clone()
}

#[test]
fn a_save_that_changes_nothing_says_that_the_verdict_still_holds() {
    let project = project("");
    let mut watch = project.watch(["."]);
    wait_until_it_watches(&mut watch);
    let text = fs::read_to_string(project.path().join("state.txt")).expect("it is there");
    project.save("state.txt", &text);
    let notice = "saved, but no content changed: the last verdict still holds";
    watch.wait_for_line("the notice", LATE, |line| line == notice);
    wait_until_it_watches(&mut watch);
    let file = File::options().append(true).open(project.path().join("state.txt")).expect("it is there");
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).expect("it is ours");
    drop(file);
    watch.wait_for_line("the notice", LATE, |line| line == notice);
    assert_eq!(project.store().committed_runs().len(), 1);
    watch.interrupt();
}

#[test]
fn an_executable_bit_is_a_change() {
    let project = project("");
    let mut watch = project.watch(["."]);
    wait_until_it_watches(&mut watch);
    let path = project.path().join("state.txt");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
    wait_for_verdict_on_the_tree(&project, &mut watch);
    assert_eq!(project.store().committed_runs().len(), 2);
    watch.interrupt();
}

#[test]
fn a_file_that_is_still_being_written_is_waited_for() {
    let project = project("[watch]\nlongest_burst = \"20s\"\n");
    let mut watch = project.watch(["."]);
    wait_until_it_watches(&mut watch);
    let mut file = File::create(project.path().join("state.txt")).expect("it is ours");
    file.write_all(b"not yet ").expect("the disk has room");
    expect_no_further_run(&project);
    file.write_all(b"ok\n").expect("the disk has room");
    drop(file);
    let verdict = wait_for_verdict_on_the_tree(&project, &mut watch);
    assert_eq!(status_of(&verdict), "SUCCESS");
    assert_eq!(project.store().committed_runs().len(), 2, "nothing was run on the half-written file");
    watch.interrupt();
}

#[test]
fn a_file_that_is_never_closed_is_not_waited_for_for_ever() {
    let project = project("[watch]\nlongest_burst = \"300ms\"\n");
    let mut watch = project.watch(["."]);
    wait_until_it_watches(&mut watch);
    let mut file = File::create(project.path().join("state.txt")).expect("it is ours");
    file.write_all(b"half").expect("the disk has room");
    let verdict = wait_for_verdict_on_the_tree(&project, &mut watch);
    assert_eq!(status_of(&verdict), "FAILED");
    file.write_all(b"ok").expect("the disk has room");
    drop(file);
    assert_eq!(status_of(&wait_for_verdict_on_the_tree(&project, &mut watch)), "SUCCESS");
    watch.interrupt();
}

#[test]
fn new_directories_count_with_everything_in_them_however_they_came() {
    let project = project("");
    let mut watch = project.watch(["."]);
    wait_until_it_watches(&mut watch);
    project.save("made/deep/down/a.txt", "1\n");
    wait_for_verdict_on_the_tree(&project, &mut watch);
    let outside = project.root().join("tmp/moved");
    fs::create_dir_all(outside.join("in")).expect("the directory is ours");
    fs::write(outside.join("in/b.txt"), "1\n").expect("the directory is ours");
    fs::rename(&outside, project.path().join("moved")).expect("one file system");
    wait_for_verdict_on_the_tree(&project, &mut watch);
    project.save("moved/in/b.txt", "2\n");
    let verdict = wait_for_verdict_on_the_tree(&project, &mut watch);
    assert_eq!(trigger(&project, &verdict), json!({"kind": "save", "paths": ["moved/in/b.txt"]}));
    fs::remove_dir_all(project.path().join("made")).expect("it is ours");
    wait_for_verdict_on_the_tree(&project, &mut watch);
    watch.interrupt();
}

#[test]
fn ignored_files_start_nothing_until_the_rules_change() {
    let project = project("[watch]\nignore = [\"/build/\"]\n").file(".gitignore", "*.log\n");
    let mut watch = project.watch(["."]);
    wait_until_it_watches(&mut watch);
    project.save("a.log", "1\n");
    project.save("build/out.txt", "1\n");
    project.save("__pycache__/a.pyc", "1\n");
    project.save(".git/index", "1\n");
    expect_no_further_run(&project);
    assert!(!watch.text().contains("saved"), "{}", watch.text());
    project.save(".gitignore", "*.tmp\n");
    watch.wait_for_line("the rules", LATE, |line| line.starts_with(".gitignore changed what belongs to the tree"));
    watch.wait_for_line("a verdict", LATE, |line| line.starts_with("PASSED"));
    wait_until_it_watches(&mut watch);
    project.save("a.log", "2\n");
    watch.wait_for_line("a verdict", LATE, |line| line.starts_with("PASSED"));
    let verdict = project.store().committed_runs().pop().expect("it is committed");
    assert_eq!(trigger(&project, &verdict), json!({"kind": "save", "paths": ["a.log"]}));
    watch.interrupt();
}

#[test]
fn a_wrong_configuration_is_shown_and_watching_goes_on() {
    let project = project("");
    let mut watch = project.watch(["."]);
    wait_until_it_watches(&mut watch);
    let right = fs::read_to_string(project.path().join("proctor.toml")).expect("it is there");
    project.save("proctor.toml", &right.replace("command", "comand"));
    // Errors are printed on standard error, and this line on standard output. So the errors may come before or after
    // it.
    watch.wait_for_line("idleness", LATE, |line| line == "watching; there is no verdict for this tree");
    poll(LATE, "the errors", || {
        let text = watch.text();
        let is_said = |what: &str| text.lines().any(|line| line.contains(what));
        if is_said("error: the configuration") && is_said("proctor.toml:3") && is_said("comand") { Ok(()) } else { Err(text) }
    });
    assert_eq!(project.store().committed_runs().len(), 1);
    project.save("proctor.toml", &right.replace("\"check\"", "\"renamed\""));
    let verdict = wait_for_verdict_on_the_tree(&project, &mut watch);
    assert_eq!(status_of(&verdict), "SUCCESS");
    assert_eq!(report_of(&project, &verdict)["stepExecution"]["results"][0]["name"], "renamed");
    project.save("proctor.toml", &right);
    wait_for_verdict_on_the_tree(&project, &mut watch);
    watch.interrupt();
}

/// A project with three checks that record their names. `python` and `web` are triggered by some files, `any` by both
/// kinds of files and by `state.txt`.
fn with_paths() -> Project {
    let check =
        |name: &str, paths: &str| format!("[[check]]\nname = \"{name}\"\ncommand = [\"/bin/sh\", \"{name}.sh\"]\n{paths}");
    let script = |name: &str| format!("echo {name} >> \"../shared/steps\"\ngrep -q ok state.txt\n");
    let checks = [
        check("python", "paths = [\"**/*.py\"]\n"),
        check("web", "paths = [\"web/**\"]\n"),
        check("any", "paths = [\"state.txt\", \"**/*.py\", \"web/**\"]\n"),
    ];
    let project = Project::new()
        .toml(&format!("{WRITES_TO_SHARED}{}", checks.concat()))
        .file("state.txt", "ok\n")
        .file("web/a.ts", "")
        .file("a.py", "");
    ["python", "web", "any"].into_iter().fold(project, |project, name| project.file(&format!("{name}.sh"), &script(name)))
}

#[test]
fn paths_limit_which_saves_trigger_a_check() {
    let project = with_paths();
    let mut watch = project.watch(["."]);
    wait_until_it_watches(&mut watch);
    assert_eq!(steps(&project), ["python", "web", "any"], "the first run is one of everything");
    project.save("web/a.ts", "changed\n");
    let line = watch.wait_for_line("a verdict", LATE, |line| line.starts_with("PASSED"));
    assert!(line.starts_with("PASSED · 2 of 3 checks · "), "{line}");
    wait_until_it_watches(&mut watch);
    assert_eq!(steps(&project)[3..], ["web", "any"]);
    let report = project.store().report("default");
    assert_eq!(report["stepExecution"]["results"][0]["skipReason"], "not-selected");
    assert_eq!(report["completionCriteriaEvaluation"]["completionStatus"], "INCOMPLETE");
    project.save("README.md", "nothing looks at this\n");
    let notice = "saved, but no check is triggered by the change: the last verdict is for the tree before it";
    watch.wait_for_line("the notice", LATE, |line| line == notice);
    wait_until_it_watches(&mut watch);
    assert_eq!(steps(&project).len(), 5);
    fs::remove_file(project.path().join("a.py")).expect("it is ours");
    watch.wait_for_line("a verdict", LATE, |line| line.starts_with("PASSED · 2 of 3 checks · "));
    wait_until_it_watches(&mut watch);
    assert_eq!(steps(&project)[5..], ["python", "any"]);
    watch.interrupt();
}

#[test]
fn a_changed_configuration_runs_every_check_whatever_its_paths() {
    let project = with_paths();
    let mut watch = project.watch(["."]);
    wait_until_it_watches(&mut watch);
    let toml = fs::read_to_string(project.path().join("proctor.toml")).expect("it is there");
    // A change of the settings that changes no check is treated like a change of any other file.
    project.save("proctor.toml", &format!("# a comment\n{toml}"));
    let notice = "saved, but no check is triggered by the change: the last verdict is for the tree before it";
    watch.wait_for_line("the notice", LATE, |line| line == notice);
    wait_until_it_watches(&mut watch);
    project.save("proctor.toml", &toml.replace("\"web\"", "\"web\"\ntimeout = \"2m\""));
    let verdict = wait_for_verdict_on_the_tree(&project, &mut watch);
    assert_eq!(status_of(&verdict), "SUCCESS");
    assert_eq!(steps(&project), ["python", "web", "any", "python", "web", "any"]);
    watch.interrupt();
}

#[test]
fn what_did_not_succeed_is_run_at_every_save_until_it_does() {
    let project = with_paths();
    let mut watch = project.watch(["."]);
    wait_until_it_watches(&mut watch);
    project.save("state.txt", "wrong\n");
    watch.wait_for_line("a verdict", LATE, |line| line.starts_with("FAILED · ") && line.contains(" failed · 1 of 3 checks · "));
    wait_until_it_watches(&mut watch);
    project.save("README.md", "nothing looks at this\n");
    watch.wait_for_line("a verdict", LATE, |line| line.starts_with("FAILED · ") && line.contains(" failed · 1 of 3 checks · "));
    wait_until_it_watches(&mut watch);
    project.save("state.txt", "ok\n");
    watch.wait_for_line("a verdict", LATE, |line| line.starts_with("PASSED · 1 of 3 checks · "));
    wait_until_it_watches(&mut watch);
    assert_eq!(steps(&project), ["python", "web", "any", "any", "any", "any"]);
    watch.interrupt();
}

#[test]
fn a_check_whose_run_was_stopped_is_triggered_again_by_the_next_save() {
    let project = with_paths();
    let held = "echo web >> \"../shared/steps\"\nwhile [ -e \"../shared/hold\" ]; do sleep 0.01; done\n";
    project.save("web.sh", held);
    let mut watch = project.watch(["."]);
    wait_until_it_watches(&mut watch);
    super::hold(&project);
    project.save("web/a.ts", "changed\n");
    super::wait_for_steps(&project, 4);
    project.save("a.py", "changed\n");
    watch.wait_for_line("the restart", LATE, |line| line == "a.py was saved: stopping the checks and starting again");
    super::wait_for_steps(&project, 6);
    super::release(&project);
    watch.wait_for_line("a verdict", LATE, |line| line.starts_with("PASSED · evidence"));
    assert_eq!(steps(&project)[3..], ["web", "python", "web", "any"], "what the first save triggered is not forgotten");
    assert_eq!(project.store().report("default")["tree"]["before"], tree_digest(&project).as_str());
    watch.interrupt();
}
