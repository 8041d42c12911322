//! Edits of the rules through the program: everything but what opens the machine runs at once, says what it changed, and proves nothing
//! until a person approves it or it is taken back.

use std::time::Duration;

use serde_json::{Value, json};

use crate::common::{APPROVAL_QUESTION, Project, USER_CONFIGURATION};
use crate::gate::{commit, gate, git, reasons};
use crate::gate_trust::with_origin;

/// An edit of one place of [`FILE`]: the text before, the text now, and what the run says of it; nothing for a free edit. With an
/// empty text before, the new text is added at the end.
type Edit = (&'static str, &'static str, &'static str);

/// A whole `proctor.toml`, with settings of most tables.
const FILE: &str = "\
[project]
name = \"shop\"

[[check]]
name = \"unit\"
command = [\".venv/bin/pytest\", \"tests\"]
timeout = \"60s\"
paths = [\"src/**\", \"tests/**\"]
retries = 1

[[check]]
name = \"lint\"
command = [\".venv/bin/ruff\", \"check\", \"src\"]

[[prerequisite]]
name = \"packages\"
command = [\"true\"]

[defaults]
on_survivors = \"fail\"

[run]
order = \"plan\"

[watch]
quiet = \"20ms\"
include = [\"generated/**\"]

[evidence]
keep_runs = 100

[sandbox]
memory = \"4GiB\"
caches = \"fresh\"

[tdd]
max_attempts = 5

[approval]
protect = [\"tests/**\"]
on_protected_change = \"human-review\"

[policy]
linting = \"errors-and-warnings\"
";

/// What people change on any day, and what switches checks off. Nothing is compared by its meaning.
const EDITS: &[Edit] = &[
    ("\"tests\"]\ntimeout", "\"-v\", \"tests\"]\ntimeout", "unit: command"),
    ("\"tests\"]\ntimeout", "\"-q\", \"tests\"]\ntimeout", "unit: command"),
    ("\"tests\"]\ntimeout", "\"--cov=src\", \"tests\"]\ntimeout", "unit: command"),
    ("\".venv/bin/pytest\", \"tests\"", "\"./.venv/bin/pytest\", \"tests\"", "unit: command"),
    ("[\".venv/bin/pytest\", \"tests\"]", "[\"sh\", \"-c\", \"exit 0\"]", "unit: command, class, tool"),
    ("\"check\", \"src\"]", "\"check\", \"src\", \"tests\"]", "lint: command"),
    ("[\".venv/bin/ruff\", \"check\", \"src\"]", "[\".venv/bin/pytest\", \"tests\"]", "lint: command, class, tool, policy"),
    ("timeout = \"60s\"", "timeout = \"61s\"", "unit: timeout"),
    ("timeout = \"60s\"", "timeout = \"30s\"", "unit: timeout"),
    ("timeout = \"60s\"\n", "", "unit: timeout"),
    ("retries = 1\n", "", "unit: retries"),
    ("retries = 1", "retries = 5", "unit: retries"),
    ("[\"src/**\", \"tests/**\"]", "[\"tests/**\"]", ""),
    ("retries = 1", "retries = 1\ndirectory = \"src\"", "unit: directory"),
    ("retries = 1", "retries = 1\nenvironment = { TZ = \"UTC\" }", "unit: environment.TZ"),
    ("retries = 1", "retries = 1\nafter = [\"lint\"]", "unit: after"),
    ("retries = 1", "retries = 1\nidle_timeout = \"30s\"", "unit: idle_timeout"),
    ("retries = 1", "retries = 1\nmax_output = \"1MB\"", "unit: max_output"),
    ("name = \"unit\"", "name = \"tests\"", "unit: removed"),
    ("[[check]]\nname = \"lint\"\ncommand = [\".venv/bin/ruff\", \"check\", \"src\"]\n", "", "lint: removed"),
    ("order = \"plan\"", "order = \"plan\"\nreuse = \"always\"", "unit: paths, reuse; lint: reuse"),
    ("command = [\"true\"]", "command = [\"true\"]\nexpected_exit_codes = [0, 1]", "packages: expected_exit_codes"),
    ("[[prerequisite]]\nname = \"packages\"\ncommand = [\"true\"]\n", "", "packages: removed"),
    ("quiet = \"20ms\"", "quiet = \"20ms\"\nignore = [\"docs/\"]", "watch: ignore"),
    ("[\"generated/**\"]", "[\"generated/**\", \"more/**\"]", "watch: include"),
    ("memory = \"4GiB\"", "memory = \"1GiB\"", "sandbox: memory"),
    ("\"fresh\"", "\"kept\"", "sandbox: caches"),
    ("memory = ", "mode = \"require\"\nmemory = ", "sandbox: mode"),
    ("max_attempts = 5", "max_attempts = 50", "tdd: max_attempts"),
    ("keep_runs = 100", "keep_runs = 500", "evidence: keep_runs"),
    ("protect = [\"tests/**\"]", "protect = [\"tests/**\", \"conftest.py\"]", "approval: protect"),
    ("on_protected_change = \"human-review\"\n", "", "approval: on_protected_change"),
    ("\"errors-and-warnings\"", "\"never\"", "lint: policy"),
    ("", "[environment]\nenv_file = \".env\"\n", "environment: env_file"),
    ("[project]", "# The checks of the shop.\n[project]", ""),
    ("\"60s\"", "\"1m\"", ""),
    ("quiet = \"20ms\"", "quiet = \"200ms\"\nnotify = true\nclear = true", ""),
    ("\"shop\"", "\"store\"", ""),
    ("order = \"plan\"", "order = \"failed-first\"", ""),
    ("order = \"plan\"", "order = \"plan\"\nparallel = false", ""),
    ("[[check]]\nname = \"unit\"", "[[check]]\nname = \"new\"\ncommand = [\"true\"]\n\n[[check]]\nname = \"unit\"", ""),
];

/// What opens the machine, or makes what later runs use.
const OPENINGS: &[(&str, &str, &str)] = &[
    ("keep_runs = 100", "keep_runs = 1", "evidence: keep_runs"),
    ("memory = ", "mode = \"off\"\nmemory = ", "sandbox: mode"),
    ("memory = ", "snapshot = \"off\"\nmemory = ", "sandbox: snapshot"),
    ("memory = ", "visible = [\"~/.ssh\"]\nmemory = ", "sandbox: visible"),
    ("memory = ", "writable = [\"~/.config\"]\nmemory = ", "sandbox: writable"),
    ("memory = ", "home = \"overlay\"\nmemory = ", "sandbox: home"),
    ("memory = ", "system_call_filter = \"off\"\nmemory = ", "sandbox: system_call_filter"),
    ("retries = 1", "retries = 1\nwrites = [\"src/**\"]", "unit: writes"),
    ("retries = 1", "retries = 1\nsnapshot = \"off\"", "unit: snapshot"),
    ("name = \"packages\"\ncommand = [\"true\"]", "name = \"packages\"\ncommand = [\"sh\", \"evil.sh\"]", "packages: command"),
    ("", "[[prerequisite]]\nname = \"evil\"\ncommand = [\"true\"]\n", "evil: added"),
    ("", "[[cleanup]]\nname = \"evil\"\ncommand = [\"true\"]\n", "evil: added"),
    ("", "[[check]]\nname = \"evil\"\ncommand = [\"true\"]\nsnapshot = \"off\"\n", "evil: added"),
    ("", "[environment]\npass_environment = [\"PYTEST_ADDOPTS\"]\n", "environment: pass_environment"),
];

/// Returns a project of [`FILE`] whose tools are there, of a user who allows nothing, after its first run.
fn project_of_file() -> Project {
    let project =
        Project::new().allowing_nothing().toml(FILE).file("src/a.py", "").file("tests/test_a.py", "").file(".env", "A=b\n");
    let tools = [".venv/bin/pytest", ".venv/bin/ruff"];
    let project = tools.into_iter().fold(project, |project, path| project.executable(path, "#!/bin/sh\nexit 1\n"));
    let first = project.proctor(["run"]).any_status();
    assert_ne!(first.status, 3, "{}", first.snapshot());
    project
}

#[track_caller]
fn save_edit(project: &Project, before: &str, now: &str) {
    let edited = if before.is_empty() { format!("{FILE}\n{now}") } else { FILE.replacen(before, now, 1) };
    assert_ne!(edited, FILE, "{now}: the place is there");
    project.save("proctor.toml", &edited);
}

#[test]
fn everyday_edits_run_at_once_and_say_what_they_change() {
    let project = project_of_file();
    let mut others = Vec::new();
    for (before, now, expected) in EDITS {
        save_edit(&project, before, now);
        let run = project.proctor(["run", "--json"]).any_status();
        assert!([0, 1].contains(&run.status), "{now}: {}", run.snapshot());
        let report = run.json();
        let changed: Vec<&str> = report["rulesChanged"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if changed.join("; ") != *expected {
            others.push(format!("{before} -> {now}: {}", changed.join("; ")));
        }
        assert_eq!(report["completionCriteriaEvaluation"]["completionStatus"], "INCOMPLETE", "{now}");
    }
    assert_eq!(others, Vec::<String>::new());
}

#[test]
fn what_opens_the_machine_is_asked_for_before_anything_runs() {
    let project = project_of_file();
    let runs = project.store().committed_runs().len();
    for (before, now, expected) in OPENINGS {
        save_edit(&project, before, now);
        let refused = project.proctor(["run"]).status(3);
        assert!(refused.stderr.contains(&format!("  {expected}: ")), "{now}: {}", refused.snapshot());
        assert!(refused.stderr.contains("asks for more than was approved: nothing was run"), "{now}: {}", refused.snapshot());
        assert_eq!(project.store().committed_runs().len(), runs, "{now}: nothing was run");
    }
}

const SHOP: &str = "[[check]]\nname = \"good\"\ncommand = [\"grep\", \"-q\", \"good\", \"shop.txt\"]\n";

/// A project in a git repository whose check succeeded on its one commit.
fn proved() -> Project {
    let project = Project::new().toml(SHOP);
    git(&project, &["init", "--quiet"]);
    commit(&project, "shop.txt", "good\n");
    project.proctor(["run", "--fresh-caches"]).success();
    gate(&project, &[], 0);
    project.proctor(["request", "status", "COMPLETE"]).success();
    project
}

/// Commits broken code with a check that does not see it, and runs it.
fn weakened() -> Project {
    let project = proved();
    project.save("shop.txt", "bad\n");
    commit(&project, "proctor.toml", &weaker());
    let run = project.proctor(["run", "--fresh-caches"]).success();
    assert!(run.stdout.contains("judged by changed rules: good: command · no proof until"), "{}", run.snapshot());
    project
}

#[track_caller]
fn is_no_proof(project: &Project) {
    let document = gate(project, &[], 3);
    assert_eq!(document["required"][0]["words"], json!(["changed-rules"]), "{document}");
    assert!(reasons(&document)[0].contains("was judged by changed rules: good: command"), "{document}");
    let complete = project.proctor(["request", "status", "COMPLETE"]).status(3);
    assert!(complete.stdout.contains("judged by changed rules: good: command"), "{}", complete.snapshot());
    project.proctor(["attest"]).status(3);
}

#[test]
fn a_run_by_changed_rules_proves_nothing_and_the_old_rules_prove_again() {
    let project = weakened();
    is_no_proof(&project);
    let status = project.proctor(["status", "--json"]).success().json();
    let task = &status["projects"][0]["tasks"][0];
    assert_eq!(
        (&task["state"], &task["exitCode"], &task["rulesChanged"]),
        (&json!("fresh"), &json!(0), &json!(["good: command"]))
    );
    let waited = project.proctor(["wait", "--fresh"]).success();
    assert!(waited.stdout.contains("judged by changed rules: good: command"), "{}", waited.snapshot());
    // The first run that was approved decides, and not the last one.
    project.proctor(["run", "--fresh-caches"]).success();
    is_no_proof(&project);
    project.save("shop.txt", "good\n");
    commit(&project, "proctor.toml", SHOP);
    let back = project.proctor(["run", "--fresh-caches"]).success();
    assert!(!back.stdout.contains("changed rules"), "{}", back.snapshot());
    gate(&project, &[], 0);
    project.proctor(["request", "status", "COMPLETE"]).success();
}

#[test]
fn a_status_after_rules_were_taken_back_is_the_one_of_before() {
    let project = proved();
    let stand = || {
        let mut status = project.proctor(["status", "--json"]).success().json();
        status.as_object_mut().expect("an object").remove("at");
        let waited = project.proctor(["wait", "--fresh", "--json"]).any_status();
        (status, waited.status)
    };
    let before = stand();
    // Other rules of a check, a setting that is in no plan, and a file that leaves the tree.
    let changes = [
        ("proctor.toml", weaker()),
        ("proctor.toml", format!("{SHOP}[sandbox]\nmemory = \"1GiB\"\n")),
        (".gitignore", "shop.txt\n".to_owned()),
    ];
    for (path, text) in changes {
        project.save(path, &text);
        if path == ".gitignore" {
            git(&project, &["rm", "--quiet", "--cached", "shop.txt"]);
        }
        let run = project.proctor(["run", "--json"]).any_status();
        assert!(run.json()["rulesChanged"].is_array(), "{}", run.snapshot());
        assert_ne!(stand(), before, "{path}: the run is said");
        git(&project, &["reset", "--quiet", "--hard"]);
        git(&project, &["clean", "--quiet", "--force", ".gitignore"]);
        assert_eq!(stand(), before, "{text}");
        project.proctor(["request", "status", "COMPLETE"]).success();
    }
}

#[test]
fn what_a_person_approves_afterwards_counts() {
    let project = weakened();
    let shown = project.approve();
    assert!(shown.contains("changed: good: command: grep -q bad shop.txt instead of grep -q good shop.txt"), "{shown}");
    gate(&project, &[], 0);
    let status = project.proctor(["status", "--json"]).success().json();
    assert_eq!(status["projects"][0]["tasks"][0].get("rulesChanged"), None, "{status}");
    project.proctor(["run", "--fresh-caches"]).success();
    project.proctor(["request", "status", "COMPLETE"]).success();
}

/// The rules of [`SHOP`] in another way: the check passes for broken code.
fn weaker() -> String {
    SHOP.replace("\"good\", \"shop", "\"bad\", \"shop")
}

/// Has the user's own configuration say that the branch of the remote repository is followed.
pub(crate) fn follow(project: &Project) {
    let path = project.root().join(USER_CONFIGURATION);
    let text = std::fs::read_to_string(&path).expect("the tests' own");
    std::fs::write(&path, format!("{text}\n[[allow]]\nprojects = [\"/**\"]\ngate.follow = \"origin/main\"\n"))
        .expect("it is ours");
}

/// Has a colleague push other rules, and pulls them.
fn pull_from_colleague(project: &Project, rules: &str) {
    let clone = project.shared("colleague");
    let path = clone.to_str().expect("text");
    let there = |arguments: &[&str]| drop(git(project, &[&["-C", path], arguments].concat()));
    if !clone.exists() {
        git(project, &["clone", "--quiet", project.shared("origin").to_str().expect("text"), path]);
    }
    there(&["pull", "--quiet"]);
    std::fs::write(clone.join("proctor.toml"), rules).expect("it is ours");
    there(&["commit", "--quiet", "-a", "-m", "rules"]);
    there(&["push", "--quiet"]);
    git(project, &["pull", "--quiet", "--ff-only"]);
}

#[test]
fn rules_of_a_branch_count_once_a_person_said_that_it_is_followed_and_a_fetch_brought_them() {
    let project = proved();
    with_origin(&project);
    gate(&project, &[], 0);
    pull_from_colleague(&project, &format!("{SHOP}timeout = \"9m\"\n"));
    let run = project.proctor(["run", "--fresh-caches"]).success();
    assert!(run.stdout.contains("judged by changed rules: good: timeout"), "{}", run.snapshot());
    // Git's log says that a fetch brought them. Whoever can write here can write that log.
    assert!(gate(&project, &[], 3).to_string().contains("changed-rules"));
    follow(&project);
    let run = project.proctor(["run", "--fresh-caches"]).success();
    let seen = format!("{}{}", run.stdout, run.stderr);
    assert!(seen.contains("has the rules of refs/remotes/origin/main (") && !seen.contains("changed rules"), "{seen}");
    gate(&project, &[], 0);
    project.proctor(["request", "status", "COMPLETE"]).success();
    project.proctor(["verify"]).success();
}

#[test]
fn a_followed_branch_approves_rules_with_a_file_of_variables_but_not_what_the_file_sets() {
    let rules = |limit: &str| format!("{SHOP}{limit}[environment]\nenv_file = \".env.test\"\n");
    let project = Project::new().toml(&rules("")).file(".env.test", "MODE=one\n");
    git(&project, &["init", "--quiet"]);
    commit(&project, "shop.txt", "good\n");
    project.proctor(["run"]).success();
    with_origin(&project);
    follow(&project);
    pull_from_colleague(&project, &rules("timeout = \"9m\"\n"));
    gate(&project, &["--run"], 0);
    let run = project.proctor(["run", "--fresh-caches"]).success();
    let seen = format!("{}{}", run.stdout, run.stderr);
    assert!(seen.contains("has the rules of refs/remotes/origin/main (") && !seen.contains("changed rules"), "{seen}");
    pull_from_colleague(&project, &rules("timeout = \"8m\"\n"));
    project.save(".env.test", "MODE=two\n");
    let run = project.proctor(["run", "--fresh-caches"]).success();
    assert!(run.stdout.contains("judged by changed rules: ") && run.stdout.contains("env_file.content"), "{}", run.snapshot());
}

#[test]
fn a_fetch_of_the_followed_branch_by_its_full_name_brings_its_rules() {
    let project = proved();
    with_origin(&project);
    follow(&project);
    let fetch = |from: &str| git(&project, &["fetch", "--quiet", "origin", &format!("+{from}:refs/remotes/origin/main")]);
    let marked = |run: &str| run.contains("changed rules");
    // What anybody may push to another branch is not the followed one.
    commit(&project, "proctor.toml", &format!("{SHOP}timeout = \"9m\"\n"));
    git(&project, &["push", "--quiet", "origin", "HEAD:refs/heads/other"]);
    fetch("refs/heads/other");
    assert!(marked(&project.proctor(["run", "--fresh-caches"]).success().stdout));
    git(&project, &["update-ref", "refs/remotes/origin/main", "HEAD~1"]);
    let origin = project.shared("origin");
    git(&project, &["--git-dir", origin.to_str().expect("text"), "update-ref", "refs/heads/main", "refs/heads/other"]);
    fetch("refs/heads/main");
    assert!(!marked(&project.proctor(["run", "--fresh-caches"]).success().stdout));
}

#[test]
fn no_reference_that_was_moved_or_pushed_here_lifts_the_mark() {
    let project = proved();
    with_origin(&project);
    follow(&project);
    gate(&project, &[], 0);
    project.save("shop.txt", "bad\n");
    commit(&project, "proctor.toml", &weaker());
    let is_marked = || {
        let run = project.proctor(["run", "--fresh-caches"]).success();
        assert!(run.stdout.contains("judged by changed rules: good: command"), "{}", run.snapshot());
        let judged = gate(&project, &[], 3);
        assert!(judged.to_string().contains("changed-rules"), "{judged}");
        judged
    };
    git(&project, &["update-ref", "refs/remotes/origin/main", "HEAD"]);
    // It is compared with what was trusted before.
    assert_eq!(is_marked()["lowered"], json!(["check `good`"]));
    // Another commit does not make the moved one a trusted one.
    commit(&project, "notes.txt", "nothing\n");
    assert_eq!(is_marked()["lowered"], json!(["check `good`"]));
    git(&project, &["update-ref", "refs/remotes/origin/main", "HEAD~2"]);
    git(&project, &["push", "--quiet", "origin", "main"]);
    is_marked();
    // What a fetch brings of it later has the pushed rules, as the rules of everybody.
    pull_from_colleague(&project, &format!("{}timeout = \"9m\"\n", weaker()));
    let run = project.proctor(["run", "--fresh-caches"]).success();
    assert!(!run.stdout.contains("changed rules"), "{}", run.snapshot());
}

#[test]
fn a_checkout_of_a_commit_with_other_rules_than_the_approved_ones_proves_nothing() {
    let project = proved();
    project.save("shop.txt", "bad\n");
    commit(&project, "proctor.toml", &weaker());
    let document = gate(&project, &["--run"], 5);
    assert_eq!(document["notRun"]["word"], "changed-rules", "{document}");
    assert!(document["notRun"]["message"].to_string().contains("good: command"), "{document}");
    gate(&project, &[], 5);
    project.approve();
    gate(&project, &["--run"], 0);
}

#[test]
fn a_run_at_a_terminal_offers_the_approval_after_its_result() {
    let project = weakened();
    let mut run = project.proctor(["run"]).at_terminal();
    run.wait_for(APPROVAL_QUESTION, Duration::from_secs(60));
    run.press("good\n");
    assert_eq!(run.ended().status, 0);
    gate(&project, &[], 0);
}

#[test]
fn a_file_that_leaves_the_tree_is_named_and_no_approval_makes_its_run_count() {
    let project = proved();
    git(&project, &["rm", "--quiet", "--cached", "shop.txt"]);
    commit(&project, ".gitignore", "shop.txt\n");
    let run = project.proctor(["run", "--json", "--fresh-caches"]).any_status();
    assert_eq!(run.json()["rulesChanged"], json!(["tree: without shop.txt"]), "{}", run.snapshot());
    let status = project.proctor(["status", "--json"]).success().json();
    assert_eq!(status["projects"][0]["tasks"][0]["rulesChanged"], json!(["tree: without shop.txt"]), "{status}");
    project.approve();
    let again = project.proctor(["run", "--json", "--fresh-caches"]).any_status();
    assert_eq!(again.json().get("rulesChanged"), None, "{}", again.snapshot());
}
