//! Tests the files that checks write and that `writes` has copied to the project: when such a file starts a run, and
//! when it does not.

use crate::common::{Project, Watch};
use crate::watch_cli::{LATE, expect_no_further_run, wait_until_it_watches};

/// A project whose check writes a file by a command, on a snapshot.
fn project(command: &str) -> Project {
    let script = serde_json::to_string(&format!("cat a.txt && {command}")).expect("a string can be written");
    Project::new().file("a.txt", "1").toml(&format!(
        "[sandbox]\nsnapshot = \"require\"\n[[check]]\nname = \"tests\"\ncommand = [\"fake-tool\", \"--script\", {script}]\nwrites = [\"coverage.xml\"]\n"
    ))
}

fn committed(project: &Project) -> usize {
    project.store().committed_runs().len()
}

fn wait_for_verdicts(watch: &mut Watch<'_>, count: usize) {
    for _ in 0..count {
        watch.wait_for_line("a verdict", LATE, |line| line.starts_with("PASSED"));
    }
}

#[test]
fn a_file_that_differs_after_every_run_starts_one_more_run_and_then_the_person_is_told() {
    let project = project("date +%s%N > coverage.xml");
    let mut watch = project.watch(["."]);
    for round in 1..=2 {
        wait_for_verdicts(&mut watch, 2);
        watch.wait_for_line("the notice", LATE, |line| line.starts_with("the checks write coverage.xml anew in every run"));
        watch.wait_for_line("the hint", LATE, |line| line.ends_with("ignore = [\"/coverage.xml\"]"));
        expect_no_further_run(&project);
        assert_eq!(committed(&project), 2 * round);
        if round == 1 {
            project.save("a.txt", "2");
        }
    }
    // A change of the file by hand starts a run.
    project.save("coverage.xml", "by hand");
    wait_for_verdicts(&mut watch, 1);
    let output = watch.interrupt();
    assert!(!output.stdout.contains("was saved: stopping") && !output.stdout.contains("still holds"), "{}", output.stdout);
}

#[test]
fn a_file_that_is_the_same_after_every_run_or_ignored_starts_nothing() {
    let same = project("cp a.txt coverage.xml");
    let mut watch = same.watch(["."]);
    // The first run makes the file, so the tree has changed.
    wait_for_verdicts(&mut watch, 2);
    wait_until_it_watches(&mut watch);
    expect_no_further_run(&same);
    assert_eq!(committed(&same), 2);
    watch.interrupt();

    let ignored = project("date +%s%N > coverage.xml").file(".gitignore", "/coverage.xml\n");
    let mut watch = ignored.watch(["."]);
    wait_for_verdicts(&mut watch, 1);
    expect_no_further_run(&ignored);
    assert_eq!(committed(&ignored), 1);
    watch.interrupt();
}

#[test]
fn a_tracked_file_that_differs_after_every_run_is_not_proposed_to_be_ignored() {
    let project = project("date +%s%N > coverage.xml").file("coverage.xml", "before");
    for arguments in [&["init", "-q"][..], &["add", "coverage.xml"]] {
        let done = std::process::Command::new("git").args(arguments).current_dir(project.path()).status();
        assert!(done.expect("git is installed").success());
    }
    let mut watch = project.watch(["."]);
    watch.wait_for_line("the notice", LATE, |line| line.starts_with("the checks write coverage.xml anew in every run"));
    let hint = "hint: git tracks coverage.xml, so `ignore` does not take it out of the tree: take it out of the check's `writes`, or \
         ignore it after `git rm --cached`";
    watch.wait_for_line("the hint", LATE, |line| line == hint);
    watch.interrupt();
}
