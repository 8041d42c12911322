//! What somebody who may push could do to be judged by less: names of references, work in the project, files that a check rewrites.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use crate::common::{Project, proctor};
use crate::gate::{CHECKS, commit, gate, git, in_repository, reasons};

/// Makes a bare repository of the project and fetches its branch.
pub(crate) fn with_origin(project: &Project) {
    let origin = project.shared("origin").to_str().expect("text").to_owned();
    git(project, &["clone", "--quiet", "--bare", ".", &origin]);
    git(project, &["remote", "add", "origin", &origin]);
    git(project, &["fetch", "--quiet", "origin"]);
}

#[test]
fn a_tag_that_is_called_like_the_trusted_branch_does_not_choose_the_policy() {
    let project = in_repository();
    with_origin(&project);
    commit(&project, "proctor.toml", "[[check]]\nname = \"there\"\ncommand = [\"cat\", \"shop.txt\"]\n");
    project.proctor(["run"]).success();
    git(&project, &["tag", "origin/main"]);
    let refused = project.proctor(["gate", "--policy-from", "origin/main"]).status(2).stderr;
    assert!(refused.contains("refs/tags/origin/main, refs/remotes/origin/main"), "{refused}");
    project.proctor(["gate", "origin/main"]).status(2);
    let document = gate(&project, &["--policy-from", "refs/remotes/origin/main"], 3);
    assert_eq!(document["lowered"], json!(["check `good`"]));
    // A full name means this one alone.
    git(&project, &["tag", "refs/remotes/origin/other"]);
    project.proctor(["gate", "--policy-from", "refs/remotes/origin/other"]).status(2);
    // The same where the branch is not fetched.
    git(&project, &["update-ref", "-d", "refs/remotes/origin/main"]);
    let refused = project.proctor(["gate", "--policy-from", "origin/main"]).status(2).stderr;
    assert!(refused.contains("refs/tags/origin/main"), "{refused}");
    gate(&project, &["--policy-from", "refs/tags/origin/main"], 0);
    // Two names of one commit mean the same.
    git(&project, &["tag", "main"]);
    let document = gate(&project, &["main", "--policy-from", "main"], 0);
    assert!(document["policy"]["from"].as_str().is_some_and(|from| from.contains("refs/tags/main")), "{document}");
}

#[test]
fn a_prerequisite_that_only_the_commit_has_is_named_and_not_run() {
    let project = in_repository();
    with_origin(&project);
    git(&project, &["branch", "--quiet", "--set-upstream-to=origin/main"]);
    let planted = format!("{CHECKS}[[prerequisite]]\nname = \"lint\"\ncommand = [\"touch\", \"planted\"]\n");
    commit(&project, "proctor.toml", &planted);
    let document = gate(&project, &["--run"], 3);
    assert_eq!(document["lowered"], json!(["a new prerequisite `lint`"]));
    assert_eq!(document["required"][0]["runs"], json!([]), "{document}");
}

#[test]
fn a_check_that_rewrites_the_tree_for_those_after_it_proves_nothing_and_new_files_are_no_matter() {
    let project = in_repository();
    commit(&project, "shop.txt", "bad\n");
    let format =
        |command: &str| format!("[[check]]\nname = \"format\"\ncommand = [\"fake-tool\", \"--script\", \"{command}\"]\n");
    let run = |toml: &str| {
        commit(&project, "proctor.toml", toml);
        let first = project.proctor(["run"]).any_status();
        if first.status == 3 || first.stdout.contains("judged by changed rules") {
            project.approve();
            project.proctor(["run"]).success();
        }
    };
    run(&format!("{}{CHECKS}", format("echo good > shop.txt")));
    let document = gate(&project, &["--policy-from", "HEAD"], 3);
    assert_eq!(document["required"][0]["words"], json!(["tree-rewritten"]), "{document}");
    assert!(reasons(&document)[0].ends_with(": `shop.txt`"), "{document}");
    project.proctor(["attest", "--policy-from", "HEAD"]).status(3);
    assert_not_fresh(&project);
    // Equal bytes are a condition, and new files are no change of the tree.
    commit(&project, "shop.txt", "good\n");
    run(&format!("{}{CHECKS}", format("echo good > shop.txt; touch new")));
    let document = gate(&project, &["--policy-from", "HEAD"], 0);
    assert_eq!(document["restored"], json!(["shop.txt"]), "{document}");
    let screen = project.proctor(["gate", "--policy-from", "HEAD"]).success().stdout;
    assert!(screen.contains("on condition: checks wrote and put back shop.txt"), "{screen}");
    // The rest of the same check may have worked on what it wrote, also where no check comes after it.
    run(&format!("{CHECKS}{}", format("echo bad > shop.txt")));
    let document = gate(&project, &["--policy-from", "HEAD"], 3);
    assert_eq!(document["required"][0]["words"], json!(["tree-rewritten"]), "{document}");
    assert_not_fresh(&project);
    // What `writes` names is the check's product.
    run(&format!("{CHECKS}{}writes = [\"shop.txt\"]\n", format("echo good > shop.txt")));
    gate(&project, &["--policy-from", "HEAD"], 0);
    project.proctor(["status"]).success();
}

