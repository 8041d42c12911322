//! `proctor gate`: what is said of commits that were tested, changed, rewritten, or that ask for less than a trusted commit.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Output, Project, poll};

pub(crate) const CHECKS: &str = "[[check]]\nname = \"good\"\ncommand = [\"grep\", \"-q\", \"good\", \"shop.txt\"]\n\
    [[check]]\nname = \"there\"\ncommand = [\"cat\", \"shop.txt\"]\n";

/// Settings for git: an identity for commits, and the name of the first branch.
const IDENTITY: [&str; 6] = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"];

#[track_caller]
pub(crate) fn git(project: &Project, arguments: &[&str]) -> Output {
    project.command(Path::new("git"), IDENTITY.iter().chain(arguments)).success()
}

pub(crate) fn commit(project: &Project, file: &str, text: &str) {
    project.save(file, text);
    git(project, &["add", "."]);
    git(project, &["commit", "--quiet", "-m", "a change"]);
}

pub(crate) fn in_repository() -> Project {
    let project = Project::new().toml(CHECKS);
    git(&project, &["init", "--quiet"]);
    commit(&project, "shop.txt", "good\n");
    project
}

/// Asks for the exit code and the document.
#[track_caller]
pub(crate) fn gate(project: &Project, arguments: &[&str], status: i32) -> Value {
    let output = project.proctor(["gate", "--json"].iter().chain(arguments)).status(status);
    let document = output.json();
    assert_eq!(document["exitCode"], status, "{document}");
    document
}

pub(crate) fn reasons(document: &Value) -> Vec<String> {
    let required = document["required"].as_array().expect("a list");
    let reasons = required.iter().flat_map(|one| one["reasons"].as_array().expect("a list"));
    reasons.map(|reason| reason.as_str().expect("a text").to_owned()).collect()
}

#[test]
fn a_verdict_counts_for_every_commit_with_the_same_content() {
    let project = in_repository();
    let untested = project.proctor(["gate"]).status(5);
    assert!(untested.stdout.starts_with("not tested · HEAD "), "{}", untested.stdout);
    assert!(untested.stdout.contains("proctor run"), "{}", untested.stdout);
    project.proctor(["run"]).success();
    let proved = gate(&project, &[], 0);
    let digest = project.proctor(["generate", "tree"]).success().stdout;
    assert_eq!((proved["state"].as_str(), proved["treeDigest"].as_str()), (Some("proved"), Some(digest.trim())));
    assert!(proved["required"][0]["runs"][0].as_str().is_some_and(|run| run.starts_with("exec-")), "{proved}");
    git(&project, &["commit", "--quiet", "--amend", "-m", "another message"]);
    assert!(project.proctor(["gate"]).success().stdout.starts_with("proved · HEAD "));
    // What is not committed does not matter, and what was tested before it was committed does.
    project.save("shop.txt", "good and more\n");
    gate(&project, &[], 0);
    project.proctor(["run"]).success();
    git(&project, &["commit", "--quiet", "-am", "tested before"]);
    gate(&project, &[], 0);
    commit(&project, "shop.txt", "good and untested\n");
    let untested = gate(&project, &[], 5);
    assert_eq!(reasons(&untested), ["no run on this tree has a result"]);
    gate(&project, &["HEAD~1"], 0);
    gate(&project, &["main~2"], 0);
    // Two commits become one with the content of the first.
    git(&project, &["revert", "--no-edit", "HEAD"]);
    git(&project, &["reset", "--quiet", "--soft", "HEAD~3"]);
    git(&project, &["commit", "--quiet", "-m", "squashed"]);
    gate(&project, &[], 0);
    git(&project, &["gc", "--quiet"]);
    gate(&project, &[], 0);
    // A worktree is a project of its own, which was never run. The commit is the same.
    let other = project.shared("other").to_str().expect("text").to_owned();
    git(&project, &["worktree", "add", "--quiet", "--detach", &other]);
    gate(&project, &["--project", &other], 0);
}

