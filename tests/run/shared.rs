//! Runs of one project that several commands ask for at the same time, without a service.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Output, Project, WRITES_TO_SHARED, Watch, fake_tool};
use crate::run::check;

const LATE: Duration = Duration::from_secs(60);

/// A project with a check that goes on until [`let_go`]. Its run can be `first`, for which the others wait.
fn held_project(after: &[&str]) -> Project {
    let project = Project::new().with_program(fake_tool());
    let (running, go_on) = (place(&project, "running"), place(&project, "go-on"));
    let mut words =
        vec!["--touch".to_owned(), running.display().to_string(), "--wait-for".to_owned(), go_on.display().to_string()];
    words.extend(after.iter().map(|word| (*word).to_owned()));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    project.save("proctor.toml", &(WRITES_TO_SHARED.to_owned() + &check("a", &words)));
    project
}

fn place(project: &Project, name: &str) -> PathBuf {
    project.shared(name)
}

fn let_go(project: &Project) {
    fs::write(place(project, "go-on"), "").expect("the directory is ours");
}

fn first(project: &Project) -> Watch<'_> {
    let mut first = project.proctor(["run"]).watch();
    first.wait_for_file("the first to run", LATE, &place(project, "running").display().to_string());
    first
}

fn waiting<'a>(mut run: Watch<'a>) -> Watch<'a> {
    run.wait_for_line("another to wait", LATE, |line| line.starts_with("waiting for another run"));
    run
}

/// The lines of a screen but for those that say how long an action has been going on.
fn without_progress(screen: &str) -> String {
    screen.split_inclusive('\n').filter(|line| !line.starts_with("  … ")).collect()
}

fn shares(output: &Output) -> bool {
    output.stderr.contains("note: the run of another proctor has just tested these files")
}

#[test]
fn runs_that_are_asked_for_at_once_share_one_run() {
    for (words, code) in [(&[][..], 0), (&["--exit", "1"][..], 1)] {
        let project = held_project(words);
        let first = first(&project);
        let others: Vec<_> = (0..7).map(|_| waiting(project.proctor(["run"]).watch())).collect();
        let json = waiting(project.proctor(["run", "--json"]).watch());
        let_go(&project);
        let own = first.ended();
        assert_eq!(own.status, code, "{}", own.snapshot());
        for other in others {
            let output = other.ended();
            assert_eq!((output.status, shares(&output)), (code, true), "{}", output.snapshot());
            assert_eq!(output.stdout, without_progress(&own.stdout), "the screen is the same");
        }
        let json = json.ended();
        assert_eq!(json.status, code);
        let report: Value = serde_json::from_str(&json.stdout).expect("only the report");
        assert_eq!(report, project.store().report("default"));
        assert_eq!(project.store().committed_runs().len(), 1);
    }
}

#[test]
fn a_run_that_waited_is_made_where_the_other_one_says_nothing_of_it() {
    let project = held_project(&[]);
    let first = first(&project);
    let other_variables = waiting(project.proctor(["run"]).env("LANG", "C.UTF-8").env("TZ", "Pacific/Apia").watch());
    let some_checks = waiting(project.proctor(["run", "--check", "a"]).watch());
    let_go(&project);
    assert_eq!(first.ended().status, 0);
    for run in [other_variables, some_checks] {
        let output = run.ended();
        assert_eq!((output.status, shares(&output)), (0, false), "{}", output.snapshot());
    }
    assert_eq!(project.store().committed_runs().len(), 3);
}

#[test]
fn who_has_saved_since_the_other_run_began_gets_a_run_of_that() {
    let project = held_project(&[]);
    let first = first(&project);
    project.save("saved.txt", "since");
    let second = waiting(project.proctor(["run"]).watch());
    let_go(&project);
    assert_eq!(first.ended().status, 0);
    let output = second.ended();
    assert_eq!((output.status, shares(&output)), (0, false), "{}", output.snapshot());
    let report = project.store().report("default");
    assert_eq!(project.store().committed_runs().len(), 2);
    assert_eq!(report["executionSummary"]["overallStatus"], "SUCCESS", "{report:#}");
}
