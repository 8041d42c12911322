//! Tests saves during a run: the run is stopped, finished or repeated, and no save is lost.

use std::fs;
use std::thread;
use std::time::Duration;

use crate::common::{Project, SHARED_AND_IN_PLACE, WRITES_TO_SHARED};
use crate::watch_cli::{
    LATE, expect_no_further_run, hold, lines_of, project, release, report_of, run_directories, status_of, tree_digest,
    wait_for_steps, wait_for_verdict_on_the_tree, wait_until_it_watches,
};

#[test]
fn a_save_during_a_run_stops_the_checks_and_starts_them_again_on_the_new_tree() {
    let project = project("");
    hold(&project);
    let mut watch = project.watch(["."]);
    wait_for_steps(&project, 1);
    let old = tree_digest(&project);
    project.save("state.txt", "ok, better\n");
    watch.wait_for_line("the notice", LATE, |line| line == "state.txt was saved: stopping the checks and starting again");
    wait_for_steps(&project, 2);
    release(&project);
    let verdict = watch.wait_for_verdict();
    assert_eq!((status_of(&verdict), &verdict["overallResult"]), ("SUCCESS", &"PASSED".into()));
    assert_eq!(verdict["treeDigest"], tree_digest(&project).as_str());
    let superseded = lines_of(&project, "superseded");
    assert_eq!(superseded.len(), 1);
    assert_eq!(superseded[0]["treeDigest"], old.as_str());
    assert_eq!(run_directories(&project), [verdict["runId"].as_str().expect("an id")], "the stopped run left none");
    let report = report_of(&project, &verdict);
    assert_eq!(report["trigger"], serde_json::json!({"kind": "save", "paths": ["state.txt"]}));
    watch.interrupt();
}

#[test]
fn a_save_never_stops_prerequisites_and_a_finished_one_is_not_done_again() {
    let prerequisite = "[[prerequisite]]\nname = \"prepare\"\ncommand = [\"/bin/sh\", \"prepare.sh\"]\n";
    let script = "echo prepare >> \"../shared/steps\"\nwhile [ -e \"../shared/hold\" ]; do sleep 0.01; done\necho prepared >> \"../shared/steps\"\n";
    let project = project(prerequisite).file("prepare.sh", script);
    hold(&project);
    let mut watch = project.watch(["."]);
    wait_for_steps(&project, 1);
    project.save("state.txt", "ok, better\n");
    watch.wait_for_line("the notice", LATE, |line| line.ends_with("stopping the checks and starting again"));
    release(&project);
    let verdict = watch.wait_for_verdict();
    assert_eq!(verdict["treeDigest"], tree_digest(&project).as_str());
    assert_eq!(wait_for_steps(&project, 3), ["prepare", "prepared", "check"]);
    assert_eq!(lines_of(&project, "superseded").len(), 1);
    let report = report_of(&project, &verdict);
    assert_eq!(report["prerequisiteExecution"]["results"][0]["skipReason"], "unchanged");
    watch.interrupt();
}

#[test]
fn a_save_never_stops_the_cleanup() {
    let cleanup = "[[cleanup]]\nname = \"tidy\"\ncommand = [\"/bin/sh\", \"tidy.sh\"]\n";
    let script = "echo tidy >> \"../shared/steps\"\nwhile [ -e \"../shared/hold-tidy\" ]; do sleep 0.01; done\necho tidied >> \"../shared/steps\"\n";
    let project = project(cleanup).file("tidy.sh", script);
    let gate = project.shared("hold-tidy");
    fs::write(&gate, "").expect("the directory is ours");
    let mut watch = project.watch(["."]);
    assert_eq!(wait_for_steps(&project, 2), ["check", "tidy"]);
    project.save("state.txt", "ok, better\n");
    watch.wait_for_line("the notice", LATE, |line| line.ends_with("stopping the checks and starting again"));
    fs::remove_file(&gate).expect("it was held");
    wait_for_verdict_on_the_tree(&project, &mut watch);
    assert_eq!(wait_for_steps(&project, 6), ["check", "tidy", "tidied", "check", "tidy", "tidied"]);
    watch.interrupt();
}

#[test]
fn a_save_during_a_check_stops_it_and_the_cleanup_still_runs() {
    let cleanup = "[[cleanup]]\nname = \"tidy\"\ncommand = [\"/bin/sh\", \"tidy.sh\"]\n";
    let project = project(cleanup).file("tidy.sh", "echo tidy >> \"../shared/steps\"\n");
    hold(&project);
    let mut watch = project.watch(["."]);
    wait_for_steps(&project, 1);
    project.save("state.txt", "ok, better\n");
    assert_eq!(wait_for_steps(&project, 3), ["check", "tidy", "check"]);
    release(&project);
    wait_for_verdict_on_the_tree(&project, &mut watch);
    assert_eq!(wait_for_steps(&project, 4), ["check", "tidy", "check", "tidy"]);
    watch.interrupt();
}

