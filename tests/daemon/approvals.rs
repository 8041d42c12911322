//! Tests that the service notices an approval that a person gives in another process, without a save.

use super::{LATE, project, settings, start, start_serving};
use crate::common::{Project, poll};

/// Lets the only check work in the project itself, which a person has to approve.
fn weaken(project: &Project) {
    project.save("proctor.toml", &settings("true").replace("[[check]]\n", "[[check]]\nsnapshot = \"off\"\n"));
}

#[track_caller]
fn wait_for_state(project: &Project, wanted: &str) {
    poll(LATE, wanted, || {
        let status = project.proctor(["status", "--json"]).success().json();
        let state = status["projects"][0]["tasks"][0]["state"].clone();
        if state == wanted { Ok(()) } else { Err(state.to_string()) }
    });
}

#[track_caller]
fn wait_for_runs(project: &Project, count: usize) {
    poll(LATE, "a verdict without a save", || {
        let runs = project.store().committed_runs().len();
        if runs >= count { Ok(()) } else { Err(format!("{runs} runs")) }
    });
}

#[test]
fn an_approval_in_another_process_starts_the_refused_run_of_a_served_project() {
    let project = project("true");
    project.proctor(["run"]).success();
    let mut daemon = start_serving(&project);
    wait_for_state(&project, "fresh");
    weaken(&project);
    daemon.wait_for_line("the refusal", LATE, |line| line.contains("notApproved"));
    let runs = project.store().committed_runs().len();
    project.approve();
    wait_for_runs(&project, runs + 1);
    wait_for_state(&project, "fresh");
    daemon.interrupt();
}

#[test]
fn a_service_that_found_a_weaker_plan_at_its_start_notices_the_approval_too() {
    let project = project("true");
    project.proctor(["run"]).success();
    start_serving(&project).interrupt();
    weaken(&project);
    let daemon = start(&project);
    wait_for_state(&project, "notApproved");
    let runs = project.store().committed_runs().len();
    project.approve();
    wait_for_runs(&project, runs + 1);
    wait_for_state(&project, "fresh");
    daemon.interrupt();
}
