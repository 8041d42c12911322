//! Tests a store that cannot be written or is gone, too few file descriptors, a replaced link to the store, and a clock
//! that is set back.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::mount::MsFlags;

use super::index::log;
use crate::common::{Disk, KeptEvidence, Output, Project, SHARED_AND_IN_PLACE, WRITES_TO_SHARED, processes_of, proctor};

const BOUND: Duration = Duration::from_secs(60);
/// The limits on open files that are tried. Under the lower ones a run is impossible, under the higher ones it succeeds.
const LIMITS: std::ops::RangeInclusive<u32> = 4..=48;
/// A day in milliseconds.
const DAY: i64 = 24 * 60 * 60 * 1000;

#[test]
fn a_store_that_can_only_be_read_is_read_and_every_run_says_what_to_do() {
    let project = project("true");
    let Some(disk) = Disk::mount(project.root().join("state")) else { return };
    project.proctor(["run"]).success();
    let before = log(&project);
    disk.remount(MsFlags::MS_RDONLY);
    for _ in 0..2 {
        let refused = project.proctor(["run"]).bound(BOUND).status(2);
        assert!(refused.stderr.contains("Read-only file system"), "{}", refused.snapshot());
        assert!(refused.stderr.contains("hint: "), "{}", refused.snapshot());
        assert_eq!(processes_of(project.root()), []);
    }
    project.proctor(["verify"]).success();
    for command in ["log", "show", "status"] {
        project.proctor([command]).success();
    }
    disk.remount(MsFlags::empty());
    assert_eq!(log(&project), before);
    assert_next_is_green(&project, "a store that can be written again", 2);
}

#[test]
#[ignore = "long tier"]
fn without_descriptors_a_run_says_so_and_nothing_is_lost() {
    let project = project("true");
    project.proctor(["run"]).success();
    let mut sealed = 1;
    let (mut refused, mut green) = (0, 0);
    for limit in LIMITS.step_by(2) {
        let output = project
            .command(Path::new("/bin/sh"), ["-c", "ulimit -n $0; exec \"$1\" run"])
            .arguments([limit.to_string(), proctor().display().to_string()])
            .bound(BOUND)
            .any_status();
        let what = format!("{limit} descriptors: {}", output.snapshot());
        assert_eq!(processes_of(project.root()), [], "{what}");
        match output.status {
            0 => green += 1,
            // The run could not be started, and the message says why.
            70 => {
                assert!(output.stderr.contains("error: ") && output.stderr.contains("hint: "), "{what}");
                refused += 1;
            }
            1 => assert!(output.stdout.contains("EXECUTION_ERROR") || output.stdout.contains("could not"), "{what}"),
            127 | 126 | 134 => assert!(limit < 8, "{what}"),
            _ => panic!("{what}"),
        }
        let kept = KeptEvidence::only(&state(&project)).check();
        assert!(kept.len() >= sealed, "{what}");
        sealed = kept.len();
        project.proctor(["run"]).success();
        sealed += 1;
        project.proctor(["verify"]).success();
    }
    assert!(refused > 2 && green > 2, "{refused} were refused, {green} were green");
}

#[test]
fn a_link_that_is_replaced_while_a_check_runs_changes_nothing_that_is_kept() {
    for replacement in [
        "rm evidence && ln -s /elsewhere evidence",
        "rm evidence && mkdir -p evidence/default/runs && echo '{}' >evidence/default/execution-report.json",
        "rm evidence && echo green >evidence",
        "rm evidence",
    ] {
        let project = project(&format!("test -e done || {{ touch done && {replacement}; }}"));
        let settings = fs::read_to_string(project.path().join("proctor.toml")).expect("it is there");
        project.save("proctor.toml", &settings.replace(WRITES_TO_SHARED, SHARED_AND_IN_PLACE));
        let output = project.proctor(["run"]).any_status();
        let what = format!("{replacement}: {}", output.snapshot());
        assert_eq!(output.status, 0, "{what}");
        project.proctor(["verify"]).success();
        let shown = project.proctor(["show"]).any_status();
        assert!(shown.stdout.contains("check"), "{what}\n{}", shown.snapshot());
        let next = project.proctor(["run"]).success();
        assert!(next.snapshot().contains("PASSED · evidence/default/"), "{what}\n{}", next.snapshot());
        assert!(project.path().join("evidence/default/run.json").exists(), "{what}");
        assert!(output.stderr.contains("it links to the evidence again"), "{what}");
        project.proctor(["verify", "--all"]).success();
    }
}