#[test]
fn the_newest_result_on_the_content_decides_and_checks_that_were_left_out_are_missing() {
    let project = in_repository();
    commit(&project, "shop.txt", "bad\n");
    project.proctor(["run"]).failure();
    let red = project.proctor(["gate"]).status(1);
    assert!(red.stdout.starts_with("red · ") && red.stdout.contains("proctor show exec-"), "{}", red.stdout);
    assert!(reasons(&gate(&project, &[], 1))[0].ends_with(": good"));
    commit(&project, "shop.txt", "good again\n");
    project.proctor(["run", "--check", "there"]).any_status();
    assert_eq!(reasons(&gate(&project, &[], 5)), ["no result on this tree: good"]);
    project.proctor(["run", "--check", "good"]).any_status();
    gate(&project, &[], 0);
    // A run with a file that belongs to no commit is a run on another tree.
    commit(&project, "shop.txt", "good at last\n");
    project.save("untracked.txt", "x");
    project.proctor(["run"]).success();
    assert!(gate(&project, &[], 5)["next"][0].as_str().is_some_and(|next| next.contains("git status")));
    // Ignored files are no part of the tree, tracked ones are.
    std::fs::remove_file(project.path().join("untracked.txt")).unwrap();
    commit(&project, ".gitignore", "*.log\n");
    project.save("x.log", "ignored");
    project.proctor(["run"]).success();
    gate(&project, &[], 0);
    git(&project, &["add", "--force", "x.log"]);
    git(&project, &["commit", "--quiet", "-m", "tracked though ignored"]);
    gate(&project, &[], 5);
    project.proctor(["run"]).success();
    gate(&project, &[], 0);
}

#[test]
fn a_commit_that_asks_for_less_than_the_trusted_one_is_not_accepted() {
    let project = in_repository();
    let origin = project.shared("origin").to_str().expect("text").to_owned();
    git(&project, &["clone", "--quiet", "--bare", ".", &origin]);
    git(&project, &["remote", "add", "origin", &origin]);
    git(&project, &["fetch", "--quiet", "origin"]);
    git(&project, &["branch", "--quiet", "--set-upstream-to=origin/main"]);
    project.proctor(["run"]).success();
    let proved = gate(&project, &[], 0);
    assert!(proved["policy"]["from"].as_str().is_some_and(|from| from.contains("refs/remotes/origin/main")), "{proved}");
    let weaker = CHECKS.replace("[\"grep\", \"-q\", \"good\", \"shop.txt\"]", "[\"true\"]");
    commit(&project, "proctor.toml", &weaker);
    project.approve();
    project.proctor(["run"]).success();
    let document = gate(&project, &[], 3);
    assert_eq!(document["lowered"], serde_json::json!(["check `good`"]));
    assert_eq!(document["required"][0]["state"], "proved", "it was tested, under another policy");
    let shown = project.proctor(["gate"]).status(3).stdout;
    assert!(shown.starts_with("not accepted · ") && shown.contains("check `good`"), "{shown}");
    // A person may trust it all the same, and the upstream may take it.
    gate(&project, &["--policy-from", "HEAD"], 0);
    gate(&project, &["--policy-from", "origin/main"], 3);
    git(&project, &["push", "--quiet", "origin", "main"]);
    // What was pushed from here is compared with what was accepted before, and the commits after it with what the upstream took.
    assert_eq!(gate(&project, &[], 3)["lowered"], serde_json::json!(["check `good`"]));
    // More checks and a stricter gate of the commit itself: the first is no matter, the second is the trusted side's.
    let more = format!("{weaker}[[check]]\nname = \"more\"\ncommand = [\"true\"]\n");
    commit(&project, "proctor.toml", &more);
    project.proctor(["run"]).success();
    gate(&project, &[], 0);
    commit(&project, "proctor.toml", &format!("{more}[gate]\nchecks = [\"more\"]\n"));
    project.proctor(["run"]).success();
    assert_eq!(gate(&project, &[], 3)["lowered"], serde_json::json!(["gate.checks"]));
    // The branch that the other one follows is gone.
    git(&project, &["update-ref", "-d", "refs/remotes/origin/main"]);
    let lost = project.proctor(["gate"]).status(2);
    assert!(lost.stderr.contains("--policy-from"), "{}", lost.stderr);
}

