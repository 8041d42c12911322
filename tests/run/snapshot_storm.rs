//! Random changes of a project while its checks run on snapshots. Each check computes the digest of the tree that it
//! sees, with the script of the documentation. This digest must equal the digest in the verdict.
//!
//! `PROCTOR_STORM_SEED` repeats a sequence of changes; the seed of a sequence that fails is printed.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::common::Project;
use crate::gate::git;
use crate::tree::SCRIPT;
use crate::watch_storm::{Dice, change};

/// The pause between two changes. Without a pause, every tree would change while it is copied.
const PAUSE: Duration = Duration::from_millis(2);

/// Changes a project at random, and runs its check until `changes` were made. Returns how many runs had a snapshot.
fn storm(changes: usize) -> usize {
    let seed = std::env::var("PROCTOR_STORM_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_261_124);
    let project = Project::new().toml(
        "[sandbox]\nsnapshot = \"auto\"\nwritable = [\"../shared\"]\n\
         [[check]]\nname = \"digest\"\ncommand = [\"python3\", \"-I\", \"-S\", \"../shared/digest.py\", \".\"]\n",
    );
    fs::write(project.shared("digest.py"), SCRIPT).expect("the directory is ours");
    let outside = project.shared("outside");
    fs::create_dir(&outside).expect("the directory is ours");
    let (made, is_over, root) = (AtomicUsize::new(0), AtomicBool::new(false), project.path());
    let mut judged = 0;
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut dice = Dice(seed);
            while !is_over.load(Ordering::Relaxed) {
                change(&root, &outside, &mut dice, made.fetch_add(1, Ordering::Relaxed));
                thread::sleep(PAUSE);
            }
        });
        let mut runs = 0;
        while made.load(Ordering::Relaxed) < changes {
            let ended = project.proctor(["run"]).watch().ended();
            runs += 1;
            if ended.status == 5 {
                // The run used the project itself, which changed meanwhile, so it has no verdict.
                continue;
            }
            if ended.status == 3 {
                // A rule took files out of the tree, which a person would have to approve. Without the approval of the
                // earlier tree, the next run is treated as a first run.
                fs::remove_dir_all(project.root().join("state/proctor/approved-trees")).expect("a run was approved before");
                continue;
            }
            let report = ended.report();
            let snapshot = &report["tree"]["snapshot"];
            if snapshot["tested"] != "snapshot" {
                continue;
            }
            let seen = project.proctor(["show", "--log", "STEP.1"]).success().stdout;
            let digested = report["tree"]["before"].as_str().expect("a digest");
            if !seen.contains(digested) || ended.status != 0 {
                is_over.store(true, Ordering::Relaxed);
                panic!("seed {seed}, run {runs}: the check saw {seen}, the verdict is for {digested}\n{}", ended.snapshot());
            }
            judged += 1;
        }
        is_over.store(true, Ordering::Relaxed);
    });
    judged
}

#[test]
fn a_check_sees_the_tree_that_its_verdict_names_while_everything_changes() {
    let judged = storm(500);
    assert!(judged > 0, "no run had a snapshot");
}

#[test]
#[ignore = "wide tier"]
fn ten_thousand_changes_never_show_a_check_another_tree() {
    let judged = storm(10_000);
    assert!(judged > 20, "only {judged} runs had a snapshot");
}

/// git replaces the index and removes messages and heads of what it has finished, also while a check starts.
#[test]
fn git_may_replace_and_remove_its_own_files_while_checks_start() {
    let checks: String = (0..8).map(|number| format!("[[check]]\nname = \"c{number}\"\ncommand = [\"true\"]\n")).collect();
    let project = Project::new().toml(&checks).file("shop.txt", "good\n");
    git(&project, &["init", "--quiet"]);
    git(&project, &["add", "."]);
    git(&project, &["commit", "--quiet", "--message", "first"]);
    project.proctor(["run"]).success();
    let (is_over, own) = (AtomicBool::new(false), project.path().join(".git"));
    let index = fs::read(own.join("index")).expect("git wrote it");
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                fs::write(own.join("MERGE_MSG"), "text\n").expect("it is ours");
                fs::write(own.join("index.lock"), &index).expect("it is ours");
                fs::rename(own.join("index.lock"), own.join("index")).expect("one directory");
                thread::sleep(PAUSE);
                fs::remove_file(own.join("MERGE_MSG")).expect("it is there");
                thread::sleep(PAUSE);
            }
        });
        let runs: Vec<_> = (0..6).map(|_| project.proctor(["run"]).any_status()).collect();
        is_over.store(true, Ordering::Relaxed);
        for run in runs {
            assert_eq!(run.status, 0, "{}", run.snapshot());
        }
    });
}
