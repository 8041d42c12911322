//! Tests the link in a project that leads to the project's evidence (S1).

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::run::{check, project};

#[test]
fn it_is_made_said_once_and_kept_out_of_git() {
    let project = project(&check("a", &[]));
    project.command(Path::new("git"), ["init", "--quiet"]).success();
    let output = project.proctor(["run"]).success();
    insta::assert_snapshot!(output.snapshot(), @r#"
    exit status: 0
    --- stdout
    proctor 0.1.0 · project · tree <digest>
      ✓ a                    done <time>
    PASSED · evidence/default/execution-report.json
    --- stderr
    registered `<project>` as <project-id>; its rules count as approved
    evidence in `evidence`, kept for ever: `max_bytes = "5GiB"` in `[evidence]` of proctor.toml limits its size
    "#);
    let through_link = project.path().join("evidence/default/execution-report.json");
    assert_eq!(through_link.canonicalize().unwrap(), output.run_directory().join("execution-report.json"));
    let status = project.command(Path::new("git"), ["status", "--porcelain"]).success();
    assert_eq!(status.stdout, "?? proctor.toml\n");
    let second = project.proctor(["run"]).success();
    assert_eq!(second.stderr, "");
    let exclude = fs::read_to_string(project.path().join(".git/info/exclude")).unwrap();
    assert_eq!(exclude.lines().filter(|line| line.contains("evidence")).count(), 1, "{exclude}");
    let trees: Vec<_> = project.store().committed_runs().iter().map(|run| run["treeDigest"].clone()).collect();
    assert_eq!(trees[0], trees[1], "the link is no part of the tree");
}

#[test]
fn it_comes_back_when_it_was_removed() {
    let project = project(&check("a", &[]));
    project.proctor(["run"]).success();
    fs::remove_file(project.path().join("evidence")).unwrap();
    let output = project.proctor(["run"]).success();
    assert!(project.path().join("evidence/default/execution-report.json").exists(), "{}", output.snapshot());
}

#[test]
fn something_else_in_its_place_is_left_alone() {
    let project = project(&check("a", &[])).file("evidence/mine.txt", "mine");
    let output = project.proctor(["run"]).success();
    insta::assert_snapshot!(output.snapshot(), @r#"
    exit status: 0
    --- stdout
    proctor 0.1.0 · project · tree <digest>
      ✓ a                    done <time>
    PASSED · <state>/proctor/evidence/<project-id>/default/runs/<run>/execution-report.json
    --- stderr
    registered `<project>` as <project-id>; its rules count as approved
    `evidence` in the project is something else and was left alone: `proctor show` finds the evidence without a link
    "#);
    assert_eq!(fs::read_dir(project.path().join("evidence")).unwrap().count(), 1);
    project.proctor(["show"]).success();
}

#[test]
fn a_link_to_somewhere_else_is_left_alone() {
    let project = project(&check("a", &[]));
    symlink("/elsewhere", project.path().join("evidence")).unwrap();
    let output = project.proctor(["run"]).success();
    assert!(output.stderr.contains("was left alone"), "{}", output.snapshot());
    assert_eq!(fs::read_link(project.path().join("evidence")).unwrap(), Path::new("/elsewhere"));
}

#[test]
fn it_can_be_named_or_turned_off() {
    let off = project(&(check("a", &[]) + "[evidence]\nlink = \"\"\n"));
    let output = off.proctor(["run"]).success();
    insta::assert_snapshot!(output.snapshot(), @r#"
    exit status: 0
    --- stdout
    proctor 0.1.0 · project · tree <digest>
      ✓ a                    done <time>
    PASSED · <state>/proctor/evidence/<project-id>/default/runs/<run>/execution-report.json
    --- stderr
    registered `<project>` as <project-id>; its rules count as approved
    evidence in the store, kept for ever: `max_bytes = "5GiB"` in `[evidence]` of proctor.toml limits its size
    "#);
    assert_eq!(fs::read_dir(off.path()).unwrap().count(), 1);
    let named = project(&(check("a", &[]) + "[evidence]\nlink = \"proofs\"\n"));
    named.proctor(["run"]).success();
    assert!(named.path().join("proofs/default/execution-report.json").exists());
    assert!(!named.path().join("evidence").exists());
}
