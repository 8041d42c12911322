//! What `proctor gate` does not take for proved although a run passed: files that a clone lacks, another project, other checks than the
//! trusted side's; and where its policy comes from.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::json;

use crate::common::{Project, proctor};
use crate::gate::{CHECKS, commit, gate, git, in_repository, reasons};

fn policy(project: &Project, text: &str) -> String {
    let path = project.shared("policy.toml");
    fs::write(&path, text).expect("it is ours");
    path.to_str().expect("text").to_owned()
}

/// Makes a bare repository of the project, which the checked-out branch then follows.
pub(crate) fn with_origin(project: &Project) -> String {
    let origin = project.shared("origin").to_str().expect("text").to_owned();
    git(project, &["clone", "--quiet", "--bare", ".", &origin]);
    git(project, &["remote", "add", "origin", &origin]);
    git(project, &["fetch", "--quiet", "origin"]);
    git(project, &["branch", "--quiet", "--set-upstream-to=origin/main"]);
    origin
}

/// No digest of files names a variable, and a test may need the one that was set in a shell.
#[test]
fn variables_that_checks_would_not_have_here_are_a_condition() {
    let project = in_repository();
    let is_named_with = |path: &str| {
        let gate = project.proctor(["gate"]).env("PATH", path).success();
        gate.stdout.contains("on condition: checks could also read other variables")
    };
    let (here, elsewhere) = ("/usr/bin:/bin", "/usr/bin:/bin:/opt");
    project.proctor(["run"]).env("TZ", "Asia/Tokyo").env("PATH", here).success();
    assert!(is_named_with(here));
    project.proctor(["run"]).env("PATH", here).success();
    assert!(!is_named_with(here) && is_named_with(elsewhere));
    // As git starts a hook.
    assert!(!is_named_with(&format!("/usr/lib/git-core:{here}")));
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
    project.proctor(["run"]).success();
    let document = gate(&project, &["--policy-from", "HEAD"], 3);
    assert!(reasons(&document)[0].ends_with(": `local/`"), "{document}");
    // A file that the trusted commit has is never accepted.
    let trusted = "[gate]\nignored_inputs = [\"**\"]\nweakened = \"say\"\n";
    commit(&project, "proctor.toml", &format!("{CHECKS}{trusted}"));
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
    git(&project, &["switch", "--quiet", "new"]);
    commit(&project, "shop.txt", "another content, which nothing was run on\n");
    let told = project.proctor(["gate"]).status(3).stdout;
    assert!(told.contains("asks for less") && !told.contains("proctor run") && !told.contains("gate --run"), "{told}");
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
fn a_run_whose_check_found_a_cache_of_an_earlier_run_proves_a_commit_only_where_the_policy_accepts_it() {
    let project = in_repository();
    let script = "mkdir -p .ruff_cache && echo run >> .ruff_cache/runs";
    let other = "[[check]]\nname = \"other\"\ncommand = [\"true\"]\n";
    let caching = |in_place: &str| {
        format!("{other}[[check]]\nname = \"caching\"\ncommand = [\"fake-tool\", \"--script\", \"{script}\"]\n{in_place}")
    };
    commit(&project, "proctor.toml", &caching(""));
    commit(&project, ".gitignore", ".ruff_cache\n");
    let accepting = policy(&project, "[gate]\nfresh_caches = false\n");
    let judged = |status: i32| gate(&project, &["--policy-from", "HEAD"], status);
    project.proctor(["run"]).success();
    judged(0);
    // Another commit, because the result of the first run still proves its own.
    commit(&project, "shop.txt", "good, again\n");
    project.proctor(["run"]).success();
    assert_eq!(judged(3)["required"][0]["words"], json!(["kept-caches"]));
    gate(&project, &["--policy-from", &accepting], 0);
    // A run of another check alone makes no secret of why the result of this one does not count.
    project.proctor(["run", "--check", "other"]).success();
    assert_eq!(judged(3)["required"][0]["words"], json!(["kept-caches"]));
    project.proctor(["run", "--fresh-caches"]).success();
    judged(0);
    // In the project itself, the check finds what an earlier run left there.
    commit(&project, "proctor.toml", &caching("snapshot = \"off\"\n"));
    project.approve();
    project.proctor(["run"]).success();
    assert!(project.path().join(".ruff_cache").is_dir());
    judged(0);
    commit(&project, "shop.txt", "good, once more\n");
    project.proctor(["run"]).success();
    assert_eq!(judged(3)["required"][0]["words"], json!(["kept-caches"]));
    gate(&project, &["--policy-from", "HEAD", "--run"], 0);
}

#[test]
fn the_policy_asks_for_platforms_and_signers() {
    let project = in_repository();
    project.proctor(["run"]).success();
    let here = format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH);
    let on = |platforms: &str| policy(&project, &format!("[gate]\nplatforms = [{platforms}]\n"));
    gate(&project, &["--policy-from", &on(&format!("\"{here}\""))], 0);
    let other = gate(&project, &["--policy-from", &on(&format!("\"{here}\", \"linux-riscv64\""))], 5);
    assert_eq!(reasons(&other), ["on linux-riscv64: no run on this tree has a result"]);
    let signers = policy(&project, "[gate]\nsigners = \"keys\"\n");
    assert!(project.proctor(["gate", "--policy-from", &signers]).status(4).stderr.contains("`keys`"));
    fs::write(project.shared("keys"), "ci@example.org ssh-rsa AAAA\n").expect("it is ours");
    assert!(project.proctor(["gate", "--policy-from", &signers]).status(4).stderr.contains("`keys`:1"));
    let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea";
    fs::write(project.shared("keys"), format!("ci@example.org {key}\n")).expect("it is ours");
    let refused = project.proctor(["gate", "--policy-from", &signers]).status(4).stderr;
    assert!(refused.contains("`keys`:1") && refused.contains("namespaces="), "{refused}");
    let key = format!("namespaces=\"proctor-evidence@v1\" {key}");
    fs::write(project.shared("keys"), format!("ci@example.org {key}\n")).expect("it is ours");
    gate(&project, &["--policy-from", &signers], 0);
    // Who may sign is a matter for the trusted side.
    commit(&project, "proctor.toml", &format!("{CHECKS}[gate]\nsigners = \"keys\"\n"));
    commit(&project, "keys", &format!("ci@example.org {key}\n"));
    with_origin(&project);
    commit(&project, "keys", &format!("me@example.org {key}\n"));
    project.proctor(["run"]).success();
    assert_eq!(gate(&project, &[], 3)["lowered"], json!(["gate.signers: `keys`"]));
}

