//! Tests the machine-wide queue: runs of different projects whose actions wait for each other.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::common::{Project, Watch, fake_tool, poll, processes_of};
use crate::run::{check, cleanup, result};

const LATE: Duration = Duration::from_secs(60);
const ONE_AT_A_TIME: &str = "[queue]\nmax_parallel = 1\n[sandbox]\nwritable = [\"../../shared\"]\n";
const NO_WAIT: &str = "[queue]\nmax_parallel = 1\nwait = \"0s\"\n";
const WAITS: &str = "waiting: 1 action of another run is under way (at most 1800 s)";

/// A check that records its beginning and its end, and runs while the file `hold` exists.
const CHECK: &str = "#!/bin/sh\ncd ../../shared\necho \"$PROCTOR_OUT\" > out\necho \"begin $1\" >> log\nwhile [ -e hold ]; do sleep 0.01; done\necho \"end $1\" >> log\n";

/// Two projects of one user: `one` with checks named `names`, and `two` with the settings in `two`.
fn two_projects(names: &[&str], two: &str) -> Project {
    Project::new()
        .with_program(fake_tool())
        .file("one/proctor.toml", &(logged(names) + ONE_AT_A_TIME))
        .executable("one/check", CHECK)
        .file("two/proctor.toml", two)
        .executable("two/check", CHECK)
}

fn logged(names: &[&str]) -> String {
    names.iter().map(|name| format!("[[check]]\nname = \"{name}\"\ncommand = [\"./check\", \"{name}\"]\n")).collect()
}

fn beside(project: &Project, name: &str) -> PathBuf {
    project.shared(name)
}

fn log(project: &Project) -> Vec<String> {
    let text = fs::read_to_string(beside(project, "log")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Starts the run of `one` and returns when its first check has begun. The check runs until [`release`].
fn hold_the_slot(project: &Project) -> Watch<'_> {
    fs::write(beside(project, "hold"), "").expect("the directory is ours");
    let one = project.proctor(["run", "--json"]).directory("one").watch();
    poll(LATE, "the first check", || if log(project).is_empty() { Err("no check has begun") } else { Ok(()) });
    one
}

fn release(project: &Project) {
    fs::remove_file(beside(project, "hold")).expect("it was held");
}

/// Starts the run of `two` and returns when it waits.
fn waiting(project: &Project) -> Watch<'_> {
    let mut two = project.proctor(["run", "--json"]).directory("two").watch();
    two.wait_for_line("the second to wait", LATE, |line| line == WAITS);
    two
}

/// Returns the ids of the actions that have waited according to a report.
#[track_caller]
fn contended(report: &Value) -> Vec<&str> {
    let entries = report["contended"].as_array().unwrap_or_else(|| panic!("nothing has waited: {report:#}"));
    assert!(entries.iter().all(|entry| entry["waitedMs"].is_u64()), "{entries:?}");
    entries.iter().map(|entry| entry["actionId"].as_str().expect("an id")).collect()
}

#[test]
fn actions_of_two_projects_take_turns_and_never_overlap() {
    let project = two_projects(&["a", "b", "c"], &(logged(&["x", "y"]) + ONE_AT_A_TIME));
    let one = hold_the_slot(&project);
    let two = waiting(&project);
    release(&project);
    let (one, two) = (one.ended(), two.ended());
    assert_eq!((one.status, two.status), (0, 0), "{}\n{}", one.snapshot(), two.snapshot());
    let log = log(&project);
    let pairs: Vec<_> = log.chunks(2).map(|pair| (pair[0].strip_prefix("begin "), pair[1].strip_prefix("end "))).collect();
    assert!(pairs.iter().all(|(begun, ended)| begun.is_some() && begun == ended), "{log:?}");
    assert_eq!(pairs.len(), 5);
    assert_eq!((pairs[0].0, pairs[1].0), (Some("a"), Some("x")), "whoever waited is next: {log:?}");
    assert_eq!(contended(&two.json())[0], "STEP.1");
    // Project one's first check has nothing before it, so it must not be listed as having waited. Its later checks wait
    // only if they ask before project two has finished, so nothing is expected of them.
    assert_ne!(one.json()["contended"][0]["actionId"], "STEP.1", "nothing was before it");
}

