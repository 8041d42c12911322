//! Prerequisites run when they must, are visibly skipped when they need not run, and keep the checks from running when
//! they fail.

use crate::common::{Output, Project, WRITES_TO_SHARED};
use crate::run::{beside, check, cleanup, exists, prerequisite, project, result};

/// A project with a prerequisite that depends on `packages.lock` and makes the ignored file `made`.
fn installing() -> Project {
    let packages = prerequisite("packages", &["--touch", "made"]) + "when_changed = [\"packages.lock\"]\ncreates = [\"made\"]\n";
    project(&(packages + &check("a", &[]))).file("packages.lock", "one").file(".gitignore", "made\n")
}

#[track_caller]
fn ran(output: &Output) -> bool {
    let report = output.report();
    let packages = result(&report, "PREREQ.1");
    let unchanged = packages["skipReason"] == "unchanged" && output.stdout.contains("  - packages             unchanged\n");
    let executed = packages["status"] == "SUCCESS" && output.stdout.contains("  ✓ packages             done");
    assert!(unchanged != executed, "screen and report say the same:\n{}", output.snapshot());
    executed
}

#[test]
fn it_runs_once_and_again_when_an_input_changed_or_what_it_makes_is_gone() {
    let project = installing();
    let run = || project.proctor(["run"]).success();
    assert!(ran(&run()), "the first time");
    assert!(!ran(&run()), "nothing changed");
    project.save("packages.lock", "two");
    assert!(ran(&run()), "an input changed");
    assert!(!ran(&run()));
    std::fs::remove_file(project.path().join("made")).unwrap();
    assert!(ran(&run()), "what it makes was gone");
    assert!(!ran(&run()));
    project.save("other.txt", "x");
    assert!(!ran(&run()), "another file is none of its inputs");
}

#[test]
fn it_runs_again_after_a_failure() {
    let script = "#!/bin/sh\ntest -e allowed\n";
    let toml = "[[prerequisite]]\nname = \"packages\"\ncommand = [\"./prepare\"]\nwhen_changed = [\"lock\"]\n".to_owned();
    let project = project(&(toml + &check("a", &[]))).executable("prepare", script).file("lock", "");
    let allowed = project.path().join("allowed");
    std::fs::write(&allowed, "").unwrap();
    assert!(ran(&project.proctor(["run"]).success()));
    assert!(!ran(&project.proctor(["run"]).success()));
    std::fs::remove_file(&allowed).unwrap();
    project.save("lock", "other");
    project.proctor(["run"]).failure();
    // The prerequisite has succeeded with this state before, but it has failed since, so it must run again.
    project.save("lock", "");
    project.proctor(["run"]).failure();
    std::fs::write(&allowed, "").unwrap();
    assert!(ran(&project.proctor(["run"]).success()));
    assert!(!ran(&project.proctor(["run"]).success()));
}

#[test]
fn without_inputs_it_runs_once_for_a_registration() {
    let project = project(&(prerequisite("packages", &[]) + &check("a", &[])));
    assert!(ran(&project.proctor(["run"]).success()));
    project.save("anything", "x");
    assert!(!ran(&project.proctor(["run"]).success()));
    std::fs::remove_dir_all(project.root().join("state/proctor")).unwrap();
    assert!(ran(&project.proctor(["run"]).success()), "it was registered anew");
}

#[test]
fn one_whose_command_changed_runs_again() {
    let project = project(&(prerequisite("packages", &[]) + &check("a", &[])));
    assert!(ran(&project.proctor(["run"]).success()));
    project.save("proctor.toml", &(prerequisite("packages", &["--sleep", "1"]) + &check("a", &[])));
    project.approve();
    assert!(ran(&project.proctor(["run"]).success()));
}

#[test]
fn a_failing_one_keeps_the_checks_from_running_and_not_the_clean_up() {
    let toml = prerequisite("database", &["--stderr", "port 5432 is in use\n", "--exit", "2"])
        + &prerequisite("packages", &[])
        + &check("a", &[])
        + &check("b", &[]);
    let project = project(&toml);
    let cleaned = beside(&project, "cleaned");
    project.save("proctor.toml", &(WRITES_TO_SHARED.to_owned() + &toml + &cleanup("tidy up", &["--touch", &cleaned])));
    let output = project.proctor(["run"]).failure();
    insta::assert_snapshot!(output.snapshot(), @r#"
    exit status: 1
    --- stdout
    proctor 0.1.0 · project · tree <digest>
      ✗ database             exit 2 <time>
           │ port 5432 is in use
           all of its output: `proctor show --log database`
      - packages             skipped: a prerequisite failed
      - a                    skipped: a prerequisite failed
      - b                    skipped: a prerequisite failed
      ✓ tidy up              done <time>
    FAILED · database failed · evidence/default/execution-report.json
    --- stderr
    registered `<project>` as <project-id>; its rules count as approved
    evidence in `evidence`, kept for ever: `max_bytes = "5GiB"` in `[evidence]` of proctor.toml limits its size
    "#);
    assert!(exists(&cleaned));
    let report = output.report();
    let database = result(&report, "PREREQ.1");
    assert_eq!(database["status"], "PREREQUISITE_FAILURE");
    assert_eq!(database["impact"]["subsequentStepsSkipped"], 2);
    assert_eq!(database["impact"]["testExecutionAborted"], true);
    assert_eq!(report["prerequisiteExecution"]["allMet"], false);
    for id in ["PREREQ.2", "STEP.1", "STEP.2"] {
        assert_eq!(result(&report, id)["skipReason"], "prerequisite-failed", "{id}");
    }
    let again = project.proctor(["run"]).failure();
    assert_eq!(result(&again.report(), "PREREQ.1")["disposition"], "EXECUTED", "a failed one is tried again");
}