#[test]
fn a_configuration_that_is_a_link_is_refused_on_both_sides() {
    let project = Project::new();
    git(&project, &["init", "--quiet"]);
    project.save("ruff.toml", "line-length = 100\n");
    commit(&project, "a.py", "x = 1\n");
    with_origin(&project);
    project.save("c.toml", "[[check]]\nname = \"ruff\"\ncommand = [\"true\"]\n");
    symlink("c.toml", project.path().join("proctor.toml")).expect("it is ours");
    git(&project, &["add", "."]);
    git(&project, &["commit", "--quiet", "-m", "linked"]);
    project.proctor(["run"]).success();
    for arguments in [&[][..], &["--policy-from", "HEAD"]] {
        let refused = gate(&project, arguments, 3);
        assert_eq!((&refused["state"], &refused["refusal"]["word"]), (&json!("not-accepted"), &json!("odd-configuration")));
    }
    assert!(project.proctor(["gate"]).status(3).stdout.starts_with("refused · "));
    // Also where only the trusted side has it.
    git(&project, &["branch", "linked"]);
    fs::remove_file(project.path().join("proctor.toml")).expect("it is there");
    commit(&project, "proctor.toml", "[[check]]\nname = \"ruff\"\ncommand = [\"true\"]\n");
    assert_eq!(gate(&project, &["--policy-from", "linked"], 3)["refusal"]["word"], "odd-configuration");
}

#[test]
fn the_content_of_a_committed_file_of_variables_is_compared() {
    let project = in_repository();
    let configuration = format!("{CHECKS}[environment]\nenv_file = \"./test.env\"\n");
    commit(&project, "test.env", "A=1\n");
    commit(&project, "proctor.toml", &configuration);
    project.proctor(["run"]).success();
    with_origin(&project);
    gate(&project, &[], 0);
    commit(&project, "test.env", "PYTEST_ADDOPTS=--collect-only\n");
    let lowered = |project: &Project| project.proctor(["gate", "--json"]).status(3).json()["lowered"].clone();
    assert_eq!(lowered(&project), json!(["environment.env_file: `./test.env`"]));
    // A link leads to something that is not compared.
    fs::remove_file(project.path().join("test.env")).expect("it is there");
    symlink("shop.txt", project.path().join("test.env")).expect("it is ours");
    git(&project, &["commit", "--quiet", "-a", "-m", "linked"]);
    git(&project, &["push", "--quiet", "origin", "HEAD:main"]);
    commit(&project, "shop.txt", "good=1\n");
    assert_eq!(lowered(&project), json!(["environment.env_file: `./test.env`"]));
}

