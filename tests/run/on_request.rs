//! Tests checks that run only when somebody asks for them (`when = "ask"`).

use std::path::Path;

use crate::common::Project;
use crate::gate::{commit, git};

const CHECKS: &str = "[[check]]\nname = \"quick\"\ncommand = \"true\"\n\
                      [[check]]\nname = \"slow\"\ncommand = [\"test\", \"!\", \"-e\", \"broken\"]\nwhen = \"ask\"\n";

#[test]
fn a_check_waits_until_it_is_asked_for_and_the_verdict_without_it_is_fresh_and_no_proof() {
    let project = Project::new().toml(CHECKS);
    git(&project, &["init", "--quiet"]);
    commit(&project, "a.txt", "x\n");
    let run = project.proctor(["run"]).success();
    assert!(run.stdout.contains("waits for a commit: `proctor run --all`"), "{}", run.snapshot());
    assert!(run.stdout.contains("PASSED · 1 of 2 checks"), "{}", run.snapshot());
    assert_eq!(run.report()["stepExecution"]["results"][1]["skipReason"], "waits-for-request");

    let status = project.proctor(["status"]).success();
    assert!(status.stdout.contains("fresh PASS") && status.stdout.contains("without slow"), "{}", status.snapshot());
    let waited = project.proctor(["wait", "--fresh"]).success();
    assert!(waited.stdout.contains("fresh PASS"), "nothing was run: {}", waited.snapshot());
    let refused = project.proctor(["gate"]).any_status();
    assert_ne!(refused.status, 0, "{}", refused.snapshot());

    let all = project.proctor(["run", "--all", "--fresh-caches"]).success();
    assert!(all.stdout.contains("✓ slow"), "{}", all.snapshot());
    assert!(!project.proctor(["status"]).success().stdout.contains("without slow"));

    // A failure of the check on this tree makes its verdict red until it is asked for again.
    project.save("broken", "");
    project.proctor(["run"]).success();
    project.proctor(["run", "--check", "slow"]).failure();
    assert!(project.proctor(["status"]).any_status().stdout.contains("FAIL"));
}

/// The hook runs the check on a checkout of the commit, and lets a commit through that this proves.
#[test]
fn the_hook_before_a_push_runs_what_is_asked_for() {
    let project = Project::new().toml(CHECKS);
    git(&project, &["init", "--quiet"]);
    commit(&project, "a.txt", "x\n");
    let to = project.shared("upstream");
    git(&project, &["init", "--quiet", "--bare", &to.display().to_string()]);
    git(&project, &["remote", "add", "origin", &to.display().to_string()]);
    project.proctor(["run"]).success();
    project.proctor(["gate", "--install", "pre-push"]).success();
    let push = || project.command(Path::new("git"), ["push", "--quiet", "origin", "HEAD:main"]).any_status();
    let pushed = push();
    assert!(pushed.status == 0 && pushed.stdout.contains("✓ slow"), "{}{}", pushed.stdout, pushed.stderr);
    commit(&project, "broken", "");
    let refused = push();
    assert!(refused.status != 0 && refused.stdout.contains("✗ slow"), "{}{}", refused.stdout, refused.stderr);
}
