//! Tests `proctor log` and `proctor show`: sealed runs can be read again, and the index can be rebuilt from the ledger.

use std::fs;
use std::path::Path;

use crate::common::Project;
use crate::run::{check, prerequisite, project, result};

fn with_two_runs() -> Project {
    let project =
        project(&(prerequisite("packages", &[]) + &check("a", &["--stdout", "first\n", "--exit", "1"]) + &check("b", &[])));
    project.proctor(["run"]).failure();
    project.save("proctor.toml", &(prerequisite("packages", &[]) + &check("a", &["--stdout", "second\n"]) + &check("b", &[])));
    project.approve();
    project.proctor(["run"]).success();
    project
}

#[test]
fn runs_are_listed_newest_first() {
    let project = with_two_runs();
    insta::assert_snapshot!(project.proctor(["log"]).success().snapshot(), @"
    exit status: 0
    --- stdout
       2  PASSED       tree <digest> <time> <age>
       1  FAILED       tree <digest> <time> failed: a  <age>
    ");
    assert_eq!(project.proctor(["log", "--limit", "1"]).success().stdout.lines().count(), 1);
}

#[test]
fn the_directory_may_follow_the_name_of_a_check_and_stand_in_place_of_every_project() {
    let project = with_two_runs();
    let run = project.proctor(["run", "--check", "b", "../project"]).directory("../shared").any_status();
    assert!(run.status == 0 && run.stdout.contains("1 of 2 checks"), "{}", run.snapshot());
    for command in [&["log", "../project"][..], &["show", "--project", "../project"], &["status", "../project"]] {
        let output = project.proctor(command).directory("../shared").any_status();
        assert!(output.status != 2, "{command:?}: {}", output.snapshot());
    }
}

#[test]
fn an_export_is_written_beside_the_project_and_not_into_it() {
    let project = with_two_runs();
    let tree = project.proctor(["generate", "tree"]).any_status().stdout;
    let output = project.proctor(["export", "1"]).success();
    assert_eq!(project.proctor(["generate", "tree"]).any_status().stdout, tree, "{}", output.snapshot());
    let written = Path::new(output.stdout.split(" · ").next().unwrap_or_default()).to_owned();
    assert!(written.is_dir() && !written.starts_with(project.path()), "{}", output.snapshot());
}

#[test]
fn a_run_is_shown_as_it_was() {
    let project = with_two_runs();
    insta::assert_snapshot!(project.proctor(["show"]).success().snapshot(), @"
    exit status: 0
    --- stdout
    run 2 · <age> · <run>
    proctor 0.1.0 · project · tree <digest>
      - packages             unchanged
      ✓ a                    done <time>
      ✓ b                    done <time>
      note: configuration changed since the last run: proctor.toml
    PASSED · evidence/default/runs/<run>/execution-report.json
    ");
    let ids: Vec<String> = project.store().committed_runs().iter().map(|run| run["runId"].as_str().unwrap().to_owned()).collect();
    let number = ids[0].rsplit('-').next().unwrap().trim_start_matches('0').to_owned();
    for wanted in [&ids[0], &number] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(project.proctor(["show", wanted]).success().snapshot(), @"
            exit status: 0
            --- stdout
            run 1 · <age> · <run>
            proctor 0.1.0 · project · tree <digest>
              ✓ packages             done <time>
              ✗ a                    exit 1 <time>
                   │ first
                   all of its output: `proctor show 1 --log a`
              ✓ b                    done <time>
            FAILED · a failed · evidence/default/runs/<run>/execution-report.json
            ");
        }
    }
    let json = project.proctor(["show", &number, "--json"]).success();
    assert_eq!(json.json()["authenticity"]["executionId"], ids[0].as_str());
    assert_eq!(json.json()["executionSummary"]["overallStatus"], "PARTIAL_SUCCESS");
}

#[test]
fn logs_are_shown_by_id_or_name_of_any_run() {
    let project = with_two_runs();
    assert_eq!(project.proctor(["show", "--log", "STEP.1"]).success().stdout, "second\n");
    assert_eq!(project.proctor(["show", "--log", "a"]).success().stdout, "second\n");
    assert_eq!(project.proctor(["show", "1", "--log", "STEP.1"]).success().stdout, "first\n");
    insta::assert_snapshot!(project.proctor(["show", "--log", "STEP.9"]).status(2).snapshot(), @"
    exit status: 2
    --- stderr
    error: run 2 has no log of `STEP.9`
      hint: it has logs of: a, b
    ");
}

#[test]
fn deleting_the_index_loses_nothing() {
    let project = with_two_runs();
    project.proctor(["tdd", "start", "--phase", "GREEN"]).success();
    let listed = project.proctor(["log"]).success().snapshot();
    let cycle = project.proctor(["tdd", "show", "--json"]).success().stdout;
    let shown = project.proctor(["show", "--json"]).success().stdout;
    let forget = || {
        let state = project.root().join("state/proctor");
        let files =
            fs::read_dir(&state).unwrap().flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with("state.db"));
        let removed = files.map(|entry| fs::remove_file(entry.path()).unwrap()).count();
        assert!(removed > 0, "there was an index");
    };
    forget();
    assert_eq!(project.proctor(["log"]).success().snapshot(), listed);
    forget();
    assert_eq!(project.proctor(["tdd", "show", "--json"]).success().stdout, cycle);
    forget();
    assert_eq!(project.proctor(["show", "--json"]).success().stdout, shown);
    forget();
    let output = project.proctor(["run"]).success();
    assert_eq!(result(&output.report(), "PREREQ.1")["skipReason"], "unchanged");
    assert_eq!(output.report()["tdd"]["started"], true);
    assert!(!output.stderr.contains("registered"), "{}", output.snapshot());
    assert_eq!(project.proctor(["log"]).success().stdout.lines().count(), 3);
}

#[test]
fn reading_needs_neither_the_link_nor_the_configuration() {
    let project = with_two_runs();
    fs::remove_file(project.path().join("evidence")).unwrap();
    project.save("proctor.toml", "nonsense");
    project.proctor(["log"]).success();
    project.proctor(["show"]).success();
    assert_eq!(project.proctor(["show", "--log", "a"]).success().stdout, "second\n");
}
