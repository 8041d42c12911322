//! Tests that a new identity of a place approves nothing by itself: what was approved there holds for it, and what asks for less waits
//! for a person.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::changed_rules::follow;
use super::signed::{SETTINGS, allowed, key, sign};
use super::{LINT, UNIT, approvals};
use crate::common::{Output, Project};
use crate::gate::{commit, gate, git};
use crate::specification_runs;

const WEAK: &str = "[[check]]\nname = \"unit\"\ncommand = [\"true\"]\n";

/// Puts a copy in the place of the project's directory, as `cp -a P P.n; rm -rf P; mv P.n P` does.
fn replace(project: &Project) {
    let copy = project.root().join("copy");
    project.command(Path::new("cp"), ["-a", ".", copy.to_str().expect("text")]).success();
    fs::remove_dir_all(project.path()).expect("it is ours");
    fs::rename(copy, project.path()).expect("it is ours");
}

/// Runs the command with a new identity, which must be judged by changed rules. Returns what was said.
#[track_caller]
fn judged_anew(project: &Project, arguments: &[&str]) -> String {
    let output = project.proctor(["run", "--identity", "new"]).arguments(arguments).any_status();
    assert!(output.stderr.contains("holds here too"), "{}", output.snapshot());
    assert!(output.stdout.contains("judged by changed rules: "), "{}", output.snapshot());
    output.stdout
}

#[test]
fn a_weaker_plan_proves_nothing_also_where_the_directory_was_replaced() {
    let project = Project::new().toml(&format!("{UNIT}{LINT}"));
    // It is made before any directory is removed, because it could get the number of that one.
    let elsewhere = project.root().join("elsewhere");
    fs::create_dir(&elsewhere).expect("it is ours");
    git(&project, &["init", "--quiet"]);
    commit(&project, "shop.txt", "good\n");
    project.proctor(["run"]).success();
    project.save("proctor.toml", WEAK);
    replace(&project);
    judged_anew(&project, &[]);
    let again = project.proctor(["run"]).success();
    assert!(again.stdout.contains("lint: removed"), "{}", again.snapshot());
    project.proctor(["request", "status", "COMPLETE"]).status(3);
    commit(&project, "proctor.toml", WEAK);
    project.proctor(["run"]).success();
    project.proctor(["gate"]).status(3);
    // A second change of identity changes nothing, and neither does a project that is registered elsewhere and moved to the place.
    replace(&project);
    judged_anew(&project, &[]);
    fs::write(elsewhere.join("proctor.toml"), WEAK).expect("it is ours");
    project.proctor(["run", "../elsewhere"]).success();
    fs::remove_dir_all(project.path()).expect("it is ours");
    fs::rename(elsewhere, project.path()).expect("it is ours");
    let same = project.proctor(["run", "--identity", "same"]).success();
    assert!(same.stdout.contains("lint: removed"), "{}", same.snapshot());
    project.proctor(["verify"]).success();
    project.approve();
    project.proctor(["run"]).success();
}

#[test]
fn a_weaker_plan_proves_nothing_without_git_either() {
    let project = Project::new().toml(&format!("{UNIT}{LINT}")).file("shop.txt", "good\n");
    project.proctor(["run"]).success();
    project.proctor(["request", "status", "COMPLETE"]).success();
    project.save("proctor.toml", WEAK);
    replace(&project);
    judged_anew(&project, &[]);
    project.proctor(["request", "status", "COMPLETE"]).status(3);
}

#[test]
fn the_same_plan_and_a_further_check_go_on() {
    let project = Project::new().toml(UNIT);
    project.proctor(["run"]).success();
    replace(&project);
    let same = project.proctor(["run", "--identity", "new"]).success();
    assert!(same.stderr.contains("holds here too") && !same.stderr.contains("approved by that"), "{}", same.snapshot());
    replace(&project);
    project.save("proctor.toml", &format!("{UNIT}{LINT}"));
    let stricter = project.proctor(["run", "--identity", "new"]).success();
    assert!(stricter.stderr.contains("has the rules that were approved"), "{}", stricter.snapshot());
    project.proctor(["verify"]).success();
}

#[test]
fn where_a_signature_was_required_only_a_signature_approves() {
    let project = Project::new().toml(&format!("{UNIT}{LINT}{SETTINGS}"));
    let lead = key(&project, "lead");
    project.save("allowed_signers", &allowed(&lead));
    project.proctor(["run"]).success();
    project.save("proctor.toml", &format!("{UNIT}{SETTINGS}"));
    replace(&project);
    judged_anew(&project, &[]);
    project.proctor(["approve"]).status(3);
    let signature = sign(&project, &lead, "proctor-approval");
    project.proctor(["approve", "--signature", &signature.to_string_lossy()]).success();
    project.proctor(["run"]).success();
    project.proctor(["verify"]).success();
}

