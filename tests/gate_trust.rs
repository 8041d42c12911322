//! What `proctor gate` does not take for proved although a run passed: files that a clone lacks, another project, other checks than the
//! trusted side's; and where its policy comes from.

use std::fs;

use serde_json::json;

use crate::common::Project;
use crate::gate::{CHECKS, commit, gate, git, in_repository, reasons};

fn policy(project: &Project, text: &str) -> String {
    let path = project.shared("policy.toml");
    fs::write(&path, text).expect("it is ours");
    path.to_str().expect("text").to_owned()
}

/// Makes a bare repository of the project, which the checked-out branch then follows.
fn with_origin(project: &Project) -> String {
    let origin = project.shared("origin").to_str().expect("text").to_owned();
    git(project, &["clone", "--quiet", "--bare", ".", &origin]);
    git(project, &["remote", "add", "origin", &origin]);
    git(project, &["fetch", "--quiet", "origin"]);
    git(project, &["branch", "--quiet", "--set-upstream-to=origin/main"]);
    origin
}

#[test]
fn ignored_files_that_a_run_could_read_are_a_condition_and_files_that_the_commit_newly_ignores_prove_nothing() {
    let project = in_repository();
    commit(&project, ".gitignore", ".env\n/local/\n__pycache__/\nnode_modules/\n");
    project.save("src/__pycache__/a.cpython-311.pyc", "bytecode is no input");
    project.save("node_modules/left/index.js", "installed");
    project.proctor(["run"]).success();
    let proved = gate(&project, &[], 0);
    assert_eq!(proved["alsoRead"], json!(["node_modules/"]));
    assert!(project.proctor(["gate"]).success().stdout.contains("on condition: checks could also read node_modules/"));
    project.save(".env", "SECRET=1");
    project.save("local/module.py", "x = 1");
    project.proctor(["run"]).success();
    // The run before that is older, and it read no such file.
    gate(&project, &[], 0);
    commit(&project, "shop.txt", "good and newer\n");
    project.proctor(["run"]).success();
    let document = gate(&project, &[], 3);
    assert_eq!(document["required"][0]["words"], json!(["untracked-inputs"]));
    assert!(reasons(&document)[0].ends_with(": `.env`, `local/`"), "{document}");
    let some = policy(&project, "[gate]\nignored_inputs = [\".env\"]\n");
    assert!(reasons(&gate(&project, &["--policy-from", &some], 3))[0].ends_with(": `local/`"));
    let accepted = policy(&project, "[gate]\nignored_inputs = [\".env\", \"/local/**\"]\n");
    let document = gate(&project, &["--policy-from", &accepted], 0);
    assert_eq!(document["alsoRead"], json!([".env", "local/", "node_modules/"]));
    let wrong = policy(&project, "[gate]\nignored_inputs = [\"[\"]\n");
    assert!(project.proctor(["gate", "--policy-from", &wrong]).status(4).stderr.contains("ignored_inputs"));
    // In the project itself the same files can be read.
    commit(&project, "proctor.toml", &format!("{CHECKS}[sandbox]\nsnapshot = \"off\"\n[gate]\nignored_inputs = [\".env\"]\n"));
    project.approve();
    project.proctor(["run"]).success();
    let document = gate(&project, &["--policy-from", "HEAD"], 3);
    assert!(reasons(&document)[0].ends_with(": `local/`"), "{document}");
    // A file that the trusted commit has is never accepted.
    let trusted = "[gate]\nignored_inputs = [\"**\"]\n";
    commit(&project, "proctor.toml", &format!("{CHECKS}{trusted}"));
    project.approve();
    commit(&project, "kept/settings.py", "y = 2");
    with_origin(&project);
    commit(&project, ".gitignore", ".env\n/local/\n__pycache__/\nnode_modules/\n/kept/\n");
    git(&project, &["rm", "--quiet", "--cached", "kept/settings.py"]);
    git(&project, &["commit", "--quiet", "-m", "ignored from now on"]);
    project.proctor(["run"]).success();
    let document = gate(&project, &[], 3);
    assert_eq!(document["required"][0]["words"], json!(["newly-ignored"]), "{document}");
    assert!(reasons(&document)[0].contains("`kept/"), "{document}");
    fs::remove_dir_all(project.path().join("kept")).expect("it is there");
    project.proctor(["run"]).success();
    gate(&project, &[], 0);
}

#[test]
fn another_project_of_the_repository_with_the_same_content_proves_nothing() {
    let project = Project::new();
    git(&project, &["init", "--quiet"]);
    for directory in ["one", "two"] {
        project.save(&format!("{directory}/proctor.toml"), CHECKS);
        commit(&project, &format!("{directory}/shop.txt"), "good\n");
    }
    project.proctor(["run", "one"]).success();
    gate(&project, &["--project", "one"], 0);
    gate(&project, &["--project", "two"], 5);
    // The same directory in another worktree is the same project.
    let other = project.shared("other").to_str().expect("text").to_owned();
    git(&project, &["worktree", "add", "--quiet", "--detach", &other]);
    gate(&project, &["--project", &format!("{other}/one")], 0);
    gate(&project, &["--project", &format!("{other}/two")], 5);
}