/// Asserts that the last run is shown as passed, and is neither a fresh verdict nor complete.
fn assert_not_fresh(project: &Project) {
    let status = project.proctor(["status", "--json"]).any_status();
    let task = &status.json()["projects"][0]["tasks"][0];
    assert_eq!((&task["state"], &task["outdated"]), (&json!("stale"), &json!("rewroteTree")), "{task}");
    assert_eq!((&task["verdict"]["status"], &task["verdict"]["result"]), (&json!("REWROTE_TREE"), &json!("PASSED")), "{task}");
    let report = project.store().report("default");
    assert_eq!(report["completionCriteriaEvaluation"]["completionStatus"], "INCOMPLETE", "{report}");
    project.proctor(["wait", "--fresh"]).status(5);
}

#[test]
fn a_check_that_makes_a_configuration_for_those_after_it_proves_nothing_unless_git_ignores_it() {
    let project = in_repository();
    let toml = "[[check]]\nname = \"make\"\ncommand = [\"fake-tool\", \"--script\", \"echo x > conftest.py\"]\n";
    commit(&project, "proctor.toml", toml);
    project.proctor(["run"]).success();
    let document = gate(&project, &["--policy-from", "HEAD"], 3);
    assert_eq!(document["required"][0]["words"], json!(["tree-rewritten"]), "{document}");
    assert!(reasons(&document)[0].ends_with(": `conftest.py`"), "{document}");
    assert_not_fresh(&project);
    commit(&project, ".gitignore", "conftest.py\n");
    project.proctor(["run"]).success();
    gate(&project, &["--policy-from", "HEAD"], 0);
}

#[test]
fn steps_that_rewrite_the_tree_for_each_other_prove_nothing() {
    let project = Project::new();
    git(&project, &["init", "--quiet"]);
    project.save("proctor.toml", "[gate]\ntasks = [\"T117\"]\n");
    project.save("shop.txt", "bad\n");
    commit(
        &project,
        "spec/a.test-specification.json",
        &crate::specification_values::with_commands(&["sed -i s/bad/good/ shop.txt", "grep -q good shop.txt"]),
    );
    project.proctor(["run", "--task", "T117"]).success();
    let document = gate(&project, &["--policy-from", "HEAD"], 3);
    assert_eq!(document["required"][0]["words"], json!(["tree-rewritten"]), "{document}");
    assert!(reasons(&document)[0].ends_with(": `shop.txt`"), "{document}");
    project.proctor(["attest", "--policy-from", "HEAD"]).status(3);
}

#[test]
fn where_nothing_is_trusted_a_stricter_gate_is_used_and_a_weaker_one_is_named() {
    let project = in_repository();
    let settings = |text: &str| commit(&project, "proctor.toml", &format!("{CHECKS}[gate]\n{text}\n"));
    settings("max_age = \"720h\"\nisolation = \"process-group\"");
    project.proctor(["run"]).success();
    gate(&project, &[], 0);
    settings("platforms = [\"linux-riscv64\"]");
    project.proctor(["run"]).success();
    gate(&project, &[], 5);
    settings("checks = [\"there\"]");
    project.proctor(["run"]).success();
    let told = project.proctor(["gate"]).status(3).stdout;
    assert!(told.contains("nothing trusted is known") && told.contains("git push --no-verify"), "{told}");
    gate(&project, &["--policy-from", "HEAD"], 0);
}