#[test]
fn protected_files_the_tree_and_settings_stay_what_they_were() {
    let settings = "[approval]\nprotect = [\"tests/**\"]\non_protected_change = \"human-review\"\n";
    let project = Project::new().toml(&format!("{UNIT}{settings}")).file("tests/a.txt", "1").file("src/a.txt", "1");
    project.proctor(["run"]).success();
    project.save("tests/a.txt", "2");
    replace(&project);
    let changed = project.proctor(["run", "--identity", "new"]).status(3);
    assert!(changed.stdout.contains("protected files are not what was approved: tests/a.txt"), "{}", changed.snapshot());
    project.save("tests/a.txt", "1");
    project.save(".gitignore", "src/\n");
    replace(&project);
    let left = judged_anew(&project, &[]);
    assert!(left.contains("tree: without src/a.txt"), "{left}");
    project.save(".gitignore", "");
    project.save("proctor.toml", &format!("{UNIT}{settings}[watch]\nignore = [\"src/**\"]\n"));
    let ignored = project.proctor(["run"]).success();
    assert!(ignored.stdout.contains("watch: ignore"), "{}", ignored.snapshot());
    project.proctor(["verify"]).success();
}

#[test]
fn a_removed_project_is_remembered() {
    let project = Project::new().toml(&format!("{UNIT}{LINT}"));
    project.proctor(["run"]).success();
    project.proctor(["service", "remove"]).success();
    let mut purging = project.proctor(["service", "remove", "--purge"]).at_terminal();
    purging.wait_for("anything else removes nothing: ", std::time::Duration::from_secs(60));
    purging.press(&format!("{}\n", project.path().file_name().expect("a name").to_string_lossy()));
    assert_eq!(purging.ended().status, 0);
    project.save("proctor.toml", WEAK);
    replace(&project);
    judged_anew(&project, &[]);
}

#[test]
fn a_project_that_goes_on_elsewhere_is_remembered_where_it_was() {
    let project = Project::new().toml(&format!("{UNIT}{LINT}"));
    project.proctor(["run"]).success();
    let moved = project.root().join("moved");
    fs::rename(project.path(), &moved).expect("it is ours");
    fs::create_dir(project.path()).expect("it is ours");
    project.proctor(["run", "../moved", "--identity", "same"]).success();
    project.save("proctor.toml", WEAK);
    let fresh = project.proctor(["run"]).success();
    assert!(fresh.stderr.contains("holds here too") && fresh.stdout.contains("lint: removed"), "{}", fresh.snapshot());
}

#[test]
fn a_moved_directory_is_the_one_that_was_registered_and_an_unknown_one_is_new() {
    let project = Project::new().toml(&format!("{UNIT}{LINT}"));
    project.proctor(["run"]).success();
    project.save("proctor.toml", WEAK);
    let moved = project.root().join("moved");
    fs::rename(project.path(), &moved).expect("it is ours");
    fs::create_dir(project.path()).expect("it is ours");
    judged_anew(&project, &["../moved"]);
    let unknown = project.root().join("unknown");
    fs::create_dir(&unknown).expect("it is ours");
    fs::write(unknown.join("proctor.toml"), WEAK).expect("it is ours");
    let new = project.proctor(["run", "../unknown"]).success();
    assert!(new.stderr.contains("its rules count as approved"), "{}", new.snapshot());
}

#[test]
fn a_working_tree_of_a_known_repository_inherits_and_a_checkout_of_a_commit_runs_no_other_rules() {
    let project = Project::new().toml(&format!("{UNIT}{LINT}"));
    git(&project, &["init", "--quiet"]);
    commit(&project, "shop.txt", "good\n");
    git(&project, &["branch", "first"]);
    project.proctor(["run"]).success();
    commit(&project, "proctor.toml", WEAK);
    // A trusted commit, which could have these rules, is not known here.
    assert_eq!(gate(&project, &["--run"], 5)["notRun"]["word"], "changed-rules");
    let worktree = |name: &str, commit: &str| {
        let path = project.root().join(name).to_str().expect("text").to_owned();
        git(&project, &["worktree", "add", "--quiet", "--detach", &path, commit]);
        path
    };
    let same = project.proctor(["run", &worktree("same", "first")]).success();
    assert!(same.stderr.contains("holds here too"), "{}", same.snapshot());
    let weaker = project.proctor(["run", &worktree("weaker", "main")]).success();
    assert!(weaker.stdout.contains("lint: removed"), "{}", weaker.snapshot());
    // Another directory of the repository is another project.
    project.save("sub/proctor.toml", WEAK);
    let sub = project.proctor(["run", "sub"]).success();
    assert!(sub.stderr.contains("its rules count as approved"), "{}", sub.snapshot());
}