/// Saves a program that succeeds, in an ignored directory of packages.
fn install(project: &Project, name: &str, text: &str) {
    let path = project.path().join("node_modules/.bin").join(name);
    project.save(&format!("node_modules/.bin/{name}"), text);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is ours");
}

#[test]
fn a_run_that_found_fewer_checks_than_the_commit_has_proves_nothing() {
    let project = Project::new();
    git(&project, &["init", "--quiet"]);
    project.save(".gitignore", "node_modules/\n");
    project.save("package.json", "{\"name\": \"shop\"}\n");
    project.save("tsconfig.json", "{}\n");
    project.save("eslint.config.js", "export default [];\n");
    install(&project, "tsc", "#!/bin/sh\nexit 0\n");
    commit(&project, "a.ts", "export const a = 1;\n");
    project.proctor(["run"]).success();
    gate(&project, &[], 0);
    install(&project, "eslint", "#!/bin/sh\necho '[]'\n");
    let document = gate(&project, &[], 5);
    assert_eq!(document["required"][0]["words"], json!(["checks-not-run"]), "{document}");
    assert_eq!(reasons(&document), ["no result on this tree: eslint"]);
}

#[test]
fn a_run_of_another_plan_on_the_right_tree_proves_nothing() {
    for (values, status, words) in [(&[][..], 0, json!([])), (&["--set", "WORD=other"], 5, json!(["other-plan"]))] {
        let project = Project::new();
        git(&project, &["init", "--quiet"]);
        let specification = crate::specification_values::with_words();
        let settings = "[gate]\ntasks = [\"T117\"]\n[specification.values]\nWORD = \"line\"\nTIMEOUT = 20000\n";
        project.save("proctor.toml", settings);
        commit(&project, "spec/a.test-specification.json", &specification);
        project.proctor(["run", "--task", "T117"].iter().chain(values)).success();
        let document = gate(&project, &["--policy-from", "HEAD"], status);
        assert_eq!(document["required"][0]["words"], words, "{document}");
    }
}

#[test]
fn a_check_that_the_policy_names_must_succeed_and_others_pass_with_warnings() {
    let project = Project::new();
    git(&project, &["init", "--quiet"]);
    let findings = "[{\"code\": \"F401\", \"message\": \"unused\", \"filename\": \"a.py\", \"location\": {\"row\": 1, \"column\": 1}, \
        \"end_location\": {\"row\": 1, \"column\": 2}, \"fix\": null, \"noqa_row\": 1, \"url\": null, \"cell\": null}]";
    project.save("lint", &format!("#!/bin/sh\ncat <<'END'\n{findings}\nEND\nexit 1\n"));
    let configuration = "[[check]]\nname = \"lint\"\ntool = \"ruff\"\ncommand = [\"sh\", \"lint\", \"--output-format=json\"]\n\
        [[check]]\nname = \"there\"\ncommand = [\"cat\", \"a.py\"]\n[policy.ruff]\nblock_on = \"warn-only\"\n";
    project.save("proctor.toml", configuration);
    commit(&project, "a.py", "import os\n");
    let ran = project.proctor(["run"]).any_status();
    assert_eq!(ran.status, 0, "{}{}", ran.stdout, ran.stderr);
    let document = gate(&project, &["--policy-from", "HEAD"], 0);
    assert_eq!(document["required"][0]["warnings"], json!(["lint"]), "{document}");
    let shown = project.proctor(["gate", "--policy-from", "HEAD"]).success().stdout;
    assert!(shown.contains("passed with warnings (lint) in run "), "{shown}");
    let named = |names: &str| policy(&project, &format!("[gate]\nchecks = [{names}]\n"));
    assert_eq!(gate(&project, &["--policy-from", &named("\"lint\"")], 1)["required"][0]["words"], json!(["failed"]));
    gate(&project, &["--policy-from", &named("\"there\"")], 0);
}

