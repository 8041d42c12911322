//! Tests checks that run only when somebody asks for them (`when = "ask"`).

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