/// Makes a repository elsewhere of the project's own by git's arguments, with this configuration, and runs it.
fn run_elsewhere(project: &Project, (name, clone): (&str, &[&str]), toml: &str) -> Output {
    let path = project.root().join(name);
    let path = path.to_str().expect("text");
    let own = format!("file://{}", project.path().display());
    git(project, &[&["clone", "--quiet"], clone, &[&own, path]].concat());
    fs::write(Path::new(path).join("proctor.toml"), toml).expect("it is ours");
    project.proctor(["run", path]).any_status()
}

#[test]
fn a_repository_with_the_same_first_commit_is_judged_by_what_was_approved_and_a_shallow_clone_is_new() {
    let both = format!("{UNIT}{LINT}");
    let project = Project::new().toml(&both);
    git(&project, &["init", "--quiet"]);
    commit(&project, "shop.txt", "good\n");
    commit(&project, "notes.txt", "one\n");
    project.proctor(["run"]).success();
    let clone = run_elsewhere(&project, ("clone", &[]), &both);
    assert!(clone.stderr.contains("is judged by what was approved there"), "{}", clone.snapshot());
    assert!(clone.status == 0 && !clone.stdout.contains("changed rules"), "{}", clone.snapshot());
    let fork = run_elsewhere(&project, ("weaker", &[]), WEAK);
    assert!(fork.stdout.contains("judged by changed rules: ") && fork.stdout.contains("lint: removed"), "{}", fork.snapshot());
    // Who follows the branch from which it was cloned takes what the clone brought.
    follow(&project);
    commit(&project, "proctor.toml", WEAK);
    let followed = run_elsewhere(&project, ("followed", &[]), WEAK);
    assert!(followed.stderr.contains("has the rules of refs/remotes/origin/main ("), "{}", followed.snapshot());
    // What began from its files and has a history of its own is new, and so is what lacks the history.
    let template = project.root().join("template");
    fs::create_dir(&template).expect("it is ours");
    fs::write(template.join("proctor.toml"), WEAK).expect("it is ours");
    let path = template.to_str().expect("text");
    for arguments in [&["init", "--quiet"][..], &["add", "."], &["commit", "--quiet", "-m", "another first one"]] {
        git(&project, &[&["-C", path], arguments].concat());
    }
    let shallow = run_elsewhere(&project, ("shallow", &["--depth=1"]), WEAK);
    for new in [project.proctor(["run", path]).any_status(), shallow] {
        assert!(new.stderr.contains("its rules count as approved"), "{}", new.snapshot());
    }
}

#[test]
fn a_clone_elsewhere_inherits_no_opening_and_no_signer() {
    let toml = format!("[sandbox]\nwritable = [\"../shared\"]\n{UNIT}");
    let project = Project::new().allowing_nothing().toml(&toml);
    git(&project, &["init", "--quiet"]);
    commit(&project, "shop.txt", "good\n");
    project.proctor(["run"]).status(3);
    project.approve();
    project.proctor(["run"]).success();
    let asked = run_elsewhere(&project, ("clone", &[]), &toml);
    assert!(asked.status == 3 && asked.stderr.contains("sandbox: writable"), "{}", asked.snapshot());
    let signed = Project::new().toml(&format!("{UNIT}{SETTINGS}"));
    signed.save("allowed_signers", &allowed(&key(&signed, "lead")));
    git(&signed, &["init", "--quiet"]);
    commit(&signed, "shop.txt", "good\n");
    signed.proctor(["run"]).success();
    let clone = run_elsewhere(&signed, ("clone", &[]), WEAK);
    let is_free = !clone.stdout.contains("approval: ");
    assert!(is_free && clone.stdout.contains("judged by changed rules: unit: "), "{}", clone.snapshot());
}

#[test]
fn a_clone_elsewhere_does_not_inherit_that_a_branch_is_followed() {
    let follows = "[gate]\nfollow = \"origin/main\"\n";
    let project = Project::new().toml(&format!("{UNIT}{LINT}{follows}"));
    git(&project, &["init", "--quiet"]);
    commit(&project, "shop.txt", "good\n");
    let first = project.proctor(["run"]).any_status();
    assert!(first.status == 3 && first.stderr.contains("gate: follow"), "a person says it: {}", first.snapshot());
    project.approve();
    project.proctor(["run"]).success();
    // The branch of this name is the fork's own: whoever made it wrote the rules there.
    let weak = format!("{WEAK}{follows}");
    commit(&project, "proctor.toml", &weak);
    let asked = run_elsewhere(&project, ("fork", &[]), &weak);
    assert!(asked.status == 3 && asked.stderr.contains("gate: follow"), "{}", asked.snapshot());
    commit(&project, "proctor.toml", WEAK);
    let fork = run_elsewhere(&project, ("silent", &[]), WEAK);
    assert!(fork.stdout.contains("judged by changed rules: ") && fork.stdout.contains("lint: removed"), "{}", fork.snapshot());
    assert!(!fork.stderr.contains("is followed"), "{}", fork.snapshot());
}