#[test]
fn without_an_upstream_the_default_branch_of_the_remote_is_trusted() {
    let project = in_repository();
    project.proctor(["run"]).success();
    let from = |document: &serde_json::Value| document["policy"]["from"].as_str().expect("text").to_owned();
    assert!(from(&gate(&project, &[], 0)).contains("proctor's defaults"));
    with_origin(&project);
    git(&project, &["remote", "set-head", "origin", "main"]);
    git(&project, &["switch", "--quiet", "--detach"]);
    let detached = gate(&project, &[], 0);
    assert!(from(&detached).contains("refs/remotes/origin/main") && from(&detached).contains("default branch"), "{detached}");
    git(&project, &["switch", "--quiet", "-c", "new"]);
    commit(&project, "proctor.toml", "[[check]]\nname = \"there\"\ncommand = [\"cat\", \"shop.txt\"]\n");
    project.approve();
    project.proctor(["run"]).success();
    assert_eq!(gate(&project, &[], 3)["lowered"], json!(["check `good`"]), "a new branch does not choose its own policy");
    git(&project, &["switch", "--quiet", "main"]);
    assert_eq!(gate(&project, &["new"], 3)["lowered"], json!(["check `good`"]));
}

#[test]
fn found_checks_and_specifications_are_those_of_the_trusted_commit() {
    let project = Project::new();
    git(&project, &["init", "--quiet"]);
    // What is installed decides which checks are found, and is the same for both commits.
    project.save(".venv/bin/ruff", "");
    project.save(".gitignore", ".venv\n");
    project.save("ruff.toml", "line-length = 100\n");
    project.save("tests/test_a.py", "def test_a():\n    assert True\n");
    project.save("spec/a.test-specification.json", "{\"tasks\": [\"T117\"]}");
    commit(&project, "a.py", "x = 1\n");
    with_origin(&project);
    let lowered = |expected: serde_json::Value| {
        let output = project.proctor(["gate", "--json"]).any_status();
        assert_eq!(output.json()["lowered"], expected, "{}", output.stdout);
    };
    commit(&project, "a.py", "x = 2\n");
    lowered(json!([]));
    git(&project, &["rm", "--quiet", "ruff.toml"]);
    git(&project, &["commit", "--quiet", "-m", "without a linter"]);
    lowered(json!(["check `ruff`"]));
    git(&project, &["revert", "--no-edit", "HEAD"]);
    commit(&project, "spec/a.test-specification.json", "{\"tasks\": [\"T117\", \"less\"]}");
    lowered(json!([]));
    let task = "[gate]\ntasks = [\"T117\", \"T118\"]\n";
    commit(&project, "proctor.toml", task);
    git(&project, &["push", "--quiet", "origin", "HEAD:main"]);
    commit(&project, "a.py", "x = 3\n");
    lowered(json!(["task T118: the trusted commit has no specification of it"]));
    commit(&project, "spec/a.test-specification.json", "{\"tasks\": [\"T117\", \"nothing\"]}");
    lowered(json!([
        "specification `spec/a.test-specification.json`",
        "task T118: the trusted commit has no specification of it"
    ]));
}

#[test]
fn the_policy_asks_for_platforms_fresh_caches_and_signers() {
    let project = in_repository();
    project.proctor(["run"]).success();
    let here = format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH);
    let on = |platforms: &str| policy(&project, &format!("[gate]\nplatforms = [{platforms}]\n"));
    gate(&project, &["--policy-from", &on(&format!("\"{here}\""))], 0);
    let other = gate(&project, &["--policy-from", &on(&format!("\"{here}\", \"linux-riscv64\""))], 5);
    assert_eq!(reasons(&other), ["on linux-riscv64: no run on this tree has a result"]);
    let fresh = policy(&project, "[gate]\nfresh_caches = true\n");
    assert_eq!(gate(&project, &["--policy-from", &fresh], 3)["required"][0]["words"], json!(["kept-caches"]));
    project.proctor(["run", "--fresh-caches"]).success();
    gate(&project, &["--policy-from", &fresh], 0);
    let signers = policy(&project, "[gate]\nsigners = \"keys\"\n");
    assert!(project.proctor(["gate", "--policy-from", &signers]).status(4).stderr.contains("`keys`"));
    fs::write(project.shared("keys"), "ci@example.org ssh-rsa AAAA\n").expect("it is ours");
    assert!(project.proctor(["gate", "--policy-from", &signers]).status(4).stderr.contains("`keys`:1"));
    let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea";
    fs::write(project.shared("keys"), format!("ci@example.org {key}\n")).expect("it is ours");
    gate(&project, &["--policy-from", &signers], 0);
    // Who may sign is a matter for the trusted side.
    commit(&project, "proctor.toml", &format!("{CHECKS}[gate]\nsigners = \"keys\"\n"));
    project.approve();
    commit(&project, "keys", &format!("ci@example.org {key}\n"));
    with_origin(&project);
    commit(&project, "keys", &format!("me@example.org {key}\n"));
    project.proctor(["run"]).success();
    assert_eq!(gate(&project, &[], 3)["lowered"], json!(["gate.signers: `keys`"]));
}