#[test]
fn the_copy_of_a_branch_and_the_commit_itself_are_no_judges() {
    let project = in_repository();
    with_origin(&project);
    git(&project, &["remote", "set-head", "origin", "main"]);
    project.proctor(["run"]).success();
    let from = |document: &serde_json::Value| document["policy"]["from"].as_str().expect("text").to_owned();
    assert!(
        from(&gate(&project, &[], 0)).ends_with("it is the judged commit itself, beside which only the approved plan stands")
    );
    git(&project, &["switch", "--quiet", "-c", "feature"]);
    commit(&project, "proctor.toml", "[[check]]\nname = \"there\"\ncommand = [\"cat\", \"shop.txt\"]\n");
    project.approve();
    project.proctor(["run"]).success();
    git(&project, &["push", "--quiet", "--set-upstream", "origin", "feature"]);
    let judged = gate(&project, &[], 3);
    assert_eq!(judged["lowered"], json!(["check `good`"]), "{judged}");
    assert!(from(&judged).contains("refs/remotes/origin/main") && from(&judged).contains("own copy"), "{judged}");
    assert_eq!(gate(&project, &["refs/heads/feature"], 3)["lowered"], json!(["check `good`"]));
    // A push is judged by what it goes to, whatever the branch follows.
    let commit = git(&project, &["rev-parse", "HEAD"]).stdout.trim().to_owned();
    let pushed = |remote: &str, target: &str, status: i32| {
        let list = format!("refs/heads/feature {commit} {target} {}\n", "0".repeat(40));
        let shell = [
            "-c".to_owned(),
            format!("printf '%s' '{list}' | \"$0\" gate --pushed --remote={remote}"),
            proctor().to_str().expect("text").to_owned(),
        ];
        project.command(std::path::Path::new("sh"), shell).status(status).stdout
    };
    let to_main = pushed("origin", "refs/heads/main", 3);
    assert!(to_main.contains("check `good`") && to_main.contains("to which the push goes"), "{to_main}");
    assert!(pushed("origin", "refs/for/main", 3).contains("something new"));
    assert!(pushed("https://example.org/else", "refs/tags/v1", 3).contains("refs/remotes/origin/main"));
    pushed("origin", "refs/heads/feature", 0);
    pushed("origin", "refs/notes/x", 0);
}

#[track_caller]
fn refused_beside(project: &Project, trusted: &str) {
    let judged = gate(project, &[], 3);
    assert_eq!(judged["lowered"], json!(["check `good`"]), "{judged}");
    assert!(judged["policy"]["from"].as_str().expect("text").contains(trusted), "{judged}");
}

#[test]
fn the_copy_of_a_branch_under_another_name_or_in_another_place_is_no_judge() {
    let project = in_repository();
    let origin = with_origin(&project);
    project.proctor(["run"]).success();
    git(&project, &["switch", "--quiet", "-c", "weak"]);
    commit(&project, "proctor.toml", "[[check]]\nname = \"there\"\ncommand = [\"cat\", \"shop.txt\"]\n");
    project.approve();
    project.proctor(["run"]).success();
    let refused = || refused_beside(&project, "refs/remotes/origin/main");
    let copies = || {
        git(&project, &["push", "--quiet", "--set-upstream", "origin", "weak:other-name"]);
        refused();
        git(&project, &["push", "--quiet", "--set-upstream", "origin", "weak"]);
        refused();
        git(&project, &["push", "--quiet", "--set-upstream", "fork", "weak"]);
        refused();
        git(&project, &["branch", "--quiet", "--force", "here"]);
        git(&project, &["branch", "--quiet", "--set-upstream-to=here"]);
        refused();
    };
    let fork = project.shared("fork").to_str().expect("text").to_owned();
    git(&project, &["clone", "--quiet", "--bare", ".", &fork]);
    git(&project, &["remote", "add", "fork", &fork]);
    // `main` is taken for the default branch that the remote did not name.
    copies();
    git(&project, &["remote", "set-head", "origin", "main"]);
    copies();
    // With another default branch that is not known, nobody is left to judge.
    git(&project, &["remote", "set-head", "origin", "--delete"]);
    git(&project, &["config", "remote.origin.followRemoteHEAD", "never"]);
    git(&project, &["remote", "remove", "fork"]);
    project.command(std::path::Path::new("git"), ["-C", &origin, "branch", "-m", "main", "trunk"]).success();
    git(&project, &["fetch", "--quiet", "--prune", "origin"]);
    git(&project, &["push", "--quiet", "--set-upstream", "origin", "weak:other-name"]);
    let asked = project.proctor(["gate"]).status(3).stderr;
    assert!(asked.contains("set-head origin -a") && asked.contains("--policy-from"), "{asked}");
    gate(&project, &["--policy-from", "origin/trunk"], 3);
    // Without any remote repository there is nobody else but what this store saw as trusted.
    git(&project, &["remote", "remove", "origin"]);
    git(&project, &["branch", "--quiet", "--set-upstream-to=here"]);
    refused_beside(&project, "compared with");
}