#[test]
fn a_store_that_is_replaced_by_a_link_is_used_where_it_leads_or_refused() {
    let project = project("true");
    project.proctor(["run"]).success();
    let moved = project.root().join("moved");
    fs::rename(state(&project), &moved).expect("both are below our root");
    symlink(&moved, state(&project)).expect("nothing is there");
    assert_next_is_green(&project, "a store behind a link", 2);
}

#[test]
fn a_clock_that_was_set_back_between_runs_and_in_the_middle_of_one_orders_nothing() {
    let project = project("true");
    project.proctor(["run"]).success();
    let readings = 1..=12;
    for reading in readings.clone() {
        let back = format!("{reading}:{DAY}");
        let output = project.proctor(["run"]).env("PROCTOR_TEST_CLOCK_BACK", &back).any_status();
        assert_eq!(output.status, 0, "set back at reading {reading}: {}", output.snapshot());
        assert_no_time_is_negative(&output);
        project.proctor(["verify"]).success();
    }
    let ids: Vec<String> = KeptEvidence::only(&state(&project)).check().into_iter().map(|run| run.run_id).collect();
    assert_eq!(ids.len(), 1 + readings.count());
    assert!(!ids.is_sorted(), "the clock of some runs was behind that of the ones before: {ids:?}");
    let log = project.proctor(["log", "--ids"]).success().stdout;
    let listed: Vec<&String> = log.lines().filter_map(|line| ids.iter().find(|id| line.contains(id.as_str()))).collect();
    assert_eq!(listed, ids.iter().rev().collect::<Vec<_>>(), "the newest is the last of the ledger");
    assert_eq!(KeptEvidence::only(&state(&project)).latest().as_ref(), ids.last());
    let shown = project.proctor(["show", "--json"]).success().json();
    assert_eq!(shown["authenticity"]["executionId"], ids.last().expect("there are runs").as_str());
    // A run that was killed while the clock was set back is closed by the next run, whose clock is right.
    let died =
        project.proctor(["run"]).env("PROCTOR_TEST_CLOCK_BACK", format!("1:{DAY}")).env("PROCTOR_TEST_DIE_AFTER", "files-synced");
    assert_eq!(died.any_status().status, 137);
    let next = project.proctor(["run"]).success();
    assert!(next.stderr.contains("it is kept as INTERRUPTED"), "{}", next.snapshot());
    project.proctor(["verify"]).success();
}

#[track_caller]
fn assert_no_time_is_negative(output: &Output) {
    let report = output.report();
    let text = report.to_string();
    for key in ["durationMs\":-", "elapsedMs\":-", "Ms\":-"] {
        assert!(!text.contains(key), "{key} in {text}");
    }
}

#[track_caller]
fn assert_next_is_green(project: &Project, what: &str, runs: usize) {
    let next = project.proctor(["run"]).success();
    assert!(next.stdout.contains("PASSED"), "{what}: {}", next.snapshot());
    project.proctor(["verify", "--all"]).success();
    assert_eq!(statuses(project).len(), runs, "{what}");
}

fn statuses(project: &Project) -> Vec<String> {
    KeptEvidence::only(&state(project)).check().into_iter().map(|run| run.status).collect()
}

/// Returns a project whose only check is a shell command. The command may write to the project and to its shared directory.
fn project(command: &str) -> Project {
    let settings = format!("[[check]]\nname = \"check\"\ncommand = [\"fake-tool\", \"--script\", '''{command}''']\n");
    Project::new().toml(&(WRITES_TO_SHARED.to_owned() + &settings))
}

fn state(project: &Project) -> PathBuf {
    project.root().join("state/proctor")
}
