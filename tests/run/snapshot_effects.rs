//! Tests the differences between a snapshot and a plain directory: a note names the difference if a check fails because
//! of it, and a single check can run without a snapshot.

use std::fs;
use std::process::Command;

use crate::common::{Output, Project};

/// A project with checks of these names, additional lines and shell scripts.
fn checks(checks: &[(&str, &str, &str)]) -> Project {
    let mut toml = String::new();
    for (name, lines, script) in checks {
        let script = serde_json::to_string(script).expect("a string can be written");
        toml += &format!("[[check]]\nname = \"{name}\"\n{lines}\ncommand = [\"fake-tool\", \"--script\", {script}]\n");
    }
    Project::new().toml(&toml)
}

fn notes(output: &Output) -> String {
    output.report()["notes"].to_string()
}

/// Runs git in a directory, with the name and address of a made-up author.
pub(super) fn git(directory: &std::path::Path, arguments: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"])
        .args(arguments)
        .current_dir(directory);
    let ended = git.env("GIT_CONFIG_NOSYSTEM", "1").output().expect("git is installed");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
}

#[test]
fn a_directory_that_only_the_project_has_is_named_when_a_check_fails_for_lack_of_it() {
    let project = checks(&[("logs", "", "echo line > logs/app.log"), ("other", "", "echo line > src/none/app.log")])
        .file(".gitignore", "*.log\n")
        .file("logs/old.log", "")
        .file("src/a.py", "");
    let output = project.proctor(["run"]).failure();
    let said = notes(&output);
    assert!(said.contains("the project has a directory `logs`, which is not on the snapshot"), "{said}");
    assert_eq!(said.matches("which is not on the snapshot").count(), 1, "{said}");
}

#[test]
fn tracked_files_that_belong_to_no_tree_are_named() {
    let project = checks(&[("a", "", "true")]).file("tests/node_modules/dep/index.js", "").file("old.pyc", "").file("b.py", "");
    git(&project.path(), &["init", "-q"]);
    git(&project.path(), &["add", "-f", "."]);
    let output = project.proctor(["run"]).success();
    let said = "2 tracked files belong to no tree because of the name: `old.pyc`, `tests/node_modules/dep/index.js`.";
    assert!(notes(&output).contains(said) && output.stdout.contains(said), "{}", output.snapshot());
}

#[test]
fn a_rename_of_a_directory_that_fails_is_named_as_an_effect_and_works_in_the_project_itself() {
    let script = "python3 -c \"import os; os.rename('d', 'e'); os.rename('e', 'd')\"";
    let project = checks(&[("renames", "", script)]).file("d/a.txt", "");
    let output = project.proctor(["run"]).failure();
    assert!(notes(&output).contains("a rename failed with EXDEV, which is an effect of the snapshot"), "{}", notes(&output));
    // The check renames an ignored directory. Renaming a directory of the tree away and back would count as a move of
    // the tree.
    let project = checks(&[("renames", "snapshot = \"off\"", script)]).file("d/a.txt", "").file(".gitignore", "/d/\n/e/\n");
    let output = project.proctor(["run"]).success();
    assert!(notes(&output).contains("it runs in the project itself"), "{}", notes(&output));
}

#[test]
fn a_check_in_the_project_itself_is_looked_after_and_the_others_keep_their_snapshot() {
    let project = checks(&[
        ("kept apart", "", "echo x >> a.txt"),
        ("in place", "snapshot = \"off\"", "grep -x x a.txt || date +%N > b.txt"),
    ])
    .file("a.txt", "");
    let output = project.proctor(["run"]).status(5);
    assert_eq!(fs::read_to_string(project.path().join("a.txt")).expect("a file"), "", "the first check had a snapshot");
    assert!(project.path().join("b.txt").exists(), "the second one had none");
    assert!(output.stdout.contains("MOVED") && output.stdout.contains("b.txt"), "{}", output.stdout);
}

#[test]
fn a_write_to_the_repository_is_named_and_its_settings_are_not_proposed() {
    let project = checks(&[("stashes", "", "git stash")]).file("a.txt", "one");
    git(&project.path(), &["init", "-q"]);
    git(&project.path(), &["add", "a.txt", "proctor.toml"]);
    git(&project.path(), &["commit", "-qm", "one"]);
    project.save("a.txt", "two");
    let output = project.proctor(["run"]).failure();
    let notes = notes(&output);
    assert!(notes.contains("`.git` could not be written to: on a snapshot it is the project's own"), "{notes}");
    assert!(!notes.contains("if the command has to, put"), "{notes}");
}

#[test]
fn git_finds_its_repository_above_the_project() {
    let project = checks(&[("describes", "", "git describe --tags --dirty && git status --short .")]).file("a.txt", "one");
    let above = project.root().to_owned();
    git(&above, &["init", "-q"]);
    git(&above, &["add", "project/a.txt", "project/proctor.toml"]);
    git(&above, &["commit", "-qm", "one"]);
    git(&above, &["tag", "v1.2"]);
    let output = project.proctor(["run"]).success();
    assert_eq!(output.report()["tree"]["snapshot"]["tested"], "snapshot");
    let log = project.proctor(["show", "--log", "STEP.1"]).success().stdout;
    assert!(log.contains("v1.2") && !log.contains("dirty"), "{log}");
    // The command removes the variable, so git stops at the snapshot's edge, and a note names the cause.
    let project = checks(&[("describes", "", "env -u GIT_DISCOVERY_ACROSS_FILESYSTEM git describe --tags")]);
    git(project.root(), &["init", "-q"]);
    let notes = notes(&project.proctor(["run"]).failure());
    assert!(notes.contains("git did not look for its repository above the project"), "{notes}");
}

#[test]
fn a_check_cannot_do_without_the_snapshot_that_the_settings_require() {
    let project = checks(&[("x", "snapshot = \"off\"", "true")]);
    let toml = fs::read_to_string(project.path().join("proctor.toml")).expect("a file");
    project.save("proctor.toml", &format!("{toml}[sandbox]\nsnapshot = \"require\"\n"));
    let said = project.proctor(["run"]).status(4).stderr;
    assert!(said.contains("`[sandbox]` requires a snapshot for every check"), "{said}");
}
