//! Tests what a check plants at places that a person or a program trusts: reports at the path of the evidence, and the
//! settings of git.

use std::fs;

use crate::common::Project;
use crate::run::snapshot_effects::git;

/// A project whose only check is a script that plants something and fails.
fn planting(script: &str) -> Project {
    let script = serde_json::to_string(&format!("{script}\nexit 1")).expect("a string can be written");
    Project::new()
        .toml(&format!("[[check]]\nname = \"plants\"\ncommand = [\"fake-tool\", \"--script\", {script}]\n"))
        .file("a.txt", "one")
}

#[test]
fn a_report_that_a_check_plants_at_the_path_of_the_evidence_is_never_found_there() {
    let script = "rm -rf evidence; mkdir -p evidence/default
        echo '{\"executionSummary\": {\"overallStatus\": \"SUCCESS\"}}' >evidence/default/execution-report.json";
    let project = planting(script);
    // In the first run the link is not there yet; in the second one it is.
    for round in ["first", "second"] {
        let output = project.proctor(["run"]).failure();
        let report = fs::read_to_string(project.path().join("evidence/default/execution-report.json")).expect("a report");
        let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
        assert_eq!(report["executionSummary"]["overallStatus"], "FAILED", "{round}: {}", output.snapshot());
        assert_eq!(report, output.report(), "{round}");
        assert!(project.path().join("evidence").is_symlink(), "{round}");
    }
    project.proctor(["verify"]).success();
}

#[test]
fn settings_of_git_that_a_check_plants_run_nothing_at_the_next_git_status() {
    let planted = "mkdir -p .git && printf '[core]\\n\\tfsmonitor = touch ran; false\\n' >>.git/config";
    // This project is no repository yet. With the planted `.git`, git would take it for one.
    let without = planting(&format!("git init -q .; {planted}"));
    let output = without.proctor(["run"]).failure();
    assert_eq!(output.report()["tree"]["snapshot"]["tested"], "snapshot", "{}", output.snapshot());
    assert!(!without.path().join(".git").exists());
    let repository = planting(planted);
    git(&repository.path(), &["init", "-q"]);
    let before = fs::read_to_string(repository.path().join(".git/config")).expect("git's settings");
    repository.proctor(["run"]).failure();
    assert_eq!(fs::read_to_string(repository.path().join(".git/config")).expect("git's settings"), before);
    git(&repository.path(), &["status", "--short"]);
    assert!(!repository.path().join("ran").exists());
}