#[test]
fn a_tag_of_a_file_keeps_no_push_back_and_a_worktree_s_signers_are_a_commit_s_own() {
    let project = in_repository();
    project.proctor(["run"]).success();
    let blob = git(&project, &["rev-parse", "HEAD:shop.txt"]).stdout.trim().to_owned();
    let pushed = format!("refs/tags/file {blob} refs/tags/file {}\n", "0".repeat(40));
    let list = format!("printf '%s' '{pushed}' | \"$0\" gate --pushed");
    let shell = ["-c", list.as_str(), proctor().to_str().expect("text")];
    let told = project.command(Path::new("sh"), shell).success();
    assert!(told.stderr.contains("refs/tags/file names no commit"), "{}", told.stderr);
    let other = project.shared("other");
    git(&project, &["worktree", "add", "--quiet", "--detach", other.to_str().expect("text")]);
    fs::write(other.join("signers"), "").expect("it is ours");
    let signers = other.join("signers");
    project.proctor(["gate", "--from-notes", "--signers", signers.to_str().expect("text")]).status(2);
}

#[test]
fn what_was_attested_of_another_project_in_the_same_tree_is_passed_over() {
    let project = Project::new();
    git(&project, &["init", "--quiet"]);
    for directory in ["one", "two"] {
        project.save(&format!("{directory}/proctor.toml"), CHECKS);
        commit(&project, &format!("{directory}/shop.txt"), "good\n");
    }
    project.proctor(["run", "one"]).success();
    project.proctor(["attest", "--project", "one"]).success();
    gate(&project, &["--project", "one", "--from-notes"], 0);
    let document = gate(&project, &["--project", "two", "--from-notes"], 5);
    assert_eq!(document["refusedAttestations"], json!([]), "{document}");
}

#[test]
fn a_prerequisite_that_changes_the_tree_is_named_as_what_keeps_a_commit_from_being_proved() {
    let project = in_repository();
    let prerequisite = "[[prerequisite]]\nname = \"makes\"\ncommand = [\"fake-tool\", \"--script\", \"echo more >> shop.txt\"]\n";
    commit(&project, "proctor.toml", &format!("{CHECKS}{prerequisite}"));
    let told = project.proctor(["gate", "--run"]).status(5).stdout;
    assert!(told.contains("a prerequisite changes tracked files") && !told.contains("check the commit out"), "{told}");
}

/// A project whose check starts a script, with a clone that has it as its default branch.
fn with_script() -> Project {
    let project = Project::new().toml("[[check]]\nname = \"all\"\ncommand = [\"sh\", \"scripts/check.sh\"]\n");
    git(&project, &["init", "--quiet"]);
    project.save("scripts/check.sh", "grep -q good shop.txt\n");
    project.save("ruff.toml", "line-length = 80\n[lint]\nselect = [\"E\", \"F\"]\n");
    commit(&project, "shop.txt", "good\n");
    project.proctor(["run"]).success();
    project
}

fn kinds(document: &serde_json::Value) -> Vec<String> {
    let changes = document["changes"].as_array().expect("a list").iter();
    changes.map(|change| change["kind"].as_str().expect("text").to_owned()).collect()
}

#[test]
fn what_makes_a_commit_green_in_another_way_is_named_and_asked_about_as_the_trusted_policy_says() {
    let project = with_script();
    with_origin(&project);
    project.save("scripts/check.sh", "true\n");
    project.save("ruff.toml", "line-length = 90\n[lint]\nselect = [\"E\"]\n");
    commit(&project, "shop.txt", "bad\n");
    project.proctor(["run"]).success();
    let asked = gate(&project, &[], 3);
    assert_eq!(kinds(&asked), ["command", "switched-off", "setting"], "{asked}");
    let lowered = asked["lowered"].to_string();
    assert!(lowered.contains("a command of checks changed in `scripts/check.sh`"), "{asked}");
    assert!(lowered.contains("lint.select") && !lowered.contains("line-length"), "{asked}");
    let told = project.proctor(["gate"]).status(3).stdout;
    assert!(told.contains("beside the trusted commit: a setting changed in `ruff.toml`: line-length: 80 → 90"), "{told}");
    // The trusted commit says what is asked.
    git(&project, &["switch", "--quiet", "-c", "saying", "origin/main"]);
    let toml = std::fs::read_to_string(project.path().join("proctor.toml")).expect("it is there");
    commit(&project, "proctor.toml", &format!("{toml}[gate]\nweakened = \"say\"\n"));
    git(&project, &["cherry-pick", "main"]);
    project.proctor(["run"]).success();
    let said = gate(&project, &["--policy-from", "HEAD~1"], 0);
    assert_eq!((kinds(&said).len(), said["lowered"].to_string().as_str()), (3, "[]"), "{said}");
}

