//! Tests more commands that write to the store: each command is killed at every operation, and each operation is made to
//! fail.

use std::fs;
use std::path::Path;

use super::places::{SAMPLE, Scenario, Wrong, check};
use crate::approval::LINT;
use crate::approval::signed::{SETTINGS, allowed, key, sign};

/// A run after somebody has changed a box of the task list. The run records that, restores the list and writes it again.
const RUN_WITH_A_TASK_LIST: Scenario = Scenario {
    command: &["run"],
    prepare: |project| {
        project.save("proctor.toml", &format!("{}[tasks]\nfile = \"docs/tasks.md\"\n", check()));
        if !project.path().join("docs/tasks.md").exists() {
            project.save("docs/tasks.md", "# Plan\n");
        }
        project.proctor(["run"]).success();
        let list = fs::read_to_string(project.path().join("docs/tasks.md")).expect("it is kept");
        project.save("docs/tasks.md", &list.replace("- [x] **default**", "- [ ] **default**"));
    },
    is_first: false,
    goes_on_as_a_run: true,
};
const ANCHOR_IN_A_FILE: Scenario =
    Scenario { command: &["key", "anchor", "--file", "../kept"], prepare: |_| (), is_first: false, goes_on_as_a_run: false };
const EXPORT: Scenario = Scenario {
    command: &["export", "1", "--to", "../exported"],
    prepare: |project| drop(fs::remove_dir_all(project.root().join("exported"))),
    is_first: false,
    goes_on_as_a_run: false,
};

const INSIDE_OF_THE_STORE: [Scenario; 3] = [RUN_WITH_A_TASK_LIST, APPROVAL, ATTESTATION];
const OUTSIDE_OF_THE_STORE: [Scenario; 2] = [ANCHOR_IN_A_FILE, EXPORT];

#[test]
fn each_command_that_writes_to_the_store_may_die_and_fail_at_some_of_its_operations() {
    for scenario in INSIDE_OF_THE_STORE.iter().chain(&OUTSIDE_OF_THE_STORE) {
        scenario.go_wrong_in_projects(SAMPLE, Wrong::Dies);
        scenario.go_wrong_in_projects(SAMPLE, Wrong::Fails("EIO"));
    }
}

#[test]
#[ignore = "long tier"]
fn a_run_that_puts_the_task_list_back_may_die_and_fail_at_many_operations() {
    RUN_WITH_A_TASK_LIST.go_wrong_often(Wrong::Dies);
    RUN_WITH_A_TASK_LIST.go_wrong_often(Wrong::Fails("EIO"));
}

#[test]
#[ignore = "long tier"]
fn an_anchor_and_an_export_may_die_and_fail_at_many_operations() {
    for scenario in OUTSIDE_OF_THE_STORE {
        scenario.go_wrong_often(Wrong::Dies);
        scenario.go_wrong_often(Wrong::Fails("ENOSPC"));
    }
}

#[test]
#[ignore = "wide tier"]
fn each_command_that_writes_to_the_store_may_die_and_fail_at_every_operation() {
    for scenario in INSIDE_OF_THE_STORE.iter().chain(&OUTSIDE_OF_THE_STORE) {
        scenario.go_wrong_everywhere();
    }
}

/// An approval by signature: somebody who may approve has signed a change that weakens the checks.
const APPROVAL: Scenario = Scenario {
    command: &["approve", "--signature", "../shared/approval.json.sig"],
    prepare: |project| {
        let is_first = !project.shared("lead").exists();
        let lead = if is_first { key(project, "lead") } else { project.shared("lead") };
        project.save("allowed_signers", &allowed(&lead));
        project.save("proctor.toml", &format!("{}{LINT}{SETTINGS}", check()));
        project.proctor(["run"]).success();
        if is_first {
            project.approve();
        }
        project.save("proctor.toml", &format!("{}{SETTINGS}", check()));
        sign(project, &lead, "proctor-approval");
    },
    is_first: false,
    goes_on_as_a_run: false,
};
/// An attestation in git notes. The project is a git repository with one commit and without git notes.
const ATTESTATION: Scenario = Scenario {
    command: &["attest"],
    prepare: |project| {
        let _none = fs::remove_dir_all(project.path().join(".git"));
        let identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"];
        for arguments in [["init", "--quiet"].as_slice(), &["add", "proctor.toml"], &["commit", "--quiet", "-m", "first"]] {
            // The commit is the same one each time: a repository without the accepted one would have to be accepted by a person.
            let git = project.command(Path::new("git"), identity.iter().chain(arguments));
            git.env("GIT_AUTHOR_DATE", "2026-03-04T09:30:00Z").env("GIT_COMMITTER_DATE", "2026-03-04T09:30:00Z").success();
        }
        project.proctor(["run"]).success();
    },
    is_first: false,
    goes_on_as_a_run: false,
};

#[test]
#[ignore = "long tier"]
fn an_approval_may_die_and_fail_at_many_operations() {
    APPROVAL.go_wrong_often(Wrong::Dies);
    APPROVAL.go_wrong_often(Wrong::Fails("EIO"));
}

#[test]
#[ignore = "long tier"]
fn a_note_in_git_may_die_and_fail_at_many_operations() {
    ATTESTATION.go_wrong_often(Wrong::Dies);
    ATTESTATION.go_wrong_often(Wrong::Fails("ENOSPC"));
}