#[test]
fn a_policy_of_a_file_in_a_working_tree_is_refused() {
    let project = in_repository();
    project.proctor(["run"]).success();
    project.save("mine.toml", "[gate]\nchecks = [\"there\"]\n");
    let refused = project.proctor(["gate", "--policy-from", "./mine.toml"]).status(2).stderr;
    assert!(refused.contains("working tree") && refused.contains("outside of the repository"), "{refused}");
    let link = project.shared("link.toml");
    symlink(project.path().join("mine.toml"), &link).expect("it is ours");
    project.proctor(["gate", "--policy-from", link.to_str().expect("text")]).status(2);
    let outside = policy(&project, "[gate]\nchecks = [\"there\"]\n");
    symlink(&outside, project.path().join("out.toml")).expect("it is ours");
    project.proctor(["gate", "--policy-from", "out.toml"]).status(2);
    gate(&project, &["--policy-from", &outside], 0);
}

#[test]
fn a_branch_that_was_not_rebased_is_not_asked_about_what_others_did_meanwhile() {
    let project = in_repository();
    commit(&project, "a.rs", "#[test]\nfn adds() {}\n");
    commit(&project, "ruff.toml", "select = [\"E\"]\n");
    with_origin(&project);
    git(&project, &["switch", "--quiet", "-c", "feature"]);
    commit(&project, "feature.txt", "new\n");
    git(&project, &["switch", "--quiet", "main"]);
    commit(&project, "b.rs", "#[test]\nfn divides() {}\n");
    commit(&project, "ruff.toml", "select = [\"E\", \"F\"]\n");
    git(&project, &["push", "--quiet", "origin", "main"]);
    git(&project, &["switch", "--quiet", "feature"]);
    let judged = |status: i32| {
        project.proctor(["run"]).success();
        let document = gate(&project, &[], status);
        let changes = document["changes"].as_array().expect("a list").clone();
        (changes.iter().map(|change| change["kind"].as_str().expect("text").to_owned()).collect::<Vec<_>>(), document)
    };
    let (changes, document) = judged(0);
    assert_eq!(changes, [""; 0], "{document}");
    assert!(document["policy"]["from"].as_str().expect("text").contains(", where the commit left it"), "{document}");
    // Its own commits are compared all the same, and so is what a merge drops.
    git(&project, &["rm", "--quiet", "a.rs"]);
    git(&project, &["commit", "--quiet", "-m", "without a test"]);
    assert_eq!(judged(3).0, ["test-gone", "file-gone"]);
    git(&project, &["reset", "--quiet", "--hard", "HEAD~1"]);
    git(&project, &["merge", "--quiet", "--strategy=ours", "main"]);
    assert_eq!(judged(3).0, ["test-gone", "switched-off", "file-gone"]);
}

#[test]
fn another_branch_that_is_followed_now_has_diverged_and_was_not_replaced() {
    let project = in_repository();
    commit(&project, "more.txt", "more\n");
    let origin = with_origin(&project);
    project.proctor(["run"]).success();
    let there = |arguments: &[&str]| git(&project, &[&["--git-dir", origin.as_str()], arguments].concat()).stdout;
    let release = there(&["commit-tree", "main^{tree}", "-p", "main~1", "-m", "a release"]);
    there(&["update-ref", "refs/heads/release", release.trim()]);
    git(&project, &["fetch", "--quiet", "origin"]);
    git(&project, &["switch", "--quiet", "-c", "work", "--track", "origin/release"]);
    commit(&project, "mended.txt", "for the release\n");
    project.proctor(["run"]).success();
    let lowered = gate(&project, &[], 3)["lowered"].to_string();
    assert!(lowered.contains("refs/remotes/origin/main (") && lowered.contains("have diverged"), "{lowered}");
    assert!(!lowered.contains("replaced"), "{lowered}");
}
