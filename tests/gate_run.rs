//! `proctor gate --run`, which tests a commit without touching the working tree, and the hook that gates what is pushed.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use crate::common::{Project, USER_CONFIGURATION};
use crate::gate::{CHECKS, commit, gate, git, in_repository, reasons};

/// Returns everything that must stay as it is: the files, the index, `HEAD`, and what git says of them.
fn state_of(project: &Project) -> (Vec<u8>, String, String, String) {
    let index = fs::read(project.path().join(".git/index")).expect("it is there");
    let head = fs::read_to_string(project.path().join(".git/HEAD")).expect("it is there");
    let files =
        git(project, &["-c", "core.fsmonitor=false", "--no-optional-locks", "status", "--porcelain=v1", "--ignored"]).stdout;
    let worktrees = git(project, &["worktree", "list"]).stdout;
    (index, head, files, worktrees)
}

fn checkouts(project: &Project) -> Vec<String> {
    let entries = fs::read_dir(project.root().join("state/proctor-commits")).expect("it was made");
    let names = entries.map(|entry| entry.expect("it is read").file_name().into_string().expect("text"));
    names.filter(|name| !name.ends_with(".lock")).collect()
}

#[test]
fn a_commit_is_tested_without_the_working_tree() {
    let project = in_repository();
    commit(&project, ".gitignore", "*.log\nlocal.txt\n");
    project.save("tracked.log", "tracked though ignored");
    git(&project, &["add", "--force", "tracked.log"]);
    git(&project, &["commit", "--quiet", "-m", "a tracked file"]);
    commit(&project, "shop.txt", "good and newer\n");
    // The working tree is another one: changed, with untracked and ignored files, and with something staged.
    project.save("shop.txt", "bad\n");
    project.save("untracked.txt", "x");
    project.save("local.txt", "ignored");
    project.save("staged.txt", "y");
    git(&project, &["add", "staged.txt"]);
    project.proctor(["run"]).failure();
    let (before, status) = (state_of(&project), project.proctor(["status"]).any_status().stdout);
    gate(&project, &[], 5);
    let proved = gate(&project, &["--run"], 0);
    assert_eq!((&proved["notRun"], proved["alsoRead"].as_array().map(Vec::len)), (&json!(null), Some(0)), "{proved}");
    assert_eq!(state_of(&project), before);
    assert_eq!(project.proctor(["status"]).any_status().stdout, status, "the project's own verdict stays");
    assert_eq!(checkouts(&project), Vec::<String>::new());
    // It is proved now, and nothing is run again.
    let shown = project.proctor(["gate", "--run"]).success();
    assert!(shown.stdout.starts_with("proved · "), "{}", shown.stdout);
    gate(&project, &["HEAD~1", "--run"], 0);
    project.proctor(["verify"]).success();
    let listed = project.proctor(["service", "list"]).any_status().stdout;
    assert!(!listed.contains("proctor-commits"), "{listed}");
    let policy = project.shared("policy.toml");
    fs::write(&policy, "[gate]\nchecks = [\"mypy\"]\n").expect("it is ours");
    let unknown = gate(&project, &["--policy-from", policy.to_str().expect("text"), "--run"], 5);
    assert_eq!(unknown["notRun"]["word"], "no-such-check", "{unknown}");
}

#[test]
fn what_only_the_working_tree_has_is_not_there_and_a_failure_is_red() {
    let project = Project::new().toml("[[check]]\nname = \"all\"\ncommand = [\"cat\", \"shop.txt\", \"local.txt\"]\n");
    git(&project, &["init", "--quiet"]);
    project.save(".gitignore", "local.txt\n");
    project.save("local.txt", "only here");
    commit(&project, "shop.txt", "good\n");
    project.proctor(["run"]).success();
    assert_eq!(gate(&project, &[], 3)["required"][0]["words"], json!(["untracked-inputs"]));
    let red = gate(&project, &["--run"], 1);
    assert_eq!(red["required"][0]["words"], json!(["failed"]), "a clone lacks the file");
    assert_eq!(checkouts(&project), Vec::<String>::new());
}

#[test]
fn installed_packages_are_those_of_the_commit_or_nothing_is_run() {
    let project = in_repository();
    commit(&project, ".gitignore", "node_modules/\n");
    project.save("node_modules/left/index.js", "installed for another tree");
    let refused = gate(&project, &["--run"], 5);
    assert_eq!(refused["notRun"]["word"], "other-environment", "{refused}");
    let shown = project.proctor(["gate", "--run"]).status(5).stdout;
    assert!(shown.contains("nothing was run") && shown.contains("(other-environment)"), "{shown}");
    let installs = "[[prerequisite]]\nname = \"install\"\ncommand = [\"fake-tool\", \"--script\", \"mkdir node_modules && echo own > node_modules/x\"]\n\
        [[check]]\nname = \"own\"\ncommand = [\"grep\", \"own\", \"node_modules/x\"]\n";
    commit(&project, "proctor.toml", installs);
    let proved = gate(&project, &["--run"], 0);
    assert_eq!(proved["required"][0]["state"], "proved", "{proved}");
    assert!(!project.path().join("node_modules/x").exists(), "the project's own packages stay as they are");
}