#[test]
fn after_a_restart_the_next_run_is_let_finish_and_its_result_is_called_one_for_an_older_tree() {
    let project = project("");
    hold(&project);
    let mut watch = project.watch(["."]);
    wait_for_steps(&project, 1);
    project.save("state.txt", "ok 1\n");
    watch.wait_for_line("a restart", LATE, |line| line.ends_with("stopping the checks and starting again"));
    wait_for_steps(&project, 2);
    let old = tree_digest(&project);
    project.save("state.txt", "not right\n");
    let expected = "the tree changed again: this run is let finish, then the newest tree is tested";
    watch.wait_for_line("the notice", LATE, |line| line == expected);
    release(&project);
    let older = watch.wait_for_verdict();
    assert_eq!((status_of(&older), &older["treeDigest"]), ("SUCCESS", &old.as_str().into()));
    watch.wait_for_line("the result", LATE, |line| line.starts_with("PASSED"));
    watch.wait_for_line("its age", LATE, |line| line == "this result is for an older tree");
    let newest = watch.wait_for_verdict();
    assert_eq!((status_of(&newest), &newest["treeDigest"]), ("FAILED", &tree_digest(&project).as_str().into()));
    assert_eq!(lines_of(&project, "superseded").len(), 1);
    assert_eq!(run_directories(&project).len(), 2);
    watch.interrupt();
}

#[test]
fn with_queue_a_run_finishes_and_the_newest_tree_is_tested_after_it() {
    let project = project("[watch]\non_change = \"queue\"\n");
    hold(&project);
    let mut watch = project.watch(["."]);
    wait_for_steps(&project, 1);
    project.save("state.txt", "ok, better\n");
    project.save("state.txt", "not right\n");
    expect_no_further_run(&project);
    assert_eq!(wait_for_steps(&project, 1), ["check"]);
    release(&project);
    // The run goes on for its own tree, so it has a verdict.
    assert_eq!(status_of(&watch.wait_for_verdict()), "SUCCESS");
    let newest = watch.wait_for_verdict();
    assert_eq!((status_of(&newest), &newest["treeDigest"]), ("FAILED", &tree_digest(&project).as_str().into()));
    assert!(lines_of(&project, "superseded").is_empty());
    watch.interrupt();
}

#[test]
#[ignore = "long tier"]
fn a_save_in_the_last_moment_of_a_run_is_never_lost() {
    let project = project("");
    let mut watch = project.watch(["."]);
    watch.wait_for_verdict();
    let mut state: u64 = 0x2545_f491_4f6c_dd1d;
    for round in 0..20 {
        // A pseudo-random delay (xorshift), from none to well after the end of a run. The sequence is the same in every
        // run of the test.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        project.save("state.txt", &format!("ok {round}\n"));
        thread::sleep(Duration::from_millis(state % 160));
        project.save("state.txt", &format!("ok {round} and more\n"));
        wait_for_verdict_on_the_tree(&project, &mut watch);
    }
    assert_eq!(watch.interrupt().status, 130);
    let after = project.proctor(["run", "--json"]).success().json();
    assert_eq!(after["tree"]["before"], tree_digest(&project).as_str());
    for line in project.store().committed_runs() {
        assert_eq!(line["overallStatus"] == "MOVED", line["overallResult"].is_null(), "{line}");
    }
}

/// What the check writes to `out.txt` in each run.
#[derive(Clone, Copy)]
enum Written {
    /// The check writes the same bytes to `out.txt` in every run.
    Same,
    /// The check writes other bytes to `out.txt` in every run.
    Other,
    /// The check does not write `out.txt`, but renames the directory `src` away and back.
    ExchangedDirectory,
}

/// A project whose check writes `out.txt`, and then runs a little longer.
fn writer(written: Written, pause: &str, settings: &str) -> Project {
    let text = match written {
        Written::Same => "echo the same > out.txt",
        Written::Other => "wc -l < \"../shared/steps\" > out.txt",
        // A check that is stopped between the two renames leaves `.tox`; the next one begins with putting it back.
        Written::ExchangedDirectory => "[ -d src ] || mv .tox src\nmv src .tox && mv .tox src",
    };
    let script = format!("echo check >> \"../shared/steps\"\n{text}\nsleep {pause}\ngrep -q ok state.txt\n");
    let project = project(settings).file("check.sh", &script).file("out.txt", "the same\n").file("src/a.txt", "");
    let settings = fs::read_to_string(project.path().join("proctor.toml")).expect("it is there");
    project.save("proctor.toml", &settings.replace(WRITES_TO_SHARED, SHARED_AND_IN_PLACE));
    project
}