#[test]
fn the_slot_of_a_killed_run_is_free() {
    let project = two_projects(&["a"], &(check("quick", &[]) + ONE_AT_A_TIME));
    let mut one = hold_the_slot(&project);
    let two = waiting(&project);
    one.signal(Signal::SIGKILL);
    let two = two.ended();
    assert_eq!(two.status, 0, "{}", two.snapshot());
    assert_eq!(contended(&two.json()), ["STEP.1"]);
    assert_eq!(one.ended().status, 128 + 9);
    let theirs = || processes_of(project.root());
    poll(LATE, "the killed run's processes to end", || if theirs().is_empty() { Ok(()) } else { Err(format!("{:?}", theirs())) });
}

#[test]
fn a_run_that_waits_for_its_turn_can_be_interrupted_and_its_clean_up_waits_again() {
    let project = two_projects(&["a"], &(check("late", &[]) + &cleanup("tidy up", &[]) + ONE_AT_A_TIME));
    let one = hold_the_slot(&project);
    let mut two = waiting(&project);
    two.signal(Signal::SIGINT);
    two.wait_for_line("the clean-up to wait", LATE, |line| line == WAITS);
    release(&project);
    let two = two.ended();
    assert_eq!(two.status, 130, "{}", two.snapshot());
    let report = two.json();
    assert_eq!(result(&report, "STEP.1")["skipReason"], "stopped");
    assert_eq!(result(&report, "CLEANUP.1")["status"], "SUCCESS");
    assert_eq!(contended(&report), ["STEP.1", "CLEANUP.1"]);
    assert_eq!(one.ended().status, 0);
}

#[test]
fn a_save_while_a_watched_project_waits_starts_its_wait_anew() {
    let project = two_projects(&["a"], &(check("late", &[]) + ONE_AT_A_TIME));
    let one = hold_the_slot(&project);
    let mut two = project.proctor(["watch"]).directory("two").watch();
    two.wait_for_line("the first wait", LATE, |line| line == WAITS);
    project.save("two/new.txt", "");
    two.wait_for_line("the notice", LATE, |line| line.starts_with("new.txt was saved: stopping the checks"));
    two.wait_for_line("the second wait", LATE, |line| line == WAITS);
    release(&project);
    two.wait_for_line("the verdict", LATE, |line| line.starts_with("PASSED"));
    two.interrupt();
    assert_eq!(one.ended().status, 0);
}

#[test]
fn a_run_whose_bound_is_reached_says_what_to_do() {
    let project = two_projects(&["a"], &(check("late", &[]) + NO_WAIT));
    let one = hold_the_slot(&project);
    let two = project.proctor(["run"]).directory("two").status(5);
    let said = "error: gave up after 0 s of waiting for other runs' actions (still under way: 1)\n  \
        hint: run the command again when they are done, or raise `max_parallel` or `wait` in `[queue]`\n";
    assert!(two.stderr.ends_with(said), "{}", two.stderr);
    release(&project);
    let one = one.ended();
    assert_eq!(one.status, 0);
    assert!(one.json()["contended"].is_null(), "{}", one.snapshot());
}

#[test]
fn a_run_within_an_action_of_the_same_store_does_not_wait_for_that_action() {
    let project = two_projects(&["a"], &(check("inner", &[]) + NO_WAIT));
    let one = hold_the_slot(&project);
    let output = fs::read_to_string(beside(&project, "out")).unwrap();
    assert!(Path::new(output.trim()).is_dir(), "{output}");
    project.proctor(["run"]).directory("two").env("PROCTOR_OUT", output.trim()).success();
    release(&project);
    assert_eq!(one.ended().status, 0);
    // The action to which this output directory belonged has ended. While the action was under way, naming its directory
    // let a run inside the action skip the queue. Now it must not: the run gives up because it would have to wait.
    fs::write(beside(&project, "hold"), "").unwrap();
    fs::remove_file(beside(&project, "log")).unwrap();
    let one = hold_the_slot(&project);
    project.proctor(["run"]).directory("two").env("PROCTOR_OUT", output.trim()).status(5);
    release(&project);
    assert_eq!(one.ended().status, 0);
}