#[test]
fn a_project_below_the_repository_is_tested_also_where_the_working_tree_does_not_have_it() {
    let project = Project::new();
    git(&project, &["init", "--quiet"]);
    project.save("sub/proctor.toml", CHECKS);
    project.save("sub/shop.txt", "good\n");
    commit(&project, "around.txt", "x\n");
    git(&project, &["switch", "--quiet", "-c", "other"]);
    git(&project, &["rm", "--quiet", "-r", "sub"]);
    git(&project, &["commit", "--quiet", "-m", "gone"]);
    fs::create_dir_all(project.path().join("sub")).expect("it is ours");
    gate(&project, &["--project", "sub", "main"], 5);
    gate(&project, &["--project", "sub", "main", "--run"], 0);
}

#[test]
fn git_finds_the_history_in_the_checkout() {
    let project = Project::new();
    git(&project, &["init", "--quiet"]);
    let checks = "[[check]]\nname = \"history\"\ncommand = [\"fake-tool\", \"--script\", \"git diff --quiet HEAD && git log -1 --format=%s\"]\n";
    commit(&project, "proctor.toml", checks);
    gate(&project, &["--run"], 0);
}

#[test]
fn the_hook_gates_what_is_pushed_and_takes_away_only_itself() {
    let project = in_repository();
    let origin = project.shared("origin").to_str().expect("text").to_owned();
    git(&project, &["init", "--quiet", "--bare", &origin]);
    git(&project, &["remote", "add", "origin", &origin]);
    let hook = project.path().join(".git/hooks/pre-push");
    let install = |status| project.proctor(["gate", "--install", "pre-push"]).status(status);
    install(0);
    assert_ne!(fs::metadata(&hook).expect("it is there").permissions().mode() & 0o100, 0);
    install(0);
    let push = |arguments: &[&str]| {
        project.command(Path::new("git"), ["push", "--quiet", "origin"].iter().chain(arguments)).any_status()
    };
    let refused = push(&["main"]);
    assert!(refused.status != 0 && refused.stdout.contains("not tested"), "{}{}", refused.stdout, refused.stderr);
    project.proctor(["run"]).success();
    assert_eq!(push(&["main"]).status, 0);
    // Each branch is gated for itself; what is deleted is not.
    commit(&project, "shop.txt", "good, and untested\n");
    git(&project, &["branch", "untested"]);
    git(&project, &["reset", "--quiet", "--hard", "HEAD~1"]);
    assert_ne!(push(&["main:again", "untested"]).status, 0);
    assert_eq!(push(&["main:again"]).status, 0);
    assert_eq!(push(&["--delete", "again"]).status, 0);
    project.proctor(["gate", "--uninstall", "pre-push"]).success();
    assert!(!hook.exists());
    project.proctor(["gate", "--uninstall", "pre-push"]).success();
    // A hook of somebody else is asked about, kept, and put back.
    fs::write(&hook, "#!/bin/sh\nexit 0\n").expect("it is ours");
    assert!(install(3).stderr.contains("not proctor's"));
    let answered = |answer: &str| {
        let mut terminal = project.proctor(["gate", "--install", "pre-push"]).at_terminal();
        terminal.wait_for("[y/N] ", Duration::from_secs(30));
        terminal.press(&format!("{answer}\n"));
        terminal.ended().status
    };
    assert_eq!(answered("n"), 3);
    assert_eq!(fs::read_to_string(&hook).expect("it is there"), "#!/bin/sh\nexit 0\n");
    assert!(project.proctor(["gate", "--uninstall", "pre-push"]).status(2).stderr.contains("so it stays"));
    assert_eq!(answered("y"), 0);
    let written = fs::read_to_string(&hook).expect("it is there");
    assert!(written.contains("gate --pushed --remote=\"$1\""), "{written}");
    // What was added to proctor's hook is not proctor's.
    let added = written.replace("exec ", "make lint || exit 1\nexec ");
    fs::write(&hook, &added).expect("it is ours");
    install(2);
    project.proctor(["gate", "--uninstall", "pre-push"]).status(2);
    assert_eq!(fs::read_to_string(&hook).expect("it is there"), added);
    let program = written.replace("program='", "program='/gone");
    fs::write(&hook, program).expect("it is ours");
    install(0);
    assert_eq!(fs::read_to_string(&hook).expect("it is there"), written);
    project.proctor(["gate", "--uninstall", "pre-push"]).success();
    assert_eq!(fs::read_to_string(&hook).expect("it is there"), "#!/bin/sh\nexit 0\n");
}