#[test]
fn a_check_that_writes_the_same_bytes_again_has_a_verdict_and_starts_nothing() {
    let project = writer(Written::Same, "0", "");
    let mut watch = project.watch(["."]);
    wait_until_it_watches(&mut watch);
    expect_no_further_run(&project);
    let runs = project.store().committed_runs();
    assert_eq!(runs.iter().map(status_of).collect::<Vec<_>>(), ["SUCCESS"], "{}", watch.text());
    assert!(!watch.text().contains("older tree"), "{}", watch.text());
    watch.interrupt();
}

#[test]
fn a_check_that_exchanges_a_directory_is_repeated_once_and_then_called_unstable() {
    let project = writer(Written::ExchangedDirectory, "0", "");
    let mut watch = project.watch(["."]);
    watch.wait_for_line("the repetition", LATE, |line| line == "src changed during the run: it is repeated");
    let unstable = "unstable: src changed again during the run; nothing runs until something else changes";
    watch.wait_for_line("the end of it", LATE, |line| line == unstable);
    let hint = "hint: if the checks write this themselves, add to `[watch]` in proctor.toml: ignore = [\"/src\"]";
    watch.wait_for_line("the way out", LATE, |line| line == hint);
    watch.wait_for_line("idleness", LATE, |line| line == "watching; there is no verdict for this tree");
    let runs = project.store().committed_runs();
    assert_eq!(runs.iter().map(status_of).collect::<Vec<_>>(), ["MOVED", "MOVED"]);
    expect_no_further_run(&project);
    project.save("state.txt", "ok, better\n");
    watch.wait_for_line("another attempt", LATE, |line| line == unstable);
    watch.interrupt();
}

#[test]
fn a_check_that_writes_into_the_tree_long_before_its_end_is_not_restarted_for_ever() {
    let project = writer(Written::ExchangedDirectory, "0.3", "");
    let mut watch = project.watch(["."]);
    watch.wait_for_line("the end of it", LATE, |line| line.starts_with("unstable: src changed again"));
    watch.wait_for_line("idleness", LATE, |line| line == "watching; there is no verdict for this tree");
    assert_eq!(lines_of(&project, "superseded").len(), 1);
    expect_no_further_run(&project);
    watch.interrupt();
}

#[test]
fn a_check_that_writes_something_new_each_time_is_given_up_after_some_repetitions() {
    let project = writer(Written::Other, "0", "[watch]\nlongest_burst = \"30ms\"\n");
    let mut watch = project.watch(["."]);
    watch.wait_for_line("the end of it", LATE, |line| line.starts_with("unstable: out.txt changed again"));
    watch.wait_for_line("idleness", LATE, |line| line == "watching; there is no verdict for this tree");
    let runs = project.store().committed_runs();
    assert!(runs.iter().all(|run| status_of(run) == "MOVED"), "{}", watch.text());
    assert!((2..=6).contains(&runs.len()), "{}", watch.text());
    expect_no_further_run(&project);
    watch.interrupt();
}

#[test]
fn the_offered_ignore_line_makes_it_stable() {
    let project = writer(Written::ExchangedDirectory, "0.3", "");
    let mut watch = project.watch(["."]);
    watch.wait_for_line("the end of it", LATE, |line| line.starts_with("unstable: src changed again"));
    let settings = fs::read_to_string(project.path().join("proctor.toml")).expect("it is there");
    project.save("proctor.toml", &format!("{settings}[watch]\nignore = [\"/src\"]\n"));
    watch.wait_for_line("what decides differently", LATE, |line| line.contains("judged by changed rules: watch: ignore"));
    watch.wait_for_line("a verdict", LATE, |line| line.starts_with("PASSED"));
    wait_until_it_watches(&mut watch);
    let before = lines_of(&project, "superseded").len();
    project.save("state.txt", "ok, better\n");
    watch.wait_for_line("a verdict", LATE, |line| line.starts_with("PASSED"));
    wait_until_it_watches(&mut watch);
    expect_no_further_run(&project);
    assert_eq!(lines_of(&project, "superseded").len(), before, "what is ignored restarts nothing");
    watch.interrupt();
}