#[test]
fn a_trusted_reference_that_was_moved_to_the_judged_commit_does_not_hide_what_it_changes() {
    let project = with_script();
    with_origin(&project);
    gate(&project, &[], 0);
    project.save("scripts/check.sh", "true\n");
    commit(&project, "shop.txt", "bad\n");
    project.proctor(["run"]).success();
    gate(&project, &[], 3);
    git(&project, &["update-ref", "refs/remotes/origin/main", "HEAD"]);
    let moved = gate(&project, &[], 3);
    assert_eq!(kinds(&moved), ["command"], "{moved}");
    assert!(moved["policy"]["from"].as_str().expect("text").contains("which was accepted last in this store"), "{moved}");
    // A fetch from the repository itself asks no other one.
    git(&project, &["update-ref", "refs/remotes/origin/main", "HEAD~1"]);
    git(&project, &["fetch", "--quiet", ".", "HEAD:refs/remotes/origin/main"]);
    assert_eq!(kinds(&gate(&project, &[], 3)), ["command"]);
    // So it is where nothing trusted is known, until a person names what is trusted.
    git(&project, &["remote", "remove", "origin"]);
    gate(&project, &[], 3);
    gate(&project, &["--policy-from", "HEAD"], 0);
    // A commit that somebody named for one answer was accepted by nobody.
    gate(&project, &[], 3);
}

#[test]
fn an_upstream_that_was_pushed_from_here_or_whose_log_is_gone_is_nobodys_word() {
    let weaken = |project: &Project| {
        project.save("scripts/check.sh", "true\n");
        commit(project, "shop.txt", "bad\n");
    };
    let judge_one_above = |project: &Project| {
        commit(project, "more.txt", "more\n");
        project.proctor(["run"]).success();
        assert_eq!(kinds(&gate(project, &[], 3)), ["command"]);
    };
    let pushed = with_script();
    with_origin(&pushed);
    weaken(&pushed);
    git(&pushed, &["push", "--quiet", "origin", "main:feature"]);
    git(&pushed, &["branch", "--quiet", "--set-upstream-to=origin/feature"]);
    judge_one_above(&pushed);
    let moved = with_script();
    with_origin(&moved);
    weaken(&moved);
    git(&moved, &["update-ref", "refs/remotes/origin/main", "HEAD"]);
    fs::remove_dir_all(moved.path().join(".git/logs")).expect("they are ours");
    judge_one_above(&moved);
}

/// Makes a commit beside the trusted one the branch of the remote repository that is fetched.
fn replace_trusted_branch(project: &Project) {
    project.save("scripts/check.sh", "true\n");
    git(project, &["add", "."]);
    git(project, &["commit", "--quiet", "--amend", "-m", "another first commit"]);
    let fork = project.shared("fork").to_str().expect("text").to_owned();
    git(project, &["clone", "--quiet", "--bare", ".", &fork]);
    git(project, &["remote", "set-url", "origin", &fork]);
    git(project, &["fetch", "--quiet", "origin"]);
}

#[test]
fn a_trusted_branch_that_does_not_contain_what_was_trusted_before_is_asked_about_once() {
    let project = Project::new().toml("[[check]]\nname = \"all\"\ncommand = [\"sh\", \"scripts/check.sh\"]\n");
    git(&project, &["init", "--quiet"]);
    project.save("scripts/check.sh", "grep -q good shop.txt\n");
    commit(&project, "shop.txt", "good\n");
    with_origin(&project);
    // The branch is known from the registration on: nobody asked the gate before it was replaced.
    project.proctor(["run"]).success();
    replace_trusted_branch(&project);
    commit(&project, "shop.txt", "bad\n");
    project.proctor(["run"]).success();
    let asked = gate(&project, &[], 3);
    let lowered = asked["lowered"].to_string();
    assert!(lowered.contains("the trusted branch was replaced: refs/remotes/origin/main"), "{asked}");
    assert!(lowered.contains("a command of checks changed in `scripts/check.sh`"), "{asked}");
    // Asking again is nobody's word.
    gate(&project, &[], 3);
    accept_here(&project);
    gate(&project, &[], 0);
    // What goes on from there is not asked about.
    git(&project, &["push", "--quiet", "origin", "main"]);
    commit(&project, "more.txt", "more\n");
    project.proctor(["run"]).success();
    gate(&project, &[], 0);
}