#[test]
fn the_hook_is_written_where_git_looks_for_it() {
    let project = in_repository();
    git(&project, &["config", "core.hooksPath", "my hooks"]);
    project.proctor(["gate", "--install", "pre-push"]).success();
    assert!(project.path().join("my hooks/pre-push").exists());
    git(&project, &["config", "extensions.worktreeConfig", "true"]);
    git(&project, &["config", "--worktree", "core.hooksPath", "of this worktree"]);
    project.proctor(["gate", "--install", "pre-push"]).success();
    assert!(project.path().join("of this worktree/pre-push").exists());
    git(&project, &["config", "--worktree", "--unset", "core.hooksPath"]);
    git(&project, &["config", "--unset", "core.hooksPath"]);
    fs::write(project.root().join("home/.gitconfig"), "[core]\n\thooksPath = ~/hooks\n").expect("it is ours");
    // A directory of all repositories is nobody's own.
    let installed = project.root().join("home/hooks/pre-push");
    let asked = project.proctor(["gate", "--install", "pre-push"]).status(3).stderr;
    assert!(asked.contains("gates others too") && asked.contains("core.hooksPath .git/hooks"), "{asked}");
    assert!(!installed.exists());
    let mut terminal = project.proctor(["gate", "--install", "pre-push"]).at_terminal();
    terminal.wait_for("[y/N] ", Duration::from_secs(30));
    terminal.press("y\n");
    assert_eq!(terminal.ended().status, 0);
    assert!(installed.exists());
    fs::remove_file(project.root().join("home/.gitconfig")).expect("it is there");
    let hooks = project.path().join(".git/hooks");
    fs::remove_dir_all(&hooks).expect("git made it");
    symlink(project.shared("all-hooks"), &hooks).expect("it is ours");
    project.proctor(["gate", "--install", "pre-push"]).status(3);
    fs::create_dir(project.shared("all-hooks")).expect("it is ours");
    project.proctor(["gate", "--install", "pre-push"]).status(3);
    // What git does not say is no push.
    assert!(project.proctor(["gate", "--pushed"]).any_status().status == 0, "nothing is pushed");
    commit(&project, "proctor.toml", &format!("{CHECKS}# more\n"));
}

#[test]
fn a_run_on_a_checkout_that_found_fewer_checks_proves_nothing() {
    let project = Project::new();
    git(&project, &["init", "--quiet"]);
    project.save(".gitignore", "node_modules/\n");
    // Before the prerequisite has run, nothing is installed that would be found.
    project.save("proctor.toml", "[[prerequisite]]\nname = \"install\"\ncommand = [\"mkdir\", \"-p\", \"node_modules/.bin\"]\n");
    project.save("package.json", "{\"name\": \"shop\", \"scripts\": {\"test\": \"node --test\"}}\n");
    project.save("eslint.config.js", "module.exports = [];\n");
    commit(&project, "a.test.js", "require('node:test')('adds', () => {});\n");
    project.save("node_modules/.bin/eslint", "#!/bin/sh\necho '[]'\n");
    let document = gate(&project, &["--run"], 5);
    assert_eq!(document["required"][0]["words"], json!(["checks-not-run"]), "{document}");
    assert_eq!(reasons(&document), ["no result on this tree: eslint"]);
}

#[test]
fn what_the_user_allows_a_project_or_approved_there_is_allowed_to_its_commits() {
    for is_allowed_by_file in [true, false] {
        let project = in_repository();
        let configuration = project.root().join(USER_CONFIGURATION);
        let allowed = format!("[[allow]]\nprojects = [{:?}]\nsandbox.mode = \"off\"\n", project.path());
        fs::write(&configuration, if is_allowed_by_file { &allowed } else { "" }).expect("it is ours");
        let rules = fs::read_to_string(project.path().join("proctor.toml")).expect("it is there");
        commit(&project, "proctor.toml", &format!("{rules}\n[sandbox]\nmode = \"off\"\n"));
        let policy = project.shared("policy.toml");
        fs::write(&policy, "[gate]\nworld = \"open\"\n").expect("it is ours");
        let asked = ["--policy-from", policy.to_str().expect("text"), "--run"];
        if !is_allowed_by_file {
            let refused = gate(&project, &asked, 5);
            assert_eq!(refused["notRun"]["word"], "person-needed", "{refused}");
            assert_eq!(project.proctor(["run"]).any_status().status, 3);
            let refused = gate(&project, &asked, 5);
            assert_eq!(refused["notRun"]["word"], "changed-rules", "{refused}");
            project.approve();
        }
        let proved = gate(&project, &asked, 0);
        assert_eq!(proved["notRun"], json!(null), "{proved}");
    }
}
