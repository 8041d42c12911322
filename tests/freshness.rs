//! Tests `proctor status` and `proctor wait --fresh` without a service: what they say about a verdict, and whether they
//! run the checks to get one.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::common::{IN_PLACE, Project, poll, proctor};
use crate::daemon::{project, settings};
use crate::tree::digest_in_python;

/// The time limit of every wait. A wait normally takes far less.
const LATE: Duration = Duration::from_secs(60);

/// Returns state, result and exit code of the project's first task.
#[track_caller]
fn state(project: &Project) -> (String, Value, i64) {
    let status = project.proctor(["status", "--json"]).success().json();
    assert_eq!(status["service"], Value::Null);
    let task = &status["projects"][0]["tasks"][0];
    let word = task["state"].as_str().expect("a state").to_owned();
    (word, task["result"].clone(), task["exitCode"].as_i64().expect("a number"))
}

fn wait(project: &Project, timeout: &str, status: i32) -> Value {
    project.proctor(["wait", "--fresh", "--json", "--timeout", timeout]).status(status).json()
}

#[test]
fn a_verdict_turns_stale_by_itself_and_fresh_again_when_the_tree_is_what_it_was() {
    let project = project("grep -q one a.txt");
    assert_eq!(state(&project), ("notApproved".to_owned(), Value::Null, 3));
    let refused = project.proctor(["wait", "--fresh"]).status(3);
    assert!(refused.stdout.contains("not approved"), "{}", refused.snapshot());
    assert!(project.store().committed_runs().is_empty(), "what nobody approved is not run");
    project.proctor(["run"]).success();
    assert_eq!(state(&project), ("fresh".to_owned(), "PASSED".into(), 0));
    project.save("a.txt", "two\n");
    assert_eq!(state(&project), ("stale".to_owned(), Value::Null, 5));
    project.save("a.txt", "one\n");
    assert_eq!(state(&project), ("fresh".to_owned(), "PASSED".into(), 0));
    project.save("a.txt", "two\n");
    let answer = wait(&project, "60s", 1);
    assert_eq!(answer["project"]["tasks"][0]["verdict"]["tree"], digest_in_python(&project.path(), &[]));
    assert_eq!(state(&project), ("fresh".to_owned(), "FAILED".into(), 1));
    assert_eq!(project.store().committed_runs().len(), 2);
    wait(&project, "60s", 1);
    assert_eq!(project.store().committed_runs().len(), 2, "a fresh verdict is not made again");
}

#[test]
fn a_plan_that_changed_outside_of_the_tree_or_in_it_makes_the_verdict_stale() {
    let ignored = format!("{}\n[watch]\nignore = [\"proctor.toml\"]\n", settings("true"));
    let project = Project::new().toml(&ignored).file("a.txt", "one\n");
    project.proctor(["run"]).success();
    project.save("proctor.toml", &format!("{ignored}[defaults]\ntimeout = \"1m\"\n"));
    let status = project.proctor(["status", "--json"]).success().json();
    assert_eq!(status["projects"][0]["tasks"][0]["outdated"], "plan");
    wait(&project, "60s", 0);
}

#[test]
fn without_time_nothing_is_run_and_a_wrong_configuration_is_said() {
    let project = project("true");
    project.proctor(["run"]).success();
    project.save("a.txt", "two\n");
    let answer = wait(&project, "0", 5);
    assert_eq!((&answer["inTime"], answer["exitCode"].as_i64()), (&"answered".into(), Some(5)));
    assert_eq!(project.store().committed_runs().len(), 1);
    project.save("proctor.toml", "[[check]]\nnaem = \"x\"\n");
    let answer = wait(&project, "60s", 4);
    assert_eq!(answer["project"]["tasks"][0]["state"], "configurationWrong");
    assert!(answer["project"]["problems"].to_string().contains("naem"), "{answer}");
}

#[test]
fn a_run_that_takes_longer_than_the_wait_is_stopped_and_is_no_verdict() {
    let project = project("sleep 600");
    let scope = project.proctor(["run", "--json"]).watch();
    poll(LATE, "the run to begin", || match state(&project).0.as_str() {
        "running" => Ok(()),
        other => Err(other.to_owned()),
    });
    // While another process runs the checks, `wait` waits for that run and does not stop it.
    let answer = wait(&project, "300ms", 5);
    assert_eq!((&answer["inTime"], &answer["project"]["tasks"][0]["state"]), (&"timedOut".into(), &"running".into()));
    assert_eq!(scope.interrupt().status, 130);
    assert_eq!(wait(&project, "300ms", 5)["inTime"], "timedOut");
    let states: Vec<_> = project.store().committed_runs().iter().map(|run| run["overallStatus"].clone()).collect();
    assert_eq!(states, ["INTERRUPTED", "INTERRUPTED"]);
}

