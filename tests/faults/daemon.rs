//! Tests a service whose store disappears, and a service that is started twice.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::common::{KeptEvidence, Project, Watch, poll};

const BOUND: Duration = Duration::from_secs(60);

#[test]
fn a_store_that_is_removed_under_the_service_is_said_and_one_that_is_put_back_is_used_again() {
    let project = project();
    let daemon = start(&project);
    project.proctor(["service", "add"]).success();
    project.proctor(["wait", "--fresh"]).success();
    let (store, aside) = (project.root().join("state/proctor"), project.root().join("aside"));
    fs::rename(&store, &aside).expect("both are below our root");
    project.save("a.txt", "two\n");
    let without = project.proctor(["wait", "--fresh", "--timeout", "20s"]).bound(BOUND).any_status();
    assert_eq!(without.status, 5, "no verdict can be kept: {}", without.snapshot());
    assert!(without.stdout.contains("failed to keep the evidence"), "{}", without.snapshot());
    let _made_anew = fs::remove_dir_all(&store);
    fs::rename(&aside, &store).expect("nothing is there");
    project.save("a.txt", "three\n");
    let again = project.proctor(["wait", "--fresh", "--timeout", "20s"]).bound(BOUND).any_status();
    assert_eq!(again.status, 0, "{}", again.snapshot());
    let said = daemon.interrupt();
    assert!(
        said.stderr.contains("cannot judge since") && said.stderr.contains("No such file or directory"),
        "{}",
        said.snapshot()
    );
    project.proctor(["run"]).success();
    project.proctor(["verify", "--all"]).success();
    KeptEvidence::only(&store).check();
}

#[test]
fn a_store_that_is_deleted_under_the_service_is_begun_anew_by_the_next_run() {
    let project = project();
    let daemon = start(&project);
    project.proctor(["service", "add"]).success();
    project.proctor(["wait", "--fresh"]).success();
    fs::remove_dir_all(project.root().join("state/proctor")).expect("it is ours");
    project.save("a.txt", "two\n");
    let without = project.proctor(["wait", "--fresh", "--timeout", "20s"]).bound(BOUND).any_status();
    assert_eq!(without.status, 5, "{}", without.snapshot());
    daemon.interrupt();
    let begun = project.proctor(["run"]).success();
    assert!(begun.stderr.contains("registered `"), "{}", begun.snapshot());
    project.proctor(["verify", "--all"]).success();
}

#[test]
fn of_services_that_are_started_at_once_one_serves_and_the_others_name_it() {
    for _ in 0..5 {
        let project = project();
        project.proctor(["run"]).success();
        let mut all: Vec<Watch<'_>> = (0..3).map(|_| project.proctor(["service", "daemon"]).watch()).collect();
        let socket = socket(&project);
        poll(BOUND, "one to listen", || socket.exists().then_some(()).ok_or("nobody does"));
        let serving = poll(BOUND, "all but one to be refused", || {
            let listening: Vec<usize> = (0..all.len()).filter(|one| all[*one].text().contains("listening on")).collect();
            let refused = (0..all.len()).filter(|one| all[*one].text().contains("running already")).count();
            if listening.len() == 1 && refused == 2 {
                Ok(listening[0])
            } else {
                Err(format!("{listening:?} listen, {refused} are refused"))
            }
        });
        let one = all.remove(serving);
        for refused in all {
            let output = refused.ended();
            assert_eq!(output.status, 2, "{}", output.snapshot());
            // The message also names the service that is running, if that service has already written down its process
            // id. So only the beginning of the message is compared.
            assert!(output.stderr.contains("a service is running already"), "{}", output.snapshot());
        }
        project.proctor(["service", "add"]).success();
        project.proctor(["wait", "--fresh"]).success();
        assert_eq!(one.interrupt().status, 130);
        project.proctor(["verify"]).success();
    }
}

fn project() -> Project {
    let settings = "[[check]]\nname = \"check\"\ncommand = [\"/bin/true\"]\n[evidence]\nlink = \"\"\n";
    Project::new().toml(settings).file("a.txt", "one\n")
}

fn start(project: &Project) -> Watch<'_> {
    let mut daemon = project.proctor(["service", "daemon"]).watch();
    daemon.wait_for_line("the socket", BOUND, |line| line.starts_with("listening on"));
    daemon
}

fn socket(project: &Project) -> PathBuf {
    project.root().join("runtime/proctor/control.sock")
}