#[test]
fn a_branch_that_only_went_on_is_asked_about_neither_after_a_squash_nor_after_a_rebase() {
    let project = with_script();
    with_origin(&project);
    gate(&project, &[], 0);
    git(&project, &["switch", "--quiet", "-c", "feature"]);
    commit(&project, "more.txt", "more\n");
    project.proctor(["run"]).success();
    gate(&project, &[], 0);
    // Somebody else pushes, and the feature goes there as one commit.
    git(&project, &["switch", "--quiet", "main"]);
    commit(&project, "other.txt", "other\n");
    git(&project, &["merge", "--quiet", "--squash", "feature"]);
    git(&project, &["commit", "--quiet", "-m", "feature as one commit"]);
    git(&project, &["push", "--quiet", "origin", "main"]);
    project.proctor(["run"]).success();
    gate(&project, &[], 0);
    git(&project, &["switch", "--quiet", "feature"]);
    commit(&project, "last.txt", "last\n");
    git(&project, &["rebase", "--quiet", "main"]);
    project.proctor(["run"]).success();
    gate(&project, &[], 0);
}

/// Accepts at a terminal, by typing the beginning of the commit's name.
fn accept_here(project: &Project) {
    let mut terminal = project.proctor(["attest", "--accept-changes"]).at_terminal();
    terminal.wait_for("to accept that for this content: ", Duration::from_secs(30));
    let name = git(project, &["rev-parse", "HEAD"]).stdout[..8].to_owned();
    terminal.press(&format!("{name}\n"));
    let ended = terminal.ended();
    assert!(ended.stdout.contains("in this store"), "{}", ended.stdout);
}

#[test]
fn without_a_remote_a_commit_is_compared_with_the_one_accepted_last_until_a_person_accepts_it() {
    // The first commit is accepted with the rules that its project is registered with. Nobody asked the gate about it.
    let project = with_script();
    project.save("scripts/check.sh", "true\n");
    commit(&project, "shop.txt", "bad\n");
    project.proctor(["run"]).success();
    let asked = gate(&project, &[], 3);
    assert_eq!(kinds(&asked), ["command"], "{asked}");
    assert!(asked["next"].to_string().contains("proctor attest HEAD --accept-changes` at a terminal"), "{asked}");
    assert!(project.proctor(["gate"]).status(3).stdout.contains("asks for less than the one accepted last: a command"));
    // Neither a reference that is made here, nor another name for the commit, nor asking again is anybody's word.
    git(&project, &["update-ref", "refs/remotes/origin/main", "HEAD"]);
    git(&project, &["commit", "--quiet", "--amend", "-m", "another message"]);
    gate(&project, &[], 3);
    git(&project, &["switch", "--quiet", "-c", "another"]);
    commit(&project, "more.txt", "more\n");
    project.proctor(["run"]).success();
    gate(&project, &[], 3);
    let nobody = project.proctor(["attest", "--accept-changes"]).status(3);
    assert!(nobody.stderr.contains("asks for less than the one accepted last"), "{}", nobody.stderr);
    accept_here(&project);
    gate(&project, &[], 0);
    // What comes after it is compared with it.
    commit(&project, "more.txt", "and more\n");
    project.proctor(["run"]).success();
    gate(&project, &[], 0);
    commit(&project, "scripts/check.sh", "exit 0\n");
    project.proctor(["run"]).success();
    gate(&project, &[], 3);
    // Work that goes on from an earlier accepted commit is compared with that.
    git(&project, &["switch", "--quiet", "-c", "beside", "HEAD~2"]);
    commit(&project, "beside.txt", "beside\n");
    project.proctor(["run"]).success();
    gate(&project, &[], 0);
}

/// A branch keeps what it had: a commit that another branch had accepted may lack it.
#[test]
fn a_branch_that_is_set_to_a_commit_of_another_one_is_compared_with_what_it_had() {
    let project = with_script();
    commit(&project, "scripts/check.sh", "test -s shop.txt\n");
    project.proctor(["run"]).success();
    gate(&project, &[], 3);
    accept_here(&project);
    gate(&project, &[], 0);
    git(&project, &["switch", "--quiet", "-c", "beside", "HEAD~1"]);
    commit(&project, "beside.txt", "beside\n");
    project.proctor(["run"]).success();
    gate(&project, &[], 0);
    git(&project, &["switch", "--quiet", "-"]);
    git(&project, &["reset", "--quiet", "--hard", "beside"]);
    assert_eq!(kinds(&gate(&project, &[], 3)), ["command"]);
}