#[test]
fn a_check_that_writes_into_the_tree_is_unstable_and_not_run_for_ever() {
    let project = project("date +%N > out.txt");
    let settings = std::fs::read_to_string(project.path().join("proctor.toml")).expect("it is there");
    project.save("proctor.toml", &(IN_PLACE.to_owned() + &settings));
    project.proctor(["run"]).status(5);
    let answer = wait(&project, "60s", 5);
    let task = &answer["project"]["tasks"][0];
    assert_eq!((&task["state"], &task["paths"]), (&"unstable".into(), &serde_json::json!(["out.txt"])));
    assert!(project.store().committed_runs().len() <= 5);
    project.save("a.txt", "a change from outside\n");
    assert_eq!(state(&project).0, "noVerdict");
}

#[test]
fn every_registered_project_is_listed_also_one_whose_directory_is_gone() {
    let project = project("true");
    project.proctor(["run"]).success();
    let list = project.proctor(["service", "list", "--json"]).success().json();
    assert_eq!((&list["projects"][0]["serving"], list["projects"].as_array().map(Vec::len)), (&"notServed".into(), Some(1)));
    let all = project.proctor(["status", "--all"]).success();
    assert!(all.stdout.contains("fresh PASS"), "{}", all.snapshot());
    let elsewhere = project.root().join("elsewhere");
    fs::rename(project.path(), &elsewhere).expect("it can be moved");
    fs::create_dir(project.path()).expect("nothing is there");
    let replaced = project.proctor(["status"]).success();
    assert!(replaced.stdout.contains("not approved"), "another directory in its place: {}", replaced.snapshot());
    fs::remove_dir(project.path()).expect("it is empty");
    fs::rename(&elsewhere, project.path()).expect("it can be moved back");
    let moving = format!("cd .. && mv project elsewhere && {} status --all && mv elsewhere project", proctor().display());
    let gone = project.command(Path::new("/bin/sh"), ["-c", &moving]).success();
    assert!(gone.stdout.contains("root missing"), "{}", gone.snapshot());
    let listing = moving.replace("status --all", "list");
    let listed = project.command(Path::new("/bin/sh"), ["-c", &listing]).success();
    assert!(listed.stdout.contains("root missing: the project's directory is not there"), "{}", listed.snapshot());
    assert!(project.path().is_dir(), "it is back");
}

#[test]
fn a_directory_that_is_only_named_like_the_evidence_link_belongs_to_the_tree() {
    for snapshot in ["off", "auto"] {
        let check = "[[check]]\nname = \"check\"\ncommand = [\"grep\", \"-q\", \"one\", \"evidence/test_a.txt\"]\n";
        let toml = format!("{check}[sandbox]\nsnapshot = \"{snapshot}\"\n");
        let project = Project::new().toml(&toml).file("evidence/test_a.txt", "one\n");
        project.proctor(["run"]).success();
        assert_eq!(state(&project), ("fresh".to_owned(), "PASSED".into(), 0));
        project.save("evidence/test_a.txt", "two\n");
        assert_eq!(state(&project), ("stale".to_owned(), Value::Null, 5));
        let answer = wait(&project, "60s", 1);
        assert_eq!(answer["project"]["tasks"][0]["verdict"]["tree"], digest_in_python(&project.path(), &[]));
        assert_eq!(state(&project), ("fresh".to_owned(), "FAILED".into(), 1));
    }
}

#[test]
fn proctors_own_link_changes_no_digest_and_a_directory_in_its_place_does() {
    let project = Project::new().toml("[[check]]\nname = \"a\"\ncommand = [\"true\"]\n").file("a.txt", "one\n");
    let digest = || project.proctor(["generate", "tree"]).success().stdout.trim().to_owned();
    let before = digest();
    project.proctor(["run"]).success();
    let link = project.path().join("evidence");
    assert!(link.is_symlink() && digest() == before, "the link is no part of the tree");
    assert_eq!(digest_in_python(&project.path(), &[]), before);
    fs::create_dir(project.path().join("web")).expect("a new name");
    let of_nested = project.root().join("state/proctor/evidence/web-00000001");
    std::os::unix::fs::symlink(of_nested, project.path().join("web/evidence")).expect("a new name");
    assert_eq!(digest(), before, "the link of a project in a subdirectory is no part of the tree either");
    assert_eq!(digest_in_python(&project.path(), &[]), before);
    fs::remove_file(&link).expect("a link");
    project.save("evidence/planted/test_a.py", "");
    assert_ne!(digest(), before);
    assert_eq!(digest_in_python(&project.path(), &[]), digest());
}

#[test]
fn a_repository_that_is_made_after_the_first_run_gets_the_link_hidden_by_a_later_one() {
    let project = Project::new().toml("[[check]]\nname = \"a\"\ncommand = [\"true\"]\n");
    project.proctor(["run"]).success();
    crate::tracked::git(&project.path(), &["init", "--quiet"]);
    let exclude = project.path().join(".git/info/exclude");
    for _ in 0..2 {
        project.proctor(["run"]).success();
        let text = fs::read_to_string(&exclude).expect("git or proctor made it");
        assert_eq!(text.lines().filter(|line| line.ends_with("evidence")).count(), 1, "{text}");
    }
}