#[test]
fn a_clone_whose_own_rules_require_a_signature_follows_no_branch() {
    let project = Project::new().toml(&format!("{UNIT}{LINT}{SETTINGS}"));
    project.save("allowed_signers", &allowed(&key(&project, "lead")));
    git(&project, &["init", "--quiet"]);
    commit(&project, "shop.txt", "good\n");
    project.proctor(["run"]).success();
    follow(&project);
    let weak = format!("{WEAK}{SETTINGS}");
    commit(&project, "proctor.toml", &weak);
    let clone = run_elsewhere(&project, ("clone", &[]), &weak);
    let is_followed = clone.stderr.contains("is followed");
    assert!(clone.stdout.contains("judged by changed rules: ") && !is_followed, "{}", clone.snapshot());
}

#[test]
fn the_tasks_of_a_specification_are_inherited_too() {
    let project = specification_runs::project(&[specification_runs::task("T117")]);
    project.proctor(["run", "--task", "T117"]).success();
    super::save(&project, super::weaken);
    replace(&project);
    judged_anew(&project, &["--task", "T117"]);
    let reasons: Vec<Value> = approvals(&project).iter().map(|line| line["reason"].clone()).collect();
    assert_eq!(reasons.iter().filter(|reason| *reason == "newTask").count(), reasons.len(), "{reasons:?}");
    project.proctor(["verify"]).success();
}

#[test]
fn a_registration_that_dies_leaves_no_identity_with_a_part_of_what_it_inherits() {
    let project = specification_runs::project(&[specification_runs::task("T117")]);
    project.proctor(["run", "--task", "T117"]).success();
    super::save(&project, super::weaken);
    let register = ["run", "--identity", "new", "--task", "T117"];
    replace(&project);
    let passed = project.root().join("passed");
    project.proctor(register).env("PROCTOR_TEST_PASSED", &passed).any_status();
    let passed = fs::read_to_string(passed).expect("it was recorded");
    let of_ledger = |line: &&str| line.starts_with("write ledger/") && line.contains(".jsonl");
    let writes: Vec<&str> = passed.lines().filter(of_ledger).collect();
    assert!(writes.len() >= 2, "an approval and the registration: {passed}");
    for write in writes {
        replace(&project);
        project.proctor(register).env("PROCTOR_TEST_DIE_AT", write).status(137);
        let next = project.proctor(register).any_status();
        assert!(next.stdout.contains("judged by changed rules: "), "{write}: {}", next.snapshot());
    }
    project.proctor(["verify"]).success();
}

#[test]
fn a_directory_that_got_the_number_of_a_removed_one_is_new_without_a_question() {
    use std::os::unix::fs::MetadataExt as _;

    let project = Project::new().toml(UNIT);
    let number = |path: &Path| fs::metadata(path).expect("it is there").ino();
    // A file system gives the number of what was removed to what is made next, but may give it to something else that is made meanwhile.
    for attempt in 0..20 {
        let first = project.root().join(format!("first-{attempt}"));
        fs::create_dir(&first).expect("it is ours");
        fs::write(first.join("proctor.toml"), UNIT).expect("it is ours");
        project.proctor(["run", &format!("../first-{attempt}")]).success();
        let (before, next) = (number(&first), project.root().join(format!("next-{attempt}")));
        fs::remove_dir_all(&first).expect("it is ours");
        fs::create_dir(&next).expect("it is ours");
        if number(&next) == before {
            fs::write(next.join("proctor.toml"), WEAK).expect("it is ours");
            let run = project.proctor(["run", &format!("../next-{attempt}")]).success();
            assert!(run.stderr.contains("registered") && !run.stdout.contains("changed rules"), "{}", run.snapshot());
            return;
        }
    }
    // Others give no number twice. The rule itself is tested with the registrations.
    let kind = nix::sys::statfs::statfs(project.root()).expect("it is there").filesystem_type();
    assert_ne!(kind, nix::sys::statfs::EXT4_SUPER_MAGIC, "ext4 gave no directory the number of the one before");
}
