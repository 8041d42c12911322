//! Tests that a watch notices an approval that a person gives in another process, without a save.

use std::fs;

use crate::watch_cli::{LATE, expect_no_further_run, project, report_of, wait_until_it_watches};

/// A setting of the check that a person has to approve.
const WEAKER: &str = "expected_exit_codes = [0, 3]\n";

#[test]
fn an_approval_in_another_process_starts_the_refused_run_at_once_and_once() {
    let project = project("");
    let mut watch = project.watch(["."]);
    watch.wait_for_verdict();
    wait_until_it_watches(&mut watch);
    let settings = fs::read_to_string(project.path().join("proctor.toml")).expect("it was written");
    project.save("proctor.toml", &(settings + WEAKER));
    watch.wait_for_line("the refusal", LATE, |line| line.contains("exit codes that did not succeed before succeed: 3"));
    wait_until_it_watches(&mut watch);
    let runs = project.store().committed_runs().len();
    // A run in another process is refused too. It opens the ledger, and approves nothing.
    project.proctor(["run"]).status(3);
    expect_no_further_run(&project);

    project.approve();
    let verdict = watch.wait_for_verdict();
    assert_eq!(verdict["overallResult"], "PASSED");
    assert_eq!(report_of(&project, &verdict)["trigger"]["kind"], "request", "no file was saved");
    expect_no_further_run(&project);
    assert_eq!(project.store().committed_runs().len(), runs + 1);
    watch.interrupt();
}