#[test]
fn the_policy_says_which_results_count() {
    let project = in_repository();
    let policy = |text: &str| {
        let path = project.shared("policy.toml");
        // Without isolation the world is open.
        std::fs::write(&path, text.replace("[gate]\n", "[gate]\nworld = \"open\"\n")).unwrap();
        path.to_str().expect("text").to_owned()
    };
    commit(&project, "proctor.toml", &format!("{CHECKS}[sandbox]\nmode = \"off\"\n"));
    project.proctor(["run"]).any_status();
    assert!(reasons(&gate(&project, &[], 3))[0].contains("open world"));
    gate(&project, &["--policy-from", &policy("[gate]\n")], 0);
    let strict = policy("[gate]\nisolation = \"namespace\"\n");
    let weak = gate(&project, &["--policy-from", &strict], 3);
    assert!(reasons(&weak)[0].contains("namespace is required"), "{weak}");
    let old = policy("[gate]\nmax_age = \"1s\"\n");
    poll(Duration::from_secs(30), "the run is older than a second", || {
        (project.proctor(["gate", "--policy-from", &old]).any_status().status == 3).then_some(())
    });
    let named = policy("[gate]\nchecks = [\"there\"]\n");
    assert_eq!(gate(&project, &["--policy-from", &named], 0)["required"][0]["name"], "there");
    let other = policy("[gate]\nchecks = [\"mypy\"]\n");
    assert_eq!(reasons(&gate(&project, &["--policy-from", &other], 5)), ["no result on this tree: mypy"]);
    let tasks = policy("[gate]\ntasks = [\"default\", \"T117\"]\n");
    gate(&project, &["--policy-from", &tasks], 5);
    let trusted = policy(CHECKS);
    assert_eq!(gate(&project, &["--policy-from", &trusted], 3)["lowered"], serde_json::json!(["sandbox.mode"]));
    let wrong = policy("[gate]\nsigners = 1\n");
    assert!(project.proctor(["gate", "--policy-from", &wrong]).status(4).stderr.contains("signers"));
}

#[test]
fn what_cannot_be_judged_is_said() {
    let bare = Project::new().toml(CHECKS);
    assert!(bare.proctor(["gate"]).status(2).stderr.contains("no git repository"));
    git(&bare, &["init", "--quiet"]);
    assert!(bare.proctor(["gate"]).status(2).stderr.contains("nothing is committed yet"));
    let project = in_repository();
    let mistyped = "0123456789abcdef0123456789abcdef01234567";
    for (revision, said) in [
        ("nothing", "names no commit"),
        (mistyped, "names no commit"),
        ("HEAD@{1}", "is not understood"),
        ("HEAD~9", "no parent"),
    ] {
        let output = project.proctor(["gate", revision]).status(2);
        assert!(output.stderr.contains(said), "{}", output.stderr);
    }
    // What a shallow clone lacks is no damage and no mistake.
    commit(&project, "shop.txt", "good and newer\n");
    let url = format!("file://{}", project.path().display());
    let shallow = project.shared("shallow").to_str().expect("text").to_owned();
    git(&project, &["clone", "--quiet", "--depth", "1", &url, &shallow]);
    for revision in ["HEAD~1", mistyped] {
        let lacking = project.proctor(["gate", "--project", &shallow, revision]).status(3);
        assert!(lacking.stderr.contains("--unshallow"), "{}", lacking.stderr);
    }
    // A file and a branch of one name: nobody may choose for the person which is meant.
    project.save("release", "[gate]\n");
    git(&project, &["branch", "release"]);
    assert!(project.proctor(["gate", "--policy-from", "release"]).status(2).stderr.contains("names a commit too"));
    gate(&project, &["--policy-from", "refs/heads/release"], 5);
    assert!(project.proctor(["gate", "--policy-from", "./release"]).status(2).stderr.contains("working tree"));
    assert!(project.proctor(["gate", "--policy-from", "neither"]).status(2).stderr.contains("a file can be named too"));
    git(&project, &["branch", "-D", "release"]);
    commit(&project, ".gitattributes", "*.txt eol=crlf\n");
    project.proctor(["run"]).any_status();
    let refused = gate(&project, &[], 3);
    assert_eq!((refused["refusal"]["word"].as_str(), refused["treeDigest"].is_null()), (Some("eol"), true));
    assert!(project.proctor(["gate"]).status(3).stdout.starts_with("refused · "));
    // What others have named is escaped, and a pipe in the place of a file is not waited for.
    commit(&project, "\u{202e}\u{1b}[2J.txt", "line\n");
    git(&project, &["rm", "--quiet", "shop.txt"]);
    git(&project, &["commit", "--quiet", "-m", "one file is left"]);
    let hostile = project.proctor(["gate"]).status(3).stdout;
    assert!(!hostile.contains(['\u{1b}', '\u{202e}']) && hostile.contains("(eol)"), "{hostile:?}");
    project.command(Path::new("mkfifo"), [project.shared("pipe")]).success();
    let pipe = project.shared("pipe").to_str().expect("text").to_owned();
    project.proctor(["gate", "--policy-from", &pipe]).status(4);
    commit(&project, ".gitattributes", "* text=auto\n");
    commit(&project, "proctor.toml", "[[check]\n");
    project.proctor(["gate"]).status(4);
}
