//! Tests how runs are removed because of a project's limits: which runs go, which stay, and that the ledger records the
//! removal first.

use std::fs;
use std::time::Duration;

use crate::common::{Project, fake_tool, poll};

const GREEN: &str = "[[check]]\nname = \"says\"\ncommand = \"fake-tool --stdout said\"\n";

fn with_limits(limits: &str) -> Project {
    Project::new().with_program(fake_tool()).toml(&format!("[evidence]\n{limits}\n{GREEN}"))
}

/// Returns the numbers of the runs that still have a directory.
fn there(project: &Project) -> Vec<u64> {
    let task = project.root().join("state/proctor/evidence").join(&project.store().project_ids()[0]).join("default/runs");
    let names = fs::read_dir(task).expect("there are runs").flatten().map(|entry| entry.file_name());
    let number = |name: std::ffi::OsString| {
        let name = name.to_string_lossy().into_owned();
        name.rsplit('-').next().and_then(|digits| digits.parse().ok()).expect("it is a run")
    };
    let mut numbers: Vec<u64> = names.map(number).collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn what_is_over_a_limit_is_removed_and_every_command_says_so() {
    let project = with_limits("keep_runs = 3");
    (0..5).for_each(|_| drop(project.proctor(["run"]).success()));
    assert_eq!(there(&project), [1, 2, 3, 4, 5]);
    let dry = project.proctor(["prune", "--dry-run"]).success();
    let lines: Vec<&str> = dry.stdout.lines().collect();
    assert_eq!(lines.len(), 3, "{}", dry.stdout);
    assert!(lines[0].ends_with("-000001  task default  keep_runs"), "{}", dry.stdout);
    assert!(lines[2].starts_with("2 runs, ") && lines[2].ends_with(" bytes would be removed; 3 runs are kept"), "{}", dry.stdout);
    assert_eq!((there(&project).len(), project.store().ledger().len()), (5, 6), "nothing was done");
    project.proctor(["prune"]).success();
    assert_eq!(there(&project), [3, 4, 5]);
    let line = project.store().ledger().pop().expect("a line says so");
    assert_eq!((&line["body"]["kind"], line["body"]["runs"].as_array().map(Vec::len)), (&"pruned".into(), Some(2)));
    let runs = project.store().committed_runs();
    assert_eq!(line["body"]["runs"][0]["manifestHash"], runs[0]["manifestHash"]);
    assert_eq!(line["body"]["runs"][0]["why"], "runs");
    let log = project.proctor(["log"]).success().stdout;
    assert_eq!(log.lines().filter(|line| line.contains("PASSED") && line.contains("  pruned (keep_runs)  ")).count(), 2, "{log}");
    let shown = project.proctor(["show", "1"]).success().stdout;
    assert!(
        shown.contains("its files were removed") && shown.contains(runs[0]["manifestHash"].as_str().expect("text")),
        "{shown}"
    );
    for arguments in [["show", "1", "--json"].as_slice(), &["show", "1", "--log", "STEP.1"], &["export", "1"]] {
        let refused = project.proctor(arguments).status(2);
        assert!(format!("{}{}", refused.stdout, refused.stderr).contains("was pruned"), "{arguments:?}");
    }
    let verified = project.proctor(["verify"]).success();
    assert!(verified.stdout.contains("pruned: 2 runs, as the ledger says"), "{}", verified.stdout);
    assert_eq!(project.proctor(["verify", "--all", "--json"]).success().json()["pruned"], 2);
    project.proctor(["verify", "1"]).success();
    project.proctor(["run"]).success();
    project.proctor(["prune"]).success();
    assert_eq!(there(&project), [4, 5, 6]);
    project.proctor(["verify", "--all"]).success();
    fs::remove_file(project.root().join("state/proctor/state.db")).expect("the index is ours");
    assert_eq!(project.proctor(["log"]).success().stdout.matches("pruned (keep_runs)").count(), 3, "the ledger has it");
}

#[test]
fn the_last_green_run_and_those_that_failed_stay() {
    let project = with_limits("keep_runs = 1");
    (0..2).for_each(|_| drop(project.proctor(["run"]).success()));
    let red = format!("[evidence]\nkeep_runs = 2\n{}", GREEN.replace("--stdout said", "--stdout said --exit 1"));
    project.save("proctor.toml", &red);
    project.approve();
    (0..2).for_each(|_| drop(project.proctor(["run"]).failure()));
    project.proctor(["run", "--check", "says"]).failure();
    project.proctor(["prune"]).success();
    let runs = project.store().committed_runs();
    let number = |position: usize| {
        let id = runs[position]["runId"].as_str().expect("text");
        id.rsplit('-').next().and_then(|digits| digits.parse().ok()).expect("a number")
    };
    let last: [u64; 3] = [number(1), number(3), number(4)];
    assert_eq!(there(&project), last, "the last green, the last that counts, and the last of all");
    project.proctor(["verify", "--all"]).success();
    project.proctor(["status"]).any_status();
    project.proctor(["show"]).success();
}

#[test]
fn a_run_stays_as_long_as_one_that_has_taken_its_result_over() {
    let project = with_limits("keep_runs = 1\n[run]\nreuse = \"always\"");
    (0..4).for_each(|_| drop(project.proctor(["run"]).success()));
    let first = project.store().committed_runs().remove(0)["runId"].clone();
    assert_eq!(project.proctor(["run"]).success().report()["reused"][0]["runId"], first);
    let last = project.store().committed_runs().pop().expect("it is sealed");
    assert_eq!(last["reused"], serde_json::json!([first]));
    project.proctor(["prune"]).success();
    assert_eq!(there(&project), [1, 5], "the last one and its evidence");
    project.proctor(["verify", "--all"]).success();
    project.save("other.txt", "another tree");
    project.proctor(["run"]).success();
    project.proctor(["prune"]).success();
    assert_eq!(there(&project), [6]);
    project.proctor(["verify", "--all"]).success();
}

#[test]
fn results_that_are_passed_on_from_save_to_save_do_not_keep_all_runs() {
    let check =
        |name: &str| format!("[[check]]\nname = \"{name}\"\ncommand = \"fake-tool --stdout {name}\"\npaths = [\"{name}.txt\"]\n");
    let toml = format!("[evidence]\nkeep_runs = 3\n[run]\nreuse = \"always\"\n{}{}", check("a"), check("b"));
    let project = Project::new().with_program(fake_tool()).toml(&toml);
    for save in 0..8 {
        project.save(["a.txt", "b.txt"][save % 2], &format!("{save}\n"));
        project.proctor(["run"]).any_status();
    }
    let runs = project.store().committed_runs();
    let chained = runs.windows(2).filter(|pair| pair[1]["reused"] == serde_json::json!([pair[0]["runId"]])).count();
    assert!(chained >= 6, "each run reused a result of the run before it: {chained}");
    project.proctor(["prune"]).success();
    let left = there(&project);
    assert!(left.len() <= 4, "the last ones and their evidence: {left:?}");
    project.proctor(["verify", "--all"]).success();
    let report = project.proctor(["show", "--json"]).success().json();
    let reused = report["reused"][0]["runId"].as_str().expect("a result was reused");
    assert!(left.iter().any(|number| reused.ends_with(&format!("-{number:06}"))), "{reused} is in {left:?}");
}

#[test]
#[ignore = "long tier"]
fn a_service_and_every_sixteenth_run_keep_to_the_limits_by_themselves() {
    let project = with_limits("keep_runs = 4");
    (0..15).for_each(|_| drop(project.proctor(["run"]).success()));
    assert_eq!(there(&project).len(), 15);
    project.proctor(["run"]).success();
    assert_eq!(there(&project).len(), 4);
    let project = with_limits("keep_runs = 4\n[watch]\nquiet = \"1ms\"");
    (0..15).for_each(|_| drop(project.proctor(["run"]).success()));
    let watch = project.watch([] as [&str; 0]);
    poll(Duration::from_secs(60), "the limits", || match there(&project) {
        numbers if numbers.len() == 4 => Ok(()),
        numbers => Err(format!("runs {numbers:?} are there")),
    });
    drop(watch);
    project.proctor(["verify"]).success();
}

#[test]
fn a_prune_that_was_killed_is_ended_by_the_next() {
    let project = with_limits("keep_runs = 2");
    (0..4).for_each(|_| drop(project.proctor(["run"]).success()));
    let saved = project.root().join("saved");
    let state = project.root().join("state/proctor/evidence");
    let copied = std::process::Command::new("cp").arg("-a").arg(&state).arg(&saved).status().expect("coreutils are there");
    assert!(copied.success());
    project.proctor(["prune"]).success();
    // The removed runs are put back: this is the state after a pruning that was killed after its ledger line and before
    // it removed the first directory.
    let put_back = std::process::Command::new("cp").args(["-a", "-T"]).arg(&saved).arg(&state).status().expect("coreutils");
    assert!(put_back.success());
    let said = project.proctor(["verify"]).success();
    assert!(said.stdout.contains("  pruning: ") && said.stdout.contains("removes it: `proctor prune`"), "{}", said.stdout);
    let again = project.root().join("again");
    let copied = std::process::Command::new("cp").arg("-a").arg(project.root().join("state")).arg(&again).status();
    assert!(copied.expect("coreutils are there").success());
    let said = project.proctor(["run"]).env("XDG_STATE_HOME", &again).success();
    assert!(said.stderr.contains("2 directories of runs were removed"), "a run ends it too: {}", said.stderr);
    let said = project.proctor(["prune"]).success();
    assert!(said.stdout.contains("2 directories that a process which died had left were removed"), "{}", said.stdout);
    assert_eq!(project.store().ledger().len(), 6, "nothing is said twice");
    project.proctor(["verify"]).success();
}

#[test]
fn without_limits_everything_is_kept() {
    let project = with_limits("keep_runs = 0");
    (0..2).for_each(|_| drop(project.proctor(["run"]).success()));
    let said = project.proctor(["prune"]).success();
    assert!(said.stderr.contains("everything is kept: set `keep_runs`"), "{}", said.stderr);
    assert!(said.stdout.ends_with("0 runs, 0 bytes removed; 2 runs are kept\n"), "{}", said.stdout);
    assert_eq!(there(&project).len(), 2);
    project.save("proctor.toml", &format!("[evidence]\nmax_bytes = \"1B\"\n{GREEN}"));
    project.approve();
    project.proctor(["prune"]).success();
    assert_eq!(there(&project).len(), 2, "the newest of the task stay, however large they are");
    project.save("proctor.toml", &format!("[evidence]\nkeep_days = -1\n{GREEN}"));
    project.proctor(["prune"]).status(4);
}