#[test]
fn a_repository_that_lost_what_was_accepted_proves_nothing_until_a_person_accepts_it() {
    let project = with_script();
    gate(&project, &[], 0);
    fs::remove_dir_all(project.path().join(".git")).expect("it is ours");
    git(&project, &["init", "--quiet"]);
    project.save("scripts/check.sh", "true\n");
    commit(&project, "shop.txt", "bad\n");
    project.proctor(["run"]).any_status();
    let asked = gate(&project, &[], 3);
    assert!(asked["lowered"].to_string().contains("nothing was compared"), "{asked}");
    accept_here(&project);
    gate(&project, &[], 0);
}

/// A clone without its remote, a copy, a repository that was moved, and one that got the history only after its registration.
#[test]
fn the_same_commits_at_another_place_are_compared_with_what_was_accepted_at_the_first() {
    let weakening = "printf 'true\\n' >scripts/check.sh && printf 'bad\\n' >shop.txt && git add -A && git commit -qm weak";
    let fetching = "git clone -q ../project . && git remote remove origin && printf 'true\\n' >scripts/check.sh && git add -A && \
                    git commit -q --amend -m other && \"$0\" run >/dev/null 2>&1 && git fetch -q ../project && git reset -q --hard FETCH_HEAD";
    for (making, identity) in [
        ("git clone -q ../project . && git remote remove origin", None),
        ("cp -a ../project/. .", None),
        // From before anything was accepted.
        ("git clone -q ../project . && git remote remove origin && git reset -q --hard HEAD~1", None),
        ("cd .. && rmdir other && mv project other", Some("same")),
        (
            "cd .. && rmdir other && mv project other && cd other && rm -rf .git && git init -q && git add -A && git commit -qm x",
            Some("same"),
        ),
        (fetching, None),
    ] {
        let project = Project::new().toml("");
        git(&project, &["init", "--quiet"]);
        commit(&project, "scripts/check.sh", "grep -q good shop.txt\n");
        commit(&project, "proctor.toml", "[[check]]\nname = \"all\"\ncommand = [\"sh\", \"scripts/check.sh\"]\n");
        commit(&project, "shop.txt", "good\n");
        project.proctor(["run"]).success();
        gate(&project, &[], 0);
        let other = project.root().join("other");
        fs::create_dir(&other).expect("the root is ours");
        let script = format!(
            "git() {{ command git -c user.name=n -c user.email=n@x \"$@\"; }}\ncd \"$OTHER\" && {{ {making}; }} && cd \"$OTHER\" && {weakening}"
        );
        let program = proctor().to_str().expect("the build directory is UTF-8");
        let other = other.to_str().expect("UTF-8");
        project.command(Path::new("sh"), ["-euc", &script, program]).env("OTHER", other).success();
        let identity = identity.map(|answer| ["--identity", answer]).into_iter().flatten();
        project.proctor(["run"].into_iter().chain(identity)).directory(other).success();
        let asked = project.proctor(["gate", "--json"]).directory(other).status(3).json();
        let lowered = asked["lowered"].to_string();
        assert!(lowered.contains("a command of checks changed") || lowered.contains("nothing was compared"), "{making} {asked}");
    }
}

#[test]
fn the_digest_of_a_commit_is_read_once() {
    let project = with_script();
    let digest = |document: serde_json::Value| document["treeDigest"].as_str().expect("text").to_owned();
    let first = digest(gate(&project, &[], 0));
    let kept = project.root().join("state/proctor/trees/of-commits");
    let text = std::fs::read_to_string(&kept).expect("it is kept");
    assert_eq!(text.lines().count(), 1, "{text}");
    assert_eq!(digest(gate(&project, &[], 0)), first);
    assert_eq!(std::fs::read_to_string(&kept).expect("it is kept"), text);
    std::fs::remove_file(&kept).expect("it is ours");
    assert_eq!(digest(gate(&project, &[], 0)), first);
    project.proctor(["verify"]).success();
}
